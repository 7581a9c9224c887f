"""What the recorder does not store as it was meant, in words: refused, counted, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from expr_tracker.errors import ForkedObjectError, StepOrderError
from expr_tracker.record.open_row import OVERFLOW_PATH, SPAN_PATHS_MAX

if TYPE_CHECKING:
    from expr_tracker.notices import Notices
    from expr_tracker.record.open_row import OpenRow
    from expr_tracker.row import Row

__all__ = [
    "drop_backward",
    "drop_late",
    "merge_span",
    "raise_backward",
    "raise_forked",
    "warn_of_repeats",
]

#: A path is shown by its beginning: it may be of any length.
_PATH_CHARACTERS_MAX: Final = 80


def raise_backward(wanted: int, limit: int) -> NoReturn:
    """Refuse a step below the newest one under ``step_policy="strict"``.

    Raises:
        StepOrderError: always.
    """
    raise StepOrderError(
        f"step={wanted} is below the newest step {limit} and step_policy is 'strict'. "
        "Log steps in order, or use step_policy='allow', which stores every step."
    )


def drop_backward(wanted: int, values: Row, *, limit: int, notices: Notices) -> None:
    """Count values at a step below the newest one under ``step_policy="monotonic"``."""
    notices.count_row_of_values()
    for name in values or ("(empty rows)",):
        kind = f"values of {name} below the newest step"
        notices.count("dropped", kind, subject="values")
        notices.once(
            ("backward", name),
            f"{name!r} at step {wanted} was dropped: the newest step is {limit} and "
            "step_policy is 'monotonic'. Further ones are counted in info()['loss']; "
            "step_policy='allow' stores them.",
        )


def warn_of_repeats(row: OpenRow, values: Row, notices: Notices) -> None:
    """Point out names that an open row holds already: the later value will replace them."""
    if row.values:
        for name in row.values.keys() & values.keys():
            notices.once(
                ("repeat", name),
                f"{name!r} was logged more than once at step {row.step}: the last value stays.",
            )


def merge_span(path: str, notices: Notices) -> None:
    """Count a span whose time is added up with others, for the row has its fill of paths."""
    notices.count("degraded", f"spans counted as {OVERFLOW_PATH}")
    shown = path if len(path) <= _PATH_CHARACTERS_MAX else path[:_PATH_CHARACTERS_MAX] + "..."
    notices.once(
        "merged span",
        f"The span {shown!r} is beyond the {SPAN_PATHS_MAX} span paths of one row: its time is added "
        f"to 'time_ms/{OVERFLOW_PATH}', as that of further ones; the span file has each. Put what "
        "differs from span to span into attributes (et.span('load', key=...)), or log more often.",
    )


def drop_late(call: str, notices: Notices) -> None:
    """Count a call that came when the run had finished."""
    notices.count("dropped", f"{call} calls after finish")
    notices.once(
        ("finished", call),
        f"{call} was called after the run had finished: nothing is stored. Call init again.",
    )
    notices.emit()


def raise_forked() -> NoReturn:
    """Refuse the parent's run, or a part of it, in a forked child.

    Raises:
        ForkedObjectError: always.
    """
    raise ForkedObjectError(
        "This run belongs to the parent process. Call et.init() in the child, with a stream of its "
        "own."
    )
