"""Exports are what was logged, and an import takes them back; hostile files are refused whole."""

from __future__ import annotations

import csv
import gzip
import io
import json
import uuid
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow.parquet as pq
import pytest
import zstandard
from tests.mapi.callers import make_caller

from mapi.tracking.export import export_lines, point_slices, the_run
from mapi.tracking.point_tables import csv_table

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

NOW_US = 1_780_000_000_000_000
VALUES: list[Any] = [0.1, -0.0, 1e300, 5e-324, "NaN", "Infinity", "-Infinity", 1 / 3]
STEPS = [0, 1, 5, 2**53 + 1, 2**62, 2**63 - 3, 2**63 - 2, 2**63 - 1]


async def fill(caller: Caller, **sent: Any) -> str:
    """Make a run with everything that an API client can log."""
    run = await caller.make_run(
        name="é = 1",
        note="# Note",
        params={"lr": "1e-3", 'a,"b"': "x\ny"},
        tags={"stage": "a"},
        started="2026-11-01T10:00:00.123456Z",
        **sent,
    )
    times = [NOW_US + at for at in range(8)]
    await caller.log(run, "loss", VALUES, steps=STEPS, times=times, labels={"split": 'a"b,c'})
    await caller.log(run, "kpi", [4.0], steps=[None], times=[NOW_US])
    await caller.post(
        f"/v1/runs/{run}/attempts", {"number": 2, "from_step": 2, "stream": "data", "rank": 3}
    )
    for attempt in (1, 2):
        await caller.log(
            run,
            "loss",
            [float(attempt)] * 4,
            times=times[:4],
            stream="data",
            rank=3,
            attempt=attempt,
        )
    await caller.log(run, "long", [float(at) for at in range(12_000 // 2)])
    lines = [
        {"message": f"line {at % 3}", "level": "warning", "fields": {"at": at % 2}}
        for at in range(450)
    ]
    await caller.post(f"/v1/runs/{run}/logs", {"lines": lines})
    await caller.post(f"/v1/runs/{run}/logs", {"lines": lines[:1], "stream": "data", "rank": 3})
    spans = [
        {"name": "fwd", "start_ns": 1_790_000_000_000_000_000 + at, "duration_ns": 5, "depth": 1}
        for at in range(3)
    ]
    await caller.post(f"/v1/runs/{run}/spans", {"spans": spans})
    await caller.send(
        "PUT", f"/v1/runs/{run}/config", json={"content": {"a": [1, None]}}, status=204
    )
    await caller.send("PATCH", f"/v1/runs/{run}", json={"status": "failed", "reason": "signal"})
    return run


async def export(caller: Caller, run: str, **params: Any) -> bytes:
    answer = await caller.send("GET", f"/v1/runs/{run}/export", params=params)
    assert answer.headers["content-disposition"].startswith("attachment")
    return answer.content


async def bring_in(
    caller: Caller,
    body: bytes,
    *,
    status: int = 200,
    kind: str = "application/jsonl",
    encoding: str = "identity",
) -> Any:
    headers = {"Content-Type": kind, "Content-Encoding": encoding}
    answer = await caller.send("POST", "/v1/import", content=body, status=status, headers=headers)
    return answer.json()


def lines_of(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body.splitlines()]


async def test_a_table_holds_every_point_exactly(caller: Caller) -> None:
    run = await fill(caller)
    text = (await export(caller, run, format="csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 8 + 1 + 8 + 6_000
    loss = [row for row in rows if row["labels"] == json.dumps({"split": 'a"b,c'})]
    assert [int(row["step"]) for row in loss] == STEPS
    assert [repr(float(row["value"])) for row in loss] == [repr(float(one)) for one in VALUES]
    assert loss[7]["time"] == "2026-05-28T20:26:40.000007+00:00"
    assert [row["step"] for row in rows if row["key"] == "kpi"] == [""]
    assert {(row["attempt"], row["value"]) for row in rows if '"rank": "3"' in row["labels"]} == {
        ("1", "1.0"),
        ("2", "2.0"),
    }
    table = pq.read_table(io.BytesIO(await export(caller, run, format="parquet"))).to_pylist()
    assert len(table) == len(rows)
    for one, other in zip(table, rows, strict=True):
        assert one["run"] == other["run"] == run
        assert one["step"] == (None if other["step"] == "" else int(other["step"]))
        assert repr(one["value"]) == repr(float(other["value"]))
        assert one["time"].isoformat(timespec="microseconds") == other["time"]


async def test_an_import_gives_back_what_was_exported(
    caller: Caller, stranger: Caller, tenant: Tenant
) -> None:
    parent = await caller.make_run(name="parent")
    run = await fill(caller, external_id="mine", parent=parent)
    body = await export(caller, run)
    assert lines_of(body)[-1] == {"type": "end", "lines": len(lines_of(body)) - 1}
    for _ in range(2):
        answer = await bring_in(stranger, body)
        assert answer["runs"] == [run]
        assert answer["warnings"] == []
        there = lines_of(await export(stranger, run))
        here = lines_of(body)
        here[1]["parent"] = None  # it is not in the file
        assert there == here
    for path in ("metrics?limit=500", "params", "tags"):
        mine = await caller.get(f"/v1/runs/{run}/{path}")
        assert await stranger.get(f"/v1/runs/{run}/{path}") == mine
    # Into where it came from: nothing changes.
    await bring_in(caller, body)
    assert await export(caller, run) == body


async def test_all_runs_of_a_filter_go_out_and_come_back_with_their_parents(
    caller: Caller, stranger: Caller
) -> None:
    parent = await caller.make_run(name="parent", tags={"set": "a"})
    await caller.send("PATCH", f"/v1/runs/{parent}", json={"status": "failed"})
    children = [
        await caller.make_run(name=f"child {at}", parent=parent, tags={"set": "a"})
        for at in range(3)
    ]
    await caller.make_run(name="other")
    again = (await caller.post(f"/v1/runs/{parent}/retry", {}, status=201))["id"]
    answer = await caller.send("GET", "/v1/export/runs", params={"filter": "tags.set = a"})
    found = [line["run"] for line in lines_of(answer.content) if line["type"] == "run"]
    assert found == [again, *children[::-1], parent]
    await bring_in(stranger, answer.content)
    assert (await stranger.get(f"/v1/runs/{children[0]}"))["parent"] == parent
    assert (await stranger.get(f"/v1/runs/{again}"))["retry_of"] == parent
    table = await caller.send("GET", "/v1/export/runs", params={"format": "csv"})
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.text.splitlines() == ["run,attempt,key,labels,step,time,value"]
    for params, pointer in (
        ({"format": "xml"}, "/query/format"),
        ({"filter": "tags.set ="}, "/query/filter"),
        ({"project": "none"}, "/query/project"),
    ):
        problem = await caller.get("/v1/export/runs", params=params, status=422)
        assert problem["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_compressed_file_is_read(caller: Caller, stranger: Caller, encoding: str) -> None:
    run = await fill(caller)
    body = await export(caller, run)
    packed = gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)
    await bring_in(stranger, packed, encoding=encoding)
    assert await export(stranger, run) == body
    torn = packed[: len(packed) // 2]
    problem = await bring_in(stranger, torn, status=400, encoding=encoding)
    assert problem["code"] == "BODY_UNREADABLE"


RUN: dict[str, Any] = {
    "type": "run",
    "run": f"run_{uuid.uuid4()}",
    "kind": "external",
    "status": "failed",
    "name": "",
    "note": "",
    "reason": None,
    "parent": None,
    "experiment": None,
    "user": "x",
    "external_id": None,
    "created": "2026-11-01T00:00:00Z",
    "started": None,
    "finished": None,
    "spec": None,
}
ID = RUN["run"]
POINTS: dict[str, Any] = {
    "type": "points",
    "run": ID,
    "key": "loss",
    "labels": {},
    "attempt": 1,
    "source": "api",
    "steps": [0],
    "times": [NOW_US],
    "values": [1.0],
}
TIMED = {"source": "api", "time": "2026-11-01T00:00:00Z"}
LOG = {
    "type": "log",
    "run": ID,
    "level": "info",
    "message": "m",
    "fields": None,
    "stream": "",
    "rank": 0,
    **TIMED,
}
HOSTILE: list[tuple[list[Any], str]] = [
    ([RUN, {**POINTS, "key": "Loss"}], "/lines/2/key"),
    ([RUN, {**POINTS, "steps": [0, 1]}], "/lines/2/steps"),
    ([RUN, {**POINTS, "steps": [-1]}], "/lines/2/steps/0"),
    ([RUN, {**POINTS, "steps": [2**63]}], "/lines/2/steps/0"),
    ([RUN, {**POINTS, "times": [5]}], "/lines/2/times/0"),
    ([RUN, {**POINTS, "times": [10**17]}], "/lines/2/times/0"),
    ([RUN, {**POINTS, "values": ["nan"]}], "/lines/2/values/0"),
    ([RUN, {**POINTS, "labels": {"rank": "01"}}], "/lines/2/labels/rank"),
    ([RUN, {**POINTS, "labels": {"rank": "0"}}], "/lines/2/labels/rank"),
    ([RUN, {**POINTS, "labels": {"rank": str(2**31)}}], "/lines/2/labels/rank"),
    ([RUN, {**POINTS, "labels": {"rank": "9" * 30}}], "/lines/2/labels/rank"),
    ([RUN, {**POINTS, "labels": {"a": "\n"}}], "/lines/2/labels"),
    ([RUN, {**POINTS, "attempt": 0}], "/lines/2/attempt"),
    ([RUN, {**POINTS, "run": f"run_{uuid.uuid4()}"}], "/lines/2/run"),
    ([POINTS], "/lines/1/run"),
    ([RUN, RUN], "/lines/2/run"),
    ([{**RUN, "run": "run_x"}], "/lines/1/run"),
    ([{**RUN, "name": "x" * 201}], "/lines/1/name"),
    ([{**RUN, "status": "done"}], "/lines/1/status"),
    ([{**RUN, "created": "yesterday"}], "/lines/1/created"),
    ([{**RUN, "more": 1}], "/lines/1/more"),
    ([{"type": "export", "version": 1}], "/lines/1/type"),
    ([RUN, {"type": "param", "run": ID, "key": "", "text": "x", **TIMED}], "/lines/2/text"),
    (
        [RUN, {"type": "param", "run": ID, "key": "a", "text": "x" * 65_537, **TIMED}],
        "/lines/2/text",
    ),
    ([RUN, {"type": "tag", "run": ID, "key": "a\x00", "text": "x", **TIMED}], "/lines/2/key"),
    ([RUN, {**LOG, "message": "é" * 9_000}], "/lines/2/message"),
    ([RUN, {**LOG, "time": "1969-01-01T00:00:00Z"}], "/lines/2/time"),
    ([RUN, {**LOG, "fields": {"a": "x" * 70_000}}], "/lines/2/fields"),
    ([RUN, {**LOG, "stream": "\n"}], "/lines/2/stream"),
    (
        [
            RUN,
            POINTS,
            {
                "type": "attempt",
                "run": ID,
                "stream": "",
                "rank": 0,
                "number": 1,
                "from_step": None,
                "source": "api",
                "started": "2026-11-01T00:00:00Z",
                "finished": None,
                "status": None,
            },
        ],
        "/lines/3/type",
    ),
    (
        [
            RUN,
            {
                "type": "document",
                "run": ID,
                "name": "../x",
                "stream": "",
                "rank": 0,
                "content": {},
            },
        ],
        "/lines/2/name",
    ),
    (
        [
            RUN,
            {
                "type": "document",
                "run": ID,
                "name": "config",
                "stream": "",
                "rank": 0,
                "content": {},
                "time": "1969-01-01T00:00:00Z",
            },
        ],
        "/lines/2/time",
    ),
    ([{**RUN, "dropped": {"sheep": 1}}], "/lines/1/dropped/sheep"),
    ([{**RUN, "dropped": {"points": -1}}], "/lines/1/dropped/points"),
    ([RUN, {"type": "unknown", "run": ID}], "/lines/2/type"),
    ([RUN, []], "/lines/2"),
]


def file_of(lines: list[Any]) -> bytes:
    whole = [{"type": "export", "version": 1}, *lines]
    whole.append({"type": "end", "lines": len(whole)})
    return b"".join(json.dumps(one).encode() + b"\n" for one in whole)


@pytest.mark.parametrize(
    ("lines", "pointer"), HOSTILE, ids=[f"{at} {one[1]}" for at, one in enumerate(HOSTILE)]
)
async def test_a_hostile_file_is_refused_whole_with_the_place(
    caller: Caller, lines: list[Any], pointer: str
) -> None:
    problem = await bring_in(caller, file_of(lines), status=422)
    assert problem["code"] == "SCHEMA_INVALID"
    assert problem["errors"][0]["pointer"] == pointer, problem
    await caller.get(f"/v1/runs/{ID}", status=404)


async def test_what_is_no_whole_file_is_refused(caller: Caller) -> None:
    good = file_of([RUN, POINTS])
    for body, pointer in (
        (b"", "/lines/0"),
        (b"\n", "/lines/0"),
        (b"PK\x03\x04", "/lines/0"),
        (b'{"type":"export","version":2}\n', "/lines/0/version"),
        (good[:-20], "/lines/3"),
        (good.rsplit(b"\n", 2)[0] + b"\n", "/lines/3"),
        (good.replace(b'"lines": 3', b'"lines": 2'), "/lines/3/lines"),
        (good + b"{}\n", "/lines/4/type"),
        (good + good, "/lines/4"),
    ):
        problem = await bring_in(caller, body, status=422)
        assert problem["errors"][0]["pointer"] == pointer, body
    await bring_in(caller, good, status=415, kind="text/plain")
    await bring_in(caller, good, status=415, encoding="br")
    await caller.get(f"/v1/runs/{ID}", status=404)
    await bring_in(caller, good)
    assert (await caller.get(f"/v1/runs/{ID}"))["status"] == "failed"


async def test_only_an_admin_vouches_for_what_runners_signed(
    app: Litestar, tenant: Tenant, viewer: Caller
) -> None:
    writer = make_caller(app, tenant, scopes=["runs:write"])
    await bring_in(viewer, file_of([]), status=403)
    for lines in (
        [{**RUN, "kind": "fit", "spec": {}}],
        [RUN, {**POINTS, "source": "runner"}],
    ):
        await bring_in(writer, file_of(lines), status=403)
    await bring_in(writer, file_of([{**RUN, "user": "somebody else"}]))
    assert (await writer.get(f"/v1/runs/{ID}"))["user"] == "test"


async def test_an_import_never_takes_over_a_run_of_another_project(
    caller: Caller, app: Litestar, tenant: Tenant
) -> None:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'other') returning id",
            [tenant.id],
        ).fetchone()
    assert row is not None
    run = await caller.make_run(name="mine", external_id="mine")
    body = file_of([{**RUN, "run": run, "name": "theirs"}])
    path = "/v1/import?project=other"
    headers = {"Content-Type": "application/jsonl"}
    await caller.send("POST", path, content=body, status=409, headers=headers)
    bound = make_caller(app, tenant, scopes=["runs:write"], project_id=row[0])
    await bound.send("POST", "/v1/import", content=body, status=409, headers=headers)
    # An external id that another run has.
    await bring_in(caller, file_of([{**RUN, "external_id": "mine"}]), status=409)
    assert (await caller.get(f"/v1/runs/{run}"))["name"] == "mine"


async def test_a_run_that_was_here_keeps_its_params(caller: Caller) -> None:
    run = await caller.make_run(params={"lr": "1"}, tags={"stage": "now"})
    mine = {**RUN, "run": run}
    param = {"type": "param", "run": run, "key": "lr", "text": "2", **TIMED}
    problem = await bring_in(caller, file_of([mine, param]), status=409)
    assert problem["code"] == "PARAM_CONFLICT"
    tag = {"type": "tag", "run": run, "key": "stage", "text": "then", **TIMED}
    await bring_in(caller, file_of([mine, {**param, "text": "1"}, tag]))
    assert (await caller.get(f"/v1/runs/{run}/tags"))["tags"] == {"stage": "now"}


async def test_slices_of_an_export_stay_small(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    run = await caller.make_run()
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.run_series"
            " (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
            " values (%s, %s, 1, 'long', '{}', 1, 'api') returning id",
            [tenant.id, run[4:]],
        ).fetchone()
        assert row is not None
        connection.execute(
            "insert into mapi.run_metric_points select %s, %s, step, now(), step"
            " from generate_series(0, 99999) as step",
            [tenant.id, row[0]],
        )
    run_id = uuid.UUID(run[4:])
    slices = point_slices(database, tenant.reach, the_run(run_id))
    for chunks in (
        export_lines(database, tenant.reach, the_run(run_id)),
        csv_table(slices),
    ):
        sizes = [len(chunk) async for chunk in chunks]
        assert sum(sizes) > 2_000_000
        assert max(sizes) < 1_000_000
