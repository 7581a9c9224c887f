"""Migrations: SQL files in order, each applied once, in a transaction of its own under one lock.

The files belong to the code: an applied one that differs from ours, or that we do not know, stops
the start, because then another version of the program has written this database; nothing of it is
changed. Everything is made by the role ``mapi_owner``, which can neither log in nor pass over
row-level security.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mapi.database.isolation import admin_words, let_in_alone, refuse_power
from mapi.database.session import role_settings
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "RESERVED_ROLES",
    "Migration",
    "ensure_tenant",
    "make_roles",
    "migrate",
    "migrations",
    "pending",
    "refuse_unreleased",
    "require_migrated",
]

_CONNECT_SECONDS: Final = 10
#: Any number will do, as long as all our replicas take the same.
_LOCK: Final = 0x6D617069
_OLDEST_VERSION: Final = 150000
#: The first file of the schema as it was before the first release, which was written anew for it.
_UNRELEASED: Final = "0001_foundation"
#: Roles of our own, which nobody logs in as.
RESERVED_ROLES: Final = ("mapi_owner", "mapi_app")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of ``migrations/``."""

    name: str
    """The file's name without its ending: a number and a noun."""
    text: LiteralString
    """Its statements."""

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return all migrations in order."""
    found = resources.files("mapi.database") / "migrations"
    return sorted(
        (
            Migration(
                file.name.removesuffix(".sql"),
                file.read_text(encoding="utf-8"),
            )
            for file in found.iterdir()
            if file.name.endswith(".sql")
        ),
        key=lambda one: one.name,
    )


def migrate(
    admin_url: str, *, login: str, password: str | None, sets_password: bool = False
) -> list[str]:
    """Bring the database to this version and let ``login`` in.

    Several programs may call this at once: the others wait, and find nothing to do.

    Args:
        admin_url: connects as a role that may create roles and schemas.
        login: the role that the server connects with; made if it is missing.
        password: its password; ``None`` is not looked at.
        sets_password: a role that was there has this password from now on. Otherwise it keeps its
            own, which others may log in with.

    Returns:
        The names of the migrations that were applied now.

    Raises:
        DatabaseError: the database is too old, written by another version, or refuses; the login has
            power over what keeps tenants apart, or another password.
    """
    try:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            if connection.info.server_version < _OLDEST_VERSION:
                raise DatabaseError(
                    f"The database is PostgreSQL {connection.info.server_version // 10000}; "
                    f"{_OLDEST_VERSION // 10000} is the oldest that works."
                )
            with _alone(connection):
                _make_roles(connection, login, password, sets_password=sets_password)
                _make_schema(connection)
                # One that is refused takes back what was made for it.
                pending(connection)
            _require_opening(admin_url, login, password)
            applied = []
            while (name := _apply_next(connection)) is not None:
                applied.append(name)
            return applied
    except psycopg.Error as error:
        raise DatabaseError(
            f"The database cannot be migrated: {admin_words(admin_url, error)}"
        ) from error


def make_roles(
    admin_url: str, *, login: str, password: str | None, sets_password: bool = False
) -> None:
    """Make the roles that a database needs before a backup is restored into it.

    Args:
        admin_url: connects as a role that may create roles and schemas.
        login: as for `migrate`.
        password: as for `migrate`.
        sets_password: as for `migrate`.

    Raises:
        DatabaseError: the database refuses; the login has power, or another password.
    """
    try:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            with _alone(connection):
                _make_roles(connection, login, password, sets_password=sets_password)
            _require_opening(admin_url, login, password)
    except psycopg.Error as error:
        raise DatabaseError(
            f"The roles cannot be made: {admin_words(admin_url, error)}"
        ) from error


def pending(connection: psycopg.Connection[Any]) -> list[Migration]:
    """Return what has not been applied yet.

    Raises:
        DatabaseError: another version of the program has written this database.
    """
    known = {one.name: one for one in migrations()}
    found = connection.execute("select to_regclass('mapi.migrations') is not null").fetchone()
    if not (found and found[0]):
        return list(known.values())
    applied = dict(connection.execute("select name, checksum from mapi.migrations").fetchall())
    refuse_unreleased("The database", applied)
    for name, checksum in applied.items():
        if name not in known:
            raise DatabaseError(
                f"The database has the migration {name}, which this version does not know: it was "
                "written by a newer one. Install that, or restore a backup."
            )
        if known[name].checksum != checksum:
            raise DatabaseError(
                f"The migration {name} was applied with other statements than this version has. "
                "Install the version that made the database, or restore a backup."
            )
    return [one for name, one in known.items() if name not in applied]


def refuse_unreleased(place: str, applied: Iterable[str]) -> None:
    """Refuse what has the schema from before the first release, of which no migration leads on.

    Args:
        place: what has it, as a sentence begins.
        applied: the names of the migrations that it has.

    Raises:
        DatabaseError: it is such a one.
    """
    if _UNRELEASED in applied:
        raise DatabaseError(
            f"{place} has the schema from before the first release, which this version does not "
            "read. With the program that made it, write the runs of each project into a file "
            "(`mapi runs export --project NAME --filter '' -o NAME.jsonl`); with this one, read it "
            "into a new database (`mapi runs import --project NAME NAME.jsonl`)."
        )


def require_migrated(url: str) -> None:
    """Refuse a database that is not at this version.

    Args:
        url: connects as the role of the server.

    Raises:
        DatabaseError: it cannot be reached, or `mapi migrate` has to run first.
    """
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_SECONDS) as connection:
            left = pending(connection)
    except psycopg.OperationalError as error:
        # The role that does not exist yet and the wrong password are told in the same words.
        hint = (
            " If the database is new, run `mapi migrate` first, which makes the role."
            if "authentication failed" in str(error) or "does not exist" in str(error)
            else ""
        )
        raise DatabaseError(
            f"The database cannot be reached ({error}). Check MAPI_DATABASE_URL, and that it "
            f"runs.{hint}"
        ) from error
    except psycopg.Error as error:
        raise DatabaseError(
            f"The database cannot be read ({error}). Run `mapi migrate`, which lets the role of "
            "MAPI_DATABASE_URL in."
        ) from error
    if left:
        are = "1 migration is" if len(left) == 1 else f"{len(left)} migrations are"
        raise DatabaseError(f"{are} missing, from {left[0].name} on: run `mapi migrate`.")


def ensure_tenant(admin_url: str, name: str, limits: str = "{}") -> int:
    """Return the number of a tenant, which is made if it is missing.

    Args:
        admin_url: connects as a role that may act for ``mapi_owner``.
        name: what it is called.
        limits: its budgets where they differ from the defaults, as JSON; of a new tenant only.

    Raises:
        DatabaseError: the database refuses.
    """
    try:
        with psycopg.connect(admin_url) as connection:
            connection.execute("set local role mapi_owner")
            connection.execute(
                "insert into mapi.tenants (name, limits) values (%s, %s) on conflict do nothing",
                [name, limits],
            )
            found = connection.execute(
                "select id from mapi.tenants where name = %s", [name]
            ).fetchone()
    except psycopg.Error as error:
        raise DatabaseError(f"The tenant {name!r} cannot be made: {error}") from error
    assert found is not None
    return int(found[0])


def _make_roles(
    connection: psycopg.Connection[Any], login: str, password: str | None, *, sets_password: bool
) -> None:
    """Make owner, application role and login where they are missing; all of it can be repeated."""
    # Before anything is made, and before a membership is given that would be such a power itself.
    refuse_power(connection, login)
    for role in RESERVED_ROLES:
        _make_role(connection, role, "nologin")
        _refuse_seeing_role(connection, role)
    is_new = _make_role(connection, login, "login")
    name = sql.Identifier(login)
    # The password of one that is there opens other databases too, perhaps of servers that run.
    if password is not None and (is_new or sets_password):
        connection.execute(
            sql.SQL("alter role {} password {}").format(name, sql.Literal(password))
        )
    connection.execute("grant mapi_owner to current_user")
    connection.execute(sql.SQL("grant mapi_app to {}").format(name))
    let_in_alone(connection, login)
    # The staging tables of a connection. No dump of the schema has this.
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("grant temporary on database {} to mapi_app").format(database))
    _give_settings(connection, login)


def _require_opening(admin_url: str, login: str, password: str | None) -> None:
    """Refuse a password that does not open: the role was there, and has another.

    The way is the admin's: a pooler may not run yet, or not know the role.
    """
    if password is None:
        return
    try:
        url = make_conninfo(
            admin_url, user=login, password=password, connect_timeout=_CONNECT_SECONDS
        )
        psycopg.connect(url).close()
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split())
        raise DatabaseError(
            f"The role {login!r} was there before, keeps its password, and the one in "
            f"MAPI_DATABASE_URL does not open the database ({said}). Put its own there; or give it "
            "this one with `mapi migrate --set-password` (or ALTER ROLE), after which everything that "
            "logs in as that role, to any database of the server, needs it; or name a new role."
        ) from error


def _give_settings(connection: psycopg.Connection[Any], login: str) -> None:
    """Let a role begin every session as the server needs it: a pooler asks for nothing."""
    # A role of another's making may not be ours to change; the server asks whether it is set.
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
        for statement in role_settings(login, connection.info.dbname):
            connection.execute(statement)


def _make_schema(connection: psycopg.Connection[Any]) -> None:
    """Make what migrations stand on; it can be repeated."""
    for statement in (
        sql.SQL("create schema if not exists mapi authorization mapi_owner"),
        sql.SQL("revoke all on schema mapi from public"),
        sql.SQL("grant usage on schema mapi to mapi_app"),
        sql.SQL(
            "create table if not exists mapi.migrations (name text primary key, checksum text not "
            "null, applied timestamptz not null default now())"
        ),
        sql.SQL("alter table mapi.migrations owner to mapi_owner"),
        sql.SQL("grant select on mapi.migrations to mapi_app"),
    ):
        connection.execute(statement)


def _make_role(connection: psycopg.Connection[Any], name: str, kind: LiteralString) -> bool:
    """Make a role if it is missing; say whether it was."""
    found = connection.execute("select from pg_roles where rolname = %s", [name]).fetchone()
    if found is None:
        connection.execute(
            sql.SQL("create role {} nosuperuser nobypassrls nocreatedb nocreaterole ").format(
                sql.Identifier(name)
            )
            + sql.SQL(kind)
        )
    return found is None


def _refuse_seeing_role(connection: psycopg.Connection[Any], name: str) -> None:
    """Refuse a role of our own that somebody has given power over row-level security."""
    found = connection.execute(
        "select from pg_roles where rolname = %s and (rolsuper or rolbypassrls)", [name]
    ).fetchone()
    if found is not None:
        raise DatabaseError(
            f"The role {name!r} is a superuser or passes over row-level security, so the server would "
            f"see every tenant: ALTER ROLE {name} NOSUPERUSER NOBYPASSRLS, then `mapi migrate` again."
        )


@contextlib.contextmanager
def _alone(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Begin a transaction in which no other program migrates; the lock ends with it.

    A lock of the session would stay with a pooler's connection for ever.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        yield


def _apply_next(connection: psycopg.Connection[Any]) -> str | None:
    with _alone(connection):
        left = pending(connection)
        if not left:
            return None
        connection.execute("set local role mapi_owner")
        connection.execute(left[0].text)
        connection.execute(
            "insert into mapi.migrations (name, checksum) values (%s, %s)",
            [left[0].name, left[0].checksum],
        )
    return left[0].name
