"""What the server does once an hour, and an operator whenever he likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import value_of
from tests.mapi.tracking.log_model import batch_of

from mapi.config import settings_from
from mapi.database.turns import in_turn
from mapi.errors import InvalidError, StateError
from mapi.serve.administration import Administration
from mapi.serve.housekeeping import tidy
from mapi.tracking.freed import Retention
from mapi.tracking.ingest import write_points

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


def never(tenant: str, error: Exception) -> None:
    raise AssertionError(tenant) from error


async def test_an_operator_compacts_every_tenants_runs_that_are_over(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    objects, _ = temporary_objects()
    administration = Administration(database, None, objects)
    await administration.compact(0, failed=never)  # what other tests left
    for one in (tenant, other_tenant):
        run_id = one.run()
        async with database.transaction(one.reach) as connection:
            points = [(0, step, step, float(step)) for step in range(10)]
            await write_points(connection, run_id, batch_of(points))
        with psycopg.connect(one.server.superuser_url()) as superuser:
            superuser.execute(
                "update mapi.runs set status = 'failed', finished = now() - interval '3 hours'"
                " where id = %s",
                [run_id],
            )
    heard: list[int] = []
    assert await administration.compact(4, failed=never) == 0
    assert await administration.compact(2, failed=never, told=heard.append) == 20
    assert heard == [10, 10]
    assert await administration.compact(0, failed=never) == 0


async def test_what_is_wrong_with_one_tenant_keeps_no_other_waiting(
    database: Database, tenant: Tenant, other_tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    objects, _ = temporary_objects()
    first, second = sorted([tenant, other_tenant], key=lambda one: one.id)
    run_id = second.run()
    value_of(second, "update mapi.runs set trashed = now() where id = %s", run_id)
    broken = first.run()
    value_of(first, "update mapi.runs set trashed = now() where id = %s", broken)
    # What a rule of the database refuses, such as a full disk would.
    value_of(
        first,
        "create function mapi.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'the disk is full'; end $$",
    )
    value_of(
        first,
        "create trigger refuse before delete on mapi.runs for each row"
        f" when (old.tenant_id = {first.id}) execute function mapi.refuse()",
    )
    try:
        freed = await tidy(database, objects, Retention(trash_days=0))
    finally:
        value_of(first, "drop function mapi.refuse() cascade")
    assert freed is not None
    assert value_of(second, "select count(*) from mapi.runs where id = %s", run_id) == 0
    assert value_of(first, "select count(*) from mapi.runs where id = %s", broken) == 1
    assert f"tenant {first.id} was not deleted" in caplog.text


async def test_an_operator_hears_that_the_server_is_at_it(database: Database) -> None:
    objects, _ = temporary_objects()
    administration = Administration(database, None, objects)

    async def work() -> None:
        with pytest.raises(StateError, match="look again later"):
            await administration.compact(0, failed=never)

    await in_turn(database, "compaction", work)


@pytest.mark.parametrize(
    ("filters", "sort", "best", "option"),
    [
        ("nothing", "", None, "--filter"),
        ("", "", None, "--filter"),
        ("", "metrics.loss,", 1, "--by"),
        ("", "", 1, "--by"),
        ("", "metrics.loss", 10_001, "--best"),
    ],
)
async def test_a_wrong_rule_is_refused_in_the_words_of_the_command(
    database: Database, tenant: Tenant, filters: str, sort: str, best: int | None, option: str
) -> None:
    objects, _ = temporary_objects()
    administration = Administration(database, None, objects)
    with pytest.raises(InvalidError) as refused:
        await administration.add_rule(
            tenant.name, "default", filters=filters, sort=sort, best=best
        )
    assert [one.pointer for one in refused.value.faults] == [option]
    assert await administration.rules(tenant.name) == []


def test_how_long_a_run_must_be_over_is_a_setting() -> None:
    assert settings_from({}).compaction_hours == 24
    assert settings_from({"MAPI_COMPACTION_HOURS": "0"}).compaction_hours == 0


async def test_keys_of_requests_go_after_a_day_in_every_tenant(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    for one in (tenant, other_tenant):
        for hours in (1, 23, 25, 900):
            value_of(
                one,
                "insert into mapi.idempotency_keys"
                " (tenant_id, principal, key, request_hash, status, body, created)"
                " values (%s, 'p', %s::text, '', 201, '', now() - make_interval(hours => %s))",
                one.id,
                hours,
                hours,
            )
    objects, _ = temporary_objects()
    await tidy(database, objects, Retention(trash_days=30))
    kept = (
        "select string_agg(key, ' ' order by key) from mapi.idempotency_keys where tenant_id = %s"
    )
    for one in (tenant, other_tenant):
        assert value_of(one, kept, one.id) == "1 23"
