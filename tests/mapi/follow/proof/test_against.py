"""The proof that the platform has what the files have: equal after a push, and each change is seen."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.tenants_access import set_limits, value_of

import expr_tracker as et
from mapi.follow.proof.against import prove
from mapi.follow.rows import ROUNDED
from mapi.sdk.calls import Producer

if TYPE_CHECKING:
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi
    from mapi.follow.proof.against import Proof
    from mapi.follow.proof.differences import Difference


@pytest.fixture
def rich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two producers and several attempts, with patches and values of all kinds."""
    about: dict[str, Any] = {"project": "p", "name": "r", "dir": tmp_path, "system_metrics": False}
    run = et.init(**about)
    for step in range(40):
        et.log({"loss": 1 / (step + 1), "train/acc": step, "note": f"n{step}"}, step=step)
    et.log({"loss": 7.0}, step=3)
    et.log({"loss": math.nan, "f1-score": -math.inf, "ok": True}, step=40)
    et.finish()
    again = et.init(**about, resume="must")
    again.rewind(30)
    for step in range(30, 50):
        et.log({"loss": -float(step), "deep": {"x": [1, 2.5, math.nan]}}, step=step)
    et.finish()
    with monkeypatch.context() as rank:
        rank.setenv("RANK", "2")
        et.init(**about, stream="data")
        et.log({"tokens": 10**20, "big": 1e300}, step=5)
        et.finish(exit_code=1)
    return Path(run.dir)


def seen(proof: Proof) -> list[tuple[Any, ...]]:
    """Return the differences without what their sides have."""
    return [(one.what, one.kind, one.producer, one.name, one.step) for one in proof.differences]


def only(proof: Proof) -> Difference:
    """Return the one difference, which an attempt alone may show as well."""
    assert not proof.is_equal
    assert len({one[:5] for one in seen(proof)}) == 1
    return proof.differences[0]


def changed(tenant: Tenant, run: str, key: str, change: str, *, step: int) -> None:
    """Change points of a series past every rule."""
    value_of(
        tenant,
        f"update mapi.run_metric_points set {change} where step = %s and series_id in (select"
        " series_id from mapi.run_metric_summary where run_id = %s and key = %s)",
        step,
        run.removeprefix("run_"),
        key,
    )


def test_after_a_push_the_platform_is_equal(api: mapi.Client, pushed: Push, rich: Path) -> None:
    pushed(rich)
    proof = prove(api, rich)
    assert (proof.differences, proof.counts) == ([], [])
    assert proof.is_equal
    assert proof.compared["point"] > 150
    assert proof.compared["line"] == 61
    assert proof.compared["attempt"] == 4


def test_what_was_not_pushed_yet_is_missing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"loss": 1.0}, step=0)
    et.finish()
    (report,) = pushed(tmp_path)
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False, resume="must")
    et.log({"loss": 2.0, "text": "new"}, step=1)
    et.finish()
    path = Path(run.dir)
    proof = prove(api, path)
    assert seen(proof) == [
        ("attempt", "missing", "default", "attempt 2", None),
        ("point", "missing", "default", "loss", 1),
        ("point", "missing", "default", "loss", 1),
        ("line", "missing", "default", "step 1: text", None),
    ]
    assert [one.attempt for one in proof.differences] == [None, None, 2, None]
    pushed(tmp_path)
    assert prove(api, path).is_equal
    assert report.run == proof.run


def test_a_run_that_was_never_pushed_is_told_and_not_made(
    api: mapi.Client, pushed: Push, rich: Path, tmp_path: Path
) -> None:
    pushed(rich)
    other = tmp_path / "p" / "other"
    shutil.copytree(rich, other)
    identity = json.loads((other / "run.json").read_text()) | {"id": "another"}
    (other / "run.json").write_text(json.dumps(identity))
    proof = prove(api, other)
    assert (proof.run, proof.is_equal) == (None, False)
    assert len(list(api.runs.in_project("p").list())) == 1


def test_one_value_that_was_corrected_on_the_platform_is_seen(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    lines = map(json.loads, (rich / "metrics.data.rank2.jsonl").read_text().splitlines())
    (time,) = [line["_time"] for line in lines if line.get("_step") == 5]
    api.runs.correct_series(
        report.run or "", "tokens", [11], steps=[5], times=[round(time * 1e6)],
        producer=Producer("data", 2),
    )  # fmt: skip
    found = only(prove(api, rich))
    assert (found.what, found.kind, found.producer) == ("point", "value", "data rank 2")
    assert (found.name, found.step, found.files, found.platform) == ("tokens", 5, "1e+20", "11.0")


def test_one_time_that_is_a_microsecond_off_is_seen(
    api: mapi.Client, pushed: Push, rich: Path, tenant: Tenant
) -> None:
    (report,) = pushed(rich)
    later = "time = time + interval '1 microsecond'"
    changed(tenant, report.run or "", "big", later, step=5)
    found = only(prove(api, rich))
    assert (found.kind, found.name, found.step) == ("time", "big", 5)
    assert found.files != found.platform


@pytest.mark.parametrize("value", ["'NaN'", "'-Infinity'", "12.5"])
def test_infinity_is_no_other_value(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant, value: str
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"loss": math.inf}, step=0)
    et.finish()
    (report,) = pushed(tmp_path)
    changed(tenant, report.run or "", "loss", f"value = {value}", step=0)
    found = only(prove(api, Path(run.dir)))
    assert (found.kind, found.files) == ("value", "inf")


def test_one_point_that_is_gone_on_the_platform_is_seen(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    api.runs.delete_points(report.run or "", "loss", first=7, last=7, reason="test")
    found = only(prove(api, rich))
    assert (found.what, found.kind, found.name, found.step) == ("point", "missing", "loss", 7)
    assert found.platform is None


def test_one_point_that_only_the_platform_has_is_seen(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    api.runs.log_series(report.run or "", "loss", [5.0], steps=[1_000])
    found = only(prove(api, rich))
    assert (found.kind, found.name, found.step, found.files) == ("extra", "loss", 1_000, None)


def test_a_series_of_many_pages_and_windows_is_compared_at_every_step(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    count = 45_000
    set_limits(tenant, points_per_series=2 * count)
    run = et.init(project="default", name="r", dir=tmp_path, system_metrics=False)
    for at in range(count):
        et.log({"loss": at / 8}, step=2 * at)
    et.finish()
    path = Path(run.dir)
    (report,) = pushed(path)
    assert prove(api, path).is_equal
    for step in (0, 40_000, 2 * count - 2):
        api.runs.delete_points(report.run or "", "loss", first=step, last=step, reason="test")
    api.runs.log_series(report.run or "", "loss", [1.0] * 3, steps=[1, 40_001, 2 * count])
    found = {(one.kind, one.step) for one in prove(api, path).differences}
    assert found == {
        *(("missing", step) for step in (0, 40_000, 2 * count - 2)),
        *(("extra", step) for step in (1, 40_001, 2 * count)),
    }


def test_a_series_and_a_producer_that_only_the_platform_has_are_seen(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    run = report.run or ""
    api.runs.log_series(run, "strange", [1.0], steps=[2])
    api.runs.log_series(run, "theirs", [1.0], steps=[3], producer=Producer("else", 1))
    assert set(seen(prove(api, rich))) == {
        ("point", "extra", "default", "strange", 2),
        ("point", "extra", "else rank 1", "theirs", 3),
    }


def test_a_superseded_point_that_changed_is_seen_in_its_attempt(
    api: mapi.Client, pushed: Push, rich: Path, tenant: Tenant
) -> None:
    (report,) = pushed(rich)
    assert prove(api, rich).is_equal
    changed(tenant, report.run or "", "acc", "value = 99", step=35)
    (found,) = prove(api, rich).differences
    assert (found.kind, found.name, found.step, found.attempt) == ("value", "train/acc", 35, 1)


def test_lines_that_are_gone_changed_or_more_are_seen(
    api: mapi.Client, pushed: Push, rich: Path, tenant: Tenant
) -> None:
    (report,) = pushed(rich)
    run = (report.run or "").removeprefix("run_")
    which = "where run_id = %s and message = %s"
    value_of(tenant, f"delete from mapi.run_logs {which}", run, "step 4: note")
    value_of(
        tenant,
        f'update mapi.run_logs set fields = \'{{"note": "x"}}\' {which}',
        run,
        "step 6: note",
    )
    value_of(
        tenant,
        f"update mapi.run_logs set time = time + interval '1 second' {which}",
        run,
        "step 8: note",
    )
    api.runs.log_line(report.run or "", "by hand")
    proof = prove(api, rich)
    assert seen(proof) == [
        ("line", "missing", "default", "step 4: note", None),
        ("line", "value", "default", "step 6: note", None),
        ("line", "time", "default", "step 8: note", None),
        ("line", "extra", "default", "by hand", None),
    ]
    assert proof.differences[1].platform == "{'note': 'x'}"


def test_how_an_attempt_and_the_run_ended_is_compared(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    api.runs.update(report.run or "", status="succeeded")
    api.runs.end_attempt(report.run or "", 1, "succeeded", producer=Producer("data", 2))
    assert seen(prove(api, rich)) == [
        ("attempt", "value", "data rank 2", "attempt 1: status", None),
        ("fact", "value", "", "status", None),
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"tokens": 7}, {("value", "tokens", 5)}),
        ({"_time": 1_700_000_000.5}, {("time", "tokens", 5), ("time", "big", 5)}),
        ({"more": 1}, {("missing", "more", 5)}),
        ({"big": None}, {("missing", "step 5: big", None), ("extra", "big", 5)}),
        (
            {"_step": 6},
            {
                *(("missing", name, 6) for name in ("tokens", "big")),
                *(("extra", name, 5) for name in ("tokens", "big")),
            },
        ),
    ],
)
def test_one_change_in_a_copy_of_the_files_is_seen(
    api: mapi.Client,
    pushed: Push,
    rich: Path,
    change: dict[str, Any],
    expected: set[tuple[Any, ...]],
) -> None:
    pushed(rich)
    copy = rich.parent / "copy"
    shutil.copytree(rich, copy)
    (copy / "metrics.data.rank2.meta.json").unlink()
    file = copy / "metrics.data.rank2.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [row | change if row.get("_step") == 5 else row for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {(one.kind, one.name, one.step) for one in prove(api, copy).differences}
    assert found == expected


def test_what_the_platform_has_no_place_for_is_a_note_and_no_difference(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    et.log({"a": 1, "b": 2}, step=-2)
    et.log({"a": 1, "text": "nul\0"}, step=0)
    et.log({"a": 2**53 + 1, "b": 2**60}, step=1)
    run.summary["best"] = -(2**53) - 1
    et.finish()
    (report,) = pushed(tmp_path)
    rounded = [note for note in report.notes if "rounded" in note]
    assert [note.partition("rounded")[0] for note in rounded] == [
        "default: 1 value ",
        "default: the pin best is ",
    ]
    proof = prove(api, Path(run.dir))
    assert proof.is_equal
    assert proof.notes == [
        f"1 pin {ROUNDED}",
        "2 points at a step below 0 in the files: the platform has no such steps",
        f"1 value {ROUNDED}",
        "1 value kept with U+FFFD in place of U+0000, which the platform cannot hold",
    ]


def test_what_a_budget_dropped_is_missing_and_the_platform_says_so(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    set_limits(tenant, points=50)
    run = et.init(project="default", name="r", dir=tmp_path, system_metrics=False)
    for step in range(80):
        et.log({"loss": step}, step=step)
    et.finish()
    pushed(tmp_path, project="default")
    proof = prove(api, Path(run.dir))
    assert proof.counts == [("point", "missing", 30)]
    assert len(proof.differences) == 20
    assert proof.notes == ["the platform did not take 30 over the budget points"]


def test_a_row_without_a_time_is_compared_by_its_value(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = tmp_path / "p" / "r"
    path.mkdir(parents=True)
    (path / "metrics.jsonl").write_text(
        '{"_step": 0, "a": 1, "t": "x"}\n{"_step": 1, "_time": "now", "a": 2}\n'
        '{"_step": 2, "_time": 1700000000, "a": 3, "t": "y"}\n'
    )
    pushed(tmp_path)
    proof = prove(api, path)
    assert proof.is_equal
    assert proof.notes == [
        "2 steps with a time that the platform does not take: times are not compared there"
    ]


def test_a_run_is_found_in_the_trash_and_under_another_name(
    api: mapi.Client, pushed: Push, rich: Path
) -> None:
    (report,) = pushed(rich)
    api.runs.update(report.run or "", name="renamed")
    assert prove(api, rich).is_equal
    api.runs.delete(report.run or "")
    proof = prove(api, rich)
    assert proof.run == report.run
    assert "it is in the trash of the platform" in proof.notes


def test_a_name_that_no_label_holds_is_compared_in_full(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    beginning = "Loss of the ä-encoder / " * 20
    names = [f"{beginning}first", f"{beginning}second", "f1-score"]
    et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    for step in range(3):
        et.log(dict.fromkeys(names, float(step)), step=step)
    et.finish()
    (report,) = pushed(tmp_path)
    assert sorted(one.name for one in api.runs.metrics(report.run or "")) == sorted(names)
    path = tmp_path / "p" / "r"
    proof = prove(api, path)
    assert (proof.is_equal, proof.compared["name"], proof.compared["point"]) == (True, 2, 9)
    value_of(
        tenant,
        "update mapi.run_series_names set name = 'another' where run_id = %s and name = %s",
        (report.run or "").removeprefix("run_"),
        names[1],
    )
    found = only(prove(api, path))
    assert (found.what, found.kind, found.files, found.platform) == (
        "name",
        "value",
        names[1],
        "another",
    )
