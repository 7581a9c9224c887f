"""Every route that makes something makes it once, at whatever moment the server or the database dies."""

from __future__ import annotations

import itertools
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.breaking import BreakingLine, Lost, breaking_line
from tests.mapi.callers import client_of, make_caller, make_token
from tests.mapi.importing import bring_in, exported, make_study
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants import make_tenant
from tests.mapi.tenants_access import give_token, value_of
from tests.mapi.walking import routes

from mapi.api.app import build_app
from mapi.api.idempotency import MAKES
from mapi.database.door import Database
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx
    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.embedded.server import EmbeddedServer

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Making:
    """How a thing is made, and where it is then."""

    path: str
    body: dict[str, Any] | None
    """`{}` in its texts is something new each time."""
    table: str

    def sent(self, number: int) -> dict[str, Any] | None:
        if self.body is None:
            return None
        return {
            name: value.format(number) if isinstance(value, str) else value
            for name, value in self.body.items()
        }


#: What a request to each route that takes a key may be; a route more than once where it has two ways.
MAKINGS = {
    "a run in one statement": Making("/v1/runs", {"name": "{}"}, "runs"),
    "a run": Making("/v1/runs", {"name": "{}", "experiment": "study"}, "runs"),
    "a named run": Making("/v1/runs", {"external_id": "{}"}, "runs"),
    "another try": Making("/v1/runs/{run:str}/retry", None, "runs"),
    "an experiment": Making("/v1/experiments", {"name": "{}"}, "experiments"),
    "a view": Making("/v1/saved-views", {"name": "{}"}, "saved_views"),
    "a project": Making("/v1/projects", {"name": "{}"}, "projects"),
    "a token": Making("/v1/tokens", {"name": "{}", "scopes": ["runs:read"]}, "tokens"),
}
#: The other POSTs, by why they may be sent again without a key.
REPEATABLE = {
    "says how a thing is to be": {
        "/v1/experiments/{experiment:str}/archive",
        "/v1/experiments/{experiment:str}/unarchive",
        "/v1/runs/{run:str}/cancel",
        "/v1/runs/{run:str}/heartbeat",
        "/v1/runs/{run:str}/params",
        "/v1/runs/{run:str}/purge",
        "/v1/runs/{run:str}/restore",
    },
    "numbers or names what it writes": {
        "/v1/import",
        "/v1/runs/{run:str}/attempts",
        "/v1/runs/{run:str}/logs",
        "/v1/runs/{run:str}/media",
        "/v1/runs/{run:str}/metrics",
        "/v1/runs/{run:str}/spans",
        "/v1/uploads",
    },
    "sets a value, and the audit says how often": {
        "/v1/runs/{run:str}/corrections",
        "/v1/runs/{run:str}/metrics/corrections",
    },
    "only answers": {
        "/v1/runs/search",
        "/v1/runs/{run:str}/media/uploads",
        "/v1/search/parse",
    },
    "is the browser's": {"/sign-in", "/sign-out", "/v1/session"},
}


@pytest.fixture
async def line(database_url: str, anyio_backend: str) -> AsyncIterator[BreakingLine]:
    async with breaking_line(database_url) as found:
        yield found


@pytest.fixture
async def breaking_app(line: BreakingLine) -> AsyncIterator[Litestar]:
    """A replica whose line to the database breaks."""
    found = Database(line.url, connections=1)
    await found.open()
    try:
        yield build_app(found, version="0", objects=temporary_objects())
    finally:
        await found.close()


class Maker:
    """Makes one kind of thing."""

    def __init__(self, tenant: Tenant, making: Making) -> None:
        self.tenant = tenant
        self.token = give_token(tenant, Scope.ADMIN).text
        self._making = making
        source = tenant.run()
        value_of(tenant, "update mapi.runs set status = 'failed' where id = %s", source)
        self._path = making.path.replace("{run:str}", f"run_{source}")
        value_of(
            tenant,
            "insert into mapi.experiments (tenant_id, id, project_id, name)"
            " values (%s, gen_random_uuid(), %s, 'study')",
            tenant.id,
            tenant.project_id,
        )

    async def make(self, app: Litestar, number: int, key: str) -> httpx.Response:
        async with client_of(app, self.token) as client:
            headers = {"Idempotency-Key": key}
            return await client.post(self._path, json=self._making.sent(number), headers=headers)

    def count(self) -> int:
        found: int = value_of(
            self.tenant,
            f"select count(*) from mapi.{self._making.table} where tenant_id = %s",
            self.tenant.id,
        )
        return found


async def test_a_post_takes_a_key_or_may_be_sent_again_without(app: Litestar) -> None:
    posts = {
        (path, bool(handler.opt.get(MAKES)))
        for method, path, handler in routes(app)
        if method == "POST" and len(path) == max(map(len, handler.paths))
    }
    assert {path for path, is_keyed in posts if is_keyed} == {one.path for one in MAKINGS.values()}
    without = list(itertools.chain.from_iterable(REPEATABLE.values()))
    assert sorted(path for path, is_keyed in posts if not is_keyed) == sorted(without)


@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("what", MAKINGS)
async def test_whatever_is_lost_at_any_question_the_key_makes_one_thing(
    app: Litestar,
    breaking_app: Litestar,
    line: BreakingLine,
    tenant: Tenant,
    what: str,
    lost: Lost,
) -> None:
    maker = Maker(tenant, MAKINGS[what])
    for number in itertools.count():
        key, before = str(uuid.uuid4()), maker.count()
        line.break_at(number, lost)
        answer = await maker.make(breaking_app, number, key)
        if not line.has_broken:
            assert answer.status_code == 201
            # The look at the token, and the one statement; of a transaction its begin and end too.
            assert number >= 2
            return
        assert answer.status_code == 503, answer.text
        there = maker.count() - before
        # Another replica, at once.
        again = await maker.make(app, number, key)
        assert again.status_code == 201, (number, again.text)
        assert maker.count() - before == 1, number
        if there:
            assert again.headers["idempotency-replayed"] == "true"
        third = await maker.make(app, number, key)
        assert third.content == again.content
        assert third.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("what", MAKINGS)
async def test_the_thing_and_its_key_are_one_transaction(
    app: Litestar, tenant: Tenant, what: str
) -> None:
    making = MAKINGS[what]
    answer = await Maker(tenant, making).make(app, 0, "one")
    assert answer.status_code == 201
    newest = (
        f"select made.xmin = key.xmin from mapi.{making.table} as made, mapi.idempotency_keys as key"
        " where made.tenant_id = %s and key.tenant_id = made.tenant_id"
        " order by made.created desc limit 1"
    )
    assert value_of(tenant, newest, tenant.id) is True


@pytest.mark.parametrize("lost", Lost)
async def test_an_import_that_broke_off_anywhere_is_whole_when_it_is_sent_again(
    caller: Caller,
    app: Litestar,
    breaking_app: Litestar,
    line: BreakingLine,
    server: EmbeddedServer,
    lost: Lost,
) -> None:
    """It is several transactions and takes no key: what is there already is passed over."""
    run = (await make_study(caller))["in study"]
    await caller.log(run, "loss", [0.3, 0.2, 0.1])
    await caller.post(f"/v1/runs/{run}/params", {"params": {"lr": "0.1"}})
    await caller.post(f"/v1/runs/{run}/logs", {"lines": [{"message": "a"}, {"message": "b"}]})
    span = {"name": "fwd", "start_ns": 10**18, "duration_ns": 2}
    await caller.post(f"/v1/runs/{run}/spans", {"spans": [span, span]})
    await caller.send("PUT", f"/v1/runs/{run}/config", json={"content": {"lr": 0.1}}, status=204)
    await caller.send("PUT", f"/v1/runs/{run}/tags", json={"tags": {"stage": "test"}})
    lines = await exported(caller)
    # Together they meet each transaction, which is longer than this.
    first, step = 2 * list(Lost).index(lost), 2 * len(Lost)
    for number in itertools.count(first, step):
        tenant = make_tenant(server)
        line.break_at(number, lost)
        async with client_of(breaking_app, make_token(tenant)) as client:
            answer = await client.post(
                "/v1/import",
                content=b"".join(json.dumps(one).encode() + b"\n" for one in lines),
                headers={"Content-Type": "application/jsonl"},
            )
        here = make_caller(app, tenant)
        if line.has_broken:
            assert answer.status_code == 503, (number, answer.text)
            await bring_in(here, lines)
        assert await exported(here) == lines, number
        if not line.has_broken:
            assert answer.status_code == 200
            # All of the transactions were met.
            assert number > 20
            return
