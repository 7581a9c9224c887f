"""What artifacts, types, aliases and versions may be called.

An artifact's name is a folder of the store, so it obeys `store.files.check_name`. An alias is
never a file name, but it stands after the colon of ``name:alias``, where it must not be taken for a
version.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from expr_tracker.errors import ArtifactError, NameRefusedError
from expr_tracker.store.names import check_name
from expr_tracker.texts import shown, type_name

__all__ = [
    "INCOMING",
    "INDEX",
    "LATEST",
    "LOCK",
    "alias_rule_broken",
    "check_aliases",
    "check_artifact_name",
    "check_type",
    "folded",
    "split_specification",
    "version_number",
    "version_text",
]

#: The store's own files; an artifact under one of these names would sit on top of them.
INDEX: Final = "index.jsonl"
LOCK: Final = ".lock"
INCOMING: Final = ".incoming"
_RESERVED: Final = frozenset({INDEX, LOCK, INCOMING})

#: Always the highest version; it follows by itself, so nobody may pin it.
LATEST: Final = "latest"
#: Nine digits: a thousand million versions, and a number that every file format holds.
_VERSION: Final = re.compile(r"[vV]([0-9]{1,9})")
_LOOKS_LIKE_VERSION: Final = re.compile(r"[vV][0-9]+")

#: Aliases and types stand in tables and messages; longer ones are notes, not names.
_LABEL_CHARACTERS_MAX: Final = 128


def check_artifact_name(name: object) -> str:
    """Return ``name`` if it can name an artifact.

    Raises:
        NameRefusedError: it could leave its folder, cannot be one, or is the store's own.
    """
    checked = check_name("artifact", name)
    if folded(checked) in _RESERVED:
        raise NameRefusedError(
            f"artifact name {checked!r}: the store keeps a file of its own under that name. "
            "Pass another one (name='...')."
        )
    return checked


def folded(name: str) -> str:
    """Return what a file system that ignores case and composition makes of ``name``."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def check_type(kind: object) -> str:
    """Return ``kind`` if it can be an artifact's type.

    Raises:
        ArtifactError: it is no short text.
    """
    if not isinstance(kind, str):
        raise ArtifactError(
            f"type={shown(kind)} ({type_name(kind)}): an artifact's type is a text such as "
            "'dataset' or 'model'."
        )
    rule = _broken_label_rule(kind)
    if rule is not None:
        raise ArtifactError(f"type={kind[:60]!r}: {rule}.")
    return kind


def check_aliases(aliases: Iterable[object] | str | None) -> list[str]:
    """Return the aliases, each once, in the order given; one text is one alias.

    ``latest`` is left out: it always means the highest version.

    Raises:
        ArtifactError: one of them cannot be an alias; the message says why.
    """
    if aliases is None:
        return []
    if isinstance(aliases, str):
        aliases = [aliases]
    elif not isinstance(aliases, Iterable):
        raise ArtifactError(
            f"aliases={shown(aliases)} ({type_name(aliases)}): expected a list of texts."
        )
    checked: dict[str, None] = {}
    for alias in aliases:
        if not isinstance(alias, str):
            raise ArtifactError(
                f"alias {shown(alias)} ({type_name(alias)}): an alias is a text such as 'best'."
            )
        if alias == LATEST:
            # Programs pass it out of habit; the highest version has it without being told.
            continue
        rule = alias_rule_broken(alias)
        if rule is not None:
            raise ArtifactError(f"alias {alias[:60]!r}: {rule}.")
        checked[alias] = None
    return list(checked)


def alias_rule_broken(alias: str) -> str | None:
    """Return the rule that ``alias`` breaks, or ``None`` if it can be an alias."""
    if alias.casefold() == LATEST:
        return (
            "'latest' always means the highest version and follows by itself; leave it out, "
            "or choose a word such as 'best' or 'prod'"
        )
    if _LOOKS_LIKE_VERSION.fullmatch(alias):
        return (
            "'v' and a number always mean that version; choose a word such as 'best' or "
            f"'release-{alias[1:9]}'"
        )
    if ":" in alias:
        return "':' separates a name from its alias, so it cannot be in one; use '-' or '.'"
    return _broken_label_rule(alias)


def _broken_label_rule(text: str) -> str | None:
    if not text or text != text.strip():
        return "it cannot be empty or begin or end with a space"
    if not text.isprintable():
        return "control characters and halves of surrogate pairs cannot be in it"
    if len(text) > _LABEL_CHARACTERS_MAX:
        return f"it has {len(text)} characters; the limit is {_LABEL_CHARACTERS_MAX}"
    return None


def version_number(text: object) -> int | None:
    """Return the number of ``"v3"`` (a plain 3 is taken too); ``None`` if it is no version."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text if 0 <= text < 10**9 else None
    if not isinstance(text, str):
        return None
    match = _VERSION.fullmatch(text)
    return int(match[1]) if match else None


def version_text(number: int) -> str:
    """Return how a version is written: ``v3``."""
    return f"v{number}"


def split_specification(specification: object) -> tuple[str, str]:
    """Return the name and the selector of ``"name"``, ``"name:latest"``, ``"name:v3"``, ...

    Raises:
        NameRefusedError: the part before the colon cannot be an artifact's name.
    """
    if not isinstance(specification, str):
        raise NameRefusedError(
            f"artifact {shown(specification)} ({type_name(specification)}): expected a text such "
            "as 'model', 'model:v3' or 'model:best', or an Artifact."
        )
    name, colon, selector = specification.partition(":")
    if colon and not selector:
        raise NameRefusedError(
            f"artifact {shown(specification)}: nothing follows the ':'. Write {shown(name)} for the latest "
            f"version, or '{name}:v3', '{name}:best'."
        )
    return check_artifact_name(name), selector or LATEST
