"""What lies within a run's directory, and which of it is the run's own.

Exports and timelines may be written anywhere but over the files of a run; names that were read from
a file may lead anywhere and are followed within the run only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.paths import real_path

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_own_file", "path_within"]

_OF_PRODUCER: Final = r"(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)?(?:\.rank\d+)?"
#: Below a run directory. In any letter case: on some file systems it is the same file.
_OWN: Final = re.compile(
    r"run\.json|artifacts\.jsonl"
    rf"|(?:metrics|spans|console){_OF_PRODUCER}\.(?:jsonl|meta\.json|lock|open\.json|torn)"
    rf"|(?:summary|config|about|environment){_OF_PRODUCER}(?:\._attempt\d+)?\.json"
    r"|[^/]+\.jsonl\.parts(?:/.*)?|media(?:/.*)?",
    re.IGNORECASE | re.DOTALL,
)


def is_own_file(path: Path, run: Path) -> bool:
    """Say whether a file of that path would be one of a run's own, there already or not.

    Args:
        path: where something else is about to be written.
        run: the run that it is made of: its directory, or one of its files. Other runs are known
            by their identity.
    """
    target = real_path(path.parent) / path.name
    source = real_path(run)
    if target == source:
        return True
    home = source if source.is_dir() else source.parent
    if home.name.endswith(".parts"):
        home = home.parent
    for folder in target.parents:
        if (folder == home or (folder / "run.json").is_file()) and _OWN.fullmatch(
            target.relative_to(folder).as_posix()
        ):
            return True
    return False


def path_within(directory: Path, name: str) -> Path | None:
    """Return the place that ``name`` has below ``directory``, links followed.

    ``None``: it lies elsewhere. A name that was read from a file may hold ``..`` or be a link.
    """
    root = real_path(directory)
    try:
        target = real_path(root / name)
    except (OSError, ValueError) as error:  # a NUL, a name that is too long
        if is_from_signal(error):
            raise
        return None
    return target if target != root and target.is_relative_to(root) else None
