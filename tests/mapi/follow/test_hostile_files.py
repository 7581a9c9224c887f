"""Files that any program may have written: what they hold is a loss or a problem of theirs, never an end."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import time
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mapi.callers import make_token
from tests.mapi.tenants_access import value_of

from expr_tracker.backends.backend import BackendDownError
from expr_tracker.cli import main
from expr_tracker.media.png import png_from_array
from expr_tracker.store.files import StreamKey
from expr_tracker.store.regular import read_regular
from mapi.follow import instants, media
from mapi.follow.console import line_of_output
from mapi.follow.deliveries import Delivery, RejectedError
from mapi.follow.instants import instant_of, is_taken, now_us, time_us_of
from mapi.follow.live import LiveBackend
from mapi.follow.losses import Losses
from mapi.follow.media import MediaSource
from mapi.follow.pins import Pins
from mapi.follow.proof import against
from mapi.follow.proof.against import prove
from mapi.follow.pushing import Pusher
from mapi.follow.references import references_of_lines
from mapi.follow.rows import has_odd_time, points_of_rows
from mapi.follow.spans import span_of_row
from mapi.sdk.calls import Producer
from mapi.sdk.synchronous.run_log import RunLog
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


def test_a_configuration_that_nests_deep_costs_environment_params_and_pins_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    deep: Any = 1
    for _ in range(60):
        deep = {"d": [deep, math.nan]}
    path = handmade(tmp_path, [row(0, loss=1.0)])
    (path / "config.json").write_text(json.dumps({"lr": 0.1, "deep": deep}))
    (path / "environment.json").write_text('{"host": "h"}')
    (path / "summary.json").write_text(
        json.dumps({"best": 1.5, "deep": {"a": deep}, "_pinned": ["best", "deep"]})
    )
    (report,) = pushed(tmp_path)
    assert report.problems == []
    run = report.run or ""
    params = {key: one.text for key, one in api.runs.params(run).items()}
    assert params["lr"] == "0.1"
    assert len(params) == 2
    assert api.runs.config(run)["lr"] == 0.1
    assert api.runs.environment(run) == {"host": "h"}
    assert {one.key for one in api.runs.metrics(run)} == {"loss", "best"}
    assert set(api.runs.tags(run)) == {"summary/deep"}
    proof = prove(api, path)
    assert (proof.differences, proof.problems) == ([], [])


def test_what_has_no_room_or_no_name_there_is_told_by_the_push_and_by_the_proof(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)], name="n" * 250)
    about = {"notes": "N" * 30_000, "tags": ["mapi.x", "a/../b", "", "x" * 300, "ok", "gone"]}
    (path / "about.json").write_text(json.dumps(about))
    pins = {"report": "x" * 9_000, "bad/../name": "v", "n" * 300: "long", "good": "g"}
    (path / "summary.json").write_text(json.dumps(pins | {"_pinned": sorted(pins)}))
    (path / "config.json").write_text(json.dumps({f"k{at}": "y" * 50_000 for at in range(25)}))
    (path / "spans.jsonl").write_text(
        json.dumps(
            {
                "_step": 2**70,
                "name": "a",
                "start": time.time(),
                "dur_ms": 1.0,
                "depth": 0,
                "track": 0,
            }
        )
        + "\n"
    )
    (report,) = pushed(tmp_path)
    assert report.problems == []
    told = "\n".join(report.notes)
    for said in (
        "the run's name is cut: it has 250 characters, and there is room for 200",
        "the run's note is cut: it has 30000 characters",
        "the tag 'mapi.x' is left out",
        "the tag 'a/../b' is left out",
        "the tag '' is left out",
        "the tag 'xxxx",
        "1 pin cut: a tag has room for 5000 characters",
        "2 pins left out: no tag may be called so",
        "the config is not kept: it has 12",
        "1 span without its step",
    ):
        assert said in told, told
    proof = prove(api, path)
    assert (proof.differences, proof.problems) == ([], [])
    for note in report.notes:
        assert note in proof.notes or note.removeprefix("default: ") in proof.notes
    api.runs.delete_tag(report.run or "", "gone")
    noted = prove(api, path).notes
    assert any(note.startswith("the platform has not its tag gone: ") for note in noted)


def test_pins_are_one_request_for_many_and_are_sent_when_they_change(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    pins: dict[str, Any] = {f"p{at}": at * 1.5 for at in range(300)}
    pins |= {f"t{at}": f"text {at}" for at in range(150)}
    (path / "summary.json").write_text(json.dumps(pins | {"_pinned": sorted(pins)}))
    calls: list[int] = []
    log_columns = RunLog.log_columns

    def counted(*arguments: Any, **about: Any) -> Any:
        calls.append(len(arguments[2]))
        return log_columns(*arguments, **about)

    monkeypatch.setattr(RunLog, "log_columns", counted)
    (report,) = pushed(tmp_path)
    assert calls == [300]
    assert report.problems == []
    assert "default: 50 pins not taken: over the budget tags" in report.notes
    assert len(api.runs.tags(report.run or "")) == 100
    assert prove(api, path).counts == [("tag", "missing", 50)]
    source = Pins(path / "summary.json", Producer(), label="default")
    delivery = Delivery(api.runs, losses=Losses(), patience_seconds=0.0, pause=lambda _: True)
    delivery.begin(report.run or "")
    source.send(delivery, time_us=NOW)
    (path / "summary.json").write_text(json.dumps(pins | {"p7": 9.0, "_pinned": sorted(pins)}))
    # A file that is older than what it replaces: a clock was set back.
    source.send(delivery, time_us=now_us() - 3_600_000_000)
    assert calls == [300, 1]
    values = {one.key: one.last_value for one in api.runs.metrics(report.run or "")}
    assert values["p7"] == 9.0
    (path / "summary.json").write_text(json.dumps(pins | {"p7": -1.0, "_pinned": sorted(pins)}))
    os.utime(path / "summary.json", (1.7e9, 1.7e9))
    pushed(tmp_path)
    assert calls == [300, 1, 1]
    assert prove(api, path).counts == [("tag", "missing", 50)]


def picture(path: Path, name: str) -> dict[str, Any]:
    """Write an image of a run's media; return what a row has of it."""
    content = png_from_array(np.full((2, 3, 3), 200, dtype=np.uint8))[0]
    (path / "media").mkdir(exist_ok=True)
    (path / name).write_bytes(content)
    return {"_type": "image", "path": name, "sha256": hashlib.sha256(content).hexdigest()}


def test_a_media_file_that_cannot_be_read_costs_the_other_items_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = handmade(tmp_path, [])
    good, closed = picture(path, "media/good.png"), picture(path, "media/closed.png")
    long = {**good, "path": f"media/{'x' * 5000}.png"}
    (path / "media" / "none.table.json").write_text('{"columns": ["a"], "data": [5]}')
    no_table = {"_type": "table", "path": "media/none.table.json", "sha256": "x"}
    found = [long, good, closed, {**good, "path": "media/nul\0.png"}, no_table, good, closed]
    (path / "metrics.jsonl").write_text(
        "".join(json.dumps(row(step, image=one)) + "\n" for step, one in enumerate(found))
    )

    def refused(file: Path) -> bytes:
        if file.name == "closed.png":
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return read_regular(file)

    with monkeypatch.context() as closing:
        closing.setattr(media, "read_regular", refused)
        (report,) = pushed(tmp_path)
        assert report.problems == [
            "default: media/closed.png: Permission denied; it is left out until a push with --again"
        ]
        assert "default: 2 media items left out: its file is missing" in report.notes
        assert any("no table" in note for note in report.notes)
        run = report.run or ""
        assert sorted(one.step or 0 for one in api.runs.media(run)) == [1, 5]
        proof = prove(api, path)
        assert proof.differences == []
        assert proof.problems == [
            "default: media not compared: media/closed.png: Permission denied"
        ]
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 1
    assert ".png is missing" in done.output
    (after,) = pushed(tmp_path)
    assert after.problems == []
    differences = prove(api, path).differences
    assert [(one.kind, one.step) for one in differences] == [("missing", 2), ("missing", 6)]
    pushed(tmp_path, again=True)
    assert sorted(one.step or 0 for one in api.runs.media(run)) == [1, 2, 5, 6]
    assert prove(api, path).is_equal


class Later:
    """A clock that is some seconds ahead of this machine's."""

    def __init__(self, seconds: float) -> None:
        self._ahead_ns = round(seconds * 1e9)

    def time_ns(self) -> int:
        return time.time_ns() + self._ahead_ns


def test_what_a_clock_was_ahead_of_at_the_push_is_equal_when_the_present_has_caught_up(
    api: mapi.Client,
    pushed: Push,
    tmp_path: Path,
    tenant: Tenant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of such a row is that of its delivery: who looks later sees a time that would be taken."""
    ahead = time.time() + 86_400 + 3_600
    path = handmade(tmp_path, [], created=time.time() + 3_600)
    image = picture(path, "media/a.png")
    rows = [
        row(0, loss=1.0),
        {"_step": 1, "_time": ahead, "loss": 2.0, "word": "b", "image": image},
        {"_attempt": 2, "_from_step": None, "_time": ahead, "_pid": 3},
        row(2, loss=3.0, word="c"),
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    span = {"_step": 0, "name": "a", "start": ahead, "dur_ms": 1.0, "depth": 0, "track": 0}
    (path / "spans.jsonl").write_text(json.dumps(span) + "\n")
    (path / "console.jsonl").write_text(
        json.dumps({"_time": ahead, "source": "stdout", "text": "one"}) + "\n"
    )
    (report,) = pushed(tmp_path)
    assert report.problems == []
    assert prove(api, path).is_equal
    monkeypatch.setattr(instants, "time", Later(7_200))
    proof = prove(api, path)
    assert (proof.differences, proof.problems) == ([], [])
    moved = "at the time of its delivery: the clock that wrote it was more than a day ahead"
    assert f"1 media item {moved}" in proof.notes
    assert "1 span left out: no clock can have shown when it began" in proof.notes
    for step, earlier in ((2, "5 seconds"), (1, "3 days")):
        value_of(
            tenant,
            f"update mapi.run_metric_points set time = time - interval '{earlier}' where step = %s"
            " and series_id in (select id from mapi.run_series where run_id = %s)",
            step,
            (report.run or "").removeprefix("run_"),
        )
    assert {(one.what, one.kind, one.step) for one in prove(api, path).differences} == {
        ("point", "time", 1),
        ("point", "time", 2),
    }


class _NobodyWaitsError(BaseException):
    """As the library ends a thread that nobody waits for."""


def test_each_answered_request_of_a_live_run_is_heard_of_and_who_hears_may_end_it(
    url: str, tenant: Tenant, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [])
    image = picture(path, "media/a.png")
    rows = [row(step, loss=1.0, image=image) for step in range(8)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    pins = {f"p{at}/x": at * 1.5 for at in range(6)}
    (path / "summary.json").write_text(json.dumps(pins | {"_pinned": sorted(pins)}))
    backend = LiveBackend(path, [StreamKey()], url=url, token=make_token(tenant))
    backend.open()
    heard: list[float] = []

    def beats() -> None:
        heard.append(backend.beat())

    def ends() -> None:
        if len(heard) > 4:
            raise _NobodyWaitsError
        beats()

    with pytest.raises(_NobodyWaitsError):
        backend.deliver(ends)
    assert len(heard) == 5
    backend.deliver(beats)
    # One for each image and each pin of a name of its own, at the least.
    assert len(heard) > 5 + 8
    assert backend.remarks() == []
    backend.close()


def test_an_outage_that_who_hears_of_answers_finds_ends_the_look_and_is_no_problem_of_a_file(
    url: str, tenant: Tenant, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    backend = LiveBackend(path, [StreamKey()], url=url, token=make_token(tenant))
    backend.open()

    def fails() -> None:
        raise BackendDownError("gone")

    with pytest.raises(BackendDownError, match="gone"):
        backend.deliver(fails)
    assert backend.remarks() == []
    backend.close()


def test_a_project_that_the_platform_has_no_name_for_is_told_with_the_way_out(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    for at, project in enumerate(["\u202ex", " x ", "p" * 250, "a\x07b", "\udcff"]):
        path = handmade(tmp_path, [row(0, loss=1.0)], name=f"r{at}", project=project)
        (report,) = pushed(path)
        (problem,) = report.problems
        assert "the name of a project" in problem
        assert "--project or MAPI_PROJECT" in problem
        assert prove(api, path).run is None
        (after,) = pushed(path, project="default")
        assert after.problems == []
    decomposed = handmade(tmp_path, [row(0, loss=1.0)], name="nfd", project="e\u0301")
    (report,) = pushed(decomposed)
    assert (report.problems, report.project) == ([], "\xe9")
    assert prove(api, decomposed).is_equal


def test_what_became_of_the_runs_before_a_server_that_lets_nobody_in_is_told(
    api: mapi.Client, url: str, tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (handmade(tmp_path, [row(0, loss=1.0)], name=name) for name in ("a", "b"))
    token = make_token(tenant)
    push_run = Pusher.push_run

    def revoked(pusher: Pusher, path: Path, told: Any) -> Any:
        if path == second:
            raise RejectedError("the token is over")
        return push_run(pusher, path, told)

    monkeypatch.setattr(Pusher, "push_run", revoked)
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", token)
    done = CliRunner().invoke(main, ["push", str(first), str(second)])
    assert done.exit_code != 0
    assert f"{first}: lost, run_" in done.output
    assert "the token is over" in done.output


def test_a_token_that_ends_amid_a_push_of_several_runs_leaves_none_of_them_unnamed(
    api: mapi.Client, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [handmade(tmp_path, [row(0, loss=1.0)], name=name) for name in ("a", "b", "c")]
    token = api.tokens.create("t", ["admin"])
    push_run = Pusher.push_run

    def revoked(pusher: Pusher, path: Path, told: Any) -> Any:
        def revoke(done: int) -> None:
            if path == paths[1]:
                api.tokens.revoke(token.id)
            told(done)

        return push_run(pusher, path, revoke)

    monkeypatch.setattr(Pusher, "push_run", revoked)
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", token.token)
    done = CliRunner().invoke(main, ["push", *map(str, paths)])
    assert done.exit_code == 1
    first, second, third = paths
    assert f"{first}: lost, run_" in done.stdout
    assert f"{second}: " in done.stdout
    assert "  wrong: broken off" in done.stdout
    assert f"{third}: not looked at" in done.stdout
    bad, error = done.stderr.splitlines()
    assert bad == f"Not whole on the platform: {second}, {third}"
    assert error.startswith("Error: ")


def test_a_damaged_line_beside_the_metrics_is_told_by_the_push_and_by_the_proof(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    printed = {"_time": time.time() - 5, "source": "stdout", "text": "one"}
    span = {
        "_step": 0,
        "name": "a",
        "start": time.time() - 5,
        "dur_ms": 1.0,
        "depth": 0,
        "track": 0,
    }
    for name, line in (("console", printed), ("spans", span)):
        (path / f"{name}.jsonl").write_text(f"{json.dumps(line)}\n{{damaged\n{{}}\n")
    (report,) = pushed(tmp_path)
    assert len(report.problems) == 2
    proof = prove(api, path)
    assert (proof.differences, proof.is_equal) == ([], False)
    assert sorted(proof.problems) == [
        "console.jsonl: 1 damaged line left out",
        "spans.jsonl: 1 damaged line left out",
    ]
    assert "1 line left out: the line is no output" in proof.notes
