"""Which version a text such as ``"model:best"`` means, and what to say when there is none."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from expr_tracker.artifacts.names import LATEST, version_number, version_text
from expr_tracker.errors import ArtifactNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from expr_tracker.artifacts.index import Index, Record

__all__ = ["nearest", "select"]

#: A message lists this many names, versions or aliases; ``et artifact list`` gives all.
_NAMES_SHOWN_MAX: Final = 20


def select(index: Index, name: str, selector: str) -> Record:
    """Return the version of ``name`` that ``selector`` (``latest``, ``v3``, an alias) means.

    Raises:
        ArtifactNotFoundError: there is none; the message lists what there is in the store.
    """
    if not index.versions(name):
        names = index.names()
        raise ArtifactNotFoundError(
            f"No artifact {name!r} in {index.path.parent}.{nearest(name, names)} "
            f"{_all_of('It has', names, 'It has none yet.')}"
        )
    number = version_number(selector)
    if selector == LATEST:
        record = index.latest(name)
    elif number is not None:
        record = index.version(name, number)
    else:
        record = index.aliased(name, selector)
    if record is None:
        aliases = index.aliases(name)
        versions = [version_text(one.version) for one in index.versions(name)]
        raise ArtifactNotFoundError(
            f"Artifact {name!r} has no version or alias {selector!r}."
            f"{nearest(selector, [*aliases, *versions, LATEST])} "
            f"{_all_of('It has', versions, '')} "
            f"{_all_of('Its aliases are', aliases, 'It has no aliases.')}"
        )
    return record


def nearest(word: str, words: Iterable[str]) -> str:
    """Return a hint that offers the words nearest to ``word``; empty if none is near."""
    near = difflib.get_close_matches(word, list(words), n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _all_of(intro: str, words: list[str], otherwise: str) -> str:
    if not words:
        return otherwise
    # The newest versions stand at the end.
    shown = words[-_NAMES_SHOWN_MAX:]
    more = len(words) - len(shown)
    return f"{intro} {f'{more} more and ' if more else ''}{', '.join(shown)}."
