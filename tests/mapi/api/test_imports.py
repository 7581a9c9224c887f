"""What an export holds comes back elsewhere: runs of any content, their experiments, saved views."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mapi.callers import make_caller
from tests.mapi.importing import (
    TIME,
    bring_in,
    experiment_line,
    exported,
    file_of,
    make_study,
    run_line,
    span_line,
    view_line,
)

from mapi.wire.decoding import FAULTS_MAX

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

NOW_US = 1_780_000_000_000_000


async def test_a_whole_project_comes_back_with_experiments_and_views(
    caller: Caller, stranger: Caller
) -> None:
    ids = await make_study(caller)
    lines = await exported(caller)
    kinds = [line["type"] for line in lines]
    assert kinds[:6] == ["export", "experiment", "experiment", "view", "view", "run"]
    for _ in range(2):
        answer = await bring_in(stranger, lines)
        assert answer["warnings"] == []
        assert (answer["rows"]["experiment"], answer["rows"]["view"]) == (2, 2)
        assert await exported(stranger) == lines
    await bring_in(caller, lines)
    assert await exported(caller) == lines
    found = await stranger.get(f"/v1/runs/{ids['in old']}")
    assert found["experiment"] == ids["old"]
    assert (await stranger.get(f"/v1/experiments/{ids['old']}"))["archived"] is not None
    assert (await stranger.get(f"/v1/saved-views/{ids['best']}"))["experiment"] == ids["study"]


async def test_chosen_runs_take_their_experiments_and_their_views_along(
    caller: Caller, stranger: Caller
) -> None:
    ids = await make_study(caller)
    one = await exported(caller, f"/v1/runs/{ids['in study']}/export")
    assert [line["type"] for line in one][:4] == ["export", "experiment", "view", "run"]
    assert [one[1]["experiment"], one[2]["view"]] == [ids["study"], ids["best"]]
    assert [line["type"] for line in await exported(caller, filter="name = alone")][1] == "run"
    await bring_in(stranger, one)
    assert await exported(stranger, f"/v1/runs/{ids['in study']}/export") == one


async def test_an_experiment_whose_name_is_taken_is_the_one_that_has_it(caller: Caller) -> None:
    ours = (await caller.post("/v1/experiments", {"name": "study"}, status=201))["id"]
    await caller.post("/v1/saved-views", {"name": "mine"}, status=201)
    theirs = experiment_line(description="other")
    run = run_line(experiment="study")
    view = view_line(filter="status = failed", experiment=theirs["experiment"])
    other = view_line(name="other", experiment=theirs["experiment"])
    answer = await bring_in(caller, file_of(theirs, view, other, run))
    assert len(answer["warnings"]) == 2
    assert (await caller.get(f"/v1/runs/{run['run']}"))["experiment"] == ours
    assert (await caller.get(f"/v1/experiments/{ours}"))["description"] == ""
    await caller.get(f"/v1/experiments/{theirs['experiment']}", status=404)
    views = (await caller.get("/v1/saved-views"))["views"]
    assert {(one["name"], one["filter"]) for one in views} == {("mine", ""), ("other", "")}
    assert (await caller.get(f"/v1/saved-views/{other['view']}"))["experiment"] == ours


async def test_what_was_renamed_here_keeps_its_name_and_takes_the_runs(caller: Caller) -> None:
    ids = await make_study(caller)
    lines = await exported(caller)
    path = f"/v1/experiments/{ids['study']}"
    await caller.send("PATCH", path, json={"name": "renamed"})
    run = run_line(experiment="study")
    groups = [one for one in lines if one["type"] in {"experiment", "view"}]
    await bring_in(caller, file_of(*groups, run))
    assert (await caller.get(path))["name"] == "renamed"
    assert (await caller.get(f"/v1/runs/{run['run']}"))["experiment"] == ids["study"]


async def test_an_experiment_that_is_nowhere_is_told(caller: Caller) -> None:
    run = run_line(experiment="gone")
    answer = await bring_in(caller, file_of(run))
    assert answer["warnings"] == ["The experiment 'gone' is neither here nor in the file."]
    assert (await caller.get(f"/v1/runs/{run['run']}"))["experiment"] is None


async def test_views_beyond_the_limit_are_left_out_and_told(caller: Caller) -> None:
    views = [view_line(name=f"view {at}") for at in range(201)]
    answer = await bring_in(caller, file_of(*views))
    assert len(answer["warnings"]) == 1
    assert "200 saved views" in answer["warnings"][0]
    assert len((await caller.get("/v1/saved-views"))["views"]) == 200


STUDY = experiment_line()
MINE = view_line()
RUN = run_line()
HOSTILE: list[tuple[list[dict[str, Any]], str]] = [
    ([{**STUDY, "experiment": "run_1"}], "/lines/1/experiment"),
    ([{**STUDY, "name": ""}], "/lines/1/name"),
    ([{**STUDY, "name": "a\x00b"}], "/lines/1/name"),
    ([{**STUDY, "name": STUDY["experiment"]}], "/lines/1/name"),
    ([{**STUDY, "name": str(uuid.UUID(int=7))}], "/lines/1/name"),
    ([{**STUDY, "description": "x" * 20_001}], "/lines/1/description"),
    ([{**STUDY, "archived": "9999-01-01T00:00:00Z"}], "/lines/1/archived"),
    ([{**STUDY, "created": "2026-11-01"}], "/lines/1/created"),
    ([STUDY, STUDY], "/lines/2/experiment"),
    ([STUDY, experiment_line()], "/lines/2/name"),
    ([MINE, MINE], "/lines/2/view"),
    ([MINE, view_line()], "/lines/2/name"),
    ([{**MINE, "filter": "status ="}], "/lines/1/filter"),
    ([{**MINE, "name": MINE["view"]}], "/lines/1/name"),
    ([{**MINE, "sort": "nothing"}], "/lines/1/sort"),
    ([{**MINE, "columns": ","}], "/lines/1/columns"),
    ([{**MINE, "experiment": STUDY["experiment"]}, STUDY], "/lines/1/experiment"),
    ([{**MINE, "experiment": "exp_x"}], "/lines/1/experiment"),
    ([RUN, {**MINE, "experiment": "exp_" + RUN["run"][4:]}], "/lines/2/experiment"),
    ([MINE, view_line(name="b", experiment="exp_" + MINE["view"][5:])], "/lines/2/experiment"),
    ([{**MINE, "view": 5}], "/lines/1/view"),
    ([run_line(external_id="a"), run_line(external_id="a")], "/lines/2/external_id"),
    ([run_line(created="1970-01-01T00:00:00Z")], "/lines/1/created"),
    ([run_line(started="2999-01-01T00:00:00Z")], "/lines/1/started"),
    ([run_line(finished="0001-01-01T00:00:00Z")], "/lines/1/finished"),
    ([RUN, span_line(RUN["run"], start_ns=1_790_000_000)], "/lines/2/start_ns"),
    ([RUN, span_line(RUN["run"], start_ns=0)], "/lines/2/start_ns"),
]


@pytest.mark.parametrize(
    ("lines", "pointer"), HOSTILE, ids=[f"{at} {one[1]}" for at, one in enumerate(HOSTILE)]
)
async def test_a_wrong_line_is_refused_with_its_place_and_nothing_is_kept(
    caller: Caller, lines: list[dict[str, Any]], pointer: str
) -> None:
    good = run_line()
    problem = await bring_in(caller, file_of(*lines, good), status=422)
    assert problem["errors"][0]["pointer"] == pointer, problem
    await caller.get(f"/v1/runs/{good['run']}", status=404)
    assert (await caller.get("/v1/experiments"))["experiments"] == []
    assert (await caller.get("/v1/saved-views"))["views"] == []


async def test_one_uuid_may_be_that_of_an_experiment_a_view_and_a_run(caller: Caller) -> None:
    number = uuid.uuid4()
    lines = file_of(
        experiment_line(experiment=f"exp_{number}"),
        view_line(view=f"view_{number}", experiment=f"exp_{number}"),
        run_line(f"run_{number}", experiment="study"),
    )
    await bring_in(caller, lines)
    assert (await caller.get(f"/v1/runs/run_{number}"))["experiment"] == f"exp_{number}"
    assert (await caller.get(f"/v1/saved-views/view_{number}"))["experiment"] == f"exp_{number}"


async def test_an_import_is_no_sign_of_life(caller: Caller) -> None:
    run = run_line(status="lost", reason="heartbeat")
    source = {"source": "api", "time": TIME}
    series = {"key": "loss", "labels": {}, "attempt": 1, "source": "api"}
    lines = file_of(
        run,
        {"type": "tag", "run": run["run"], "key": "a", "text": "b", **source},
        {
            "type": "points",
            "run": run["run"],
            **series,
            "steps": [0, 1],
            "times": [NOW_US, NOW_US + 1],
            "values": [1.0, 2.0],
        },
        span_line(run["run"]),
    )
    for _ in range(2):
        await bring_in(caller, lines)
        found = await caller.get(f"/v1/runs/{run['run']}")
        assert (found["status"], found["reason"]) == ("lost", "heartbeat")
    assert (await caller.get(f"/v1/runs/{run['run']}/life"))["entries"] == []
    # Who writes to it here lives.
    await caller.log(run["run"], "loss", [1.0], steps=[2])
    assert (await caller.get(f"/v1/runs/{run['run']}"))["status"] == "running"


async def test_content_stands_below_its_run_and_not_below_an_experiment(caller: Caller) -> None:
    run = run_line()
    tag = {"type": "tag", "run": run["run"], "key": "a", "text": "b"}
    lines = file_of(run, experiment_line(), {**tag, "source": "api", "time": TIME})
    problem = await bring_in(caller, lines, status=422)
    assert problem["errors"][0]["pointer"] == "/lines/3/run"


async def test_a_file_that_cannot_be_here_leaves_nothing(
    caller: Caller, app: Litestar, tenant: Tenant
) -> None:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'other')", [tenant.id]
        )
    ids = await make_study(caller)
    mine = await caller.make_run(external_id="mine", params={"lr": "1"})
    good = run_line(name="good")
    param = {"type": "param", "run": mine, "key": "lr", "text": "2", "source": "api", "time": TIME}
    for lines, query, pointer, code in (
        ([good, run_line(mine)], "?project=other", "/lines/2/run", "STATE_CONFLICT"),
        ([good, run_line(external_id="mine")], "", "/lines/2/external_id", "STATE_CONFLICT"),
        ([good, run_line(mine), param], "", "/lines/3/text", "PARAM_CONFLICT"),
        (
            [good, experiment_line(experiment=ids["study"])],
            "?project=other",
            "/lines/2/experiment",
            "STATE_CONFLICT",
        ),
        ([good, view_line(view=ids["all"])], "?project=other", "/lines/2/view", "STATE_CONFLICT"),
    ):
        problem = await bring_in(caller, file_of(*lines), status=409, query=query)
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer)
        assert "Nothing was imported" in problem["detail"]
        await caller.get(f"/v1/runs/{good['run']}", status=404)
    viewer = make_caller(app, tenant, scopes=["runs:read"])
    await bring_in(viewer, file_of(experiment_line()), status=403)


async def test_ids_of_projects_that_the_importer_does_not_see_are_all_told_before_any_write(
    caller: Caller, app: Litestar, tenant: Tenant
) -> None:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        row = connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, 'mine') returning id",
            [tenant.id],
        ).fetchone()
    assert row is not None
    bound = make_caller(app, tenant, scopes=["runs:write"], project_id=row[0])
    ids = await make_study(caller)
    hidden = [await caller.make_run() for _ in range(2)]
    good = run_line(name="good")
    study = experiment_line()
    problem = await bring_in(
        bound,
        file_of(
            study,
            view_line(view=ids["all"]),
            good,
            run_line(hidden[0]),
            experiment_line(name="b", experiment=ids["study"]),
            run_line(hidden[1]),
        ),
        status=409,
    )
    assert problem["code"] == "STATE_CONFLICT"
    # In the order of the file, whatever they are.
    assert [one["pointer"] for one in problem["errors"]] == [
        "/lines/2/view",
        "/lines/4/run",
        "/lines/5/experiment",
        "/lines/6/run",
    ]
    assert "line 3 (" in problem["detail"]
    assert "and 3 more. Nothing was imported." in problem["detail"]
    # Found while it was written, the good ones before them would be here.
    assert (await bound.get("/v1/runs"))["runs"] == []
    assert (await bound.get("/v1/experiments"))["experiments"] == []


async def test_every_param_that_differs_is_told_and_as_many_as_an_answer_lists(
    caller: Caller,
) -> None:
    mine = await caller.make_run(params={f"p{at:02}": "1" for at in range(30)})
    params = [
        {"type": "param", "run": mine, "key": f"p{at:02}", "text": "2", "source": "api"}
        for at in range(30)
    ]
    lines = file_of(run_line(mine), *({**one, "time": TIME} for one in params))
    problem = await bring_in(caller, lines, status=409)
    assert problem["code"] == "PARAM_CONFLICT"
    pointers = [one["pointer"] for one in problem["errors"]]
    assert pointers == [f"/lines/{at}/text" for at in range(2, 2 + FAULTS_MAX)]
    assert "and 29 more" in problem["detail"]
    kept = await exported(caller, f"/v1/runs/{mine}/export")
    assert {one["text"] for one in kept if one["type"] == "param"} == {"1"}


# -- any content ------------------------------------------------------------------------------------

word = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
text = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)
free = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(word, below, max_size=3),
    max_leaves=5,
)
step = st.none() | st.integers(0, 2**63 - 1)
number = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    ["NaN", "Infinity", "-Infinity"]
)
writer = st.sampled_from([{}, {"stream": "data"}, {"rank": 1}, {"stream": "data", "rank": 1}])
labels = st.dictionaries(st.sampled_from(["split", "fold"]), word, max_size=2)
series = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["loss", "acc"]),
        "labels": labels,
        "points": st.lists(st.tuples(step, st.integers(0, 10**9), number), min_size=1, max_size=6),
        "writer": writer,
        "attempt": st.integers(1, 3),
    }
)
line = st.fixed_dictionaries(
    {
        "message": text,
        "level": st.sampled_from(["debug", "info", "warning", "error"]),
        "fields": st.dictionaries(word, free, max_size=2),
        "time": st.just("2026-11-02T03:04:05.678901+01:00"),
    }
)
span = st.fixed_dictionaries(
    {
        "name": word,
        "start_ns": st.integers(10**18, 1_790 * 10**15),
        "duration_ns": st.integers(0, 2**62),
        "depth": st.integers(0, 5),
        "track": st.integers(-(2**63), 2**63 - 1),
        "step": step,
        "fields": st.none() | st.dictionaries(word, free, max_size=2),
    }
)
run_content = st.fixed_dictionaries(
    {
        "params": st.dictionaries(word, text | st.integers() | number, max_size=4),
        "tags": st.dictionaries(
            word.filter(lambda key: not key.startswith("mapi")), text, max_size=3
        ),
        "name": text,
        "note": text,
        "series": st.lists(series, max_size=4),
        "attempts": st.lists(st.tuples(writer, st.none() | st.integers(0, 9)), max_size=2),
        "lines": st.lists(st.tuples(writer, st.lists(line, min_size=1, max_size=3)), max_size=3),
        "spans": st.lists(st.tuples(writer, st.lists(span, min_size=1, max_size=3)), max_size=2),
        "config": st.none() | st.dictionaries(word, free, max_size=3),
        "status": st.sampled_from(["running", "succeeded", "failed", "cancelled"]),
    }
)


async def fill(caller: Caller, found: dict[str, Any]) -> str:
    """Log what was drawn; values that a rule of the log refuses are left out by its answer."""
    run = await caller.make_run(
        **{name: found[name] for name in ("params", "tags", "name", "note")}
    )
    path = f"/v1/runs/{run}"
    for number_of, (who, from_step) in enumerate(found["attempts"], 2):
        sent = {"number": number_of, "from_step": from_step, **who}
        await caller.post(f"{path}/attempts", sent)
    for one in found["series"]:
        steps, times, values = zip(*one["points"], strict=True)
        await caller.log(
            run,
            one["key"],
            values,
            steps=list(steps),
            times=[NOW_US + at for at in times],
            labels=one["labels"],
            attempt=one["attempt"],
            **one["writer"],
        )
    for who, lines in found["lines"]:
        await caller.post(f"{path}/logs", {"lines": lines, **who})
    for who, spans in found["spans"]:
        await caller.post(f"{path}/spans", {"spans": spans, **who})
    if found["config"] is not None:
        body = {"content": found["config"]}
        await caller.send("PUT", f"{path}/config", json=body, status=204)
    if found["status"] != "running":
        await caller.send("PATCH", path, json={"status": found["status"]})
    return run


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(found=run_content)
async def test_a_run_of_any_content_comes_back_as_it_was(
    caller: Caller, stranger: Caller, found: dict[str, Any]
) -> None:
    run = await fill(caller, found)
    lines = await exported(caller, f"/v1/runs/{run}/export")
    answer = await bring_in(stranger, lines)
    assert answer["warnings"] == []
    assert await exported(stranger, f"/v1/runs/{run}/export") == lines
    for path in ("", "/metrics?limit=500", "/params", "/tags"):
        ours, theirs = [await one.get(f"/v1/runs/{run}{path}") for one in (caller, stranger)]
        # What belongs to the place, and of a run that goes on, how long it has.
        for volatile in ("project", "etag", "user", "duration_seconds"):
            ours.pop(volatile, None)
            theirs.pop(volatile, None)
        check_means(ours.get("series", []), theirs.get("series", []))
        assert theirs == ours


def check_means(ours: list[Any], theirs: list[Any]) -> None:
    """Compare means, and take them out: sums of floats depend on which batch each came in."""
    for one, other in zip(ours, theirs, strict=True):
        mean, found = one.pop("mean"), other.pop("mean")
        assert (mean is None) == (found is None)
        if mean is not None:
            largest = max(abs(one["min_value"]), abs(one["max_value"]))
            assert found == pytest.approx(mean, rel=0, abs=1e-12 * largest)


async def test_an_experiment_that_is_archived_here_takes_no_run_of_a_file(
    caller: Caller, stranger: Caller
) -> None:
    await caller.post("/v1/experiments", {"name": "study"}, status=201)
    first = await caller.make_run(name="first", experiment="study")
    one = await exported(caller)
    second = await caller.make_run(name="second", experiment="study")
    both = await exported(caller)
    assert (await bring_in(stranger, one))["warnings"] == []
    there = (await stranger.get(f"/v1/runs/{first}"))["experiment"]
    await stranger.post(f"/v1/experiments/{there}/archive", {})
    # What is there stays, without a word.
    assert (await bring_in(stranger, one))["warnings"] == []
    answer = await bring_in(stranger, both)
    assert answer["warnings"] == [
        "The experiment 'study' is archived here and takes no more runs."
    ]
    assert (await stranger.get(f"/v1/runs/{first}"))["experiment"] == there
    assert (await stranger.get(f"/v1/runs/{second}"))["experiment"] is None
    # A file without the experiment itself is no way into it either.
    third = await caller.make_run(name="third", experiment="study")
    alone = [line for line in await exported(caller) if line["type"] != "experiment"]
    alone[-1] = {**alone[-1], "lines": len(alone) - 1}
    answer = await bring_in(stranger, alone)
    assert answer["warnings"] == [
        "The experiment 'study' is archived here and takes no more runs."
    ]
    assert (await stranger.get(f"/v1/runs/{third}"))["experiment"] is None
