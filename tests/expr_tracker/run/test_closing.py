"""Every step of an end is taken, whatever another one raises."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import status_of
from expr_tracker.run import run as run_module
from expr_tracker.run.deadline import Deadline
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run


def fail(*_arguments: object, **_keywords: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def parts_of(run: Run) -> dict[str, tuple[Any, str]]:
    """Return what an end calls, by the step's name."""
    stream, parts = run._stream, run._parts
    return {
        "take over": (stream.recorder, "take_over"),
        "companions": (parts.companions, "stop"),
        "open row": (stream.recorder, "commit_open"),
        "keeper": (run._keeper, "stop"),
        "last values": (parts.last_values, "complete"),
        "rows": (stream.writer, "close"),
        "spans": (parts.spans, "close"),
        "summary": (parts.summary, "save"),
        "signals": (run._closing._signals, "restore"),
    }


@pytest.mark.parametrize(
    "step",
    [
        "take over",
        "companions",
        "open row",
        "keeper",
        "last values",
        "rows",
        "spans",
        "summary",
        "signals",
    ],
)
def test_a_step_that_fails_keeps_no_other_from_being_taken(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    run = make()
    run.log({"a": 1})
    with run.span("s"):
        pass
    run.log({"b": 2}, step=7)
    run._stream.notices.say("something to say")
    owner, name = parts_of(run)[step]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        if step in {"companions", "summary"}:  # these say it themselves
            run.finish(quiet=True)
        else:
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                run.finish(quiet=True)
    assert run.is_finished
    assert not is_locked(run.files.lock)
    assert run not in run_module.open_runs
    assert "something to say" in caplog.text
    rows = list(whole_rows(run.files.metrics))
    assert [row["_step"] for row in rows if "_step" in row] == (
        [0] if step == "open row" else [0, 7]
    )
    assert rows[-1]["_status"] == "succeeded"
    if step != "summary":
        assert json.loads(run.files.summary.read_bytes())["a"] == 1
    assert len(list(whole_rows(run.files.spans))) == 1
    run.finish()
    run.log({"late": 1})
    make().finish(quiet=True)


def test_a_rescue_is_named_although_a_later_step_fails(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = make()
    run.log({"a": 1})
    with monkeypatch.context() as patch:
        patch.setattr(run._stream.writer, "_write", fail)
        run.log({"a": 2})
        patch.setattr(run._parts.spans, "close", fail)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            run.finish(quiet=True)
    rescued = list(tmp_path.glob("expr-tracker-metrics-*"))
    assert len(rescued) == 1
    assert rescued[0].name in caplog.text
    assert status_of(run.files.directory) is not None


def test_a_deadline_takes_any_number() -> None:
    assert 0 < Deadline(10**400).half().seconds_left < float("inf")
    assert Deadline(0).seconds_left == 0
