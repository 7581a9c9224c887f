"""Which spans are open around the caller, per thread and per asyncio task.

The stack is a linked list in a context variable, newest first. An entry never owns its span: one
that ended elsewhere, or that nobody holds any more, is skipped the next time somebody looks. So an
end in another thread or task, out of order, or never, leaves no prefix behind. Nothing runs when a
span is collected: a finaliser in Python would swallow the Ctrl-C that arrives in it.

A forked child starts with an empty stack and a new `generation`; objects remember theirs, which is
how a parent's object is recognised without touching a lock.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from expr_tracker.errors import ForkedObjectError
from expr_tracker.notices import Notices
from expr_tracker.record.open_row import OVERFLOW_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.spans.span import Span
    from expr_tracker.spans.target import SpanTarget

__all__ = [
    "DEPTH_MAX",
    "OVERFLOW_PATH",
    "PATH_CHARACTERS_MAX",
    "Entry",
    "after_fork_in_child",
    "entry_of",
    "open_spans",
    "refuse_after_fork",
    "remaining",
    "report_lost",
    "settle_collected",
    "settled",
    "skip_ended",
    "warn_once",
]

#: ``[weak reference to the span, or None once it has ended; the entry below; the span's name]``.
#: A list, because the end of a span marks it in every context that holds the entry.
Entry = list[Any]

#: A path deeper than this is a span that opens itself; no timeline shows it.
DEPTH_MAX: Final = 256
#: A path is a metric's name, and a table's column: longer ones help nobody.
PATH_CHARACTERS_MAX: Final = 1_000
#: The newest open span's entry. Read it as ``stack.open_spans``: a forked child replaces it.
open_spans: ContextVar[Entry | None] = ContextVar("expr_tracker_spans", default=None)
#: Which process this is, counted in forks. Read it as ``stack.generation``.
generation: int = 0
_notices = Notices()
_after_fork: list[Callable[[], None]] = []


def warn_once(key: object, text: str) -> None:
    """Log ``text`` as a warning unless this process said something under ``key`` before."""
    _notices.once(key, text)
    _notices.emit()


def entry_of(span: Span, below: Entry | None) -> Entry:
    """Return the entry of an open span on top of ``below``."""
    return [ref(span), below, span.name]


def skip_ended(entry: Entry | None, lost: list[str]) -> Entry | None:
    """Return the first entry from ``entry`` down whose span is open.

    Names of spans that were thrown away while open go to ``lost``, each once.
    """
    while entry is not None:
        reference = entry[0]
        if reference is not None:
            span = reference()
            if span is None:
                entry[0] = None
                lost.append(entry[2])
            elif span.is_open:
                return entry
        entry = entry[1]
    return None


def remaining(entry: Entry | None, lost: list[str]) -> tuple[Entry | None, list[str]]:
    """Return the stack without the spans that have ended, and the open ones' names, root first."""
    kept: list[Entry] = []
    while (entry := skip_ended(entry, lost)) is not None:
        kept.append(entry)
        entry = entry[1]
    rebuilt: Entry | None = None
    for known in reversed(kept):
        rebuilt = [known[0], rebuilt, known[2]]
    return rebuilt, [known[2] for known in reversed(kept)]


def refuse_after_fork(what: str) -> ForkedObjectError:
    """Return the error for an object of the parent process."""
    return ForkedObjectError(
        f"{what} belongs to the parent process. A forked child measures with its own: make it "
        "after the fork (and call init there to record)."
    )


def after_fork_in_child(reset: Callable[[], None]) -> None:
    """Have ``reset`` called in every forked child, before its own code runs."""
    _after_fork.append(reset)


def _begin_child() -> None:
    global generation, open_spans  # noqa: PLW0603 - one per process, and a fork replaces it
    generation += 1
    # A new variable, not `set(None)`: contexts that tasks copied in the parent are empty too.
    open_spans = ContextVar("expr_tracker_spans", default=None)
    for reset in _after_fork:
        reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def settle_collected(target: SpanTarget | None = None) -> None:
    """Take spans off the caller's stack that were thrown away while open; count them in a run.

    Spans do this as they begin; whoever closes a run does it for those after which none began.
    """
    below = open_spans.get()
    if below is not None:
        below, _ = settled(below, target)
        open_spans.set(below)


def settled(below: Entry, target: SpanTarget | None) -> tuple[Entry | None, Span | None]:
    """Return the newest entry whose span is open, and the span; count those thrown away before it."""
    lost: list[str] = []
    found = skip_ended(below, lost)
    report_lost(lost, target)
    span = found[0]() if found is not None and found[0] is not None else None
    return (found, span) if span is not None else (None, None)


def report_lost(names: list[str], target: SpanTarget | None) -> None:
    """Count spans that nobody ended in a run, and say so once."""
    for name in names:
        if target is not None:
            target.count_dropped("spans never ended")
        warn_once(
            "lost",
            f"The span {name!r} began and was thrown away without an end: it is dropped. "
            "Call .end(), or use it in a with statement.",
        )
