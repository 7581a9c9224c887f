"""A file of a run that cannot be opened costs itself: its run, its neighbours and the proof go on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import expr_tracker as et
from expr_tracker.cli import main
from mapi.follow.proof.against import prove

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mapi.follow.conftest import Push

    import mapi


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path)


CLOSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (pipe, "it is no regular file; move it away"),
    "loop": (loop, "Too many levels of symbolic links"),
    "folder": (Path.mkdir, "Is a directory"),
}


@pytest.fixture
def rich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three producers, with lines, spans and output of each."""
    about: dict[str, Any] = {"project": "p", "name": "r", "dir": tmp_path, "system_metrics": False}
    run = et.init(**about)
    for rank, stream in ((0, None), (0, "data"), (1, "data")):
        with monkeypatch.context() as place:
            place.setenv("RANK", str(rank))
            if stream is not None:
                et.init(**about, stream=stream)
            for step in range(5):
                with et.span("work"):
                    et.log({"loss": step / 2, "note": f"n{step}"}, step=step)
            et.finish()
    path = Path(run.dir)
    for name in ("console", "console.data", "console.data.rank1"):
        line = {"_time": time.time(), "source": "stdout", "text": "hello"}
        (path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    return path


def replaced(path: Path, how: str) -> str:
    """Put something that cannot be read in the place of a file; return the reason."""
    make, reason = CLOSED[how]
    path.unlink()
    make(path)
    return reason


@pytest.mark.parametrize("how", CLOSED)
@pytest.mark.parametrize("name", ["metrics.data.jsonl", "spans.data.jsonl", "console.data.jsonl"])
def test_a_push_goes_on_without_a_file_and_names_it(
    api: mapi.Client, pushed: Push, rich: Path, name: str, how: str
) -> None:
    reason = replaced(rich / name, how)
    (report,) = pushed(rich)
    assert report.run is not None
    assert report.status == "succeeded"
    assert api.runs.get(report.run).status == "succeeded"
    (problem,) = report.problems
    assert name in problem
    assert reason in problem
    found = {
        one.labels.get("rank", "0") + one.labels.get("stream", "")
        for one in api.runs.metrics(report.run)
    }
    assert found == {"0", "1data"} | ({"0data"} if "metrics" not in name else set())


@pytest.mark.parametrize("how", CLOSED)
@pytest.mark.parametrize("name", ["metrics.data.jsonl", "spans.data.jsonl", "console.data.jsonl"])
def test_the_proof_compares_the_others_and_takes_nothing_of_it_for_extra(
    api: mapi.Client, pushed: Push, rich: Path, name: str, how: str
) -> None:
    (report,) = pushed(rich)
    assert prove(api, rich).is_equal
    reason = replaced(rich / name, how)
    proof = prove(api, rich)
    (problem,) = proof.problems
    assert problem.startswith(f"{name}: not compared: ")
    assert reason in problem
    assert proof.counts == []
    assert not proof.is_equal
    api.runs.delete_points(report.run or "", "loss", first=2, last=2, reason="test")
    api.runs.log_line(report.run or "", "by hand")
    assert sorted(prove(api, rich).counts) == [("line", "extra", 1), ("point", "missing", 1)]


def test_the_commands_name_the_file_and_end_with_1(
    url: str, api: mapi.Client, rich: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", api.tokens.create("t", ["admin"], is_service=True).token)
    replaced(rich / "metrics.data.jsonl", "pipe")
    pushed = CliRunner().invoke(main, ["push", str(rich)])
    assert pushed.exit_code == 1, pushed.output
    assert "succeeded, run_" in pushed.output
    assert f"Not whole on the platform: {rich}" in pushed.output
    verified = CliRunner().invoke(main, ["verify", str(rich), "--against", "mapi"])
    assert verified.exit_code == 1, verified.output
    why = "it is no regular file; move it away"
    for line in (
        "  data: not read",
        f"wrong: data: metrics.data.jsonl cannot be read: {why}",
        f"wrong: metrics.data.jsonl: not compared: {rich / 'metrics.data.jsonl'}: {why}",
    ):
        assert line in verified.output.splitlines()
    assert "differs" not in verified.output
