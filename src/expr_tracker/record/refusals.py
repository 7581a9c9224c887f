"""What the recorder does not store as it was meant, in words: refused, counted, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from expr_tracker.errors import ForkedObjectError, StepOrderError

if TYPE_CHECKING:
    from expr_tracker.notices import Notices
    from expr_tracker.record.open_row import OpenRow
    from expr_tracker.row import Row

__all__ = ["drop_backward", "drop_late", "raise_backward", "raise_forked", "warn_of_repeats"]


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


def drop_late(call: str, notices: Notices) -> None:
    """Count a call that came when the run had finished."""
    notices.count("dropped", f"{call} calls after finish")
    notices.once(
        ("finished", call),
        f"{call} was called after the run had finished: nothing is stored. Call init again.",
    )
    notices.emit()


def raise_forked() -> NoReturn:
    """Refuse a call on the parent's run in a forked child.

    Raises:
        ForkedObjectError: always.
    """
    raise ForkedObjectError(
        "This run belongs to the parent process: a forked child cannot write to it. Call et.init() "
        "in the child, with a stream of its own."
    )
