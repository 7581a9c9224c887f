"""A local-first experiment tracker: every process appends to its own stream of a run directory.

::

    import expr_tracker as et

    et.init(project="digits", name="first")
    for step in range(100):
        with et.span("train"):
            loss = ...
        et.log({"train/loss": loss})
    print(et.history(5))
    et.finish()

Nothing here needs a server. Rows are plain JSON lines that belong to you; see
`expr_tracker.store.lines` for the format. Importing the package loads only what every program uses:
the rest comes with the first call that needs it.

The rooms, in the order in which a value walks through them: `current` acts on this process's run, which
`own_run` holds; `run` opens a directory and wires the rest; `record` makes rows of values, `store` writes
and reads files; `history` makes answers of rows. Beside them `spans` (with `plugins` and `trace`),
`media`, `capture`, `system`, `console`, `artifacts`, `summary` and `rescue`, which puts back what a full
disk kept out; `backends` mirror a run elsewhere while it goes on. Below everything `options`, `row` and the `nonfinite` numbers in it, `ranges` of steps and times, `metric_names`, `errors`, `interruption`
(whose exception it is), `clock`, `notices`, `arrays`, `limits` of what a value may hold, `texts` of
objects that are not ours, `extras` that are not installed, `surrogates` and `loading`; above it `cli`, the
command ``et``, and `testing`.

``history`` and ``summary`` are functions here and sub-modules too, and the functions win: ``import
expr_tracker.history as h`` binds the function. What the sub-modules hold is had by
``from expr_tracker.history import read_history``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if os.name != "posix":  # before anything is loaded that would fail with less to say
    raise ImportError(
        "expr_tracker runs on Linux and macOS: it needs their file locks. On Windows, use it in WSL."
    )

# These sub-modules share their names with functions below. Loading them first lets the functions
# stand: a later `from expr_tracker.history import ...` finds them loaded and binds nothing.
import expr_tracker.history
import expr_tracker.summary  # noqa: F401
from expr_tracker.current import (
    define_metric,
    finish,
    get_run,
    history,
    info,
    init,
    log,
    log_artifact,
    rewind,
    span,
    start_span,
    summary,
    use_artifact,
)

if TYPE_CHECKING:
    from expr_tracker import errors, options, plugins, trace
    from expr_tracker.artifacts import Artifact
    from expr_tracker.media import Figure, Image, Table
    from expr_tracker.run import Run
    from expr_tracker.spans import Span

    __version__: str

__all__ = [
    "Artifact",
    "Figure",
    "Image",
    "Run",
    "Span",
    "Table",
    "__version__",
    "define_metric",
    "errors",
    "finish",
    "get_run",
    "history",
    "info",
    "init",
    "log",
    "log_artifact",
    "options",
    "plugins",
    "rewind",
    "span",
    "start_span",
    "summary",
    "trace",
    "use_artifact",
]

_LAZY = {
    "Artifact": "expr_tracker.artifacts",
    "Figure": "expr_tracker.media",
    "Image": "expr_tracker.media",
    "Run": "expr_tracker.run",
    "Span": "expr_tracker.spans",
    "Table": "expr_tracker.media",
}
_MODULES = frozenset({"errors", "options", "plugins", "trace"})


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib  # noqa: PLC0415 - only names that are not loaded come here

        if name in _LAZY:
            value = getattr(importlib.import_module(_LAZY[name]), name)
        elif name in _MODULES:
            return importlib.import_module(f"expr_tracker.{name}")
        elif name == "__version__":
            from importlib import metadata  # noqa: PLC0415 - 10 ms that few programs need

            try:
                value = metadata.version("expr-tracker")
            except metadata.PackageNotFoundError:
                value = "0.0.0.dev0"
        else:
            raise AttributeError(f"module 'expr_tracker' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__", "__file__", "__name__", "__path__"})
