"""Saved views: what is saved opens, nobody undoes another's change, and there is room for 200."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mapi.wire.experiments import VIEWS_MAX

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

pytestmark = pytest.mark.anyio


async def make(caller: Caller, name: str = "best", **sent: Any) -> dict[str, Any]:
    found: dict[str, Any] = await caller.post(
        "/v1/saved-views", {"name": name, **sent}, status=201
    )
    return found


async def test_a_view_is_kept_as_it_was_written_and_opens(caller: Caller) -> None:
    for loss in (0.5, 0.2, 0.9):
        run = await caller.make_run(name=f"run {loss}")
        await caller.log(run, "loss", [loss])
    sent = {"filter": "metrics.loss<0.8", "sort": "metrics.loss", "columns": "name, metrics.loss"}
    made = await make(caller, **sent)
    assert {name: made[name] for name in sent} == sent
    assert await caller.get(f"/v1/saved-views/{made['id']}") == made
    page = await caller.get("/v1/runs", params={"view": made["id"]})
    assert [one["values"] for one in page["runs"]] == [["run 0.2", 0.2], ["run 0.5", 0.5]]
    narrowed = await caller.get(
        "/v1/runs", params={"view": made["id"], "filter": "metrics.loss > 0.3"}
    )
    assert [one["values"][0] for one in narrowed["runs"]] == ["run 0.5"]


WRONG: list[tuple[Any, str]] = [
    ({"filter": "metrics.loss <"}, "/filter"),
    ({"sort": "metrics.Loss"}, "/sort"),
    ({"columns": ",".join(["name"] * 51)}, "/columns"),
    ({"name": ""}, "/name"),
    ({"name": "x" * 201}, "/name"),
    ({"name": "a\u202eb"}, "/name"),
    ({"name": "a "}, "/name"),
    ({"name": "view_01a22bb5-bd70-758d-9478-35aa6b4a42f1"}, "/name"),
    ({"name": "01a22bb5bd70758d947835aa6b4a42f1"}, "/name"),
    ({"experiment": "none of ours"}, "/experiment"),
    ({"project": "none of ours"}, "/project"),
    ({"filters": ""}, "/filters"),
]


@pytest.mark.parametrize(("sent", "pointer"), WRONG, ids=str)
async def test_what_could_not_be_opened_is_not_saved(
    caller: Caller, sent: Any, pointer: str
) -> None:
    problem = await caller.post("/v1/saved-views", {"name": "wrong", **sent}, status=422)
    assert problem["errors"][0]["pointer"] == pointer
    assert (await caller.get("/v1/saved-views"))["views"] == []


async def test_a_change_says_which_version_it_changes(caller: Caller) -> None:
    made = await make(caller, filter="status = running")
    at = f"/v1/saved-views/{made['id']}"
    for method in ("PATCH", "DELETE"):
        answer = await caller.send(method, at, status=428, json={"name": "x"})
        assert answer.json()["code"] == "PRECONDITION_REQUIRED"
        stale = {"If-Match": '"999"'}
        await caller.send(method, at, status=412, json={"name": "x"}, headers=stale)
    fresh = {"If-Match": made["etag"]}
    changed = (
        await caller.send("PATCH", at, json={"name": "x", "filter": None}, headers=fresh)
    ).json()
    assert (changed["name"], changed["filter"]) == ("x", "")
    await caller.send("PATCH", at, status=412, json={"name": "y"}, headers=fresh)
    newest = {"If-Match": changed["etag"]}
    wrong = await caller.send("PATCH", at, status=422, json={"sort": "?"}, headers=newest)
    assert wrong.json()["errors"][0]["pointer"] == "/sort"
    await caller.send("DELETE", at, status=204, headers=newest)
    await caller.get(at, status=404)


async def test_a_name_is_unique_in_the_project(caller: Caller) -> None:
    await make(caller)
    problem = await caller.post("/v1/saved-views", {"name": "best"}, status=409)
    assert problem["code"] == "NAME_TAKEN"
    assert "?if_exists=get" in problem["detail"]
    other = await make(caller, "other")
    answer = await caller.send(
        "PATCH",
        f"/v1/saved-views/{other['id']}",
        status=409,
        json={"name": "best"},
        headers={"If-Match": other["etag"]},
    )
    problem = answer.json()
    assert problem["code"] == "NAME_TAKEN"
    # A change knows no if_exists.
    assert "rename that one first" in problem["detail"]
    assert "if_exists" not in problem["detail"]


async def test_a_view_is_not_renamed_to_what_reads_as_an_id(caller: Caller) -> None:
    made = await make(caller)
    at = f"/v1/saved-views/{made['id']}"
    fresh = {"If-Match": made["etag"]}
    for name in (made["id"], made["id"].removeprefix("view_")):
        answer = await caller.send("PATCH", at, status=422, json={"name": name}, headers=fresh)
        (fault,) = answer.json()["errors"]
        assert fault["pointer"] == "/name"
        assert "reads as the id of a saved view, which is looked for first" in fault["message"]
    # An id of another kind, and what only begins like one, are names.
    for name in (made["id"].replace("view_", "exp_"), "view_7"):
        await make(caller, name)


async def test_the_view_that_has_a_name_can_be_had_as_it_is(caller: Caller) -> None:
    made = await make(caller, filter="status = failed")
    sent = {"name": "best", "filter": "status = running"}
    assert await caller.post("/v1/saved-views?if_exists=get", sent) == made
    other = await caller.post("/v1/saved-views?if_exists=get", {**sent, "name": "b"}, status=201)
    assert other["filter"] == "status = running"

    async def ask() -> str:
        answer = await caller.client.post(
            "/v1/saved-views?if_exists=get", json={"name": "raced"}, headers=caller.headers
        )
        assert answer.status_code in {200, 201}, answer.text
        found: str = answer.json()["id"]
        return found

    assert len(set(await asyncio.gather(*(ask() for _ in range(10))))) == 1


async def test_a_project_has_room_for_two_hundred_also_when_many_save_at_once(
    caller: Caller,
) -> None:
    for number in range(VIEWS_MAX - 3):
        await make(caller, f"view {number}")
    answers = await asyncio.gather(
        *(
            caller.client.post(
                "/v1/saved-views", json={"name": f"late {number}"}, headers=caller.headers
            )
            for number in range(8)
        )
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * 3 + [429] * 5
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["code"] == "QUOTA_EXCEEDED"
    assert "retry-after" not in refused.headers
    views = (await caller.get("/v1/saved-views"))["views"]
    assert len(views) == VIEWS_MAX
    await caller.send(
        "DELETE",
        f"/v1/saved-views/{views[0]['id']}",
        status=204,
        headers={"If-Match": views[0]["etag"]},
    )
    await make(caller, "fits again")


async def test_views_of_an_experiment_are_listed_for_it(caller: Caller) -> None:
    await caller.post("/v1/experiments", {"name": "study"}, status=201)
    made = await make(caller, experiment="study")
    await make(caller, "of the project")
    page = await caller.get("/v1/saved-views", params={"experiment": "study"})
    assert [one["id"] for one in page["views"]] == [made["id"]]
    page = await caller.get("/v1/saved-views")
    assert [one["name"] for one in page["views"]] == ["best", "of the project"]


async def test_a_viewer_reads_and_changes_nothing_and_a_stranger_sees_nothing(
    caller: Caller, viewer: Caller, stranger: Caller
) -> None:
    made = await make(caller)
    at = f"/v1/saved-views/{made['id']}"
    assert await viewer.get(at) == made
    await viewer.post("/v1/saved-views", {"name": "mine"}, status=403)
    match = {"If-Match": made["etag"]}
    for method in ("PATCH", "DELETE"):
        await viewer.send(method, at, status=403, json={"name": "x"}, headers=match)
        await stranger.send(method, at, status=404, json={"name": "x"}, headers=match)
    await stranger.get(at, status=404)
    assert (await stranger.get("/v1/saved-views"))["views"] == []
