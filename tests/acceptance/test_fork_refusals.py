from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import read_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
]


#: Everything that a child may have kept of its parent, and may try to use.
USES_OF_THE_PARENT = """
uses = {
    "run.log": lambda: run.log({"a": 2.0}),
    "run.log of an odd value": lambda: run.log({"a": "text"}),
    "run.log at a step": lambda: run.log({"a": 2.0}, step=9, commit=True),
    "run.finish": lambda: run.finish(),
    "run.info": lambda: run.info(),
    "run.step": lambda: run.step,
    "run.flush": lambda: run.flush(),
    "run.summary": lambda: run.summary,
    "run.rewind": lambda: run.rewind(0),
    "run.define_metric": lambda: run.define_metric("a", unit="s"),
    "run.log_artifact": lambda: run.log_artifact(__file__),
    "run.use_artifact": lambda: run.use_artifact("program0"),
    "with run": lambda: run.__enter__(),
    "the end of with run": lambda: run.__exit__(None, None, None),
    "run.span": lambda: run.span("s"),
    "run.start_span": lambda: run.start_span("s"),
    "run.history": lambda: run.history,
    "run.artifacts": lambda: run.artifacts,
    "history.query": lambda: history.query(5),
    "history.flush": lambda: history.flush(),
    "history.flush(commit_open=True)": lambda: history.flush(commit_open=True),
    "history.series": lambda: history.series.points("a"),
    "summary[name]": lambda: summary["a"],
    "summary[name] = value": lambda: summary.__setitem__("a", 1),
    "del summary[name]": lambda: summary.__delitem__("a"),
    "dict(summary)": lambda: dict(summary),
    "len(summary)": lambda: len(summary),
    "span.end": lambda: span.end(),
    "span.set": lambda: span.set(a=1),
    "span begun in the child": lambda: unused.__enter__(),
    "plugin.start": lambda: meter.start(span),
    "plugin.end": lambda: meter.end(span),
    "plugin in a span": lambda: et.span("s", plugins=[meter]).__enter__(),
    "artifacts.log": lambda: artifacts.log(__file__),
    "artifacts.use": lambda: artifacts.use("program0"),
}
"""


def test_a_child_uses_nothing_of_its_parents_and_waits_for_no_lock_of_its(
    holding_the_lock: str, forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        holding_the_lock
        + forking
        + """
folder = sys.argv[1]
run = et.init("p", "r", dir=folder, capture=False)
et.log({"a": 1.0})
summary, history, artifacts = et.summary(), run.history, run.artifacts
span = et.start_span("outer")
unused = et.span("unused")
meter = et.plugins.CpuTime()
with et.span("metered", plugins=[meter]):
    pass
before = {name: open(f"{run.dir}/{name}", "rb").read()
          for name in ("metrics.jsonl", "spans.jsonl", "config.json", "run.json")}
hold(run.log)

"""
        + USES_OF_THE_PARENT
        + """
def child():
    for name, use in uses.items():
        began = time.monotonic()
        try:
            use()
            outcome = "nothing was raised"
        except RuntimeError as error:
            outcome = "RuntimeError" if "parent" in str(error) else str(error)
        except Exception as error:
            outcome = repr(error)
        say("use", [name, outcome, time.monotonic() - began])

say("status", in_child(child))
say("same", all(open(f"{run.dir}/{name}", "rb").read() == data for name, data in before.items()))
os._exit(0)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("status") == 0, program.errors
    assert program.value("same")
    outcomes = [json.loads(line[4:]) for line in program.lines if line.startswith("use ")]
    assert len(outcomes) == 35
    for name, outcome, seconds in outcomes:
        assert outcome == "RuntimeError", (name, outcome)
        assert seconds < 1, name


def test_a_child_that_logs_without_init_is_warned_once_and_stores_nothing(
    holding_the_lock: str, forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        holding_the_lock
        + forking
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)
et.log({"a": 1.0})
path = run.dir + "/metrics.jsonl"
before = open(path, "rb").read()
hold(run.log)

def child():
    began = time.monotonic()
    for _ in range(100):
        et.log({"a": 2.0})
        et.log({"a": 2.0}, step=7, commit=True)
        with et.span("s"):
            pass
    say("run", et.get_run() is None)
    for name in ("info", "summary", "history"):
        try:
            getattr(et, name)()
        except RuntimeError as error:
            say(name, str(error))
    et.finish()
    say("seconds", time.monotonic() - began)
    own = et.init("p", "r", dir=sys.argv[1], stream="child", capture=False)
    say("dropped", own.info()["loss"]["dropped"])
    et.log({"mine": 1.0})
    et.finish()

say("status", in_child(child))
say("same", open(path, "rb").read() == before)
os._exit(0)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("run")
    for name in ("info", "summary", "history"):
        assert "forked child" in program.value(name)
    assert program.value("seconds") < 1
    assert sum(program.value("dropped").values()) == 300, "they are counted where the user looks"
    assert program.value("status") == 0, program.errors
    assert program.value("same")
    assert program.errors.count("et.log in a forked child") == 1, program.errors
    assert read_history(tmp_path / "p" / "r", -1, stream="child")[0]["mine"] == 1.0
