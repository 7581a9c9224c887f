"""Commands that print what is left of a run say what retention has deleted of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.tenants_access import value_of

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi import Client


@pytest.fixture
def old(admin: Any, run: str, api: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run with ten points, a line and a span, all of which retention has deleted."""
    api.runs.log_series(run, "loss", [0.5] * 10, steps=list(range(10)))
    api.runs.log_line(run, "hello")
    api.runs.log_spans(
        run, [{"name": "fwd", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}]
    )
    api.runs.update(run, status="succeeded")
    value_of(
        tenant,
        "update mapi.runs set finished = now() - interval '9 days',"
        " heartbeat = now() - interval '9 days' where id = %s",
        run.removeprefix("run_"),
    )
    monkeypatch.setenv("MAPI_TRACKING_RETENTION_DAYS", "5")
    admin("retention")
    return run


def test_show_says_what_is_gone_of_the_run_and_of_each_series(mapi: Any, old: str) -> None:
    shown = mapi("runs", "show", old).out
    (line,) = [one for one in shown.splitlines() if one.startswith("pruned ")]
    assert line.endswith(
        "10 points, 1 log line and 1 span were deleted; `mapi runs life` says why"
    )
    assert (
        "metric      loss = 0.5 at step 9 (10 points, min 0.5, max 0.5; 10 points up to step 9 "
        "deleted by retention)" in shown
    )
    assert json.loads(mapi("runs", "show", old, "-o", "json").out)["pruned"]["points"] == 10


def test_life_says_by_which_rule(mapi: Any, old: str) -> None:
    (entry,) = [
        one
        for one in json.loads(mapi("runs", "life", old, "--format", "json").out)
        if one["kind"] == "pruned"
    ]
    assert entry["message"] == "10 points, 1 log line and 1 span were deleted"
    assert entry["reason"] == "ended more than 5 days ago (MAPI_TRACKING_RETENTION_DAYS)"


def test_points_say_beside_the_table_that_some_are_gone(mapi: Any, old: str) -> None:
    told = mapi("runs", "points", old, "loss", "--format", "csv")
    assert told.out == "step,time,value\n"
    assert told.err == (
        "(10 points up to step 9 deleted by retention; `mapi runs life` says why)\n"
    )
    body = json.loads(mapi("runs", "points", old, "loss", "-o", "json").out)
    assert (body["points"], body["pruned"]) == ([], {"count": 10, "last_step": 9})
    (series,) = json.loads(mapi("runs", "metrics", old, "--format", "json").out)
    assert (series["count"], series["pruned_count"]) == (10, 10)


def test_spans_say_it_too(mapi: Any, old: str) -> None:
    told = mapi("runs", "spans", old, "--format", "csv")
    assert told.out == "name,start,duration_ms,stream,rank,step,depth\n"
    assert told.err == "(1 span deleted by retention; `mapi runs life` says why)\n"
    assert json.loads(mapi("runs", "spans", old, "-o", "json").out) == {
        "pruned_count": 1,
        "spans": [],
    }


def test_a_run_with_all_its_points_says_nothing_of_it(mapi: Any, run: str) -> None:
    mapi("runs", "log-metric", run, "loss=1", "--step", "0")
    assert mapi("runs", "points", run, "loss").err == ""
    assert mapi("runs", "spans", run).err == ""
    assert mapi("runs", "tail", run, "--no-follow").err == ""
    assert "pruned" not in mapi("runs", "show", run).out
    (series,) = json.loads(mapi("runs", "metrics", run, "--format", "json").out)
    assert series["pruned_count"] is None


def test_tail_compare_and_groups_say_it_too(mapi: Any, old: str) -> None:
    told = mapi("runs", "tail", old, "--no-follow")
    assert (told.out, told.err) == (
        "",
        "(1 log line deleted by retention; `mapi runs life` says why)\n",
    )
    other = mapi("runs", "create").out.strip()
    rows = json.loads(mapi("runs", "compare", old, other, "--format", "json").out)
    (row,) = [one for one in rows if one["field"] == "pruned"]
    assert "10 points, 1 log line and 1 span were deleted" in row[old]
    assert row[other] is None
    told = mapi("runs", "groups", "loss", "--format", "csv")
    assert told.err == (
        "(1 run without points that retention deleted; `mapi runs life` says why)\n"
    )


def test_the_client_gets_it_typed(api: Client, old: str) -> None:
    facts = api.runs.get(old)
    assert facts.pruned is not None
    assert (facts.pruned.points, facts.pruned.log_lines) == (10, 1)
    found = api.runs.points(old, "loss")
    assert found.pruned is not None
    assert (len(found), found.pruned.count, found.pruned.last_step) == (0, 10, 9)
    (series,) = api.runs.metrics(old)
    assert series.pruned == found.pruned
    curve = api.runs.curve(old, "loss", buckets=5)
    assert curve.pruned == found.pruned
    *_, entry = api.runs.life(old)
    assert (entry.kind, entry.days) == ("pruned", 5)
