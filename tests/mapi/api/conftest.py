"""The application over a real database, and who calls it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from callers import Caller, make_caller
from litestar.exceptions import LitestarDeprecationWarning

from mapi.api.app import build_app

if TYPE_CHECKING:
    from litestar import Litestar
    from tenants import Tenant

    from mapi.database.door import Database


@pytest.fixture
def app(database: Database) -> Litestar:
    with warnings.catch_warnings():
        # Some routes still name their parameters in the way that ends with the framework's next
        # great version.
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        return build_app(database, version="0")


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
