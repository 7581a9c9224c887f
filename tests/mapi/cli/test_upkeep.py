"""What an operator deletes and compacts by hand: what failed is said, and seen by scripts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.mapi.tenants_access import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from tests.mapi.tenants import Tenant


def over(tenant: Tenant) -> UUID:
    """Make a run that is in the trash and has ended, both long ago, with points."""
    run = tenant.run()
    value_of(
        tenant,
        "update mapi.runs set status = 'succeeded', trashed = now() - interval '99 days',"
        " finished = now() - interval '99 days' where id = %s",
        run,
    )
    value_of(
        tenant,
        "with series as (insert into mapi.run_series"
        " (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
        " values (%s, %s, 1, 'loss', '{}', 0, 'api') returning id)"
        " insert into mapi.run_metric_points (tenant_id, series_id, step, time, value)"
        " select %s, id, step, now(), 0 from series, generate_series(0, 9) as step",
        tenant.id,
        run,
        tenant.id,
    )
    return run


@contextmanager
def refusing(tenant: Tenant, table: str, what: str) -> Iterator[None]:
    """Let the database refuse a change of a tenant's rows, as a full disk would."""
    value_of(
        tenant,
        "create function mapi.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'the disk is full'; end $$",
    )
    row = "old" if what == "delete" else "new"
    value_of(
        tenant,
        f"create trigger refuse before {what} on mapi.{table} for each row"
        f" when ({row}.tenant_id = {tenant.id}) execute function mapi.refuse()",
    )
    try:
        yield
    finally:
        value_of(tenant, "drop function mapi.refuse() cascade")


def test_a_retention_that_failed_in_one_tenant_ends_with_1_names_it_and_does_the_others(
    admin: Any, tenant: Tenant, other_tenant: Tenant
) -> None:
    admin("retention")  # what other tests left
    broken, fine = over(tenant), over(other_tenant)
    with refusing(tenant, "runs", "delete"):
        told = admin("retention", code=1)
    assert "Deleted 1 runs" in told.out
    assert told.err.startswith("Error: Failed in these tenants; the others are done: ")
    assert f"{tenant.name}: the disk is full" in told.err
    assert other_tenant.name not in told.err
    assert "CONTEXT" not in told.err
    counted = "select count(*) from mapi.runs where id = %s"
    assert value_of(tenant, counted, broken) == 1
    assert value_of(tenant, counted, fine) == 0
    assert "Deleted 1 runs" in admin("retention").out


def test_a_compaction_that_failed_in_one_tenant_ends_with_1_names_it_and_does_the_others(
    admin: Any, tenant: Tenant, other_tenant: Tenant
) -> None:
    admin("compact", "--hours", "0")  # what other tests left
    for one in (tenant, other_tenant):
        over(one)
    with refusing(tenant, "run_metric_chunks", "insert"):
        told = admin("compact", "--hours", "0", code=1)
    assert told.out == "Compacted 10 points.\n"
    assert told.err.startswith("Error: Failed in these tenants; the others are done: ")
    assert f"{tenant.name}: the disk is full" in told.err
    assert admin("compact", "--hours", "0").out == "Compacted 10 points.\n"
