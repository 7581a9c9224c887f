"""Spans: how long the parts of a step take, and the timeline that they form.

`span` measures one part and hands it to the open run; `stack` knows which spans are open around the
caller, `own_clock` is the clock of spans without a run, `recording` takes a finished one to the run,
and `target` says what it asks of it; `hooks` call the plugins that measure more than time: `cpu_time`,
`gpu_stats`, `torch_memory`; `printing` makes the lines for ``print_fn``; `decorate` wraps functions.
Reading back: `records` reads span files, `lanes` arranges overlapping spans, `trace` writes Chrome
Trace JSON, `timeline` sums up where the time went.

This package is imported by ``import expr_tracker``, so what it holds is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.loading import Late

if TYPE_CHECKING:
    from expr_tracker.spans.span import Span

__all__ = ["NAMED_BY_KEYWORD", "Span", "name_among", "span_class"]


def _load_span() -> type[Span]:
    from expr_tracker.spans.span import Span  # noqa: PLC0415 - only who times pays

    return Span


#: The class `Span`, loaded by the first span. Look at ``made`` first: that is no call.
span_class = Late(_load_span)

#: Stands for the name where a call gives it by keyword: then it is among the attributes.
NAMED_BY_KEYWORD: Final[Any] = object()


def name_among(attributes: dict[str, Any], call: str) -> Any:
    """Take the name out of the attributes of a call that gave none by position.

    Beside a name by position, ``name`` is an attribute like any other.

    Raises:
        TypeError: it is not there either.
    """
    try:
        return attributes.pop("name")
    except KeyError:
        raise TypeError(
            f'{call}() has no name: give the last part of the path, {call}("forward").'
        ) from None


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "Span":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return span_class.get()
