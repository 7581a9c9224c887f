"""The rules for names that become folders and parts of file names: projects, runs, streams, artifacts."""

from __future__ import annotations

import re
from typing import Final

from expr_tracker.errors import NameRefusedError
from expr_tracker.texts import shown, type_name

__all__ = ["DEFAULT_LABEL", "check_name", "check_stream", "stream_label", "stream_named"]

_STREAM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
#: What people call the producer without a name, on the command line too.
DEFAULT_LABEL: Final = "default"
_RANK_SHARD: Final = re.compile(r"rank\d+", re.IGNORECASE)
#: Most file systems hold 255 bytes a name; a stream shares its file name with other words.
_STREAM_CHARACTERS_MAX: Final = 128
_NAME_BYTES_MAX: Final = 255
#: Folders that a search for runs goes through.
_LISTED_KINDS: Final = frozenset({"project", "run"})
#: Names that Windows gives to devices, in any letter case and with any extension.
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"com{number}" for number in range(1, 10)}
    | {f"lpt{number}" for number in range(1, 10)}
)


def stream_label(stream: str | None) -> str:
    """Return what people call a stream: its name, or ``default``."""
    return DEFAULT_LABEL if stream is None else stream


def stream_named(label: str) -> str | None:
    """Return the stream that people mean by a label; the other way round than `stream_label`."""
    return None if label == DEFAULT_LABEL else label


def check_stream(stream: object) -> str | None:
    """Return ``stream`` if it can be a stream's name (``None`` is the default producer).

    Raises:
        NameRefusedError: it cannot; the message says why.
    """
    if stream is None:
        return None
    if not isinstance(stream, str):
        raise NameRefusedError(
            f"stream={shown(stream)} ({type_name(stream)}): a stream is a text, or None for the "
            "default producer."
        )
    if not _STREAM.fullmatch(stream):
        raise NameRefusedError(
            f"stream={shown(stream)}: a stream is part of a file name: letters, digits, '_' and '-', "
            f"beginning with a letter or digit. Try {shown(_cleaned(stream))}."
        )
    if stream == DEFAULT_LABEL:
        raise NameRefusedError(
            f"stream={stream!r}: that is what the producer without a name is called. Leave stream "
            "out to be it, or try 'main'."
        )
    if _RANK_SHARD.fullmatch(stream):
        raise NameRefusedError(
            f"stream={shown(stream)}: 'rank' and a number already names the files of a rank. "
            f"Try 'worker{stream[4:44]}'."
        )
    if len(stream) > _STREAM_CHARACTERS_MAX:
        raise NameRefusedError(
            f"stream={stream[:40]!r}... has {len(stream)} characters; the limit is "
            f"{_STREAM_CHARACTERS_MAX}."
        )
    return stream


def _cleaned(stream: str) -> str:
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "-", stream).strip("-_")
    if cleaned == DEFAULT_LABEL:
        return "main"
    if not cleaned or _RANK_SHARD.fullmatch(cleaned):
        return "worker-" + cleaned if cleaned else "worker"
    return cleaned


def check_name(kind: str, name: object) -> str:
    """Return ``name`` if it can be one folder below its parent, on every common file system.

    Args:
        kind: what it names (``"project"``, ``"run"``, ``"artifact"``), for the message.
        name: the name.

    Raises:
        NameRefusedError: it could leave its folder or cannot be a folder.
    """
    if not isinstance(name, str):
        raise NameRefusedError(
            f"{kind} name {shown(name)} ({type_name(name)}): a name is a text; use str(...)."
        )
    rule = _broken_rule(name)
    if rule is None and kind in _LISTED_KINDS:
        rule = _hidden_rule(name)
    # Programs name runs by the time of day, so a run's name may have a colon.
    if rule is None and kind not in _LISTED_KINDS:
        rule = _unportable_rule(name)
    if rule is not None:
        raise NameRefusedError(
            f"{kind} name {shown(name)}: {rule}. Use letters, digits, spaces, '-', '_' and '.'."
        )
    return name


def _unportable_rule(name: str) -> str | None:
    if any(character in '<>:"|?*' for character in name):
        return 'the characters < > : " | ? * cannot be in it (Windows refuses them)'
    return None


def _broken_rule(name: str) -> str | None:  # noqa: PLR0911 - one line per rule
    if not name:
        return "a name cannot be empty"
    if name in {".", ".."}:
        return "it would leave its folder"
    if "/" in name or "\\" in name:
        return "a name is one folder, so '/' and '\\' cannot be in it"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "control characters (NUL, line breaks, ...) cannot be in it"
    if any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        return "it holds half of a surrogate pair, which no file system stores"
    if name[-1] in ". " or name[0] == " ":
        return "it cannot begin with a space or end with a space or a dot"
    if name.split(".", 1)[0].lower() in _DEVICES:
        return "Windows keeps that name for a device"
    if len(name.encode("utf-8")) > _NAME_BYTES_MAX:
        return f"it is longer than {_NAME_BYTES_MAX} bytes"
    return None


def _hidden_rule(name: str) -> str | None:
    """Return why a run of or below that folder would not be listed."""
    if name.lower() == "artifacts":
        return f"a project keeps its artifacts under that name. Try {name + '-1'!r}"
    if name[0] == ".":
        cleaned = name.lstrip(". ") or "run"
        if _broken_rule(cleaned) is not None or cleaned.lower() == "artifacts":
            cleaned = f"run-{cleaned}"
        return f"runs below hidden folders are not listed. Try {cleaned!r}"
    return None
