"""How often a request goes to the database and back: on a line of half a millisecond each one counts.

The messages themselves are counted, by libpq's own trace of the one connection that the server has.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import Caller, client_of, make_token
from tests.mapi.storing import temporary_objects

from mapi.access.tokens import authenticate
from mapi.api.app import build_app
from mapi.database.door import Database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

#: Statements are prepared when they come again; that is a way there and back of its own, once.
_UNTIL_PREPARED = 5
#: What the client waits for an answer to: a simple query, or the end of an extended one.
_ASKED = re.compile(r"^(?:\S+ \S+\s+)?F\s+\d+\s+(?:Query|Sync)\b", re.MULTILINE)


class Trips:
    """Counts what goes over the one connection of a pool."""

    def __init__(self, database: Database, path: Path) -> None:
        self._database = database
        self._path = path
        self.count = 0

    @contextlib.asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Count what is asked in the block."""
        file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
        try:
            async with self._database.outside() as connection:
                connection.pgconn.trace(file)
            try:
                yield
            finally:
                async with self._database.outside() as connection:
                    connection.pgconn.untrace()
        finally:
            os.close(file)
        self.count = len(_ASKED.findall(self._path.read_text(encoding="utf-8", errors="replace")))


@pytest.fixture
async def one_line(database_url: str) -> AsyncIterator[Database]:
    found = Database(database_url, connections=1)
    await found.open()
    try:
        yield found
    finally:
        await found.close()


async def test_who_asks_is_one_question(
    one_line: Database, tenant: Tenant, tmp_path: Path
) -> None:
    token = make_token(tenant)
    trips = Trips(one_line, tmp_path / "trace")
    for _ in range(_UNTIL_PREPARED):
        await authenticate(one_line, token)
    async with trips.counted():
        principal = await authenticate(one_line, token)
    assert trips.count == 1
    # Tenant, projects and roles came with it.
    assert principal.reach.tenant_id == tenant.id


async def test_a_request_is_few_questions(
    one_line: Database, tenant: Tenant, tmp_path: Path
) -> None:
    trips = Trips(one_line, tmp_path / "trace")
    app = build_app(one_line, version="0", objects=temporary_objects())
    async with client_of(app) as client:
        caller = Caller(client, make_token(tenant))
        run = await caller.make_run()
        steps = itertools.count()
        requests: dict[str, tuple[Callable[[], Awaitable[Any]], int]] = {
            # One to know who asks is in each of them.
            "make a run": (lambda: caller.make_run(params={"lr": 1}, tags={"a": "b"}), 2),
            # As the client does: the key and the answer that is kept are part of the statement.
            "make a run once": (lambda: make_run_once(caller), 2),
            "log points": (lambda: caller.log(run, "loss", [1.0], start=next(steps)), 2),
            # Its beginning, the right, the run, its end.
            "read a run": (lambda: caller.get(f"/v1/runs/{run}"), 5),
            "a sign of life": (lambda: caller.post(f"/v1/runs/{run}/heartbeat", {}), 5),
            "the session": (lambda: caller.get("/v1/session"), 4),
        }
        for name, (ask, most) in requests.items():
            for _ in range(_UNTIL_PREPARED):
                await ask()
            async with trips.counted():
                await ask()
            assert 1 < trips.count <= most, name


async def make_run_once(caller: Caller) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    await caller.post("/v1/runs", {"params": {"lr": 1}}, status=201, headers=headers)


async def test_a_use_of_a_token_writes_nothing(
    one_line: Database, tenant: Tenant, tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    trips = Trips(one_line, path)
    app = build_app(one_line, version="0", objects=temporary_objects())
    async with client_of(app) as client:
        caller = Caller(client, make_token(tenant))
        await caller.get("/v1/runs")
        async with trips.counted():
            for _ in range(3):
                await caller.get("/v1/runs")
    assert trips.count > 3
    assert "last_used" not in path.read_text(encoding="utf-8", errors="replace")
    assert "update tokens" not in path.read_text(encoding="utf-8", errors="replace")
