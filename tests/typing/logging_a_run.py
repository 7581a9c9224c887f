"""Logging a run, as a type checker sees it; an ignored error is one that it has to find."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, assert_type

import expr_tracker as et
from expr_tracker.testing import ManualClock

with et.init("project", "name", dir=Path("runs"), config={"lr": 0.1}, stream="data") as run:
    assert_type(run, et.Run)
    assert_type(run.step, int)
    assert_type(run.dir, str)
    run.log({"loss": 1.0}, step=3)

et.init(project="p", tags=["a"], notes="n", resume_step=10, durability="fsync")
settings: dict[str, Any] = {"stream": "data"}
et.init("p", print_to_screen=True, span_plugins=[print], capture=False, **settings)
et.log({"loss": 0.5, "picture": et.Image([[0, 255]])})
et.log({"acc": 1}, step=2, commit=True)
et.define_metric("loss", unit="nats", goal="minimize")
et.rewind(5)
assert_type(et.get_run(), et.Run | None)
assert_type(et.info(), dict[str, Any])
assert_type(et.summary(), MutableMapping[str, Any])
et.summary()["best"] = 0.9

with et.span("train", batch=3) as span:
    assert_type(span, et.Span)
    assert_type(span.duration_ms, float)
assert_type(et.start_span("load"), et.Span)
assert_type(et.span(name="load", batch=3), et.Span)
assert_type(et.start_span(name="load"), et.Span)
assert_type(et.span("load", name="an attribute"), et.Span)
assert_type(run.span(name="load"), et.Span)
assert_type(et.start_span("load").end(), float)


@et.span("step")
def step(size: int) -> float:
    """Keep its types behind the decorator."""
    return size / 2


assert_type(step(4), float)
step("4")  # type: ignore[arg-type]


@et.span("fetch")
async def fetch(name: str) -> bytes:
    """Keep its types too."""
    return name.encode()


async def fetched() -> bytes:
    """Await what was decorated."""
    return await fetch("a")


artifact = et.Artifact("model", type="model").add_file("model.pt")
assert_type(artifact, et.Artifact)
assert_type(et.log_artifact(artifact), et.Artifact)
assert_type(et.use_artifact("model:latest").download(), Path)
assert_type(et.use_artifact("model", where=Path("runs/p")), et.Artifact)
et.finish(exit_code=0)

et.init()  # type: ignore[call-arg]
et.init("p", tags=5)  # type: ignore[arg-type]
et.init("p", name=Path("x"))  # type: ignore[arg-type]
et.init("p", steam="data")  # type: ignore[call-arg]
et.init("p", stream=5)  # type: ignore[arg-type]
et.init("p", durability="disk")  # type: ignore[arg-type]
et.init("p", capture="yes")  # type: ignore[arg-type]
et.log()  # type: ignore[call-arg]
et.log({}, commit="yes")  # type: ignore[arg-type]
et.finish("done")  # type: ignore[arg-type]
et.rewind("5")  # type: ignore[arg-type]
et.define_metric(5)  # type: ignore[arg-type]
et.span()  # type: ignore[call-overload]
et.start_span(batch=3)  # type: ignore[call-overload]
et.start_span("a").end(5)  # type: ignore[arg-type]
et.get_run().log({})  # type: ignore[union-attr]
et.use_artifact(5)  # type: ignore[arg-type]
et.not_there()  # type: ignore[attr-defined]

assert_type(et.__version__, str)
try:
    et.log({})
except et.errors.NoRunError as error:
    assert_type(error, et.errors.NoRunError)
assert_type(ManualClock().wall(), float)
et.errors.NotThereError()  # type: ignore[attr-defined]
