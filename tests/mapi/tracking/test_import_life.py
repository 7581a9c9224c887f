"""What happened to a run goes out with it, and stands elsewhere as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.mapi.callers import make_caller
from tests.mapi.importing import TIME, bring_in, exported, file_of, run_line
from tests.mapi.pruning import prune
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import set_limits

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.api.app import build_app
from mapi.tracking.heartbeat import find_lost
from mapi.tracking.pruned import TRACKING_RULE

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
def app(database: Database) -> Litestar:
    return build_app(database, version="0", objects=temporary_objects())


@pytest.fixture
def caller(app: Litestar, tenant: Tenant) -> Caller:
    return make_caller(app, tenant)


@pytest.fixture
def elsewhere(app: Litestar, other_tenant: Tenant) -> Caller:
    return make_caller(app, other_tenant)


async def life_of(caller: Caller, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    return found


async def change(caller: Caller, run: str, **sent: Any) -> None:
    await caller.send("PATCH", f"/v1/runs/{run}", json=sent)


async def make_lived(caller: Caller, tenant: Tenant, database: Database) -> str:
    """Return a run to which everything has happened that is written down."""
    for name in ("study", "other"):
        await caller.post("/v1/experiments", {"name": name}, status=201)
    set_limits(tenant, tags=1)
    run = await caller.make_run(name="a")
    await change(caller, run, name="b", experiment="study")
    await change(caller, run, experiment="other")
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.runs set heartbeat = now() - interval '1 hour' where id = %s", [run[4:]]
        )
    await find_lost(database, timeout_seconds=60)
    await caller.log(run, "loss", [1.0, 2.0, 3.0])
    sent = {"tags": {"c": "d", "e": "f"}}
    await caller.send("PUT", f"/v1/runs/{run}/tags", status=429, json=sent)
    await prune(database, tenant, uuid_from_text(RUN, run))
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    await caller.post(f"/v1/runs/{run}/restore", {})
    await change(caller, run, status="failed", reason="no luck")
    return run


async def test_an_imported_run_has_the_history_that_it_had_and_goes_on_behind_it(
    caller: Caller, elsewhere: Caller, tenant: Tenant, database: Database
) -> None:
    run = await make_lived(caller, tenant, database)
    lines = await exported(caller, f"/v1/runs/{run}/export")
    before = await life_of(caller, run)
    kinds = {one["kind"] for one in before}
    assert kinds == {"renamed", "moved", "status", "warning", "pruned", "trashed", "restored"}
    for _ in range(2):
        answer = await bring_in(elsewhere, lines)
        assert answer["warnings"] == []
        assert answer["rows"]["life"] == len(before)
        assert await life_of(elsewhere, run) == before
        assert await exported(elsewhere, f"/v1/runs/{run}/export") == lines
    await change(elsewhere, run, name="there")
    *same, new = await life_of(elsewhere, run)
    assert same == before
    assert (new["id"], new["before"], new["after"]) == (before[-1]["id"] + 1, "b", "there")


async def test_what_happens_behind_the_highest_number_goes_out_and_comes_in_again(
    caller: Caller, elsewhere: Caller
) -> None:
    run = run_line()
    await bring_in(caller, file_of(run, life_line(run["run"], id=2**31)))
    for name in ("b", "c"):
        await change(caller, run["run"], name=name)
    lines = await exported(caller, f"/v1/runs/{run['run']}/export")
    assert (await bring_in(elsewhere, lines))["warnings"] == []
    lived = await life_of(elsewhere, run["run"])
    assert [one["id"] - 2**31 for one in lived] == [0, 1, 2]
    assert lived == await life_of(caller, run["run"])


async def test_a_warning_of_a_newer_version_is_passed_over_and_the_others_are_told(
    caller: Caller, elsewhere: Caller, tenant: Tenant, database: Database
) -> None:
    run = await make_lived(caller, tenant, database)
    before = await life_of(caller, run)
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        connection.execute(
            "update mapi.run_events set code = 'NEWER' where run_id = %s and type = 'warning'",
            [run[4:]],
        )
    known = [one for one in before if one["kind"] != "warning"]
    assert len(known) < len(before)
    assert await life_of(caller, run) == known
    await bring_in(elsewhere, await exported(caller, f"/v1/runs/{run}/export"))
    assert await life_of(elsewhere, run) == known


async def test_a_later_export_brings_what_happened_since(
    caller: Caller, elsewhere: Caller
) -> None:
    run = await caller.make_run(name="a")
    await change(caller, run, name="b")
    path = f"/v1/runs/{run}/export"
    await bring_in(elsewhere, await exported(caller, path))
    await change(caller, run, name="c")
    later = await exported(caller, path)
    assert (await bring_in(elsewhere, later))["warnings"] == []
    assert await life_of(elsewhere, run) == await life_of(caller, run)


async def test_what_happened_here_since_stays_and_the_answer_says_what_was_not_taken(
    caller: Caller, elsewhere: Caller
) -> None:
    run = await caller.make_run(name="a")
    await change(caller, run, name="b")
    path = f"/v1/runs/{run}/export"
    await bring_in(elsewhere, await exported(caller, path))
    await change(elsewhere, run, name="there")
    await change(caller, run, name="c")
    mine = await life_of(elsewhere, run)
    answer = await bring_in(elsewhere, await exported(caller, path))
    assert await life_of(elsewhere, run) == mine
    (told,) = answer["warnings"]
    assert told.startswith("Something else has happened to a run here")


async def test_a_run_that_was_logged_here_has_a_life_of_its_own(caller: Caller) -> None:
    run = await caller.make_run(name="a")
    await change(caller, run, name="b")
    lines = await exported(caller, f"/v1/runs/{run}/export")
    mine = await life_of(caller, run)
    more = life_line(run, id=mine[-1]["id"] + 1, kind="renamed", before="b", after="elsewhere")
    assert (await bring_in(caller, file_of(*lines[1:-1], more)))["warnings"] == []
    assert await life_of(caller, run) == mine


async def test_a_run_moved_into_the_experiment_that_stands_for_the_files(
    caller: Caller, elsewhere: Caller
) -> None:
    there = (await caller.post("/v1/experiments", {"name": "study"}, status=201))["id"]
    here = (await elsewhere.post("/v1/experiments", {"name": "study"}, status=201))["id"]
    run = await caller.make_run()
    await change(caller, run, experiment="study")
    await bring_in(elsewhere, await exported(caller, f"/v1/runs/{run}/export"))
    (entry,) = await life_of(elsewhere, run)
    assert there != here
    assert (entry["before"], entry["after"]) == (None, here)


async def test_only_an_admin_brings_in_what_others_and_the_platform_did(
    app: Litestar, caller: Caller, other_tenant: Tenant
) -> None:
    run = run_line()
    lines = file_of(
        run,
        life_line(run["run"], id=1, kind="trashed", user="alice"),
        life_line(run["run"], id=2, kind="restored", user=""),
    )
    await bring_in(caller, lines)
    assert [one["user"] for one in await life_of(caller, run["run"])] == ["alice", ""]
    writer = make_caller(app, other_tenant, scopes=["runs:read", "runs:write"])
    await bring_in(writer, lines)
    assert [one["user"] for one in await life_of(writer, run["run"])] == ["test", "test"]


def life_line(run: str, **more: Any) -> dict[str, Any]:
    return {"type": "life", "run": run, "id": 1, "time": TIME, "kind": "trashed", **more}


PRUNING = {"kind": "pruned", "counts": {"points": 1}, "days": 3, "rule": TRACKING_RULE}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"id": 0}, "/id"),
    ({"id": 2**60}, "/id"),
    ({"id": 2**31 + 1}, "/id"),
    ({"kind": "born"}, "/kind"),
    ({"time": "2999-01-01T00:00:00Z"}, "/time"),
    ({"before": "x"}, "/before"),
    ({"counts": {"points": 1}}, "/counts"),
    ({"kind": "status", "before": "running", "after": "over"}, "/after"),
    ({"kind": "status", "before": "running", "after": "failed", "code": "MEDIA_BUDGET"}, "/code"),
    ({"kind": "renamed", "before": "a\x00", "after": "b"}, "/before"),
    ({"kind": "renamed", "before": "a", "after": "b" * 201}, "/after"),
    ({"kind": "moved", "after": "exp_1"}, "/after"),
    ({**PRUNING, "days": None}, "/days"),
    ({**PRUNING, "rule": "mine"}, "/rule"),
    ({**PRUNING, "counts": {}}, "/counts"),
    ({**PRUNING, "counts": {"runs": 1}}, "/counts"),
    ({**PRUNING, "counts": {"points": -1}}, "/counts/points"),
    ({"kind": "warning", "message": "m"}, "/code"),
    ({"kind": "warning", "code": "TRACKING_BUDGET", "counts": {"dogs": 1}}, "/counts"),
]


@pytest.mark.parametrize(
    ("members", "at"), WRONG, ids=[f"{number} {one[1]}" for number, one in enumerate(WRONG)]
)
async def test_an_entry_that_cannot_be_is_refused_where_it_stands(
    caller: Caller, members: dict[str, Any], at: str
) -> None:
    run = run_line()
    wrong = life_line(run["run"], **members)
    problem = await bring_in(caller, file_of(run, wrong), status=422)
    assert problem["errors"][0]["pointer"] == f"/lines/2{at}", problem
    await caller.get(f"/v1/runs/{run['run']}", status=404)


async def test_the_numbers_of_entries_rise_within_a_run(caller: Caller) -> None:
    one, other = run_line(), run_line()
    again = life_line(other["run"])
    await bring_in(caller, file_of(one, life_line(one["run"]), other, again))
    lines = file_of(one, life_line(one["run"], id=5), life_line(one["run"], id=5))
    problem = await bring_in(caller, lines, status=422)
    assert problem["errors"][0]["pointer"] == "/lines/3/id"
