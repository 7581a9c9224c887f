"""Spans: how long the parts of a step take, and the timeline that they form.

`span` measures one part and hands it to the open run; `stack` knows which spans are open around the
caller, `recording` takes a finished one to the run, and `target` says what it asks of it; `hooks` call the plugins that
measure more than time: `cpu_time`, `gpu_stats`, `torch_memory`; `printing` makes the lines for
``print_fn``; `decorate` wraps functions. Reading back: `records` reads span files, `lanes` arranges overlapping spans,
`trace` writes Chrome Trace JSON, `timeline` sums up where the time went.
"""

from __future__ import annotations

from expr_tracker.spans.span import Span, SpanTarget, settle_collected

__all__ = ["Span", "SpanTarget", "settle_collected"]
