"""The summary of a run: a `mapping` of every metric to its last value, loaded when it is asked for.

This package is loaded by ``import expr_tracker``, whose function ``summary`` shares its name; what
stands in it would be paid for by every program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expr_tracker.summary.mapping import Summary

__all__ = ["Summary"]


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "Summary":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from expr_tracker.summary.mapping import Summary  # noqa: PLC0415 - see above

        return Summary
