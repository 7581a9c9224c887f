"""How spans call their plugins: what a plugin is, in which order, and what a failing one costs.

A plugin is an object with ``start(span)`` and ``end(span) -> dict``, or a function
``(span) -> dict`` that is called at the end. Both run outside of the measured time. A plugin that
raises is named once and left out of that span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from expr_tracker.errors import ForkedObjectError
from expr_tracker.interruption import is_from_signal
from expr_tracker.row import key_text
from expr_tracker.spans import stack
from expr_tracker.spans.stack import warn_once
from expr_tracker.texts import shown, text_of, type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from expr_tracker.record.open_row import Join
    from expr_tracker.row import Row
    from expr_tracker.spans.span import Span

__all__ = ["JOINS", "OwnedByProcess", "SpanPlugin", "end_plugins", "start_plugins"]

#: How a metric of a plugin joins the value before, where a path ends several times within a row.
#: What stands in no line here is added up.
JOINS: Final[Mapping[str, Join]] = {
    "cpu_percent": "average",
    "gpu_percent": "average",
    "gpu_mem_peak_mb": "peak",
    "gpu_mem_used_mb": "peak",
}
#: The metrics that a span makes itself.
_RESERVED: Final = frozenset({"time_ms", "count"})
_MESSAGE_CHARACTERS_MAX: Final = 200


class SpanPlugin(Protocol):
    """Measures something around a span."""

    def start(self, span: Span) -> object:
        """Begin to measure; called before the span's clock starts."""
        ...

    def end(self, span: Span) -> Mapping[str, Any] | None:
        """Return what was measured; called after the span's clock stopped."""
        ...


class OwnedByProcess:
    """A plugin whose state means something only in the process that made it."""

    def __init__(self) -> None:
        self._generation = stack.generation

    def check_process(self) -> None:
        """Refuse to work in a forked child.

        Raises:
            ForkedObjectError: this is the parent's plugin.
        """
        if self._generation != stack.generation:
            raise stack.refuse_after_fork(f"The plugin {type(self).__name__}")


def start_plugins(plugins: Sequence[Any], span: Span) -> None:
    """Call every plugin's ``start``.

    Raises:
        ForkedObjectError: one of them belongs to the parent process.
    """
    for plugin in plugins:
        start = getattr(plugin, "start", None)
        if start is None:
            continue
        try:
            start(span)
        except ForkedObjectError:
            raise
        except Exception as error:  # the user's plugin may raise anything
            if is_from_signal(error):
                raise
            _report(plugin, "start", error)


def end_plugins(plugins: Sequence[Any], span: Span) -> Row:
    """Return what the plugins measured; of two equal names the later plugin's wins."""
    metrics: Row = {}
    for plugin in plugins:
        end = getattr(plugin, "end", plugin)
        try:
            measured = end(span)
            if measured is not None:
                metrics.update((key_text(name), value) for name, value in measured.items())
        except Exception as error:  # the user's plugin may raise anything
            if is_from_signal(error):
                raise
            _report(plugin, "end", error)
    for name in _RESERVED & metrics.keys():
        del metrics[name]
        warn_once(
            ("plugin metric", name),
            f"A span plugin returned the metric {shown(name)}, which spans make themselves: it is left "
            "out. Rename it.",
        )
    return metrics


def _report(plugin: object, hook: str, error: Exception) -> None:
    name = getattr(plugin, "__name__", type(plugin).__name__)
    message = f"{type_name(error)}: {text_of(str, error)}"[:_MESSAGE_CHARACTERS_MAX]
    warn_once(
        ("plugin", name, hook, message),
        f"The span plugin {name} raised in {hook}: {message}. That span goes without it.",
    )
