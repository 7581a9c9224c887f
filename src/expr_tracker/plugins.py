"""Span plugins: what a span measures besides its time.

>>> from expr_tracker.plugins import CpuTime
>>> with et.span("forward", plugins=[CpuTime()]):
...     model(batch)

`CpuTime` adds ``cpu_time_ms`` and ``cpu_percent``, `TorchMemory` adds ``gpu_mem_peak_mb`` and
``gpu_mem_delta_mb``, `GpuStats` adds ``gpu_percent`` and ``gpu_mem_used_mb``; each is recorded as
``<metric>/<span path>``. Spans inside inherit the plugins, and ``init(span_plugins=[...])`` gives
them to all spans of a run.

A plugin of your own has ``start(span)`` and ``end(span) -> dict``; a function ``(span) -> dict``
will do for what is read once, at the end.

Make plugins in the process that uses them: a forked child refuses its parent's.
"""

from __future__ import annotations

from expr_tracker.spans.cpu_time import CpuTime
from expr_tracker.spans.gpu_stats import GpuStats, stop_samplers
from expr_tracker.spans.hooks import SpanPlugin
from expr_tracker.spans.torch_memory import TorchMemory

__all__ = ["CpuTime", "GpuStats", "SpanPlugin", "TorchMemory", "stop_samplers"]
