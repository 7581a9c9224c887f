"""What retention has deleted of a run, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRUNED", "pruned_text"]

#: What goes for its age, and what one and several of it are called.
PRUNED: Final = {
    "points": ("point", "points"),
    "log_lines": ("log line", "log lines"),
    "spans": ("span", "spans"),
    "media_items": ("media item", "media items"),
}


def pruned_text(counts: Mapping[str, int]) -> str:
    """Return what was deleted, such as ``10 points and 1 log line were deleted``.

    Args:
        counts: how much of what `PRUNED` names.
    """
    told = [
        f"{counts[name]} {words[counts[name] != 1]}"
        for name, words in PRUNED.items()
        if counts.get(name)
    ]
    if not told:
        return "nothing was deleted"
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    verb = "was" if sum(counts.get(name, 0) for name in PRUNED) == 1 else "were"
    return f"{listed} {verb} deleted"
