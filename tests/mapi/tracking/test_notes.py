"""Params that a runner sends, which cannot be answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mapi.errors import ParamConflictError
from mapi.tracking.notes import list_params, write_params
from mapi.tracking.writing import API, Counts, Sender
from mapi.wire.enums import Source

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


async def test_of_a_runner_another_value_of_a_param_is_dropped_and_counted_and_the_first_stays(
    database: Database, tenant: Tenant
) -> None:
    run = tenant.run()
    runner = Sender(source=Source.RUNNER)
    async with database.transaction(tenant.reach) as connection:
        await write_params(connection, run, {"lr": 0.1, "depth": 3}, sender=runner)
        counts = await write_params(
            connection, run, {"lr": 0.2, "depth": 3, "width": 8}, sender=runner
        )
        assert counts == Counts(accepted=1, duplicates=2, conflicts=1)
        found, _ = await list_params(connection, run)
    assert {key: one.text for key, one in found.items()} == {
        "lr": "0.1",
        "depth": "3",
        "width": "8",
    }
    # The same of a user, who is answered, is refused whole.
    with pytest.raises(ParamConflictError, match="lr"):
        async with database.transaction(tenant.reach) as connection:
            await write_params(connection, run, {"lr": 0.2, "more": 1}, sender=API)
    async with database.transaction(tenant.reach) as connection:
        found, _ = await list_params(connection, run)
    assert (found["lr"].text, "more" in found) == ("0.1", False)
