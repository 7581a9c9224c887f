"""Media items that say which one they follow: each kept in its turn, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.api.media_calls import kept, png, send, signed, upload, usage
from tests.mapi.tenants_access import set_limits

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio


async def shas(caller: Caller, run: str) -> dict[int, str]:
    page = await caller.get(f"/v1/runs/{run}/media")
    return {one["step"]: one["sha256"] for one in page["media"]}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_in_a_queue_an_item_that_comes_late_or_twice_replaces_nothing(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    older, newer = png(), png(grey=9)
    first: dict[str, Any] = {"step": 1, "writer": "file", "after": -1, "seq": 10}
    second: dict[str, Any] = {"step": 1, "writer": "file", "after": 10, "seq": 20}
    made = await send(caller, run, older, **first)
    assert await send(caller, run, older, status=200, **first) == made
    await send(caller, run, newer, **second)
    problem = await send(caller, run, older, status=409, **first)
    assert (problem["code"], problem["accepted_seq"]) == ("STATE_CONFLICT", 20)
    assert [one["pointer"] for one in problem["errors"]] == ["/after"]
    # Out of turn: what is between was not seen.
    problem = await send(caller, run, older, status=409, step=1, writer="file", after=30, seq=40)
    assert problem["accepted_seq"] == 20
    await send(caller, run, newer, status=200, **second)
    assert await shas(caller, run) == {1: sha(newer)}
    assert await usage(caller) == (1, len(newer))
    assert len(kept(tmp_path)) == 1
    # The same bytes at their place are taken in their turn, and the older ones again in theirs.
    await send(caller, run, newer, status=200, step=1, writer="file", after=20, seq=30)
    await send(caller, run, older, step=1, writer="file", after=30, seq=40)
    assert await shas(caller, run) == {1: sha(older)}
    problem = await send(caller, run, newer, status=409, **second)
    assert problem["accepted_seq"] == 40


async def test_an_item_that_was_taken_and_deleted_does_not_come_back(caller: Caller) -> None:
    run = await caller.make_run()
    place: dict[str, Any] = {"step": 1, "writer": "file", "after": -1, "seq": 10}
    made = await send(caller, run, png(), **place)
    await caller.post(f"/v1/runs/{run}/corrections", {"reason": "a face", "media": made["id"]})
    problem = await send(caller, run, png(), status=409, **place)
    assert problem["accepted_seq"] == 10
    assert await shas(caller, run) == {}


async def test_of_many_in_the_same_turn_one_is_kept(caller: Caller, tmp_path: Path) -> None:
    run = await caller.make_run()
    contents = [png(grey=grey) for grey in range(6)]

    async def one(content: bytes) -> int:
        answer = await caller.client.post(
            f"/v1/runs/{run}/media",
            content=content,
            params={"key": "sample", "step": 1, "writer": "file", "after": -1, "seq": 5},
            headers={"Content-Type": "image/png", **caller.headers},
        )
        return answer.status_code

    statuses = await asyncio.gather(*map(one, contents))
    assert sorted(statuses) == [201, 409, 409, 409, 409, 409]
    assert await shas(caller, run) == {1: sha(contents[statuses.index(201)])}
    assert len(kept(tmp_path)) == 1


async def test_a_part_of_what_follows_leaves_its_writer_where_it_is(caller: Caller) -> None:
    run = await caller.make_run()
    await send(caller, run, png(), step=1, writer="file", after=-1, seq=0)
    await send(caller, run, png(grey=1), step=2, writer="file", after=0, seq=0)
    await send(caller, run, png(grey=2), step=3, writer="file", after=0, seq=9)
    assert {*await shas(caller, run)} == {1, 2, 3}
    await send(caller, run, png(grey=3), status=409, step=2, writer="file", after=0, seq=0)
    writers = await caller.get(f"/v1/runs/{run}/writers")
    assert writers["writers"] == [{"writer": "file", "seq": 9}]


async def test_an_item_without_a_turn_is_kept_by_its_number(caller: Caller) -> None:
    run = await caller.make_run()
    await send(caller, run, png(), step=1, writer="file", seq=3)
    await send(caller, run, png(grey=1), step=1, writer="file", seq=7)
    problem = await send(caller, run, png(), status=409, step=1, writer="file", seq=3)
    assert problem["accepted_seq"] == 7
    assert await shas(caller, run) == {1: sha(png(grey=1))}


@pytest.mark.parametrize(
    ("numbers", "pointer"),
    [
        ({"writer": "file"}, "/query/seq"),
        ({"seq": 1}, "/query/writer"),
        ({"after": 1}, "/query/seq"),
        ({"writer": "file", "seq": 1, "after": 2}, "/query/after"),
        ({"writer": "file", "seq": -1}, "/query/seq"),
        ({"writer": "", "seq": 1}, "/query/writer"),
        ({"writer": "x" * 501, "seq": 1}, "/query/writer"),
    ],
)
async def test_a_wrong_turn_is_told_where(
    caller: Caller, numbers: dict[str, Any], pointer: str
) -> None:
    run = await caller.make_run()
    problem = await send(caller, run, png(), status=422, **numbers)
    assert [one["pointer"] for one in problem["errors"]] == [pointer]
    assert await shas(caller, run) == {}


async def test_over_a_budget_the_turn_passes_and_is_counted_once(
    caller: Caller, tenant: Tenant
) -> None:
    set_limits(tenant, media_items=1)
    run = await caller.make_run()
    await send(caller, run, png(), step=1, writer="file", after=-1, seq=1)
    place: dict[str, Any] = {"step": 2, "writer": "file", "after": 1, "seq": 2}
    problem = await send(caller, run, png(), status=429, **place)
    assert (problem["rejected"], problem["accepted_seq"]) == (1, 2)
    problem = await send(caller, run, png(), status=409, **place)
    assert problem["accepted_seq"] == 2
    facts = await caller.get(f"/v1/runs/{run}")
    assert facts["dropped"] == {"media_items": 1}


async def test_an_upload_is_recorded_in_its_turn_too(caller: Caller) -> None:
    run = await caller.make_run()
    for content, after, seq, status in (
        (png(), -1, 5, 201),
        (png(grey=1), 5, 6, 201),
        (png(), -1, 5, 409),
    ):
        permit = await signed(caller, run, content)
        assert await upload(caller, permit, content) == 204
        record: dict[str, Any] = {
            "upload_key": permit["key"],
            "sha256": sha(content),
            "key": "sample",
            "step": 3,
        }
        record |= {"writer": "file", "after": after, "seq": seq}
        await caller.post(f"/v1/runs/{run}/media", record, status=status)
    assert await shas(caller, run) == {3: sha(png(grey=1))}
