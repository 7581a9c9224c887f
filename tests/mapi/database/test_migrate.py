"""Migrations: once each, together, and never over another version's work."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from mapi.database.migrate import migrate, migrations, pending, require_migrated
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("insert into mapi.migrations values ('9999_future', 'x')", "written by a newer one"),
        ("update mapi.migrations set checksum = 'edited'", "other statements"),
        (
            "update mapi.migrations set name = '0001_foundation' where name like '0001%'",
            "before the first release.*`mapi runs export.*`mapi runs import",
        ),
    ],
)
def test_a_database_that_is_refused_stays_as_it_is(empty: str, change: str, words: str) -> None:
    migrate(empty, login="mapi", password=None)
    with psycopg.connect(empty) as connection:
        connection.execute(change.encode())
    newcomer = f"newcomer_{uuid.uuid4().hex[:12]}"
    with pytest.raises(DatabaseError, match=words):
        migrate(empty, login=newcomer, password="secret")
    with pytest.raises(DatabaseError, match=words):
        require_migrated(empty)
    with psycopg.connect(empty) as connection:
        found = connection.execute("select from pg_roles where rolname = %s", [newcomer])
        assert found.fetchone() is None


def test_a_login_with_power_is_refused(empty: str) -> None:
    with pytest.raises(DatabaseError, match="would see every tenant"):
        migrate(empty, login="postgres", password=None)
