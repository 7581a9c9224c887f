"""Tenants are kept apart by the database itself, whatever a statement says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors, sql

from mapi.database.door import Database, Reach
from mapi.database.isolation import other_logins, unguarded_tables
from mapi.database.migrate import migrate
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant
    from tests.services.postgres import ManagedDatabase, ManagedPostgres

    from mapi.database.embedded.server import EmbeddedServer

pytestmark = pytest.mark.anyio

#: Rows of these say nothing of a tenant.
WITHOUT_TENANT = {"migrations", "server_secrets", "turns"}


#: What they are of: nobody has a grant on them.
PARTITIONS = ("run_metric_points_", "run_metric_chunks_")


def is_partition(table: str) -> bool:
    return table.startswith(PARTITIONS)


def catalogue(server: EmbeddedServer, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.superuser_url()) as connection:
        return connection.execute(statement).fetchall()


def tables(server: EmbeddedServer) -> list[str]:
    rows = catalogue(
        server,
        "select relname from pg_class where relnamespace = 'mapi'::regnamespace"
        " and relkind in ('r', 'p') order by relname",
    )
    return [name for (name,) in rows if name not in WITHOUT_TENANT]


def test_every_table_and_partition_has_forced_policies(server: EmbeddedServer) -> None:
    open_ones = catalogue(
        server,
        "select relname from pg_class where relnamespace = 'mapi'::regnamespace"
        " and relkind in ('r', 'p') and not (relrowsecurity and relforcerowsecurity)",
    )
    assert {name for (name,) in open_ones} == WITHOUT_TENANT


def test_the_tenant_is_the_first_column_of_every_primary_key(server: EmbeddedServer) -> None:
    keys = dict(
        catalogue(
            server,
            "select class.relname, attribute.attname from pg_class as class"
            " left join pg_index as index on index.indrelid = class.oid and index.indisprimary"
            " left join pg_attribute as attribute"
            " on attribute.attrelid = class.oid and attribute.attnum = index.indkey[0]"
            " where class.relnamespace = 'mapi'::regnamespace and class.relkind in ('r', 'p')",
        )
    )
    others = {name: first for name, first in keys.items() if first != "tenant_id"}
    assert others == {
        "tenants": "id",
        "migrations": "name",
        "server_secrets": "is_the_one",
        "turns": "name",
    }


def test_every_policy_of_the_server_asks_for_the_tenant(server: EmbeddedServer) -> None:
    policies = catalogue(
        server,
        "select tablename, qual, with_check from pg_policies"
        " where schemaname = 'mapi' and roles = '{public}'",
    )
    assert {table for table, _, _ in policies} == set(tables(server))
    for table, seen, written in policies:
        column = "id" if table == "tenants" else "tenant_id"
        for condition in (seen, written):
            assert f"({column} = mapi.current_tenant())" in condition, table


def test_nothing_belongs_to_a_role_that_can_log_in(server: EmbeddedServer) -> None:
    owners = catalogue(
        server,
        "select distinct rolname, rolcanlogin, rolsuper, rolbypassrls from pg_class"
        " join pg_roles on pg_roles.oid = relowner where relnamespace = 'mapi'::regnamespace",
    )
    assert owners == [("mapi_owner", False, False, False)]


def test_the_server_has_no_grant_on_partitions_and_cannot_rewrite_the_audit(
    server: EmbeddedServer,
) -> None:
    grants = catalogue(
        server,
        "select table_name, privilege_type from information_schema.role_table_grants"
        " where table_schema = 'mapi' and grantee in ('mapi_app', 'mapi', 'PUBLIC')",
    )
    assert not [name for name, _ in grants if is_partition(name)]
    assert {kind for name, kind in grants if name == "audit"} == {"SELECT", "INSERT"}
    assert {kind for name, kind in grants if name == "tenants"} == {"SELECT"}
    for table in WITHOUT_TENANT:
        assert {kind for name, kind in grants if name == table} == {"SELECT"}


def test_views_read_as_whoever_asks_and_definer_functions_have_a_fixed_path(
    server: EmbeddedServer,
) -> None:
    views = catalogue(
        server,
        "select relname, reloptions from pg_class"
        " where relnamespace = 'mapi'::regnamespace and relkind = 'v'",
    )
    assert views
    for name, options in views:
        assert "security_invoker=true" in (options or []), name
    functions = catalogue(
        server,
        "select proname, proconfig from pg_proc"
        " where pronamespace = 'mapi'::regnamespace and prosecdef",
    )
    assert {name for name, _ in functions} == {
        "find_token_v1",
        "list_tenants_v1",
        "take_turn_v1",
        "end_turn_v1",
    }
    for name, settings in functions:
        assert any(one.startswith("search_path=") for one in settings or []), name


async def test_without_a_tenant_no_table_shows_a_row(
    database: Database, server: EmbeddedServer, tenant: Tenant
) -> None:
    tenant.run()
    async with database.outside() as connection:
        for table in [*tables(server), "run_metrics"]:
            if is_partition(table):
                continue
            cursor = await connection.execute(
                sql.SQL("select count(*) from {}").format(sql.Identifier(table))
            )
            assert await cursor.fetchone() == (0,), table


_PLANTED = """
insert into mapi.run_series (tenant_id, run_id, attempt, key, labels, labels_hash, source)
values (%(t)s, %(r)s, 1, 'loss', '{}', 0, 'api');
insert into mapi.run_series_names (tenant_id, run_id, raw, name) values (%(t)s, %(r)s, 'a~0', 'name');
insert into mapi.run_metric_points
select tenant_id, id, 0, now(), 1.0 from mapi.run_series where tenant_id = %(t)s;
insert into mapi.run_metric_chunks
select tenant_id, id, 1, 1, 1, '{1}', '{2026-01-01}', '{1.0}' from mapi.run_series
where tenant_id = %(t)s;
insert into mapi.run_metric_pruned (
    tenant_id, run_id, key, labels_hash, attempt, series_id, count, nonfinite_count, first_time,
    last_time, last_step, last_value, finite_sum
) values (%(t)s, %(r)s, 'loss', 0, 1, 1, 1, 0, now(), now(), 0, 1.0, 1.0);
insert into mapi.run_metric_summary (
    tenant_id, run_id, key, labels_hash, labels, project_id, attempt, series_id, is_scalar, count,
    nonfinite_count, first_time, last_time, last_step, last_value, finite_sum, source
) values (%(t)s, %(r)s, 'loss', 0, '{}', 1, 1, 1, false, 1, 0, now(), now(), 0, 1.0, 1.0, 'api');
insert into mapi.run_logs (tenant_id, run_id, time, level, message, source)
values (%(t)s, %(r)s, now(), 'info', 'm', 'api');
insert into mapi.run_media (
    tenant_id, id, run_id, key, labels, labels_hash, step, format, size_bytes, sha256, object_key,
    source
) values (%(t)s, %(r)s, %(r)s, 'k', '{}', 0, 0, 'png', 1, 'x', 'o', 'api');
insert into mapi.run_spans (tenant_id, run_id, name, start_ns, duration_ns, depth, track)
values (%(t)s, %(r)s, 'n', 0, 0, 0, 0)
"""


def plant(server: EmbeddedServer, tenant: Tenant) -> None:
    """Put one row of ``tenant`` into every table."""
    run_id = tenant.run(external_id="planted")
    with psycopg.connect(server.superuser_url()) as connection:
        for statement, *rest in (
            ("users (tenant_id, name)", "planted"),
            ("tokens (tenant_id, id, secret_hash, name, scopes)", "%t", b"x", "planted", []),
            ("experiments (tenant_id, id, project_id, name)", run_id, tenant.project_id, "e"),
            ("saved_views (tenant_id, id, project_id, name)", run_id, tenant.project_id, "v"),
            ("run_attempts (tenant_id, run_id, attempt, source)", run_id, 1, "api"),
            (
                "run_params (tenant_id, run_id, key, project_id, text, source)",
                run_id,
                "k",
                1,
                "v",
                "a",
            ),
            (
                "run_tags (tenant_id, run_id, key, project_id, text, source)",
                run_id,
                "k",
                1,
                "v",
                "a",
            ),
            ("run_events (tenant_id, run_id, type, message)", run_id, "status", "m"),
            ("run_documents (tenant_id, run_id, name, content)", run_id, "config", "{}"),
            ("run_writers (tenant_id, run_id, writer, seq)", run_id, "w", 1),
            ("run_deletions (tenant_id, run_id, project_id)", run_id, tenant.project_id),
            (
                "idempotency_keys (tenant_id, principal, key, request_hash, status, body)",
                "p",
                "k",
                b"h",
                201,
                b"b",
            ),
            ("retention_rules (tenant_id, project_id, filter)", tenant.project_id, "a"),
            ("audit (tenant_id, principal, action, object)", "p", "a", "o"),
        ):
            values = [tenant.name[-12:] if value == "%t" else value for value in rest]
            marks = ", ".join(["%s"] * (len(values) + 1))
            connection.execute(
                f"insert into mapi.{statement} values ({marks})",
                [tenant.id, *values],
            )
        connection.execute(
            "insert into mapi.members (tenant_id, user_id, role)"
            " select tenant_id, id, 'admin' from mapi.users where tenant_id = %s",
            [tenant.id],
        )
        for statement in _PLANTED.split(";"):
            connection.execute(statement, {"t": tenant.id, "r": run_id})


async def test_no_table_lets_one_tenant_see_change_or_forge_rows_of_another(
    database: Database, server: EmbeddedServer, tenant: Tenant, other_tenant: Tenant
) -> None:
    plant(server, tenant)
    for table in tables(server):
        if is_partition(table):
            continue
        name = sql.Identifier(table)
        column = sql.Identifier("id" if table == "tenants" else "tenant_id")
        with psycopg.connect(server.superuser_url()) as connection:
            planted = connection.execute(
                sql.SQL("select count(*) from mapi.{} where {} = %s").format(name, column),
                [tenant.id],
            ).fetchone()
        assert planted != (0,), f"the test planted nothing in {table}"
        async with database.transaction(other_tenant.reach) as connection_of_other:
            cursor = await connection_of_other.execute(
                sql.SQL("select count(*) from {} where {} = %s").format(name, column), [tenant.id]
            )
            assert await cursor.fetchone() == (0,), table
        for statement in (
            "delete from {name} where {column} = %s",
            "update {name} set {column} = {column} where {column} = %s",
        ):
            try:
                async with database.transaction(other_tenant.reach) as connection_of_other:
                    cursor = await connection_of_other.execute(
                        sql.SQL(statement).format(name=name, column=column),
                        [tenant.id],
                    )
                    assert cursor.rowcount == 0, table
            except (errors.InsufficientPrivilege, errors.GeneratedAlways):
                pass  # refused before it looked
        with pytest.raises((errors.InsufficientPrivilege, errors.GeneratedAlways)):
            async with database.transaction(other_tenant.reach) as connection_of_other:
                await connection_of_other.execute(
                    sql.SQL(
                        "insert into {name} overriding system value select (stolen).* from ("
                        "select jsonb_populate_record(null::{name}, %s::jsonb) as stolen) as forged"
                    ).format(name=name),
                    [_row(server, table, tenant.id)],
                )


def _row(server: EmbeddedServer, table: str, tenant_id: int) -> str:
    column = "id" if table == "tenants" else "tenant_id"
    with psycopg.connect(server.superuser_url()) as connection:
        found = connection.execute(
            sql.SQL("select to_jsonb(t)::text from mapi.{} as t where {} = %s limit 1").format(
                sql.Identifier(table), sql.Identifier(column)
            ),
            [tenant_id],
        ).fetchone()
    assert found is not None
    return str(found[0])


async def test_a_pooled_connection_forgets_whom_it_served(
    database_url: str, tenant: Tenant
) -> None:
    tenant.run()
    one = Database(database_url, connections=2)
    await one.open()
    try:
        async with one.transaction(tenant.reach) as connection:
            cursor = await connection.execute("select count(*) from runs")
            assert await cursor.fetchone() == (1,)
        for _ in range(4):
            async with one.outside() as connection:
                cursor = await connection.execute("select count(*) from runs")
                assert await cursor.fetchone() == (0,)
    finally:
        await one.close()


async def test_a_reach_of_some_projects_hides_the_runs_of_others(
    database: Database, tenant: Tenant
) -> None:
    run_id = tenant.run()
    for projects, expected in (((tenant.project_id,), 1), ((), 0), ((tenant.project_id + 1,), 0)):
        async with database.transaction(Reach(tenant.id, projects)) as connection:
            cursor = await connection.execute("select count(*) from runs where id = %s", [run_id])
            assert await cursor.fetchone() == (expected,)


POWERS = {
    "superuser": "is a superuser",
    "bypassrls": "BYPASSRLS",
    "createrole": "CREATEROLE",
    "replication": "REPLICATION",
}


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        *((f'alter role "{{login}}" {power}', words) for power, words in POWERS.items()),
        *(
            (f'create role "of {{login}}" {power}; grant "of {{login}}" to "{{login}}"', words)
            for power, words in POWERS.items()
        ),
        ('grant mapi_owner to "{login}"', "is a member of mapi_owner"),
        ('alter database "{name}" owner to "{login}"', "owns the database"),
        ('alter schema mapi owner to "{login}"', "owns the schema mapi"),
        ('alter table mapi.runs owner to "{login}"', "owns the schema mapi"),
        ('grant pg_execute_server_program to "{login}"', "files of the database server"),
    ],
)
async def test_a_login_with_power_gets_neither_to_serve_nor_to_migrate(
    managed_database: ManagedDatabase, statement: str, words: str
) -> None:
    found = managed_database
    migrate(found.operator_url, login=found.login, password=found.password)
    run(found.superuser_url, statement.format(login=found.login, name=found.name))
    said = f"The role '{found.login}' of MAPI_DATABASE_URL .*{words}.*name a new role"
    with pytest.raises(DatabaseError, match=said):
        await Database(found.url, connections=2).open()
    with pytest.raises(DatabaseError, match=said):
        migrate(found.superuser_url, login=found.login, password=found.password)


def test_a_migration_that_is_refused_for_its_login_makes_nothing(
    managed_database: ManagedDatabase,
) -> None:
    with pytest.raises(DatabaseError, match="'operator' of MAPI_DATABASE_URL may make roles"):
        migrate(managed_database.operator_url, login="operator", password=None)
    with psycopg.connect(managed_database.operator_url) as connection:
        found = connection.execute("select to_regnamespace('mapi')").fetchone()
    assert found == (None,)


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("alter table mapi.runs disable row level security", ["runs"]),
        ("alter table mapi.runs no force row level security", ["runs"]),
        ("drop policy tenant on mapi.runs", ["runs"]),
        ("create policy more on mapi.runs using (true)", ["runs"]),
        ("create policy more on mapi.runs for select to mapi_app using (true)", ["runs"]),
        ("alter policy tenant on mapi.runs with check (true)", ["runs"]),
        ("create table mapi.more (tenant_id int)", ["more"]),
        ("create policy more on mapi.runs as restrictive using (status <> 'lost')", []),
    ],
)
def test_a_table_that_does_not_keep_tenants_apart_is_found(
    managed_database: ManagedDatabase, statement: str, tables: list[str]
) -> None:
    found = managed_database
    migrate(found.operator_url, login=found.login, password=found.password)
    with psycopg.connect(found.url) as connection:
        assert unguarded_tables(connection) == []
    run(found.superuser_url, statement)
    with psycopg.connect(found.url) as connection:
        assert unguarded_tables(connection) == tables


def test_the_login_of_an_installation_opens_no_other_of_the_same_server(
    managed_postgres: ManagedPostgres,
) -> None:
    one, two = managed_postgres.new_database(), managed_postgres.new_database()
    for found in (one, two):
        migrate(found.operator_url, login=found.login, password=found.password)
    for found, other in ((one, two), (two, one)):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(found.url, dbname=other.name)
        with psycopg.connect(found.url) as connection:
            assert other_logins(connection) == []
    run(one.operator_url, f'grant connect on database "{one.name}" to "{two.login}"')
    with psycopg.connect(one.url) as connection:
        assert other_logins(connection) == [two.login]
