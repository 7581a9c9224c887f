"""The application over the tests' database, and who calls it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import Caller, make_caller

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.objects.opening import open_store
from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from pathlib import Path

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore


@pytest.fixture
def objects(tmp_path: Path) -> tuple[ObjectStore, UploadPermits]:
    return open_store(
        None, home=tmp_path, upload_url="http://127.0.0.1/v1/uploads", secret=os.urandom(32)
    )


@pytest.fixture
async def app(database: Database, objects: tuple[ObjectStore, UploadPermits]) -> Litestar:
    changes = Changes(database, None)
    # Without a socket an answer comes when it is whole, and a stream of events never is: whoever
    # may follow one is told that the server ends.
    changes.end_streams()
    return build_app(
        database,
        version="0",
        entrance=Entrance(checks_host=True),
        changes=changes,
        objects=objects,
    )


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
