"""A served platform, and pushes into it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from tests.mapi.callers import make_token
from tests.mapi.follow.faulty import Faulty
from tests.mapi.follow.network import network
from tests.mapi.serving import serving
from tests.mapi.tenants import make_tenant

import expr_tracker as et
import mapi
from expr_tracker.errors import NoRunError
from mapi.follow.pushing import Pusher, push

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from expr_tracker.run import Run
    from mapi.database.embedded.server import EmbeddedServer
    from mapi.follow.opened import PushReport


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with serving(database_url) as found:
        yield found


@pytest.fixture
def api(url: str, tenant: Tenant) -> Iterator[mapi.Client]:
    """An admin of the tenant."""
    with mapi.Client(url, token=make_token(tenant), timeout_seconds=20, tries=1) as found:
        yield found


@pytest.fixture(scope="module")
def faulty(url: str, server: EmbeddedServer) -> Iterator[Faulty]:
    """The platform behind a network that fails, with a tenant of its own."""
    token = make_token(make_tenant(server))
    with network(url) as (way, loop), mapi.Client(url, token=token) as found:
        yield Faulty(way, loop, api=found, token=token)


class Push(Protocol):
    """How tests push."""

    def __call__(
        self, *roots: Path, again: bool = False, project: str | None = None
    ) -> list[PushReport]:
        """Push what is there at or below folders, as a new program does."""
        ...


@pytest.fixture
def pushed(url: str, tenant: Tenant) -> Push:
    token = make_token(tenant)
    waiting = threading.Event()

    def called(*roots: Path, again: bool = False, project: str | None = None) -> list[PushReport]:
        with mapi.Client(url, token=token, project=project, timeout_seconds=20, tries=1) as client:
            return push(Pusher(client, again=again, pause=waiting.wait), roots)

    return called


class Begin(Protocol):
    """How tests open a run that is fed to the platform."""

    def __call__(self, name: str = "r", **options: Any) -> Run:
        """Open it; ``arguments`` are those of the backend."""
        ...


@pytest.fixture
def address(url: str) -> str:
    """Where a run that is fed finds the platform."""
    return url


@pytest.fixture
def begin(address: str, tenant: Tenant, tmp_path: Path) -> Begin:
    token = make_token(tenant)

    def called(name: str = "r", **options: Any) -> Run:
        kwargs = {"mapi": {"url": address, "token": token, **options.pop("arguments", {})}}
        return et.init(
            "p",
            name,
            dir=tmp_path,
            backends=["mapi"],
            backend_kwargs=kwargs,
            capture=False,
            **options,
        )

    return called


@pytest.fixture(autouse=True)
def _no_open_run() -> Iterator[None]:
    yield
    with contextlib.suppress(NoRunError):
        et.finish(quiet=True)
