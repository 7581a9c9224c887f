"""Event streams of two replicas over one database: write through one, follow through the other."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest
from tests.mapi.callers import Caller, make_token
from tests.mapi.serving import Frame, frames, serving_replica
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token, make_person, value_of

from mapi.api import events, stream_life
from mapi.database.door import Database
from mapi.tracking.freed import Retention
from mapi.tracking.retention import apply
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.mapi.tenants import Tenant

    from mapi.tracking.changes import Changes

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Replica:
    url: str
    caller: Caller
    changes: Changes


@asynccontextmanager
async def replica(database_url: str, token: str) -> AsyncIterator[Replica]:
    limits = httpx.Limits(max_connections=None)
    async with (
        serving_replica(database_url) as (url, changes),
        httpx.AsyncClient(base_url=url, timeout=30, limits=limits) as client,
    ):
        yield Replica(url, Caller(client, token), changes)


@pytest.fixture
def token(tenant: Tenant) -> str:
    return make_token(tenant)


@asynccontextmanager
async def stream(of: Replica, path: str, **headers: str) -> AsyncIterator[AsyncIterator[Frame]]:
    async with of.caller.client.stream(
        "GET", path, headers={**of.caller.headers, **headers}
    ) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield frames(answer)


async def wait_for(found: AsyncIterator[Frame], kind: str, *, seconds: float = 10) -> Frame:
    async with asyncio.timeout(seconds):
        async for frame in found:
            if frame.kind == kind:
                return frame
    raise AssertionError(f"the stream ended without {kind}")


async def test_what_one_replica_writes_the_other_tells(database_url: str, token: str) -> None:
    async with replica(database_url, token) as one, replica(database_url, token) as two:
        run = await one.caller.make_run()
        async with stream(two, f"/v1/runs/{run}/events") as found:
            first = await wait_for(found, "status")
            assert first.body["status"] == "running"
            await one.caller.log(run, "loss", [3.0, 1.0], labels={"split": "val"})
            tracking = await wait_for(found, "tracking")
            (series,) = tracking.body["series"]
            assert (series["key"], series["count"], series["min_value"]) == ("loss", 2, 1.0)
            await one.caller.post(f"/v1/runs/{run}/params", {"params": {"lr": 0.1}})
            assert (await wait_for(found, "tracking")).body["params"]["lr"]["number"] == 0.1
            await one.caller.send("PUT", f"/v1/runs/{run}/tags", json={"tags": {"stage": "a"}})
            assert (await wait_for(found, "tracking")).body["tags"] == {"stage": "a"}
            await one.caller.send("DELETE", f"/v1/runs/{run}/tags/stage", status=204)
            assert (await wait_for(found, "tracking")).body["is_partial"]
            lines = [{"message": f"line {at}"} for at in range(3)]
            await one.caller.post(f"/v1/runs/{run}/logs", {"lines": lines})
            told = await wait_for(found, "log")
            assert [line["message"] for line in told.body["lines"]] == [
                "line 0",
                "line 1",
                "line 2",
            ]
            await one.caller.send("PATCH", f"/v1/runs/{run}", json={"status": "failed"})
            assert (await wait_for(found, "status")).body["status"] == "failed"


async def test_a_reader_comes_back_where_it_was(database_url: str, token: str) -> None:
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        path = f"/v1/runs/{run}/events"
        async with stream(one, path) as found:
            first = await wait_for(found, "status")
        assert first.id is not None
        await one.caller.log(run, "loss", [1.0])
        lines = [{"message": f"line {at}"} for at in range(1_200)]
        await one.caller.post(f"/v1/runs/{run}/logs", {"lines": lines})
        seen: list[str] = []
        series: list[str] = []
        position = first.id
        while len(seen) < 1_200:
            # Cut behind every frame that has an id.
            async with stream(one, path, **{"Last-Event-ID": position}) as found:
                async with asyncio.timeout(10):
                    async for frame in found:
                        series += [one["key"] for one in frame.body.get("series", [])]
                        if frame.kind == "log":
                            seen += [line["message"] for line in frame.body["lines"]]
                        if frame.id is not None:
                            assert [int(part) for part in frame.id.split(".")] >= [
                                int(part) for part in position.split(".")
                            ]
                            position = frame.id
                            break
        assert seen == [f"line {at}" for at in range(1_200)]
        assert series == ["loss"]
        async with stream(one, path, **{"Last-Event-ID": "999999999.1"}) as found:
            assert (await wait_for(found, "tracking")).body["is_partial"]
        for wrong in ("5", "a.b", "1.99999999999999999999", "-1.0"):
            problem = await one.caller.get(path, status=422, headers={"Last-Event-ID": wrong})
            assert problem["errors"][0]["pointer"] == "/headers/Last-Event-ID"


async def test_a_project_tells_of_its_runs_and_of_no_others(
    database_url: str, token: str, other_tenant: Tenant
) -> None:
    async with replica(database_url, token) as one:
        other = Caller(one.caller.client, make_token(other_tenant))
        async with stream(one, "/v1/events?project=default") as found:
            await wait_for(found, "runs")
            await other.make_run()
            run = await one.caller.make_run()
            told = await wait_for(found, "runs")
            assert told.body == {"type": "runs", "runs": [run], "deleted": [], "is_partial": False}
        async with stream(one, "/v1/events", **{"Last-Event-ID": "1"}) as found:
            assert (await wait_for(found, "runs")).body["is_partial"]
        await one.caller.get("/v1/events", params={"project": "none"}, status=422)
        for wrong in ("abc", "1.2", "-1", "\u00b2".encode()):
            problem = await one.caller.get(
                "/v1/events", status=422, headers={"Last-Event-ID": wrong}
            )
            assert problem["errors"][0]["pointer"] == "/headers/Last-Event-ID"
        await other.get(f"/v1/runs/{run}/events", status=404)


async def test_a_stream_ends_when_its_reader_has_lost_the_right(
    database_url: str, token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_life, "_RIGHTS_SECONDS", 0.2)
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        async with stream(one, f"/v1/runs/{run}/events") as found:
            await wait_for(found, "status")
            await one.caller.log(run, "loss", [1.0])
            await wait_for(found, "tracking")
            with psycopg.connect(tenant.server.superuser_url()) as connection:
                connection.execute(
                    "update mapi.tokens set revoked = now() where tenant_id = %s", [tenant.id]
                )
            async with asyncio.timeout(10):
                assert [frame async for frame in found] == []


@pytest.mark.parametrize("path", ["/v1/runs/{run}/events", "/v1/events?project=default"])
@pytest.mark.parametrize("loses_by", ["revoked token", "removed member"])
async def test_a_lost_right_ends_the_streams_of_every_replica_at_once(
    database_url: str, token: str, tenant: Tenant, path: str, loses_by: str
) -> None:
    """Long before the minute after which a stream asks by itself."""
    person = make_person(tenant, Role.RUNNER)
    async with replica(database_url, token) as one, replica(database_url, person.token) as two:
        run = await one.caller.make_run()
        async with stream(two, path.format(run=run)) as found:
            await anext(found)
            # A change that takes nothing away ends nothing.
            member = {"user": person.name, "role": "viewer"}
            await one.caller.send("PUT", "/v1/members", json=member)
            await one.caller.log(run, "loss", [1.0])
            await wait_for(found, "runs" if "project" in path else "tracking")
            if loses_by == "revoked token":
                where, query = f"/v1/tokens/{person.token.split('_')[1]}", {}
            else:
                where, query = "/v1/members", {"user": person.name}
            await one.caller.send("DELETE", where, status=204, params=query)
            async with asyncio.timeout(10):
                assert [frame async for frame in found] == []


async def test_a_stream_ends_with_its_token(
    database_url: str, token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the minute after which a stream asks by itself."""
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        expires = datetime.now(UTC) + timedelta(hours=1)
        brief = give_token(tenant, Scope.READ, expires=expires)
        of = replace(one, caller=Caller(one.caller.client, brief.text))
        async with (
            stream(of, f"/v1/runs/{run}/events") as of_run,
            stream(of, "/v1/events?project=default") as of_project,
        ):
            await anext(of_run)
            await anext(of_project)
            monkeypatch.setattr(stream_life, "_now", lambda: expires)
            # Each looks at the time with what it would say next.
            await one.caller.log(run, "loss", [1.0])
            async with asyncio.timeout(10):
                for found in (of_run, of_project):
                    async for _ in found:
                        pass


async def test_whoever_follows_a_run_sees_its_head_change(database_url: str, token: str) -> None:
    async with replica(database_url, token) as one, replica(database_url, token) as two:
        experiment = (await one.caller.post("/v1/experiments", {"name": "a"}, status=201))["id"]
        run = await one.caller.make_run(name="before")
        where = f"/v1/runs/{run}"
        async with stream(two, f"{where}/events") as found:
            first = (await wait_for(found, "status")).body
            assert (first["name"], first["experiment"], first["trashed"]) == ("before", None, None)
            await one.caller.send("PATCH", where, json={"name": "after"})
            assert (await wait_for(found, "status")).body["name"] == "after"
            await one.caller.send("PATCH", where, json={"experiment": "a"})
            assert (await wait_for(found, "status")).body["experiment"] == experiment
            await one.caller.send("PATCH", where, json={"note": "new"})
            told = (await wait_for(found, "status")).body
            assert told["etag"] == (await one.caller.get(where))["etag"]
            await one.caller.send("DELETE", where, status=204)
            assert (await wait_for(found, "status")).body["trashed"] is not None
            await one.caller.post(f"{where}/restore", {})
            assert (await wait_for(found, "status")).body["trashed"] is None
            await one.caller.send("DELETE", f"/v1/experiments/{experiment}", status=204)
            assert (await wait_for(found, "status")).body["experiment"] is None


@pytest.mark.parametrize("deletes", ["an admin", "the housekeeping"])
async def test_whoever_follows_hears_of_a_run_that_is_gone_for_good(
    database_url: str, token: str, tenant: Tenant, deletes: str
) -> None:
    async with replica(database_url, token) as one, replica(database_url, token) as two:
        run = await one.caller.make_run()
        await one.caller.send("DELETE", f"/v1/runs/{run}", status=204)
        async with (
            stream(two, f"/v1/runs/{run}/events") as found,
            stream(two, "/v1/events") as table,
        ):
            await wait_for(found, "status")
            await wait_for(table, "runs")
            if deletes == "an admin":
                await one.caller.post(f"/v1/runs/{run}/purge", {})
            else:
                value_of(
                    tenant,
                    "update mapi.runs set trashed = now() - interval '31 days' where id = %s",
                    run[4:],
                )
                database = Database(database_url, connections=2)
                await database.open()
                try:
                    await apply(
                        database, temporary_objects()[0], tenant.reach, retention=Retention()
                    )
                finally:
                    await database.close()
            gone = await wait_for(found, "deleted")
            assert gone.body["run"] == run
            async with asyncio.timeout(10):
                assert [frame async for frame in found] == []  # the stream has ended
                async for frame in table:
                    if frame.body["deleted"]:
                        assert frame.body["deleted"] == [run]
                        break
        assert gone.id is not None
        # Whoever was told is not told again, and a browser stops to ask.
        again = {"Last-Event-ID": gone.id}
        await one.caller.get(f"/v1/runs/{run}/events", status=404, headers=again)


async def test_whoever_comes_back_hears_what_was_deleted_meanwhile(
    database_url: str, token: str, tenant: Tenant, other_tenant: Tenant
) -> None:
    async with replica(database_url, token) as one:
        other = Caller(one.caller.client, make_token(other_tenant))
        run = await one.caller.make_run()
        path = f"/v1/runs/{run}/events"
        async with stream(one, path) as found, stream(one, "/v1/events") as table:
            seen = (await wait_for(found, "status")).id
            table_seen = (await wait_for(table, "runs")).id
        assert seen is not None
        assert table_seen is not None
        await one.caller.send("DELETE", f"/v1/runs/{run}", status=204)
        await one.caller.post(f"/v1/runs/{run}/purge", {})
        async with stream(one, path, **{"Last-Event-ID": seen}) as found:
            assert (await wait_for(found, "deleted")).body["run"] == run
            async with asyncio.timeout(10):
                assert [frame async for frame in found] == []
        async with stream(one, "/v1/events", **{"Last-Event-ID": table_seen}) as table:
            told = (await wait_for(table, "runs")).body
            assert (told["deleted"], told["is_partial"]) == ([run], True)
        # Who has not followed it, or may not, hears what is said of any run that is not there.
        await one.caller.get(path, status=404)
        await other.get(path, status=404, headers={"Last-Event-ID": seen})
        value_of(
            tenant,
            "update mapi.run_deletions set time = now() - interval '8 days' where run_id = %s",
            run[4:],
        )
        database = Database(database_url, connections=2)
        await database.open()
        try:
            await apply(database, temporary_objects()[0], tenant.reach, retention=Retention())
        finally:
            await database.close()
        await one.caller.get(path, status=404, headers={"Last-Event-ID": seen})


async def test_what_is_gone_from_the_log_is_told_whatever_else_changed(
    database_url: str, token: str
) -> None:
    """A removal leaves no stamp, and shares its frame with what does."""
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        where = f"/v1/runs/{run}"
        await one.caller.send("PUT", f"{where}/tags", json={"tags": {"stage": "a"}})
        await one.caller.log(run, "loss", [1.0])
        async with stream(one, f"{where}/events") as found:
            position = (await wait_for(found, "status")).id
        for remove in ("tag", "param", "points"):
            await one.caller.post(f"{where}/params", {"params": {"lr": 1}})
            if remove == "tag":
                await one.caller.send("DELETE", f"{where}/tags/stage", status=204)
            elif remove == "param":
                sent = {"reason": "wrong", "param": "lr"}
                await one.caller.post(f"{where}/corrections", sent)
            else:
                sent = {"reason": "wrong", "key": "loss"}
                await one.caller.post(f"{where}/corrections", sent)
            await one.caller.send("PATCH", where, json={"name": remove})
            assert position is not None
            async with stream(one, f"{where}/events", **{"Last-Event-ID": position}) as found:
                told = await wait_for(found, "tracking")
                assert told.body["is_partial"], remove
                position = told.id


async def test_a_sign_of_life_wakes_nobody_unless_the_run_was_lost(
    database_url: str, token: str, tenant: Tenant
) -> None:
    async with replica(database_url, token) as one, replica(database_url, token) as two:
        run = await one.caller.make_run()
        async with stream(two, "/v1/events") as table:
            await wait_for(table, "runs")
            # Whatever was to be told of the run has been told with this one, or before.
            begun = await one.caller.make_run()
            while begun not in (await wait_for(table, "runs")).body["runs"]:
                pass
            for _ in range(3):
                await one.caller.post(f"/v1/runs/{run}/heartbeat", {})
            other = await one.caller.make_run()
            # What heartbeats told would have come before.
            told = await wait_for(table, "runs")
            assert told.body["runs"] == [other]
            # Of its end the database tells by itself.
            value_of(tenant, "update mapi.runs set status = 'lost' where id = %s", run[4:])
            assert (await wait_for(table, "runs")).body["runs"] == [run]
            answer = await one.caller.post(f"/v1/runs/{run}/heartbeat", {})
            assert answer["status"] == "running"
            assert (await wait_for(table, "runs")).body["runs"] == [run]


async def test_silence_is_broken_by_comments_and_ended_by_the_server(
    database_url: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_life, "_COMMENT_SECONDS", 0.05)
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        async with one.caller.client.stream(
            "GET", f"/v1/runs/{run}/events", headers=one.caller.headers
        ) as answer:
            lines = answer.aiter_lines()
            comments = 0
            async with asyncio.timeout(10):
                async for line in lines:
                    comments += line.startswith(":")
                    if comments == 3:
                        break
            one.changes.end_streams()
            async with asyncio.timeout(10):
                async for _ in lines:
                    pass
        await one.caller.get(f"/v1/runs/{run}/events", status=503)


async def test_a_reader_that_does_not_read_is_cut_and_holds_no_connection(
    database_url: str, token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order it would end only when the reader has taken what waits for it, which may be never."""
    monkeypatch.setattr(events, "_SEND_SECONDS", 0.3)
    async with replica(database_url, token) as one:
        run = await one.caller.make_run()
        line = {"message": "x" * 16_000}
        host, _, port = one.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1_024)
        writer.write(
            f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {one.caller.token}\r\n\r\n".encode()
        )
        await reader.readuntil(b"event: status")
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute(
                'update mapi.runs set limits = \'{"log_bytes": "unlimited"}\' where id = %s',
                [run[4:]],
            )
        for _ in range(30):
            await one.caller.post(f"/v1/runs/{run}/logs", {"lines": [line] * 30})
        async with asyncio.timeout(20):
            while one.changes.is_followed():  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.05)
            with pytest.raises(ConnectionResetError):
                await reader.read()
        writer.close()


async def test_two_hundred_streams_follow_while_points_come_in(
    database_url: str, token: str, record_property: Any
) -> None:
    async with replica(database_url, token) as one, replica(database_url, token) as two:
        runs = [await one.caller.make_run() for _ in range(4)]
        sent: dict[tuple[str, int], float] = {}
        delays: list[float] = []
        opened = asyncio.Semaphore(0)

        async def follow(run: str) -> None:
            async with stream(two, f"/v1/runs/{run}/events") as found:
                async with asyncio.timeout(60):
                    async for frame in found:
                        if frame.kind == "status":
                            opened.release()
                            continue
                        (series,) = frame.body["series"]
                        delays.append(time.monotonic() - sent[run, series["count"]])
                        if series["count"] == 10:
                            return

        followers = [asyncio.create_task(follow(run)) for run in runs for _ in range(50)]
        for _ in followers:
            async with asyncio.timeout(60):
                await opened.acquire()
        for step in range(10):
            for run in runs:
                sent[run, step + 1] = time.monotonic()
                await one.caller.log(run, "loss", [1.0], start=step)
            await asyncio.sleep(0.25)
        await asyncio.gather(*followers)
        delays.sort()
        record_property("p95_seconds", delays[len(delays) * 95 // 100])
        assert len(delays) >= 200
