"""Which directory a run lives in.

A relative path is relative to where the process stood at ``init``, and to nothing later: what a `Place`
holds is absolute, so that a program that changes its directory goes on writing into one run.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import NameRefusedError, OptionError
from expr_tracker.interruption import is_from_signal
from expr_tracker.options import root_from_environment
from expr_tracker.store.files import StreamKey, stream_keys
from expr_tracker.store.lock import is_locked
from expr_tracker.store.names import check_name
from expr_tracker.store.paths import absolute, path_given, real_path
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.notices import Notices

__all__ = ["Place", "check_case", "resolve_place", "seen_from_here"]

_DEFAULT_ROOT: Final = Path("runs")
_OLD_ROOT: Final = Path("tracker", "jsonl")


@dataclass(frozen=True)
class Place:
    """A run's directory and its neighbours."""

    directory: Path
    """The run directory, absolute."""
    artifacts: Path
    """The project's artifact store, absolute."""
    project: str
    name: str


def resolve_place(
    project: str,
    name: str | None,
    *,
    root: str | os.PathLike[str] | None,
    run_dir: str | os.PathLike[str] | None,
    notices: Notices,
) -> Place:
    """Return where the run goes: ``<root>/<project>/<name>``, or ``run_dir`` itself.

    Raises:
        OptionError: both ``root`` and ``run_dir`` are given, or ``run_dir`` has no name.
        NameRefusedError: project or name cannot be a folder's name.
        OSError: the path is relative and the working directory is gone.
    """
    check_name("project", project)
    if name is not None:
        check_name("run", name)
    if root is not None and run_dir is not None:
        raise OptionError(
            f"dir={shown(root)} and run_dir={shown(run_dir)}: give one of them. dir is "
            "the root of all runs, run_dir the directory of this one."
        )
    if run_dir is not None:
        directory = absolute(path_given(run_dir, "run_dir", OptionError))
        # "." and ".." have a name only where they lead to.
        label = name if name is not None else real_path(directory).name
        if not label:
            raise OptionError(
                f"run_dir={shown(os.fspath(run_dir))}: the root of a file system is no run's directory. "
                "Pass a folder below it."
            )
        return Place(directory, directory / "artifacts", project, label)
    base = absolute(_root(root, notices)) / project
    label = name if name is not None else _new_name(notices)
    return Place(base / label, base / "artifacts", project, label)


def seen_from_here(directory: Path) -> Path:
    """Return how a message names ``directory``: short where it lies below the working directory."""
    try:
        return directory.relative_to(Path.cwd())
    except (OSError, ValueError) as error:
        if is_from_signal(error):
            raise
        return directory


def _root(root: str | os.PathLike[str] | None, notices: Notices) -> Path:
    if root is not None:
        return path_given(root, "dir", OptionError)
    from_environment = root_from_environment()
    if from_environment is not None:
        return path_given(from_environment, "ET_DIR", OptionError)
    if _OLD_ROOT.is_dir() and not _DEFAULT_ROOT.exists():
        notices.say(
            f"Earlier runs lie under {_OLD_ROOT}; this one goes to {_DEFAULT_ROOT}. Set "
            f"ET_DIR={_OLD_ROOT} to keep them together."
        )
    return _DEFAULT_ROOT


def _new_name(notices: Notices) -> str:
    # The second alone is no name: jobs that a scheduler starts together share it.
    name = time.strftime("run-%Y%m%d-%H%M%S-") + secrets.token_hex(3)
    notices.say(f"The run has no name; it is called {name!r}. Pass name= to choose one.")
    return name


def check_case(directory: Path, key: StreamKey) -> None:
    """Refuse a new stream that differs from an existing one by letter case only.

    On file systems that ignore case the two would be one file. A stream that exists under exactly
    that name is not refused: it can only have been copied or written where case counts.

    Raises:
        NameRefusedError: there is such a stream.
    """
    wanted = key.stream
    if wanted is None:
        return
    names = {existing.stream for existing in stream_keys(directory)}
    if wanted in names:
        return
    for name in [*sorted(name for name in names if name is not None), *_begun(directory)]:
        if name != wanted and name.lower() == wanted.lower():
            raise NameRefusedError(
                f"stream={wanted!r}: this run has a stream {name!r}, and file systems that ignore "
                f"letter case would mix the two. Use {name!r} or another name."
            )


def _begun(directory: Path) -> Iterator[str]:
    """Yield the streams that a live process has locked, so also those that have no rows yet."""
    for path in sorted(directory.glob("metrics.*.lock")):
        key = StreamKey.from_file(path.name.removesuffix(".lock") + ".jsonl")
        if key is not None and key.stream is not None and is_locked(path):
            yield key.stream
