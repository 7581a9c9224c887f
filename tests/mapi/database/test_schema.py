"""The schema that the migrations make, as the catalogue has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.embedded.server import EmbeddedServer


def catalogue(server: EmbeddedServer, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.superuser_url()) as connection:
        return connection.execute(statement).fetchall()


def test_an_index_finds_the_rows_that_a_foreign_key_leads_from(server: EmbeddedServer) -> None:
    # Without one, who deletes a row waits until the whole of the other table was read.
    without = catalogue(
        server,
        "select key.conrelid::regclass::text, key.conname from pg_constraint as key"
        " where key.contype = 'f' and key.connamespace = 'mapi'::regnamespace and not exists ("
        "   select from pg_index as found where found.indrelid = key.conrelid and found.indisvalid"
        "   and key.conkey operator(pg_catalog.<@)"
        "     (string_to_array(found.indkey::text, ' ')::int2[])[1:cardinality(key.conkey)]"
        " )",
    )
    assert without == []
    keys = catalogue(
        server,
        "select count(*) from pg_constraint"
        " where contype = 'f' and connamespace = 'mapi'::regnamespace",
    )
    assert keys[0][0] > 20


def test_the_server_calls_what_it_was_granted_and_everybody_else_nothing(
    server: EmbeddedServer,
) -> None:
    callers = catalogue(
        server,
        "select routine.proname, right_to.grantee::regrole::text from pg_proc as routine"
        " cross join lateral aclexplode(coalesce("
        "   routine.proacl, acldefault('f', routine.proowner))) as right_to"
        " where routine.pronamespace = 'mapi'::regnamespace",
    )
    assert {role for _, role in callers} == {"mapi_owner", "mapi_app"}
    made = {name for name, role in callers if role == "mapi_owner"}
    # Triggers are no calls of the server's, and what protects a table is for migrations.
    assert made - {name for name, role in callers if role == "mapi_app"} == {
        "number_event",
        "protect",
        "tell_of_end",
        "write_life",
    }


def test_no_function_that_only_reads_is_called_volatile(server: EmbeddedServer) -> None:
    volatile = catalogue(
        server,
        "select proname from pg_proc"
        " where pronamespace = 'mapi'::regnamespace and provolatile = 'v' and prokind = 'f'",
    )
    assert {name for (name,) in volatile} == {
        "append_points",
        "claim_key",
        "end_turn_v1",
        "hold_key",
        "keep_key",
        "make_run",
        "make_run_once",
        "make_series",
        "merge_summaries",
        "number_event",  # it sees what its own statement has written
        "take_turn_v1",
        "tell_of_end",
        "wait_for_key",
        "write_life",
    }


@pytest.mark.parametrize(
    "chunk",
    [
        "1, 2, 2, '{1,2}', '{2026-01-01}', '{1,2}'",
        "1, 2, 2, '{1,2}', '{2026-01-01,2026-01-02}', '{1}'",
        "1, 2, 3, '{1,2}', '{2026-01-01,2026-01-02}', '{1,2}'",
        "0, 2, 2, '{1,2}', '{2026-01-01,2026-01-02}', '{1,2}'",
        "1, 3, 2, '{1,2}', '{2026-01-01,2026-01-02}', '{1,2}'",
        "1, 1, 0, '{}', '{}', '{}'",
    ],
)
def test_a_chunk_whose_columns_do_not_fit_each_other_is_refused(
    server: EmbeddedServer, tenant: Tenant, chunk: str
) -> None:
    with psycopg.connect(server.superuser_url()) as connection:
        connection.execute(
            "insert into mapi.run_metric_chunks values"
            " (%s, 1, 1, 2, 2, '{1,2}', '{2026-01-01,2026-01-02}', '{1,2}')",
            [tenant.id],
        )
        with pytest.raises(errors.CheckViolation, match="run_metric_chunks_are_whole"):
            connection.execute(
                f"insert into mapi.run_metric_chunks values (%s, 2, {chunk})".encode(),
                [tenant.id],
            )


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        pytest.param(
            "with one as (insert into mapi.users (tenant_id, name) values (%s, 'one')"
            " returning tenant_id, id) insert into mapi.members (tenant_id, user_id, role)"
            " select tenant_id, id, 'owner' from one",
            "members_role_check",
            id="role",
        ),
        pytest.param(
            "insert into mapi.tokens (tenant_id, id, secret_hash, name, kind, scopes)"
            " values (%s, 'one', '', 'one', 'cookie', '{}')",
            "tokens_kind_check",
            id="kind",
        ),
    ],
)
def test_a_role_and_a_kind_of_token_that_nobody_knows_are_refused(
    server: EmbeddedServer, tenant: Tenant, statement: str, rule: str
) -> None:
    with (
        psycopg.connect(server.superuser_url()) as connection,
        pytest.raises(errors.CheckViolation, match=rule),
    ):
        connection.execute(statement.encode(), [tenant.id])
