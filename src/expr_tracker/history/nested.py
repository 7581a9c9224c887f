"""Names that lead into dicts: ``a/b`` also means ``b`` of the dict that was logged as ``a``.

A dict is stored as it was logged. A question that names ``a/b`` is answered with the metric of that
name, and in rows without one with what the path leads to, so that both spellings are one series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from expr_tracker.history.question import is_glob, select_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

__all__ = ["Way", "heads_of", "names_meant", "reached", "ways_to"]

#: A way into a dict: the metric that holds it, and the path from there.
Way = tuple[str, str]


def heads_of(name: str) -> list[Way]:
    """Return every way that a name may be cut in two at a slash, the shortest head first."""
    cuts = [place for place, character in enumerate(name) if character == "/"]
    return [(name[:cut], name[cut + 1 :]) for cut in cuts]


def ways_to(name: str, existing: Collection[str]) -> list[Way]:
    """Return the ways to a name that begin with a metric that exists."""
    return [way for way in heads_of(name) if way[0] in existing]


def reached(row: Mapping[str, Any], ways: Iterable[Way]) -> Any:
    """Return what the first way leads to that leads anywhere; ``UNSET`` where none does."""
    for head, path in ways:
        value = row.get(head)
        if isinstance(value, dict):
            found = value.get(path, UNSET)
            if found is UNSET:
                found = reached(value, heads_of(path))
            if found is not UNSET:
                return found
    return UNSET


def names_meant(
    wanted: tuple[str, ...],
    existing: Collection[str],
    dicts_of: Callable[[str], Iterable[dict[str, Any]]],
) -> list[str]:
    """Return the names that a selection means, paths into dicts included.

    Args:
        wanted: names and globs. A glob that does not match a metric may match the paths of what it
            holds: ``a/*`` names the members of a dict ``a``, ``*`` names ``a`` alone.
        existing: the metrics, in the order they were first logged.
        dicts_of: returns the dicts among a metric's values, in the order of the rows.
    """
    if not any(is_glob(name) and "/" in name for name in wanted):
        return select_names(wanted, existing)
    chosen = set(select_names(wanted, existing))
    paths: dict[str, None] = dict.fromkeys(existing)
    for name in existing:
        if name not in chosen:
            for value in dicts_of(name):
                paths.update(dict.fromkeys(_leaves(name, value)))
    return select_names(wanted, paths)


def _leaves(name: str, value: dict[str, Any]) -> Iterator[str]:
    for key, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _leaves(f"{name}/{key}", inner)
        else:
            yield f"{name}/{key}"
