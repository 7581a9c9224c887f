"""Experiments: made, changed, archived and deleted, and what each does to their runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

pytestmark = pytest.mark.anyio


async def make(caller: Caller, name: str = "study", **sent: Any) -> dict[str, Any]:
    found: dict[str, Any] = await caller.post(
        "/v1/experiments", {"name": name, **sent}, status=201
    )
    return found


async def runs_of(caller: Caller, experiment: str) -> list[str]:
    page = await caller.get("/v1/runs", params={"filter": f'experiment = "{experiment}"'})
    return [one["id"] for one in page["runs"]]


async def test_an_experiment_is_read_as_it_was_made(caller: Caller) -> None:
    made = await make(caller, description="# Why\nthis")
    found = await caller.get(f"/v1/experiments/{made['id']}")
    assert found == made
    assert (found["name"], found["description"]) == ("study", "# Why\nthis")
    assert (found["archived"], found["runs"], found["project"]) == (None, 0, "default")
    assert (found["runs_active"], found["last_activity"]) == (0, None)


@pytest.mark.parametrize("kind", ["experiments", "runs"])
async def test_an_answer_that_has_changed_is_told_and_the_version_says_who_may_change_it(
    caller: Caller, kind: str
) -> None:
    """A run more in an experiment and an attempt more of a run are news, and no new version."""
    made = (await caller.post(f"/v1/{kind}", {"name": "study"}, status=201))["id"]
    where = f"/v1/{kind}/{made}"
    first = (await caller.send("GET", where)).headers["etag"]
    # Several lines are one list.
    known = [("If-None-Match", '"none"'), ("If-None-Match", first)]
    lines = [*caller.headers.items(), *known]
    assert (await caller.client.get(where, headers=lines)).status_code == 304
    if kind == "experiments":
        await caller.make_run(experiment=made)
    else:
        await caller.post(f"/v1/runs/{made}/attempts", {"number": 2})
    found = await caller.send("GET", where, headers={"If-None-Match": first})
    counted = {"experiments": ("runs", 1), "runs": ("attempts", 2)}[kind]
    assert found.json()[counted[0]] == counted[1]
    second = found.headers["etag"]
    assert second != first
    await caller.send("GET", where, status=304, headers={"If-None-Match": second})
    # Both are of one version, as is what the body says.
    stale = [("If-Match", '"none"'), ("If-Match", first)]
    changed = await caller.client.patch(
        where, json={"name": "other"}, headers=[*caller.headers.items(), *stale]
    )
    assert changed.status_code == 200
    newest = changed.headers["etag"]
    await caller.send("GET", where, status=304, headers={"If-None-Match": newest})
    for old in (first, second, found.json()["etag"]):
        await caller.send(
            "PATCH", where, status=412, json={"name": "x"}, headers={"If-Match": old}
        )
    await caller.send(
        "PATCH", where, json={"name": "x"}, headers={"If-Match": changed.json()["etag"]}
    )


async def test_an_experiment_tells_how_many_runs_go_on_and_when_one_was_active_last(
    caller: Caller,
) -> None:
    made = await make(caller)
    where = f"/v1/experiments/{made['id']}"
    first = await caller.make_run(experiment=made["id"])
    second = await caller.make_run(experiment=made["id"])
    begun = await caller.get(where)
    assert (begun["runs"], begun["runs_active"]) == (2, 2)
    assert begun["last_activity"] >= (await caller.get(f"/v1/runs/{second}"))["created"]
    await caller.send("PATCH", f"/v1/runs/{first}", json={"status": "succeeded"})
    ended = await caller.get(where)
    assert (ended["runs"], ended["runs_active"]) == (2, 1)
    assert ended["last_activity"] > begun["last_activity"]
    assert ended["last_activity"] == (await caller.get(f"/v1/runs/{first}"))["finished"]
    for run in (first, second):
        await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    trashed = await caller.get(where)
    assert (trashed["runs"], trashed["runs_active"], trashed["last_activity"]) == (0, 0, None)
    listed = await caller.get("/v1/experiments")
    assert listed["experiments"] == [trashed]


async def test_a_name_is_unique_unless_the_one_that_has_it_is_asked_for(caller: Caller) -> None:
    made = await make(caller)
    problem = await caller.post("/v1/experiments", {"name": "study"}, status=409)
    assert problem["code"] == "NAME_TAKEN"
    got = await caller.post(
        "/v1/experiments?if_exists=get", {"name": "study", "description": "not taken"}
    )
    assert got == made
    other = await caller.post("/v1/experiments?if_exists=get", {"name": "another"}, status=201)
    assert other["id"] != made["id"]


async def test_ten_who_get_or_make_one_name_at_once_have_one(caller: Caller) -> None:
    async def ask() -> str:
        answer = await caller.client.post(
            "/v1/experiments?if_exists=get", json={"name": "raced"}, headers=caller.headers
        )
        assert answer.status_code in {200, 201}, answer.text
        found: str = answer.json()["id"]
        return found

    assert len(set(await asyncio.gather(*(ask() for _ in range(10))))) == 1


WRONG: list[tuple[Any, str]] = [
    ({"name": ""}, "/name"),
    ({"name": "x" * 201}, "/name"),
    ({"name": "a\x00"}, "/name"),
    ({"name": " a"}, "/name"),
    ({"name": "a\nb"}, "/name"),
    ({"name": "e\u0301"}, "/name"),
    ({"name": "exp_01a22bb5-bd70-758d-9478-35aa6b4a42f1"}, "/name"),
    ({}, "/name"),
    ({"name": "a", "description": "x" * 20_001}, "/description"),
    ({"name": "a", "project": "none of ours"}, "/project"),
    ({"name": "a", "color": "red"}, "/color"),
]


@pytest.mark.parametrize(("body", "pointer"), WRONG, ids=str)
async def test_a_wrong_experiment_is_told_where(caller: Caller, body: Any, pointer: str) -> None:
    problem = await caller.post("/v1/experiments", body, status=422)
    assert problem["errors"][0]["pointer"] == pointer


async def test_an_experiment_is_not_renamed_to_what_it_could_not_be_made_as(
    caller: Caller,
) -> None:
    made = await make(caller)
    for name in ("", "x" * 201, "a ", "a\tb", made["id"]):
        answer = await caller.send(
            "PATCH", f"/v1/experiments/{made['id']}", status=422, json={"name": name}
        )
        assert answer.json()["errors"][0]["pointer"] == "/name"
    assert await caller.get(f"/v1/experiments/{made['id']}") == made


async def test_an_archived_experiment_is_renamed_and_comes_back(caller: Caller) -> None:
    made = await make(caller)
    at = f"/v1/experiments/{made['id']}"
    await caller.post(f"{at}/archive", None)
    renamed = (await caller.send("PATCH", at, json={"name": "é" * 200})).json()
    assert (renamed["name"], renamed["archived"] is None) == ("é" * 200, False)
    back = await caller.post(f"{at}/unarchive", None)
    assert (back["name"], back["archived"]) == ("é" * 200, None)
    await caller.make_run(experiment="é" * 200)


async def test_a_patch_changes_what_it_names_for_whoever_read_the_newest(caller: Caller) -> None:
    made = await make(caller, description="before")
    at = f"/v1/experiments/{made['id']}"
    changed = (await caller.send("PATCH", at, json={"name": "renamed"})).json()
    assert (changed["name"], changed["description"]) == ("renamed", "before")
    stale = {"If-Match": made["etag"]}
    await caller.send("PATCH", at, status=412, json={"name": "again"}, headers=stale)
    fresh = {"If-Match": changed["etag"]}
    emptied = await caller.send("PATCH", at, json={"description": None}, headers=fresh)
    assert emptied.json()["description"] == ""
    await make(caller, "other")
    problem = (await caller.send("PATCH", at, status=409, json={"name": "other"})).json()
    assert problem["code"] == "NAME_TAKEN"
    # A change knows no if_exists.
    assert "rename that one first" in problem["detail"]
    assert "if_exists" not in problem["detail"]


async def test_runs_are_made_in_moved_in_and_moved_out(caller: Caller) -> None:
    made = await make(caller)
    by_name = await caller.make_run(experiment="study")
    by_id = await caller.make_run(experiment=made["id"])
    moved = await caller.make_run()
    await caller.send("PATCH", f"/v1/runs/{moved}", json={"experiment": "study"})
    assert set(await runs_of(caller, "study")) == {by_name, by_id, moved}
    await caller.send("PATCH", f"/v1/runs/{by_id}", json={"experiment": None})
    assert set(await runs_of(caller, "study")) == {by_name, moved}
    await caller.send("DELETE", f"/v1/runs/{by_name}", status=204)
    assert (await caller.get(f"/v1/experiments/{made['id']}"))["runs"] == 1


async def test_an_archived_experiment_takes_no_runs_and_keeps_those_it_has(caller: Caller) -> None:
    made = await make(caller)
    run = await caller.make_run(experiment="study", external_id="it")
    archived = await caller.post(f"/v1/experiments/{made['id']}/archive", None)
    assert archived["archived"] is not None
    problem = await caller.post("/v1/runs", {"experiment": "study"}, status=409)
    assert problem["code"] == "STATE_CONFLICT"
    other = await caller.make_run()
    await caller.send("PATCH", f"/v1/runs/{other}", status=409, json={"experiment": "study"})
    # What is there can be read, changed, and found again by its own program.
    assert await runs_of(caller, "study") == [run]
    await caller.send("PATCH", f"/v1/runs/{run}", json={"name": "kept", "experiment": "study"})
    again = await caller.post("/v1/runs", {"experiment": "study", "external_id": "it"})
    assert again["id"] == run
    await caller.post(f"/v1/experiments/{made['id']}/unarchive", None)
    await caller.make_run(experiment="study")


async def test_a_run_is_not_made_in_an_experiment_while_it_is_archived(caller: Caller) -> None:
    for name in (f"raced {number}" for number in range(5)):
        made = await make(caller, name)
        archived, *answers = await asyncio.gather(
            caller.client.post(f"/v1/experiments/{made['id']}/archive", headers=caller.headers),
            *(
                caller.client.post("/v1/runs", json={"experiment": name}, headers=caller.headers)
                for _ in range(8)
            ),
        )
        assert archived.status_code == 200
        since = archived.json()["archived"]
        for answer in answers:
            assert answer.status_code in {201, 409}
            if answer.status_code == 201:
                assert answer.json()["created"] <= since


async def test_a_deleted_experiment_leaves_its_runs_and_takes_its_views(caller: Caller) -> None:
    made = await make(caller)
    run = await caller.make_run(experiment="study")
    before = await caller.get(f"/v1/runs/{run}")
    view = await caller.post(
        "/v1/saved-views", {"name": "best", "experiment": "study"}, status=201
    )
    await caller.send("DELETE", f"/v1/experiments/{made['id']}", status=204)
    found = await caller.get(f"/v1/runs/{run}")
    assert found["experiment"] is None
    assert found["etag"] != before["etag"]
    await caller.get(f"/v1/experiments/{made['id']}", status=404)
    await caller.get(f"/v1/saved-views/{view['id']}", status=404)
    audit = await caller.get("/v1/audit")
    assert (audit["entries"][0]["action"], audit["entries"][0]["object"]) == (
        "experiment.delete",
        made["id"],
    )


async def test_pages_show_every_experiment_once_and_the_newest_first(caller: Caller) -> None:
    made = [(await make(caller, f"study {number}"))["id"] for number in range(7)]
    await caller.post(f"/v1/experiments/{made[2]}/archive", None)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 3}
    while True:
        page = await caller.get("/v1/experiments", params=query)
        found += [one["id"] for one in page["experiments"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == made[::-1]
    page = await caller.get("/v1/experiments", params={"archived": "true"})
    assert [one["id"] for one in page["experiments"]] == [made[2]]
    forged = await caller.get(
        "/v1/experiments", params={"archived": "true", "cursor": query["cursor"]}, status=422
    )
    assert forged["errors"][0]["pointer"] == "/query/cursor"


async def test_a_viewer_reads_and_changes_nothing_and_a_stranger_sees_nothing(
    caller: Caller, viewer: Caller, stranger: Caller
) -> None:
    made = await make(caller)
    at = f"/v1/experiments/{made['id']}"
    assert await viewer.get(at) == made
    await viewer.post("/v1/experiments", {"name": "mine"}, status=403)
    for method, path in (
        ("PATCH", at),
        ("DELETE", at),
        ("POST", f"{at}/archive"),
        ("POST", f"{at}/unarchive"),
    ):
        body = {"name": "x"} if method == "PATCH" else None
        await viewer.send(method, path, status=403, json=body)
        await stranger.send(method, path, status=404, json=body)
    await stranger.get(at, status=404)
    await stranger.post("/v1/runs", {"experiment": made["id"]}, status=422)
    assert (await stranger.get("/v1/experiments"))["experiments"] == []
