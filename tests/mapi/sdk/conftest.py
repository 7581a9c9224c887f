"""Clients of the real application behind a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import make_token
from tests.mapi.sdk.asking import BOTH, Asking
from tests.mapi.serving import serving

import mapi

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.mapi.tenants import Tenant


@pytest.fixture(scope="session")
def url(database_url: str) -> Iterator[str]:
    with serving(database_url) as found:
        yield found


@pytest.fixture
def api(url: str, tenant: Tenant) -> Iterator[mapi.Client]:
    """An admin of the tenant."""
    with mapi.Client(url, token=make_token(tenant), timeout_seconds=20) as found:
        yield found


@pytest.fixture
async def async_api(url: str, tenant: Tenant) -> AsyncIterator[mapi.AsyncClient]:
    async with mapi.AsyncClient(url, token=make_token(tenant), timeout_seconds=20) as found:
        yield found


@pytest.fixture(params=BOTH)
def asking(request: pytest.FixtureRequest, url: str, tenant: Tenant) -> Iterator[Asking]:
    """An admin of the tenant, with either client."""
    found = Asking(request.param, url, make_token(tenant))
    try:
        yield found
    finally:
        found.close()
