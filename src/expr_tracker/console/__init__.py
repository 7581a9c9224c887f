"""The console of a run: standard output and error, kept beside the rows and still on the screen.

`capture` stands in for the two streams while the run is open; `reading` gives back what was printed,
as a terminal would show it in the end.

::

    from expr_tracker.console import read_console
    for line in read_console("runs/llm/sft-1/console.jsonl"):
        print(line["text"])
"""

from __future__ import annotations

from expr_tracker.console.reading import collapse, console_file, read_console

__all__ = ["collapse", "console_file", "read_console"]
