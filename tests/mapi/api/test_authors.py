"""Who wrote what: each value says it, whichever way it came, and nobody writes in another's name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.api.media_calls import png
from tests.mapi.callers import Caller, client_of
from tests.mapi.tenants_access import give_token, make_person

from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio


async def write_all(caller: Caller, run: str, *, at: int) -> None:
    """Write one of everything, under keys of its own."""
    where = f"/v1/runs/{run}"
    await caller.post(f"{where}/params", {"params": {f"p{at}": 1}})
    await caller.send("PUT", f"{where}/tags", json={"tags": {f"t{at}": "a", "shared": str(at)}})
    await caller.log(run, f"m{at}", [1.0])
    await caller.log(run, "shared", [1.0], start=at)
    await caller.post(f"{where}/logs", {"lines": [{"message": f"line {at}"}]})
    await caller.send(
        "POST",
        f"{where}/media",
        status=201,
        content=png(grey=at),
        params={"key": f"i{at}"},
        headers={"Content-Type": "image/png"},
    )


async def authors(caller: Caller, run: str) -> dict[str, str]:
    """Return who wrote each value, as the interface says."""
    where = f"/v1/runs/{run}"
    params = (await caller.get(f"{where}/params"))["params"]
    tags = (await caller.get(f"{where}/tags"))["written"]
    series = (await caller.get(f"{where}/metrics"))["series"]
    lines = (await caller.get(f"{where}/logs"))["lines"]
    media = (await caller.get(f"{where}/media"))["media"]
    found = {key: one["user"] for key, one in {**params, **tags}.items()}
    found |= {f"metrics.{one['key']}": one["user"] for one in series}
    found |= {one["message"]: one["user"] for one in lines}
    return found | {one["key"]: one["user"] for one in media}


async def test_each_value_says_who_wrote_it(app: Litestar, tenant: Tenant, caller: Caller) -> None:
    ann, ben = make_person(tenant, Role.RUNNER), make_person(tenant, Role.ADMIN)
    async with client_of(app) as client:
        one, two = Caller(client, ann.token), Caller(client, ben.token)
        run = await one.make_run(params={"made": 1}, tags={"made": "a"})
        await write_all(one, run, at=1)
        await write_all(two, run, at=2)
    found = await authors(caller, run)
    expected = {
        **dict.fromkeys(["made", "p1", "t1", "metrics.m1", "line 1", "i1"], ann.name),
        **dict.fromkeys(["p2", "t2", "metrics.m2", "line 2", "i2"], ben.name),
        # The last value of a tag stays, and of points whoever began their series is named.
        "shared": ben.name,
        "metrics.shared": ann.name,
    }
    assert found == {**found, **expected}


async def test_the_long_way_into_the_log_names_its_author_too(
    app: Litestar, tenant: Tenant
) -> None:
    """Points out of order, and a correction, do not go the short way."""
    ann, ben = make_person(tenant, Role.RUNNER), make_person(tenant, Role.ADMIN)
    async with client_of(app) as client:
        one, two = Caller(client, ann.token), Caller(client, ben.token)
        run = await one.make_run()
        await one.log(run, "loss", [1.0, 2.0, 3.0], start=10)
        await two.log(run, "loss", [1.0], start=0)
        await two.log(run, "late", [2.0, 1.0], steps=[5, 3])
        await two.post(
            f"/v1/runs/{run}/corrections",
            {"reason": "wrong", "key": "loss", "from_step": 10, "to_step": 10},
        )
        found = await authors(one, run)
    assert (found["metrics.loss"], found["metrics.late"]) == (ann.name, ben.name)


@pytest.mark.parametrize("steps", [[20, 21], [20, 19]], ids=["short", "long"])
async def test_a_summary_names_who_began_the_series_that_it_ends_with(
    app: Litestar, tenant: Tenant, steps: list[int]
) -> None:
    ann, ben = make_person(tenant, Role.RUNNER), make_person(tenant, Role.ADMIN)
    async with client_of(app) as client:
        one, two = Caller(client, ann.token), Caller(client, ben.token)
        run = await one.make_run()
        await one.log(run, "loss", [1.0, 2.0], start=10, attempt=1)
        await two.log(run, "loss", [3.0, 4.0], steps=steps, attempt=2)
        assert (await authors(one, run))["metrics.loss"] == ben.name
        # Whoever goes on in it, and whatever makes the summary again.
        await one.log(run, "loss", [5.0], start=30, attempt=2)
        assert (await authors(one, run))["metrics.loss"] == ben.name
        taken_back = {"reason": "wrong", "key": "loss", "from_step": 20, "to_step": 30}
        await two.post(f"/v1/runs/{run}/corrections", {**taken_back, "from_step": 30})
        assert (await authors(one, run))["metrics.loss"] == ben.name
        await two.post(f"/v1/runs/{run}/corrections", {**taken_back, "from_step": 19})
        assert (await authors(one, run))["metrics.loss"] == ann.name


async def test_a_service_is_named_by_its_token(app: Litestar, tenant: Tenant) -> None:
    token = give_token(tenant, Scope.WRITE, name='nightly "job"; drop')
    async with client_of(app) as client:
        service = Caller(client, token.text)
        run = await service.make_run()
        await write_all(service, run, at=1)
        assert set((await authors(service, run)).values()) == {'nightly "job"; drop'}


async def export(caller: Caller, run: str) -> bytes:
    return (await caller.send("GET", f"/v1/runs/{run}/export")).content


async def bring_in(caller: Caller, body: bytes) -> Any:
    answer = await caller.send(
        "POST", "/v1/import", content=body, headers={"Content-Type": "application/jsonl"}
    )
    return answer.json()


async def test_an_admins_import_keeps_the_authors_and_anybody_elses_does_not(
    app: Litestar, tenant: Tenant, other_tenant: Tenant, stranger: Caller
) -> None:
    ann, ben = make_person(tenant, Role.RUNNER), make_person(tenant, Role.RUNNER)
    async with client_of(app) as client:
        one, two = Caller(client, ann.token), Caller(client, ben.token)
        run = await one.make_run(params={"made": 1})
        await write_all(one, run, at=1)
        await write_all(two, run, at=2)
        body = await export(one, run)
        expected = await authors(one, run)
        said = [json.loads(line) for line in body.splitlines()]
        assert {one["user"] for one in said if "user" in one} == {ann.name, ben.name}
        without_media = {key: user for key, user in expected.items() if key[0] != "i"}
        writer = make_person(other_tenant, Role.RUNNER)
        liar = Caller(client, writer.token)
        await bring_in(liar, body)
        assert set((await authors(liar, run)).values()) == {writer.name}
        assert (await liar.get(f"/v1/runs/{run}"))["user"] == writer.name
        await stranger.send("DELETE", f"/v1/runs/{run}", status=204)
        await stranger.post(f"/v1/runs/{run}/purge", {})
        await bring_in(stranger, body)
        assert await authors(stranger, run) == without_media
    entries = (await stranger.get("/v1/audit"))["entries"]
    imports = [one for one in entries if one["action"] == "run.import"]
    assert [one["principal"] for one in imports] == ["test", writer.name]
    for one in imports:
        assert (one["object"], one["fields"]["rows"]["run"]) == ("default", 1)
