"""The services as fixtures: each is started by the first test that needs it, and once a run.

What they import is imported then too: most test runs need none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.services.gateway import Gateway
    from tests.services.pooler import Pooler
    from tests.services.postgres import ManagedDatabase, ManagedPostgres

__all__ = ["gateway", "managed_database", "managed_postgres", "start_pooler"]


@pytest.fixture(scope="session")
def managed_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedPostgres]:
    """Debian's PostgreSQL 15 on loopback."""
    from tests.services.postgres import ManagedPostgres

    found = ManagedPostgres(tmp_path_factory.mktemp("managed-postgres"))
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def managed_database(managed_postgres: ManagedPostgres) -> ManagedDatabase:
    """An empty database of that server."""
    return managed_postgres.new_database()


@pytest.fixture
def start_pooler(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[ManagedDatabase, int], Pooler]]:
    """Start PgBouncer before a database, with so many connections to it."""
    from tests.services.pooler import Pooler

    started: list[Pooler] = []

    def start(database: ManagedDatabase, size: int) -> Pooler:
        started.append(Pooler(tmp_path_factory.mktemp("pooler"), database, size=size))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """An S3 server on loopback."""
    from tests.services.gateway import Gateway

    found = Gateway(tmp_path_factory.mktemp("gateway"))
    try:
        found.start()
        yield found
    finally:
        found.stop()
