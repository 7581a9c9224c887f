"""Producers, attempts, documents, spans, corrections and files of runs: what both clients make of them."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zstandard
from tests.mapi.api.media_calls import png
from tests.mapi.tenants_access import set_limits

import mapi
from mapi import filters as f
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mapi.sdk.asking import Asking
    from tests.mapi.tenants import Tenant

DATA = mapi.Producer(stream="data", rank=3)


def test_each_producer_has_steps_and_documents_of_its_own(asking: Asking) -> None:
    run = asking("runs.create")
    asking("runs.log_metric", run, "loss", 1.0, step=0)
    asking("runs.log_metric", run, "loss", 2.0, step=0, producer=DATA)
    asking("runs.log_series", run, "loss", [3.0], steps=[1], producer=DATA)
    asking("runs.log_line", run, "hello", producer=DATA)
    asking("runs.log_image", run, "picture", png(), producer=DATA)
    asking("runs.upload_media", run, "other", png(), producer=DATA)
    own = {"stream": "data", "rank": "3"}
    assert [(one.labels, one.count) for one in asking("runs.metrics", run)] == [({}, 1), (own, 2)]
    assert asking("runs.points", run, "loss", labels=own).values == [2.0, 3.0]
    (line,) = asking("runs.lines", run)
    assert (line.stream, line.rank) == ("data", 3)
    assert [one.labels for one in asking("runs.media", run)] == [own, own]
    asking("runs.put_config", run, {"lr": float("nan"), "deep": {"a": [1]}}, producer=DATA)
    assert asking("runs.config", run, producer=DATA) == {"lr": "NaN", "deep": {"a": [1]}}
    asking("runs.put_config", run, {"lr": 1}, producer=DATA)
    assert asking("runs.config", run, producer=DATA) == {"lr": 1}
    with pytest.raises(mapi.NotFoundError):
        asking("runs.config", run)
    asking("runs.put_environment", run, {"python": "3.11"})
    assert asking("runs.environment", run) == {"python": "3.11"}
    found = [(one.name, one.stream, one.rank) for one in asking("runs.documents", run)]
    assert found == [("config", "data", 3), ("environment", "", 0)]
    with pytest.raises(mapi.InvalidError, match="bytes"):
        asking("runs.put_config", run, {"a": "x" * (1 << 20)})


def test_series_of_a_request_are_written_as_mappings(asking: Asking) -> None:
    run = asking("runs.create")
    columns = [
        {"key": "loss", "labels": {"split": "eval"}, "steps": [0, 1], "values": [1.5, "NaN"]},
        {"name": "Loss / train", "values": [2]},
    ]
    assert asking("runs.log_columns", run, columns, producer=DATA).accepted == 3
    own = {"stream": "data", "rank": "3"}
    found = asking("runs.points", run, "loss", labels={"split": "eval", **own})
    assert str(found.values) == "[1.5, nan]"
    (foreign,) = [one for one in asking("runs.metrics", run) if one.key != "loss"]
    assert (foreign.last_value, foreign.count) == (2.0, 1)
    with pytest.raises(mapi.InvalidError, match="times"):
        asking("runs.log_columns", run, [{"key": "a", "values": [1], "times": [5]}])


@pytest.mark.parametrize(
    ("producer", "pointer"),
    [
        (mapi.Producer(stream="\n"), "/stream"),
        (mapi.Producer(stream="x" * 201), "/stream"),
        (mapi.Producer(rank=-1), "/rank"),
        (mapi.Producer(rank=2**31), "/rank"),
        (mapi.Producer(attempt=0), "/attempt"),
        ("data", "/producer"),
    ],
)
def test_a_producer_that_breaks_a_rule_is_refused_before_any_request(
    producer: Any, pointer: str
) -> None:
    with mapi.Client("http://127.0.0.1:1", token="t", tries=1) as api:
        calls: list[Callable[[], Any]] = [
            lambda: api.runs.log_metric("run_1", "loss", 1, producer=producer),
            lambda: api.runs.log_line("run_1", "a", producer=producer),
            lambda: api.runs.log_image("run_1", "a", png(), producer=producer),
            lambda: api.runs.put_config("run_1", {}, producer=producer),
            lambda: api.runs.begin_attempt("run_1", 1, producer=producer),
        ]
        for call in calls:
            with pytest.raises(mapi.InvalidError) as caught:
                call()
            assert caught.value.faults[0].pointer == pointer


def test_a_later_attempt_takes_the_place_of_an_older_one_from_its_step_on(asking: Asking) -> None:
    run = asking("runs.create")
    asking("runs.begin_attempt", run, 1)
    asking("runs.log_series", run, "loss", [0.0, 1.0, 2.0, 3.0])
    ended = asking("runs.end_attempt", run, 1, "failed")
    assert (ended.status, ended.number) == (RunStatus.FAILED, 1)
    begun = asking("runs.begin_attempt", run, 2, from_step=2)
    assert begun == asking("runs.begin_attempt", run, 2, from_step=2)
    asking("runs.log_series", run, "loss", [9.0], steps=[2])
    assert asking("runs.points", run, "loss").values == [0.0, 1.0, 9.0]
    assert asking("runs.points", run, "loss", attempt=1).values == [0.0, 1.0, 2.0, 3.0]
    first = mapi.Producer(attempt=1)
    asking("runs.log_series", run, "loss", [4.0], steps=[4], producer=first)
    assert asking("runs.points", run, "loss", attempt=1).steps == [0, 1, 2, 3, 4]
    assert [one.number for one in asking("runs.attempts", run)] == [1, 2]
    with pytest.raises(mapi.StateConflictError):
        asking("runs.begin_attempt", run, 2, from_step=1)


def test_spans_come_back_by_their_start_over_all_pages(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asking("runs.create")
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.run_log._SPANS_OF_REQUEST", 4_000)
    rows: list[dict[str, Any]] = [
        {"name": "fwd/attn", "start_ns": 1_790_000_000_000_000_000 - at, "duration_ns": at}
        for at in range(9_000)
    ]
    rows[0] |= {"depth": 1, "track": -7, "step": 3, "fields": {"loss": float("inf"), "a": [1]}}
    said = asking("runs.log_spans", run, rows)
    assert (said.accepted, said.accepted_seq) == (9_000, 8_999)
    found = asking("runs.spans", run)
    assert [one.start_ns for one in found] == sorted(row["start_ns"] for row in rows)
    last = found[-1]
    assert (last.depth, last.track, last.step, last.fields) == (
        1, -7, 3, {"loss": "Infinity", "a": [1]},
    )  # fmt: skip
    asking("runs.log_spans", run, rows[:1], producer=DATA)
    assert [one.rank for one in asking("runs.spans", run, stream="data")] == [3]
    assert len(asking("runs.spans", run, rank=0)) == 9_000
    seqs = asking("runs.writers", run)
    assert sorted(seqs.values()) == [0, 8_999]
    for wrong, pointer in (
        ({"name": "", "start_ns": 1, "duration_ns": 1}, "/0/name"),
        ({"name": "a", "start_ns": -1, "duration_ns": 1}, "/0/start_ns"),
        ({"name": "a", "start_ns": 1_790_000_000_000, "duration_ns": 1}, "/0/start_ns"),
        ({"name": "a", "start_ns": 1}, "/0/duration_ns"),
        ({"name": "a", "start_ns": 1, "duration_ns": 1, "x": 1}, "/0/x"),
    ):
        with pytest.raises(mapi.InvalidError) as caught:
            asking("runs.log_spans", run, [wrong])
        assert caught.value.faults[0].pointer == pointer


def test_a_spent_budget_of_spans_says_what_was_kept(asking: Asking, tenant: Tenant) -> None:
    set_limits(tenant, spans=2)
    run = asking("runs.create")
    rows = [
        {"name": "a", "start_ns": 1_790_000_000_000_000_000 + at, "duration_ns": 1}
        for at in range(5)
    ]
    with pytest.raises(mapi.QuotaExceededError) as caught:
        asking("runs.log_spans", run, rows)
    assert (caught.value.counts["accepted"], caught.value.counts["rejected"]) == (2, 3)


def test_a_run_whose_params_and_tags_have_no_room_is_made_and_warned_of_once(
    asking: Asking, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    set_limits(tenant, params=1, tags=1)
    asking("runs.create", params={"a": 1}, tags={"b": "c"})
    assert caplog.messages == []
    run = asking("runs.create", params={"a": 1, "b": 2, "c": 3}, tags={"a": "x", "b": "y"})
    assert caplog.messages == [
        f"{run.id}: its budget had no room for 2 params and 1 tags, which were not kept"
    ]
    assert run.facts.dropped == {"params": 2, "tags": 1}
    assert list(asking("runs.params", run)) == ["a"]


def test_what_was_wrong_is_put_right_and_the_audit_knows(asking: Asking) -> None:
    run = asking("runs.create", params={"lr": 1})
    asking("runs.log_series", run, "loss", [1.0, 2.0, 3.0, 4.0], labels={"split": "val"})
    series: dict[str, Any] = {"labels": {"split": "val"}}
    said = asking("runs.correct_series", run, "loss", [7.0], steps=[1], **series)
    assert said.accepted == 1
    assert asking("runs.points", run, "loss", **series).values == [1.0, 7.0, 3.0, 4.0]
    gone = asking("runs.delete_points", run, "loss", first=1, last=2, reason="spike", **series)
    assert gone.rows == 2
    assert asking("runs.points", run, "loss", **series).steps == [0, 3]
    asking("runs.delete_points", run, "loss", reason="all of it", **series)
    assert asking("runs.metrics", run) == []
    asking("runs.delete_param", run, "lr", reason="typo")
    asking("runs.log_params", run, {"lr": 2})
    item = asking("runs.log_image", run, "picture", png())
    assert asking("runs.delete_media", run, item, reason="a face").freed_bytes == len(png())
    assert asking("runs.media", run) == []
    with pytest.raises(mapi.NotFoundError):
        asking("runs.delete_param", run, "none", reason="typo")
    with pytest.raises(mapi.InvalidError):
        asking("runs.delete_param", run, "lr", reason="")
    actions = [(one.action, one.fields.get("reason")) for one in asking("audit.list")]
    assert ("point.delete", "spike") in actions
    # A noun and a verb, all of them.
    assert [action for action, _ in actions if not re.fullmatch(r"[a-z]+\.[a-z]+", action)] == []


def test_an_upload_keeps_the_bytes_once_and_tells_how_far_it_is(
    asking: Asking, tmp_path: Path
) -> None:
    run = asking("runs.create")
    noise = np.random.default_rng(1).integers(0, 256, (800, 800), dtype=np.uint8)
    seen: list[tuple[int, int | None]] = []
    made = asking("runs.log_image", run, "noise", noise, progress=lambda *at: seen.append(at))
    assert seen[-1] == (made.size_bytes, made.size_bytes)
    assert len(seen) == -(-made.size_bytes // (256 << 10))
    path = tmp_path / "a.png"
    path.write_bytes(asking("runs.media_content", run, made))
    seen.clear()
    again = asking("runs.upload_media", run, "noise", path, progress=lambda *at: seen.append(at))
    assert again.id == made.id
    assert seen[-1][0] == seen[-1][1]
    about = {"step": 3, "labels": {"split": "val"}, "caption": "*c*"}
    other = asking("runs.upload_media", run, "picture", png(), **about)
    assert (other.step, other.labels, other.caption) == (3, {"split": "val"}, "*c*")
    assert asking("runs.media_content", run, other) == png()


def test_what_is_no_part_of_a_media_item_is_refused(asking: Asking) -> None:
    for method in ("log_image", "log_figure", "log_table", "upload_media"):
        with pytest.raises(TypeError, match="'stpe' is no part"):
            asking(f"runs.{method}", "run_1", "a", png(), stpe=3)


def test_values_of_the_library_are_kept_as_what_they_are(asking: Asking) -> None:
    import expr_tracker as et

    run = asking("runs.create")
    image = asking("runs.log_image", run, "a", et.Image(np.zeros((2, 3), dtype=np.uint8)))
    table = asking("runs.log_table", run, "b", et.Table(columns=["x"], data=[[1], [2]]))
    assert (image.width, image.height, table.width, table.height) == (3, 2, 1, 2)


def exported(asking: Asking, run: Any) -> bytes:
    target = io.BytesIO()
    asking("runs.export", target, run=run)
    return target.getvalue()


@pytest.mark.parametrize("packing", ["none", "gzip", "zstd"])
def test_an_export_is_taken_back_as_it_was(asking: Asking, packing: str, tmp_path: Path) -> None:
    run = asking("runs.create", name="a", params={"lr": 1}, external_id="mine")
    asking("runs.log_series", run, "loss", [1.0, float("nan")], labels={"split": "val"})
    asking(
        "runs.log_spans",
        run,
        [{"name": "s", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2}],
    )
    asking("runs.log_line", run, "hello", fields={"a": 1})
    asking("runs.update", run, status="succeeded")
    whole = exported(asking, run)
    asking("runs.delete", run)
    assert asking("runs.purge", run).rows > 0
    file = tmp_path / "a.jsonl"
    packers: dict[str, Callable[[bytes], bytes]] = {
        "none": bytes,
        "gzip": gzip.compress,
        "zstd": zstandard.ZstdCompressor().compress,
    }
    file.write_bytes(packers[packing](whole))
    seen: list[tuple[int, int | None]] = []
    said = asking("runs.import_file", file, progress=lambda *at: seen.append(at))
    assert said.runs == [run.id]
    assert said.rows["points"] == 2
    assert seen == [(file.stat().st_size, file.stat().st_size)]
    assert exported(asking, run.id) == whole
    with file.open("rb") as opened:
        again = asking("runs.import_file", opened)
    assert again == said
    assert exported(asking, run.id) == whole


def test_an_import_that_is_wrong_writes_nothing_and_says_where(asking: Asking) -> None:
    run = asking("runs.create")
    lines = exported(asking, run).splitlines(keepends=True)
    asking("runs.delete", run)
    asking("runs.purge", run)
    broken = io.BytesIO(b"".join([*lines[:-1], b'{"type": "tag"}\n', lines[-1]]))
    for content in (broken, io.BytesIO(b"".join(lines[:-1])), io.BytesIO(b"")):
        with pytest.raises(mapi.InvalidError):
            asking("runs.import_file", content)
    assert asking("runs.list") == []


def test_groups_are_of_all_values_and_name_their_members(asking: Asking) -> None:
    members: dict[str, list[str]] = {}
    for lr, values in ((1, [1.0, 2.0]), (1, [3.0, 4.0]), (2, [5.0])):
        run = asking("runs.create", params={"lr": lr})
        asking("runs.log_series", run, "loss", values, labels={"split": "val"})
        members.setdefault(str(lr), []).append(run.id)
    members["1"].append(asking("runs.create", params={"lr": 1}).id)  # it lacks the series
    loss = f.metric("loss", split="val")
    for y, by in ((loss, f.param("lr")), ("loss{split=val}", "params.lr")):
        found = asking("runs.groups", y, by=by)
        assert (found.runs_total, found.runs_without) == (4, 1)
        groups = {one.by["params.lr"]: one for one in found.groups}
        assert {str(lr): sorted(one.runs) for lr, one in groups.items()} == {
            lr: sorted(runs) for lr, runs in members.items()
        }
        first = next(one for lr, one in groups.items() if str(lr) == "1").points[0]
        assert (first.count, first.mean, first.min, first.max) == (2, 2.0, 1.0, 3.0)
    only = asking("runs.groups", loss, filter=f.param("lr") == 1, start=1, stop=2)
    assert [(point.step, point.count) for point in only.groups[0].points] == [(1, 2)]
    (whole,) = asking("runs.groups", loss, filter=f.param("lr") == 1, stat="count").groups
    assert whole.points == []
    assert (whole.summary.count, whole.summary.mean) == (2, 2.0)
    with pytest.raises(mapi.SchemaInvalidError) as caught:
        asking("runs.groups", "loss{split=")
    assert caught.value.errors[0].pointer == "/query/y"


def test_limits_of_a_project_are_read_set_and_hold(asking: Asking) -> None:
    before = asking("limits.get").tracking
    assert before["points"] == 500_000
    changed = asking("limits.set", {"tags": 1, "points": 7}, project="default")
    assert (changed.tracking["tags"], changed.requests["batch_bytes"]) == (1, 8 << 20)
    run = asking("runs.create", tags={"a": "b"})
    with pytest.raises(mapi.QuotaExceededError):
        asking("runs.set_tags", run, {"c": "d"})
    asking("limits.set", {"tags": None, "points": None}, project="default")
    assert asking("limits.get").tracking == before
    with pytest.raises(mapi.SchemaInvalidError, match="the operator raises that"):
        asking("limits.set", {"points": "unlimited"}, project="default")
    for changes in ({"pints": 1}, {"points": -1}, {"points": "much"}):
        with pytest.raises(mapi.InvalidError):
            asking("limits.set", changes, project="default")
    asking("runs.log_image", run, "picture", png())
    (row,) = asking("limits.usage").projects
    assert (row.project, row.runs, row.media_bytes) == ("default", 1, len(png()))
    assert (row.budgets["media_items"].used, row.budgets["media_items"].limit) == (1, 1_000)


def test_what_goes_for_its_age_is_told_before(asking: Asking) -> None:
    found = asking("limits.retention")
    assert (found.trash_days, found.tracking_days, found.rules) == (30, None, [])


def test_members_have_roles_and_the_audit_goes_through_all_pages(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.administration._PAGE_ENTRIES", 2)
    for at in range(5):
        asking("members.set", f"user {at}", "viewer", project="default")
    asking("members.set", "user 0", "admin", project="default")
    asking("members.remove", "user 1", project="default")
    found = {one.user: one.role.value for one in asking("members.list")}
    assert found == {f"user {at}": "viewer" for at in range(2, 5)} | {"user 0": "admin"}
    entries = asking("audit.list")
    ids = [one.id for one in entries]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) >= 7
    page = asking("audit.page", limit=1)
    assert page.entries == entries[:1]
    assert page.next_cursor is not None
    with pytest.raises(mapi.InvalidError):
        asking("members.set", "anna", "king")


def test_a_server_says_whether_it_can_serve(asking: Asking) -> None:
    assert asking("server.readiness") == {"database": "ready"}
    asking("server.check_alive")
    assert asking("server.description")["openapi"].startswith("3.1")
    with pytest.raises(mapi.UnauthenticatedError):
        asking("server.meters")


def test_a_server_that_cannot_serve_says_which_part() -> None:
    from tests.mapi.sdk.asking import ask
    from tests.mapi.sdk.small_servers import says, serving_script

    with serving_script(says(503, {"database": "failed"})) as server:
        assert ask("threads", server.url, "server.readiness") == {"database": "failed"}
        assert len(server.asked) == 1


def test_every_field_of_an_answer_is_json_again(asking: Asking) -> None:
    import msgspec

    run = asking("runs.create")
    asking(
        "runs.log_spans",
        run,
        [{"name": "s", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2}],
    )
    for one in (asking("runs.spans", run)[0], asking("limits.get"), asking("limits.usage")):
        assert json.loads(msgspec.json.encode(one))
