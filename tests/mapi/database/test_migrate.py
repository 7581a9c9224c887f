"""Migrations: once each, together, and never over another version's work."""

from __future__ import annotations

import contextlib
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

    from tests.services.postgres import ManagedDatabase, ManagedPostgres

    from mapi.database.embedded.server import EmbeddedServer


@pytest.fixture
def empty(server: EmbeddedServer) -> Iterator[str]:
    """A database that nobody has migrated."""
    with new_database(server) as url:
        yield url


@contextlib.contextmanager
def new_database(server: EmbeddedServer) -> Iterator[str]:
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


def catalogue(url: str) -> list[tuple[object, ...]]:
    """Return what a schema is made of: its tables, their columns and rules, indexes, functions, rights."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),"
            "   a.attnotnull::text"
            " from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0"
            " where c.relnamespace = 'mapi'::regnamespace"
            " union all select 'relation', c.relname, c.relkind::text, c.relacl::text,"
            "   c.relrowsecurity::text || c.relforcerowsecurity || pg_get_userbyid(c.relowner)"
            " from pg_class as c where c.relnamespace = 'mapi'::regnamespace"
            " union all select 'constraint', conrelid::regclass::text, conname,"
            "   pg_get_constraintdef(oid), ''"
            " from pg_constraint where connamespace = 'mapi'::regnamespace"
            " union all select 'index', tablename, indexname, indexdef, ''"
            " from pg_indexes where schemaname = 'mapi'"
            " union all select 'policy', tablename, policyname, qual, with_check"
            " from pg_policies where schemaname = 'mapi'"
            " union all select 'function', oid::regprocedure::text, md5(prosrc), proacl::text,"
            "   prosecdef::text || coalesce(proconfig::text, '')"
            " from pg_proc where pronamespace = 'mapi'::regnamespace"
            " union all select 'trigger', tgrelid::regclass::text, tgname,"
            "   pg_get_triggerdef(tg.oid), ''"
            " from pg_trigger as tg join pg_class as c on c.oid = tg.tgrelid"
            " where c.relnamespace = 'mapi'::regnamespace and not tgisinternal"
            " union all select 'migration', name, checksum, '', '' from mapi.migrations"
            " order by 1, 2, 3, 4, 5"
        ).fetchall()


def test_migrations_that_were_cut_anywhere_end_as_those_that_were_not(
    server: EmbeddedServer, empty: str
) -> None:
    with new_database(server) as other:
        migrate(other, login="mapi", password=None)
        whole = catalogue(other)
    # Each time one more is let through: what it did is rolled back with the note that it was done.
    for count in range(len(migrations())):
        with psycopg.connect(empty) as connection:
            if count:
                connection.execute("drop function public.cut() cascade")
            else:
                connection.execute(
                    "create schema mapi authorization mapi_owner;"
                    "create table mapi.migrations (name text primary key, checksum text not null,"
                    " applied timestamptz not null default now())"
                )
            cut = (
                "create function public.cut() returns trigger language plpgsql as $$ begin"
                f" if (select count(*) from mapi.migrations) >= {count} then"
                " raise exception 'cut here'; end if; return new; end $$;"
                "create trigger cut before insert on mapi.migrations"
                " for each row execute function public.cut()"
            )
            connection.execute(cut.encode())
        with pytest.raises(DatabaseError, match="cut here"):
            migrate(empty, login="mapi", password=None)
        with psycopg.connect(empty) as connection:
            assert len(pending(connection)) == len(migrations()) - count
    with psycopg.connect(empty) as connection:
        connection.execute("drop function public.cut() cascade")
    assert migrate(empty, login="mapi", password=None) == [migrations()[-1].name]
    assert catalogue(empty) == whole


def opens(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError as error:
        return "password authentication failed" not in str(error)
    return True


def test_a_role_that_was_there_keeps_its_password_and_another_is_told(
    managed_postgres: ManagedPostgres,
) -> None:
    one, two = managed_postgres.new_database(), managed_postgres.new_database()
    migrate(one.operator_url, login=one.login, password=one.password)
    for _ in range(2):
        with pytest.raises(DatabaseError, match="--set-password") as told:
            migrate(two.operator_url, login=one.login, password="other")
        assert repr(one.login) in str(told.value)
        assert opens(one.url)
    with psycopg.connect(two.operator_url) as connection:
        assert len(pending(connection)) == len(migrations())
    migrate(two.operator_url, login=one.login, password="other", sets_password=True)
    assert not opens(one.url)
    one.password = "other"
    assert opens(one.url)


def test_a_role_that_was_there_is_taken_with_its_own_password(
    managed_database: ManagedDatabase,
) -> None:
    found = managed_database
    for _ in range(2):
        migrate(found.operator_url, login=found.login, password=found.password)
        assert opens(found.url)


def test_an_admin_role_that_may_not_migrate_is_told_what_it_needs(
    managed_database: ManagedDatabase,
) -> None:
    found = managed_database
    admin = f"weak_{found.name}"
    weak = psycopg.conninfo.make_conninfo(found.superuser_url, user=admin, password="p")

    def said() -> str:
        with pytest.raises(DatabaseError) as told:
            migrate(weak, login=found.login, password=found.password)
        return str(told.value)

    assert "Check role, password, address and database in MAPI_DATABASE_ADMIN_URL" in said()
    with psycopg.connect(found.superuser_url, autocommit=True) as connection:
        connection.execute(f"create role {admin} login password 'p'".encode())
        fixes = (
            f'ALTER ROLE "{admin}" CREATEROLE',
            f'ALTER DATABASE "{found.name}" OWNER TO "{admin}"',
        )
        for statement in fixes:
            # What the line says helps, word for word.
            assert statement in said()
            connection.execute(statement.encode())
    migrate(weak, login=found.login, password=found.password)
