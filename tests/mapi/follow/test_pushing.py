"""Run directories into a served platform: what their reading shows, the platform shows."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.follow.reading import in_files, on_platform
from tests.mapi.tenants_access import set_limits

import expr_tracker as et
from expr_tracker.history import read_history
from mapi.sdk.queueing import Place
from mapi.wire.metrics import SeriesColumns

if TYPE_CHECKING:
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi
    from mapi.wire.metrics import SeriesSummary


def written(root: Path, rows: list[tuple[int | None, dict[str, Any]]], **about: Any) -> Path:
    """Write a run and end it; return its directory."""
    about = {"project": "p", "name": "r", **about}
    run = et.init(dir=root, system_metrics=False, **about)
    for step, row in rows:
        et.log(row, step=step)
    et.finish()
    return Path(run.dir)


def summaries(api: mapi.Client, run: str) -> dict[tuple[str, str], SeriesSummary]:
    return {(one.key, json.dumps(one.labels)): one for one in api.runs.metrics(run)}


def run_of(api: mapi.Client, path: Path) -> str:
    identity = json.loads((path / "run.json").read_text())
    found = api.runs.in_project("p").create(external_id=identity["id"])
    return found.id


def test_each_row_of_a_finished_run_is_there_once_with_its_step_and_time(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"loss": 1 / (step + 1)}) for step in range(100)])
    (report,) = pushed(tmp_path)
    assert (report.status, report.problems, report.notes) == ("succeeded", [], [])
    assert report.sent == {"point": 100}
    run = api.runs.get(report.run or "")
    assert (run.name, run.project, run.status.value) == ("r", "p", "succeeded")
    assert run.finished is not None
    points = api.runs.points(run, "loss")
    rows = read_history(path, -1)
    assert points.steps == [row["_step"] for row in rows]
    assert points.values == [row["loss"] for row in rows]
    assert points.times_us == [round(row["_time"] * 1e6) for row in rows]


def test_a_run_is_one_on_the_platform_and_a_second_push_sends_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"loss": step, "note": "x"}) for step in range(10)])
    (first,) = pushed(tmp_path)
    before = api.runs.life(first.run or "")
    (second,) = pushed(path)
    assert second.run == first.run
    assert not any(second.sent.values())
    assert len(api.runs.lines(first.run or "")) == 10
    assert api.runs.life(first.run or "") == before


def test_streams_and_ranks_are_labels_and_names_are_mapped(
    api: mapi.Client, pushed: Push, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, [(0, {"f1-score": 1.0, "train/loss": 2.0})])
    monkeypatch.setenv("RANK", "3")
    written(tmp_path, [(5, {"tokens": 7})], stream="data")
    (report,) = pushed(tmp_path)
    assert on_platform(api, report.run or "") == in_files(path)
    assert set(summaries(api, report.run or "")) == {
        ("f1_score", '{"raw": "f1-score"}'),
        ("loss", '{"scope": "train"}'),
        ("tokens", '{"rank": "3", "stream": "data"}'),
    }


def test_values_that_are_not_finite_arrive_as_what_they_are(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    values = [1.0, math.nan, math.inf, -math.inf, 1.7976931348623157e308, 0.5]
    path = written(tmp_path, [(step, {"loss": value}) for step, value in enumerate(values)])
    (report,) = pushed(tmp_path)
    assert on_platform(api, report.run or "") == in_files(path)
    (summary,) = summaries(api, report.run or "").values()
    assert (summary.min_value, summary.max_value, summary.nonfinite_count) == (0.5, values[4], 3)


def test_a_rewind_is_an_attempt_and_what_it_replaced_can_be_read(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"y": step}) for step in range(16)])
    (first,) = pushed(tmp_path)
    run = et.init(project="p", name="r", dir=tmp_path, resume="must", system_metrics=False)
    run.rewind(10)
    for step in range(10, 30):
        et.log({"y": 100 + step}, step=step)
    et.finish()
    (report,) = pushed(tmp_path)
    assert report.run == first.run
    reading = on_platform(api, report.run or "")
    assert reading == in_files(path)
    assert len(reading) == 30
    assert reading["", 0, "y", 9] == 9
    assert reading["", 0, "y", 10] == 110
    assert on_platform(api, report.run or "", attempt=1) == in_files(path, attempt=1)
    attempts = api.runs.attempts(report.run or "")
    assert [one.number for one in attempts] == [1, 2, 3]
    assert attempts[-1].from_step == 10


def test_a_step_that_is_logged_again_shows_its_last_value_whenever_it_is_pushed(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"a": 1, "b": 1}, step=1)
    et.log({"a": 2}, step=1)
    et.log({"a": 3}, step=2)
    run.flush(commit_open=True)
    pushed(tmp_path)
    et.log({"a": 9, "c": 4}, step=1)
    et.log({"a": 9}, step=3)
    et.finish()
    (report,) = pushed(tmp_path)
    assert on_platform(api, report.run or "") == in_files(Path(run.dir))
    assert on_platform(api, report.run or "")["", 0, "a", 1] == 9


def test_a_damaged_line_costs_itself_and_is_told(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"loss": step}) for step in range(1000)])
    file = path / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[500] = lines[500].replace(b'"loss"', b'"loss', 1)
    file.write_bytes(b"".join(lines))
    with file.open("ab") as torn:
        torn.write(b'{"_step": 1000, "lo')
    (report,) = pushed(tmp_path)
    assert len(report.problems) == 2
    assert "line 501" in report.problems[0]
    assert "torn" in report.problems[1]
    reading = on_platform(api, report.run or "")
    assert {step for *_, step in reading} == {*range(1000)} - {500}


def test_a_bad_directory_does_not_stop_the_others(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    written(tmp_path, [(0, {"loss": 1})], name="good")
    bad = written(tmp_path, [(0, {"loss": 1})], name="bad")
    (bad / "metrics.jsonl").unlink()
    (bad / "metrics.jsonl").mkdir()
    reports = {one.path.name: one for one in pushed(tmp_path)}
    assert reports["bad"].problems
    assert not reports["good"].problems
    assert summaries(api, reports["good"].run or "")


def test_a_copy_of_a_run_is_refused_and_a_moved_one_is_the_same(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path / "one", [(0, {"loss": 1})])
    (first,) = pushed(tmp_path)
    shutil.copytree(path, path.parent / "copy")
    problems = [problem for report in pushed(tmp_path) for problem in report.problems]
    assert len(problems) == 1
    assert "copy" in problems[0]
    shutil.rmtree(path)
    (moved,) = pushed(tmp_path)
    assert moved.run == first.run
    assert api.runs.get(first.run or "").id == first.run


def test_a_run_of_another_version_has_an_id_that_stays(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(0, {"loss": 1})])
    (path / "run.json").unlink()
    (first,) = pushed(tmp_path)
    with (path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"_step": 1, "_time": 1700000000.5, "loss": 2}\n')
    (second,) = pushed(tmp_path)
    assert (first.problems, second.problems) == ([], [])
    assert first.run == second.run
    assert on_platform(api, first.run or "") == in_files(path)


def test_steps_and_values_that_the_platform_has_no_place_for_are_counted(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    written(
        tmp_path,
        [
            (-2, {"a": 1, "b": 2}),
            (-1, {"a": 1}),
            (0, {"a": True, "b": 10**400, "c": None, "d": 1}),
        ],
    )
    (report,) = pushed(tmp_path)
    assert report.notes == ["default: 3 points left out: the platform has no steps below 0"]
    assert on_platform(api, report.run or "") == {("", 0, "d", 0): 1.0}
    (line,) = api.runs.lines(report.run or "")
    assert line.message == "step 0: a, b, c"
    assert line.fields == {"a": True, "b": str(10**400), "c": None}


def test_a_spent_budget_is_counted_and_fails_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    set_limits(tenant, points=50)
    written(tmp_path, [(step, {"loss": step}) for step in range(80)])
    (report,) = pushed(tmp_path, project="default")
    assert report.problems == []
    assert report.notes == ["default: 30 points not taken: over the budget points"]
    (again,) = pushed(tmp_path, project="default")
    assert again.notes == []


@pytest.mark.parametrize(("status", "exit_code"), [("failed", 1), ("succeeded", 0)])
def test_a_run_ends_as_its_files_say_and_may_be_taken_up(
    api: mapi.Client, pushed: Push, tmp_path: Path, status: str, exit_code: int
) -> None:
    et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"loss": 1}, step=0)
    et.finish(exit_code=exit_code)
    (report,) = pushed(tmp_path)
    assert api.runs.get(report.run or "").status.value == status
    written(tmp_path, [(1, {"loss": 2})], resume="must")
    (after,) = pushed(tmp_path)
    assert (after.run, after.problems) == (report.run, [])
    assert api.runs.get(report.run or "").status.value == "succeeded"


def test_a_run_that_was_cancelled_where_it_ran_may_be_taken_up(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    path = Path(run.dir)
    et.log({"loss": 1}, step=0)
    et.finish()
    file = path / "metrics.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"succeeded"', b'"cancelled"'))
    (report,) = pushed(tmp_path)
    assert api.runs.get(report.run or "").status.value == "cancelled"
    written(tmp_path, [(1, {"loss": 2})], resume="must")
    (after,) = pushed(tmp_path)
    assert (after.run, after.problems, after.notes) == (report.run, [], [])
    assert api.runs.get(report.run or "").status.value == "succeeded"


def test_a_run_that_somebody_cancelled_on_the_platform_stays_so(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"loss": 1}, step=0)
    run.flush(commit_open=True)
    (report,) = pushed(tmp_path)
    assert report.status == "running"
    api.runs.cancel(report.run or "")
    et.finish()
    (after,) = pushed(tmp_path)
    assert "cancelled on the platform" in after.notes[0]
    assert api.runs.get(report.run or "").status.value == "cancelled"


def test_all_goes_again_where_that_is_asked_for_and_changes_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"loss": step, "note": "x"}) for step in range(10)])
    (first,) = pushed(tmp_path)
    (second,) = pushed(tmp_path, again=True)
    assert not any(second.sent.values())
    assert on_platform(api, first.run or "") == in_files(path)
    assert len(api.runs.lines(first.run or "")) == 10
    assert len(api.runs.writers(first.run or "")) == 3


def test_a_file_that_was_cut_or_filled_up_is_sent_anew(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = written(tmp_path, [(step, {"loss": step}) for step in range(100)])
    (first,) = pushed(tmp_path)
    file = path / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    added = b'{"_step": 1000, "_time": 1700000000.0, "loss": 5.0, "late": 1.5}\n'
    file.write_bytes(b"".join([*lines[:30], added, *lines[30:]]))
    pushed(tmp_path)
    assert on_platform(api, first.run or "") == in_files(path)
    file.write_bytes(b"".join(lines[:30]))
    pushed(tmp_path)
    with file.open("ab") as more:
        more.write(b'{"_step": 30, "_time": 1700000000.0, "loss": -1.0}\n')
    pushed(tmp_path)
    reading = on_platform(api, first.run or "")
    for place, value in in_files(path).items():
        assert reading[place] == value


def test_a_row_of_very_many_names_is_whole(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    set_limits(tenant, series=2_500)
    written(tmp_path, [(0, {f"m{at}": at for at in range(2_500)}), (1, {"m1": 2})])
    (report,) = pushed(tmp_path, project="default")
    assert (report.problems, report.notes) == ([], [])
    assert report.sent["point"] == 2_501


def test_what_is_on_its_way_of_a_file_that_was_replaced_changes_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    """A correction of the file before, which a network held back, comes behind those of the new one."""
    path = written(tmp_path, [(step, {"loss": 1.0}) for step in range(5)])
    (report,) = pushed(tmp_path)
    run = report.run or ""
    stands = api.runs.writers(run)["metrics.jsonl"]
    file = path / "metrics.jsonl"
    file.write_bytes(b'{"_step": 2, "_time": 1700000000.0, "loss": 5.0}\n' + file.read_bytes())
    pushed(tmp_path)
    reading = on_platform(api, run)
    assert reading == in_files(path)
    late = SeriesColumns(key="loss", steps=[2], times=[1_700_000_000_000_000], values=[9.0])
    place = Place("metrics.jsonl", after=stands, seq=stands + 50)
    answer = api.runs.send_points(run, [late], place=place, corrects=True)
    assert answer.accepted == 0
    assert on_platform(api, run) == reading
    # Nor is the queue that has ended begun again.
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())
