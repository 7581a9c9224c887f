"""Timelines: the spans of a run as Chrome Trace JSON, and summed up.

>>> from expr_tracker.trace import summarize, write_trace
>>> write_trace("runs/llm/sft-1", "trace.json", metrics=["loss"])
1842
>>> summarize("runs/llm/sft-1")[0].paths[0].path
'step'

Open the file in https://ui.perfetto.dev or ``chrome://tracing``: a process per stream and rank,
nested boxes for spans, a counter track per chosen metric. Spans that are still open, or that a
killed process never ended, are not in it.
"""

from __future__ import annotations

from expr_tracker.spans.timeline import PathTime, StreamTime, summarize
from expr_tracker.spans.trace import build_trace, write_trace

__all__ = ["PathTime", "StreamTime", "build_trace", "summarize", "write_trace"]
