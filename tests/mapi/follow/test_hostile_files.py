"""Files that any program may have written: what they hold is a loss or a problem of theirs, never an end."""

from __future__ import annotations

import json
import math
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mapi.callers import make_token

from expr_tracker.cli import main
from mapi.follow.console import line_of_output
from mapi.follow.instants import instant_of, is_taken, now_us, time_us_of
from mapi.follow.media import MediaSource
from mapi.follow.proof import against
from mapi.follow.proof.against import prove
from mapi.follow.references import references_of_lines
from mapi.follow.rows import has_odd_time, points_of_rows
from mapi.follow.spans import span_of_row
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi

HUGE = 10**400
NOW = now_us()

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([HUGE, -HUGE, 1e308, -1e308, 1.7e9, time.time()]),
        st.floats(),
        st.text(max_size=9),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
members = st.sampled_from(
    ["_time", "text", "source", "name", "start", "dur_ms", "depth", "track", "_step", "error", "args",
     "metrics", "loss"]
)  # fmt: skip


def handmade(root: Path, rows: list[dict[str, Any]], *, name: str = "r", **identity: Any) -> Path:
    """Write the directory of a run line by line."""
    path = root / "p" / name
    path.mkdir(parents=True)
    about = {"id": uuid.uuid4().hex, "created": time.time() - 100, "project": "p", "name": name}
    (path / "run.json").write_text(json.dumps(about | identity))
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(step: int, **values: Any) -> dict[str, Any]:
    return {"_step": step, "_time": time.time() - 50 + step, **values}


@given(anything)
@example(HUGE)
@example(1e308)
@example(math.inf)
def test_any_value_is_a_time_of_microseconds_or_none(value: Any) -> None:
    found = time_us_of(value)
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    assert (found is not None) == is_number
    if found is not None and is_taken(found, now_us=NOW):
        assert found == round(value * 1e6)
        time_from_us(found)
    instant_of(value)


@given(st.dictionaries(members, anything))
def test_any_object_is_an_item_or_left_out(found: dict[str, Any]) -> None:
    line_of_output(found)
    span_of_row(found)
    has_odd_time(found, now_us=NOW)
    as_row = {**found, "_step": 1}
    points_of_rows([as_row, as_row], now_us=NOW)
    image = {"_type": "image", "path": "media/a.png", "sha256": "x", "caption": found.get("text")}
    references_of_lines(json.dumps({**as_row, "i": image}).encode() + b"\n", now_us=NOW)


@pytest.mark.parametrize("wrong", [HUGE, -HUGE, 1e308])
def test_a_number_that_is_no_time_costs_nothing_but_itself(
    api: mapi.Client, pushed: Push, tmp_path: Path, wrong: Any
) -> None:
    path = handmade(
        tmp_path,
        [
            row(0, loss=1.0, word="a"),
            {"_step": 1, "_time": wrong, "loss": 2.0, "word": "b"},
            {"_attempt": 2, "_from_step": None, "_time": wrong, "_pid": 3},
            row(2, loss=3.0),
            {"_attempt_end": 2, "_status": "succeeded", "_time": wrong},
        ],
        created=wrong,
    )
    printed = [
        {"_time": wrong, "source": "stdout", "text": "one"},
        {"_time": time.time() - 5, "source": "stdout", "text": "two"},
    ]
    (path / "console.jsonl").write_text("".join(json.dumps(one) + "\n" for one in printed))
    other = handmade(tmp_path, [row(0, loss=1.0)], name="z")
    reports = {report.path: report for report in pushed(tmp_path)}
    assert [reports[one].problems for one in (path, other)] == [[], []]
    assert "default: 1 row at another time: the clock that wrote it was wrong" in (
        reports[path].notes
    )
    assert api.runs.points(reports[path].run or "", "loss").values == [1.0, 2.0, 3.0]
    assert [line.message for line in api.runs.lines(reports[path].run or "")] == [
        "step 0: word", "step 1: word", "one", "two",
    ]  # fmt: skip
    proof = prove(api, path)
    assert (proof.differences, proof.problems) == ([], [])


def test_an_error_that_nobody_foresaw_is_a_problem_of_its_file_and_named(
    api: mapi.Client,
    pushed: Push,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    printed = {"_time": time.time() - 5, "source": "stdout", "text": "one"}
    (path / "console.jsonl").write_text(json.dumps(printed) + "\n")
    other = handmade(tmp_path, [row(0, loss=1.0)], name="z")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    with monkeypatch.context() as defect:
        defect.setattr(MediaSource, "deliver", broken)
        reports = {report.path: report for report in pushed(tmp_path)}
    for one in (path, other):
        (problem,) = reports[one].problems
        assert problem.startswith("default, media of metrics.jsonl: ZeroDivisionError in test_")
        assert "a defect" in problem
    assert reports[path].sent == {"point": 1, "line": 1}
    with monkeypatch.context() as defect:
        defect.setattr(against, "compare_spans", broken)
        proof = prove(api, path)
    assert not proof.is_equal
    assert proof.differences == []
    (problem,) = proof.problems
    assert problem.startswith("spans: not compared: ZeroDivisionError in test_")
    assert (proof.compared["point"], proof.compared["line"]) == (1, 1)


def test_a_producer_that_the_platform_has_no_place_for_costs_the_others_nothing(
    api: mapi.Client,
    pushed: Push,
    url: str,
    tenant: Tenant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    (path / "metrics.rank99999999999.jsonl").write_text(json.dumps(row(0, loss=2.0)) + "\n")
    (report,) = pushed(tmp_path)
    assert all("99999999999 is no rank" in problem for problem in report.problems)
    assert api.runs.points(report.run or "", "loss").values == [1.0]
    proof = prove(api, path)
    kinds = {(one.what, one.kind, one.producer) for one in proof.differences}
    assert ("point", "missing", "default rank 99999999999") in kinds
    assert {producer for *_, producer in kinds} == {"default rank 99999999999"}
    assert len(proof.problems) == 2
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))
    done = CliRunner().invoke(main, ["verify", str(path), "--against", "mapi"])
    assert done.exit_code == 1, done.output
    assert "wrong: config.rank99999999999.json: not compared:" in done.output
    told = CliRunner().invoke(main, ["verify", str(path), "--against", "mapi", "--format", "json"])
    assert json.loads(told.stdout)["against"]["problems"] == proof.problems
