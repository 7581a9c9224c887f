"""Migrations: once each, together, and never over another version's work."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from mapi.database.migrate import migrate, migrations, pending
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.database.embedded.server import EmbeddedServer


@pytest.fixture
def empty(server: EmbeddedServer) -> Iterator[str]:
    """A database that nobody has migrated."""
    name = f"empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    yield server.superuser_url(name)
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def test_replicas_that_start_together_apply_each_migration_once(empty: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        applied = list(
            threads.map(lambda _: migrate(empty, login="mapi", password=None), range(4))
        )
    assert sorted(name for names in applied for name in names) == [
        one.name for one in migrations()
    ]
    with psycopg.connect(empty) as connection:
        assert pending(connection) == []


def test_a_database_of_a_newer_version_is_refused(empty: str) -> None:
    migrate(empty, login="mapi", password=None)
    with psycopg.connect(empty) as connection:
        connection.execute("insert into mapi.migrations values ('9999_future', 'x')")
    with pytest.raises(DatabaseError, match="written by a newer one"):
        migrate(empty, login="mapi", password=None)


def test_a_migration_that_was_edited_after_it_was_applied_is_refused(empty: str) -> None:
    migrate(empty, login="mapi", password=None)
    with psycopg.connect(empty) as connection:
        connection.execute("update mapi.migrations set checksum = 'edited'")
    with pytest.raises(DatabaseError, match="other statements"):
        migrate(empty, login="mapi", password=None)


def test_a_login_with_power_is_refused(empty: str) -> None:
    with pytest.raises(DatabaseError, match="would see every tenant"):
        migrate(empty, login="postgres", password=None)
