"""What keeps tenants and installations apart in the database, and whether it is so.

The server's login may have no power: whatever it could lift (its own rights, the policies of a table)
would be no barrier to a statement that went wrong. Roles belong to all databases of a server, so an
installation lets its own login alone connect to its database.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from mapi.errors import DatabaseError

__all__ = [
    "POWERS",
    "admin_words",
    "let_in_alone",
    "other_logins",
    "power_words",
    "refuse_power",
    "unguarded_tables",
]

#: What a role has, by itself or through one that it is a member of, that the server's may not have.
#: Asks for one row of words for the role named by the parameter; no row: there is no such role.
POWERS: Final[LiteralString] = """
select array_remove(array[
    case when bool_or(held.rolsuper) then 'is a superuser' end,
    case when bool_or(held.rolbypassrls) then 'passes over row-level security (BYPASSRLS)' end,
    case when bool_or(held.rolcreaterole) then 'may make roles (CREATEROLE)' end,
    case when bool_or(held.rolreplication) then 'may copy all data (REPLICATION)' end,
    case when bool_or(held.oid = (select datdba from pg_database where datname = current_database()))
        then 'owns the database' end,
    case when bool_or(held.oid = (select nspowner from pg_namespace where nspname = 'mapi')
            or exists (select from pg_class where relowner = held.oid
                and relnamespace = to_regnamespace('mapi')))
        then 'owns the schema mapi' end,
    case when bool_or(held.rolname = 'mapi_owner') then 'is a member of mapi_owner' end,
    case when bool_or(held.rolname in
            ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
        then 'reaches the files of the database server' end
], null)
from pg_roles as asked
join pg_roles as held on held.oid = asked.oid
    or (not asked.rolsuper and pg_has_role(asked.oid, held.oid, 'member'))
where asked.rolname = %s
group by asked.oid
"""

#: Policies of others than the server are not asked for: the owner's own let its functions read.
_UNGUARDED: Final[LiteralString] = """
select class.relname
from pg_class as class
where class.relnamespace = to_regnamespace('mapi') and class.relkind in ('r', 'p')
    and class.relname <> all (array['migrations', 'server_secrets', 'turns'])
    and (
        not class.relrowsecurity
        or not class.relforcerowsecurity
        or not exists (select from pg_policy where polrelid = class.oid and polpermissive
            and 0 = any (polroles))
        or exists (
            select from pg_policy as policy
            where policy.polrelid = class.oid and policy.polpermissive
                and exists (select from unnest(policy.polroles) as role where role = 0
                    or pg_has_role(session_user, role, 'member'))
                and (coalesce(pg_get_expr(policy.polqual, class.oid), '')
                        || coalesce(pg_get_expr(policy.polwithcheck, class.oid), '') = ''
                    or coalesce(pg_get_expr(policy.polqual, class.oid), 'current_tenant()')
                        not like '%%current_tenant()%%'
                    or coalesce(pg_get_expr(policy.polwithcheck, class.oid), 'current_tenant()')
                        not like '%%current_tenant()%%')
        )
    )
order by class.relname
"""

_OTHER_LOGINS: Final[LiteralString] = """
select rolname from pg_roles
where rolcanlogin and not rolsuper and rolname <> session_user
    and pg_has_role(oid, 'mapi_app', 'usage')
    and has_database_privilege(oid, current_database(), 'connect')
order by rolname
"""


def power_words(name: str, powers: list[str]) -> str:
    """Return why a role with power is refused, and what to name instead."""
    return (
        f"The role {name!r} of MAPI_DATABASE_URL {' and '.join(powers)}, so one mistake of the server "
        "would show a tenant to another. Put its URL into MAPI_DATABASE_ADMIN_URL, name a new role "
        "and a password in MAPI_DATABASE_URL, such as postgresql://mapi_server:...@host/database, "
        "and run `mapi migrate`, which makes that role."
    )


def admin_words(url: str, error: psycopg.Error) -> str:
    """Return what an error of the role that may create says, and what it lacks.

    Args:
        url: as MAPI_DATABASE_ADMIN_URL names the database; its password is not told.
        error: connecting as that role, or its statement, ended in it.
    """
    said = " ".join(str(error).split())
    parts = conninfo_to_dict(url)
    role, database = parts.get("user") or "of MAPI_DATABASE_ADMIN_URL", parts.get("dbname")
    if isinstance(error, errors.InsufficientPrivilege):
        return (
            f"{said}. The role {role!r} of MAPI_DATABASE_ADMIN_URL has to make roles and to own the "
            f'database: let a superuser run ALTER ROLE "{role}" CREATEROLE; ALTER DATABASE '
            f'"{database}" OWNER TO "{role}"; or name a role that may.'
        )
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return (
            f"{said}. Check role, password, address and database in MAPI_DATABASE_ADMIN_URL, and that "
            "the database runs."
        )
    return said


def refuse_power(connection: psycopg.Connection[Any], name: str) -> None:
    """Refuse a login that has power over what keeps tenants apart; one that is not there has none.

    Raises:
        DatabaseError: it has.
    """
    found = connection.execute(POWERS, [name]).fetchone()
    if found is not None and found[0]:
        raise DatabaseError(power_words(name, found[0]))


def let_in_alone(connection: psycopg.Connection[Any], login: str) -> None:
    """Let a login, and not just anybody who has one for another database, connect to this one.

    Who does not own the database changes nothing for others; `other_logins` tells what is left.
    """
    database = sql.Identifier(connection.info.dbname)
    connection.execute(
        sql.SQL("grant connect on database {} to {}").format(database, sql.Identifier(login))
    )
    connection.execute(sql.SQL("revoke connect on database {} from public").format(database))


def other_logins(connection: psycopg.Connection[Any]) -> list[str]:
    """Return who else may connect and has the server's rights: by default another installation's."""
    return [name for (name,) in connection.execute(_OTHER_LOGINS).fetchall()]


def unguarded_tables(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the tables and partitions whose rows row-level security does not keep by tenant."""
    return [name for (name,) in connection.execute(_UNGUARDED, []).fetchall()]
