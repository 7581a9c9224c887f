"""The application over the tests' database, and who calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import Caller, make_caller

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database


@pytest.fixture
async def app(database: Database) -> Litestar:
    changes = Changes(database, None)
    # Without a socket an answer comes when it is whole, and a stream of events never is: whoever
    # may follow one is told that the server ends.
    changes.end_streams()
    return build_app(database, version="0", entrance=Entrance(checks_host=True), changes=changes)


@pytest.fixture
def caller(app: Litestar, tenant: Tenant) -> Caller:
    """An admin of the tenant."""
    return make_caller(app, tenant)


@pytest.fixture
def stranger(app: Litestar, other_tenant: Tenant) -> Caller:
    """An admin of another tenant."""
    return make_caller(app, other_tenant)


@pytest.fixture
def viewer(app: Litestar, tenant: Tenant) -> Caller:
    return make_caller(app, tenant, scopes=["runs:read"])
