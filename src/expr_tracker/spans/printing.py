"""The two lines that ``print_fn`` receives of a span.

::

    -> step  14:03:22
      -> forward  14:03:22
      <- forward  14:03:22  12.345ms  cpu_percent=99.1
    <- step  14:03:22  40.002ms  !ValueError

Indented by two spaces a level, counted from the span that began to print.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.spans.stack import warn_once
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.spans.span import Span

__all__ = ["end_line", "say", "start_line"]


def start_line(span: Span, level: int) -> str:
    """Return the line of a span that begins now."""
    return f"{'  ' * level}-> {span.name}  {time.strftime('%H:%M:%S')}"


def end_line(span: Span, level: int) -> str:
    """Return the line of a span that ended just now."""
    parts = [f"<- {span.name}", time.strftime("%H:%M:%S"), f"{span.duration_ms:.3f}ms"]
    parts += [f"{name}={value}" for name, value in span.metrics.items()]
    if span.error is not None:
        parts.append(f"!{span.error}")
    return "  " * level + "  ".join(parts)


def say(print_fn: Callable[[str], object], line: str) -> None:
    """Hand ``line`` to the user's function; its failure is logged once and does not stop a span."""
    try:
        print_fn(line)
    except Exception as error:  # the user's function may raise anything
        if is_from_signal(error):
            raise
        warn_once(
            ("print_fn", type(error)),
            f"A span's print_fn raised {shown(error)}; the line is left out.",
        )
