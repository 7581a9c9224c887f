"""The run that this process has open: one, none yet, none any more, or its parent's.

The one process-wide name. `current` opens and ends it; the exit hook ends what the program left open. A
forked child has no run: the parent's is discarded before any of its locks is touched, and what the child
logs without one of its own is counted, with one warning.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from expr_tracker.errors import NoRunError, RunActiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.run import Run

__all__ = [
    "discard",
    "discarded_calls",
    "has_had_one",
    "if_open",
    "is_discarded",
    "let_go",
    "need",
    "opening",
    "refuse",
    "run",
    "target",
]

#: The run; one that ended by itself may still stand here: `if_open` tells.
run: Run | None = None
#: Whether this process is a forked child of one that had a run open, and has none of its own.
is_discarded = False
# Re-entrant: a log handler that calls `init` within `init` gets an error, not a deadlock.
_lock = threading.RLock()
_is_opening = False
_has_finished = False
_dropped_in_child = 0
_has_warned = False


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Let the new run be opened within; no other is opened meanwhile.

    The caller sets `run` itself, by an assignment: into a call an exception from a signal handler
    could fall, and the run would be open with nobody to end it.

    Raises:
        RunActiveError: this process has an open run, or is just opening one.
    """
    global _is_opening, is_discarded, _dropped_in_child  # noqa: PLW0603 - the one process-wide name
    with _lock:
        if run is not None and not run.is_finished:
            raise RunActiveError(
                f"The run {run.name!r} is open in this process. Call et.finish() before the next "
                "et.init()."
            )
        if _is_opening:
            raise RunActiveError(
                "et.init() was called from within et.init() (by a log handler, for example): the "
                "first call opens the run."
            )
        _is_opening = True
        try:
            yield
            is_discarded = False
            _dropped_in_child = 0
        finally:
            _is_opening = False


def let_go(finished: Run) -> None:
    """Take in that a run has ended."""
    global run, _has_finished  # noqa: PLW0603 - the one process-wide name
    with _lock:
        if run is finished:
            run = None
        _has_finished = True


def has_had_one() -> bool:
    """Say whether a run was finished in this process, or discarded with a fork."""
    return _has_finished or is_discarded


def discarded_calls() -> int:
    """Return how many calls a forked child has lost since: its own run shows them."""
    return _dropped_in_child


def if_open() -> Run | None:
    """Return the current run unless it has ended: by ``with``, by its own ``finish``, ..."""
    current = run  # once: another thread may end it meanwhile
    return None if current is None or current.is_finished else current


def need(call: str) -> Run:
    """Return the current run.

    Raises:
        NoRunError: there is none; the message names the ``call``.
    """
    current = if_open()
    if current is None:
        refuse(call)
    return current


def target() -> Any:
    """Return where finished spans go; ``None`` without a run."""
    current = run
    return None if current is None else current.spans


def refuse(call: str) -> NoReturn:
    """Raise what a call meets that needs a run where none is open.

    Raises:
        NoRunError: always.
    """
    if is_discarded:
        raise NoRunError(
            f"et.{call}: this is a forked child, and the run of its parent is not its own. Call "
            "et.init() here, with a stream of its own."
        )
    raise NoRunError(f"et.{call}: no run is open. Call et.init(project=...) first.")


def discard(call: str) -> None:
    """Count a call that this forked child has no run for; the first one is warned about."""
    global _has_warned, _dropped_in_child  # noqa: PLW0603 - one warning a process
    _dropped_in_child += 1  # a run that the child opens later shows it in info()["loss"]
    if _has_warned:
        return
    _has_warned = True
    from expr_tracker.notices import logger  # noqa: PLC0415 - the rare way

    logger.warning(
        "et.%s in a forked child: the run of the parent is not this process's, so nothing is "
        "stored. Call et.init() in the child, with a stream of its own.",
        call,
    )


def _after_fork_in_child() -> None:
    """Discard what belongs to the parent; no lock of its is touched."""
    global run, is_discarded, _lock, _is_opening, _has_finished  # noqa: PLW0603 - a new process
    global _has_warned, _dropped_in_child  # noqa: PLW0603 - as above
    runs = sys.modules.get("expr_tracker.run.run")
    if runs is not None:
        runs.abandon_open_runs()
    is_discarded = is_discarded or if_open() is not None
    _has_warned = False
    _dropped_in_child = 0
    _has_finished = False
    run = None
    _lock = threading.RLock()
    _is_opening = False


def _at_exit() -> None:
    """Close the run that the program left open."""
    current = run
    if current is not None:
        from expr_tracker.run.run import finish_at_exit  # noqa: PLC0415 - loaded: there is a run

        finish_at_exit(current)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
