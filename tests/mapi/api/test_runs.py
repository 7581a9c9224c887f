"""How runs are made: their place, their spec, and the ones that are there already."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import Caller, client_of, make_caller
from tests.mapi.tenants_access import make_person, value_of

from mapi.wire.enums import Role

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio


def told(problem: dict[str, Any], name: str) -> str:
    """Return what a problem says, without the name that was sent."""
    (fault,) = problem["errors"]
    said: str = f"{fault['pointer']}: {fault['message']}"
    return said.replace(name, "…")


def make_project(tenant: Tenant, name: str) -> int:
    found: int = value_of(
        tenant,
        "insert into mapi.projects (tenant_id, name) values (%s, %s) returning id",
        tenant.id,
        name,
    )
    return found


async def test_a_parent_that_is_not_ones_own_is_told_in_the_same_words(
    app: Litestar, tenant: Tenant, caller: Caller, stranger: Caller
) -> None:
    hidden = make_project(tenant, "hidden")
    person = make_person(tenant, Role.RUNNER, project_id=tenant.project_id)
    trashed = await caller.make_run()
    await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
    purged = await caller.make_run()
    await caller.send("DELETE", f"/v1/runs/{purged}", status=204)
    await caller.post(f"/v1/runs/{purged}/purge", {})
    elsewhere = await caller.make_run(project="hidden")
    parents = {
        "unknown": f"run_{uuid.uuid4()}",
        "no id": "rubbish",
        "of another tenant": await stranger.make_run(),
        "of a project that is not seen": elsewhere,
        "in the trash": trashed,
        "deleted for good": purged,
    }
    said = set()
    async with client_of(app, person.token) as client:
        mine = Caller(client, person.token)
        for kind, parent in parents.items():
            problem = await mine.post("/v1/runs", {"parent": parent}, status=422)
            assert problem["code"] == "SCHEMA_INVALID", kind
            said.add(told(problem, parent))
        mother = await mine.make_run()
        child = await mine.make_run(parent=mother)
        assert (await mine.get(f"/v1/runs/{child}"))["parent"] == mother
        assert (await mine.get("/v1/runs"))["runs"][0]["id"] == child
    assert len(said) == 1, said
    assert said.pop().startswith("/parent: ")
    # A run of another project is no parent even to whoever sees both.
    await caller.post("/v1/runs", {"parent": elsewhere}, status=422)
    assert hidden != tenant.project_id


async def test_an_experiment_that_is_not_ones_own_is_told_in_the_same_words(
    app: Litestar, tenant: Tenant, caller: Caller, stranger: Caller
) -> None:
    make_project(tenant, "hidden")
    person = make_person(tenant, Role.RUNNER, project_id=tenant.project_id)
    theirs = await stranger.post("/v1/experiments", {"name": "theirs"}, status=201)
    hidden = await caller.post(
        "/v1/experiments", {"name": "hidden one", "project": "hidden"}, status=201
    )
    gone = await caller.post("/v1/experiments", {"name": "gone"}, status=201)
    await caller.send("DELETE", f"/v1/experiments/{gone['id']}", status=204)
    said = set()
    async with client_of(app, person.token) as client:
        mine = Caller(client, person.token)
        run = await mine.make_run()
        for name in (f"exp_{uuid.uuid4()}", theirs["id"], "theirs", hidden["id"], gone["id"]):
            problem = await mine.post("/v1/runs", {"experiment": name}, status=422)
            said.add(told(problem, name))
            moved = await mine.send(
                "PATCH", f"/v1/runs/{run}", status=422, json={"experiment": name}
            )
            said.add(told(moved.json(), name))
    assert len(said) == 1, said
    assert said.pop().startswith("/experiment: ")


async def test_a_run_of_a_project_that_is_not_seen_is_nowhere(
    app: Litestar, tenant: Tenant, caller: Caller
) -> None:
    make_project(tenant, "hidden")
    run = await caller.make_run(project="hidden")
    mine = await caller.make_run()
    person = make_person(tenant, Role.ADMIN, project_id=tenant.project_id)
    async with client_of(app, person.token) as client:
        me = Caller(client, person.token)
        for method, path, body in (
            ("GET", "", None),
            ("PATCH", "", {"name": "a"}),
            ("DELETE", "", None),
            ("POST", "/restore", {}),
            ("POST", "/purge", {}),
            ("POST", "/heartbeat", {}),
            ("POST", "/params", {"params": {"a": 1}}),
            ("PUT", "/tags", {"tags": {"a": "b"}}),
            ("GET", "/metrics", None),
            ("GET", "/params", None),
            ("GET", "/logs", None),
            ("GET", "/media", None),
            ("GET", "/spans", None),
            ("GET", "/warnings", None),
            ("GET", "/attempts", None),
            ("GET", "/writers", None),
            ("GET", "/events", None),
            ("GET", "/export", None),
        ):
            answer = await me.send(method, f"/v1/runs/{run}{path}", status=404, json=body)
            assert answer.json()["code"] == "NOT_FOUND"
        ids = {"ids": f"{mine},{run}"}
        await me.get("/v1/run-compare", params=ids, status=404)
        problem = await me.get("/v1/runs", params={"project": "hidden"}, status=422)
        assert problem["errors"][0]["pointer"] == "/query/project"
        problem = await me.post("/v1/runs", {"project": "hidden"}, status=422)
        assert problem["errors"][0]["pointer"] == "/project"


@pytest.mark.parametrize("kind", ["fit", "score", "workflow"])
async def test_a_spec_is_kept_and_waits_for_a_runner(caller: Caller, kind: str) -> None:
    spec = {"kind": kind.capitalize(), "model": {"name": "mmm", "draws": 2**60}, "x": [1.5, None]}
    made = await caller.post("/v1/runs", {"spec": spec, "params": {"lr": 1}}, status=201)
    found = await caller.get(f"/v1/runs/{made['id']}")
    assert (found["kind"], found["status"], found["spec"]) == (kind, "queued", spec)
    assert (found["started"], found["finished"], found["duration_seconds"]) == (None, None, None)
    page = await caller.get("/v1/runs", params={"filter": f"kind = {kind} AND status = queued"})
    assert [one["id"] for one in page["runs"]] == [made["id"]]
    moved = await caller.send(
        "PATCH", f"/v1/runs/{made['id']}", status=409, json={"status": "running"}
    )
    assert moved.json()["code"] == "STATE_CONFLICT"


WRONG_SPECS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "Sweep", "spec": {}}, "/kind"),
    ({"kind": "Sweep", "parameters": {}, "method": "grid"}, "/kind"),
    ({"spec": {"kind": "Sweep"}}, "/spec/kind"),
    ({"kind": "fit", "spec": {"kind": "sweep"}}, "/spec/kind"),
    ({"spec": {"kind": "node"}}, "/spec/kind"),
    ({"spec": {}}, "/spec/kind"),
    ({"spec": {"kind": 3}}, "/spec/kind"),
    ({"kind": "fit", "spec": {"kind": "Score"}}, "/kind"),
    ({"kind": "external", "spec": {"kind": "Fit"}}, "/kind"),
    ({"kind": "node", "spec": {"kind": "Fit"}}, "/kind"),
    ({"kind": "fit"}, "/spec"),
    ({"kind": "nonsense"}, "/kind"),
    ({"kind": "fit", "spec": [1]}, "/spec"),
    ({"spec": {"kind": "Fit"}, "started": "2026-11-29T00:00:00Z"}, "/started"),
    ({"started": "2999-01-01T00:00:00Z"}, "/started"),
]


@pytest.mark.parametrize(("body", "pointer"), WRONG_SPECS, ids=str)
async def test_what_cannot_be_executed_is_refused_and_told_where(
    caller: Caller, body: dict[str, Any], pointer: str
) -> None:
    problem = await caller.post("/v1/runs", body, status=422)
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("SCHEMA_INVALID", pointer)
    assert (await caller.get("/v1/runs"))["runs"] == []


async def test_a_sweep_is_told_what_took_its_place(caller: Caller) -> None:
    problem = await caller.post("/v1/runs", {"kind": "Sweep"}, status=422)
    assert "search.grid" in problem["errors"][0]["message"]


async def test_a_number_that_no_reader_keeps_is_refused_within_a_spec(caller: Caller) -> None:
    answer = await caller.send(
        "POST",
        "/v1/runs",
        status=422,
        content=b'{"spec":{"kind":"Fit","x":1e999}}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.json()["errors"][0]["pointer"].startswith("/spec")


@pytest.mark.parametrize("params", [{}, {"lr": 1}], ids=["plain", "with params"])
async def test_a_run_in_the_trash_is_not_found_by_its_external_id_but_told_of(
    caller: Caller, params: dict[str, Any]
) -> None:
    run = await caller.make_run(external_id="mine", name="a")
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    problem = await caller.post("/v1/runs", {"external_id": "mine", "params": params}, status=409)
    assert problem["code"] == "STATE_CONFLICT"
    assert f"{run}/restore" in problem["detail"]
    assert problem["errors"][0]["pointer"] == "/external_id"
    await caller.post(f"/v1/runs/{run}/restore", {})
    found = await caller.post("/v1/runs", {"external_id": "mine", "params": params})
    assert found["id"] == run


async def test_a_run_that_is_found_is_not_asked_for_its_place(caller: Caller) -> None:
    run = await caller.make_run(external_id="mine")
    found = await caller.post(
        "/v1/runs", {"external_id": "mine", "parent": "rubbish", "experiment": "none of ours"}
    )
    assert (found["id"], found["parent"], found["experiment"]) == (run, None, None)


async def test_an_external_id_belongs_to_one_project(
    app: Litestar, tenant: Tenant, caller: Caller
) -> None:
    other = make_caller(app, tenant, project_id=make_project(tenant, "other"))
    mine = await caller.make_run(external_id="same")
    theirs = await other.make_run(external_id="same")
    assert mine != theirs
