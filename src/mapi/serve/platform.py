"""Starts everything that the settings ask for, and stops it in reverse."""

from __future__ import annotations

import json
import secrets
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import psycopg

from mapi.access.tokens import new_token, token_from_text
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.home import Home
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.migrate import RESERVED_ROLES, ensure_tenant, migrate, require_migrated
from mapi.database.sameness import require_same_database
from mapi.database.secret_file import keep_secret, read_secret
from mapi.errors import DatabaseError, SettingError
from mapi.serve.half_restored import refuse_half_restored

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.config import Settings
    from mapi.database.embedded.server import Held

__all__ = [
    "LOCAL_LIMITS",
    "LOCAL_PROJECT",
    "LOCAL_TENANT",
    "LOGIN",
    "MACHINE_TOKEN",
    "Foundation",
    "database_password",
    "embedded_server",
    "enter_home",
    "lay_foundation",
    "login_of",
    "migrate_all",
    "reach_foundation",
    "require_free_home",
    "require_one_database",
    "start_embedded",
]

LOGIN = "mapi"
LOCAL_TENANT = "local"
LOCAL_PROJECT = "default"
#: What the token is called with which programs of one's own machine find its server.
MACHINE_TOKEN = "this machine"  # noqa: S105 - its name
#: One's own machine has no need of the limits that protect a shared one (they can be set).
LOCAL_LIMITS = dict.fromkeys(
    ("points", "points_per_series", "series", "log_lines", "log_bytes"), "unlimited"
)


class Foundation:
    """What the application stands on.

    Attributes:
        database_url: connects as the role without power.
        admin_url: connects as a role that may create; ``None`` where nobody named one.
        token: an admin's of the local tenant; ``None`` where others manage tenants.
        server: the database, where it is ours.
    """

    def __init__(
        self,
        database_url: str,
        *,
        admin_url: str | None,
        token: str | None = None,
        server: EmbeddedServer | None = None,
    ) -> None:
        self.database_url = database_url
        self.admin_url = admin_url
        self.token = token
        self.server = server


def lay_foundation(settings: Settings, undo: ExitStack, *, held: Held = nullcontext) -> Foundation:
    """Start the database if it is ours, and bring it to this version; one of others is there.

    Call it from the main thread: the embedded server ends with the thread that started it.

    Args:
        settings: what the operator decides.
        undo: gets what is to be undone when the platform stops.
        held: lets signals wait while a process is made.

    Raises:
        DatabaseError: the database cannot be started, reached or migrated.
        SettingError: settings do not fit each other.
    """
    if settings.database_url is not None:
        return _external(settings)
    server = start_embedded(settings, undo, held=held)
    password = database_password(settings)
    # Its roles are ours alone, so the file that has the password is right.
    migrate(server.superuser_url(), login=LOGIN, password=password, sets_password=True)
    url = server.url(LOGIN, password, "postgres")
    token = _local_token(settings.home, server.superuser_url())
    return Foundation(url, admin_url=server.superuser_url(), token=token, server=server)


def reach_foundation(
    settings: Settings, undo: ExitStack, *, is_started: bool = True
) -> Foundation:
    """Return the database of a server that runs, or start it: for commands beside the server.

    Args:
        settings: what the operator decides.
        undo: gets what is to be undone.
        is_started: otherwise one that does not run is an error.

    Raises:
        DatabaseError: there is no database, or it cannot be started, reached or migrated.
    """
    if settings.database_url is not None:
        return _external(settings)
    refuse_half_restored(settings.home)
    server = embedded_server(settings)
    if not server.is_made:
        raise DatabaseError(
            f"There is no database in {settings.home} yet: `mapi serve` makes it at its first start, "
            "and `mapi migrate` without starting. If yours is elsewhere, --home or MAPI_HOME names it."
        )
    if not server.attach():
        if not is_started:
            raise DatabaseError(f"The database in {settings.home} does not run.")
        return lay_foundation(settings, undo)
    url = server.url(LOGIN, database_password(settings), "postgres")
    # The server that runs may be another version's.
    require_migrated(url)
    return Foundation(url, admin_url=server.superuser_url())


def migrate_all(settings: Settings, *, sets_password: bool = False) -> list[str]:
    """Bring the database to this version, and return the names of what was applied.

    Args:
        settings: what the operator decides.
        sets_password: the role of MAPI_DATABASE_URL has the password there from now on.

    Raises:
        DatabaseError: the database cannot be started, reached or migrated.
        SettingError: nobody named a role that may create.
    """
    with ExitStack() as undo:
        if settings.database_url is None:
            refuse_half_restored(settings.home)
            server = embedded_server(settings)
            if not server.attach():
                server = start_embedded(settings, undo)
            password = database_password(settings)
            return migrate(
                server.superuser_url(), login=LOGIN, password=password, sets_password=True
            )
        if settings.database_admin_url is None:
            raise SettingError(
                "MAPI_DATABASE_ADMIN_URL is not set: name the database as a role that may create "
                "roles and schemas, such as postgresql://postgres:...@host/mapi."
            )
        return _migrate_external(settings, sets_password=sets_password)


def start_embedded(
    settings: Settings, undo: ExitStack, *, held: Held = nullcontext
) -> EmbeddedServer:
    """Start the database of the home, which nobody else may work in meanwhile.

    Args:
        settings: where the home is.
        undo: gets what is to be undone.
        held: lets signals wait while a process is made.

    Raises:
        DatabaseError: it cannot be started, the home is in use, or a restore into it was cut.
    """
    enter_home(settings, undo)
    refuse_half_restored(settings.home)
    server = embedded_server(settings, held=held)
    undo.callback(server.stop)
    server.start()
    return server


def enter_home(settings: Settings, undo: ExitStack) -> None:
    """Become the one who works in the home of an own database.

    Raises:
        DatabaseError: it is in use, or cannot be written.
    """
    home = Home(settings.home, allow_network=settings.allow_network_home)
    home.enter()
    undo.callback(home.leave)


def require_free_home(settings: Settings) -> None:
    """Refuse a home of an own database that another server works in, before anything is begun.

    Raises:
        DatabaseError: it is in use, cannot be written, or a restore into it was cut.
    """
    if settings.database_url is None:
        with ExitStack() as undo:
            enter_home(settings, undo)
            refuse_half_restored(settings.home)


def embedded_server(settings: Settings, *, held: Held = nullcontext) -> EmbeddedServer:
    """Return the database of the home, as it is: running or not."""
    return EmbeddedServer(
        settings.home / "postgres",
        find_binaries(settings.postgres_bin),
        find_identity(settings.postgres_uid),
        held=held,
    )


def database_password(settings: Settings) -> str:
    """Return the password of the role that the server connects with to its own database."""
    return keep_secret(settings.home / "database-password", lambda: secrets.token_urlsafe(32))


def _external(settings: Settings) -> Foundation:
    assert settings.database_url is not None
    login_of(settings.database_url)
    # A replica that migrates at its start would take the database away from those that serve.
    require_migrated(settings.database_url)
    require_one_database(settings)
    return Foundation(settings.database_url, admin_url=settings.database_admin_url)


def require_one_database(settings: Settings) -> None:
    """Refuse settings of which one names another database than the others.

    Raises:
        SettingError: there is such a one.
    """
    require_same_database(
        {
            "MAPI_DATABASE_URL": settings.database_url,
            "MAPI_DATABASE_ADMIN_URL": settings.database_admin_url,
            "MAPI_DATABASE_DIRECT_URL": settings.database_direct_url,
        }
    )


def _migrate_external(settings: Settings, *, sets_password: bool) -> list[str]:
    assert settings.database_url is not None
    assert settings.database_admin_url is not None
    login = login_of(settings.database_url)
    require_one_database(settings)
    password = psycopg.conninfo.conninfo_to_dict(settings.database_url).get("password")
    return migrate(
        settings.database_admin_url,
        login=login,
        password=None if password is None else str(password),
        sets_password=sets_password,
    )


def login_of(url: str) -> str:
    """Return the role that a connection string names.

    Raises:
        SettingError: it is no connection string, names none, or one that is ours.
    """
    try:
        found = psycopg.conninfo.conninfo_to_dict(url).get("user")
    except psycopg.Error as error:
        raise SettingError(f"MAPI_DATABASE_URL is no connection string: {error}") from None
    if not found:
        raise SettingError("MAPI_DATABASE_URL names no user; the server connects as one.")
    if found in RESERVED_ROLES:
        raise SettingError(
            f"The role {found!r} in MAPI_DATABASE_URL is one of our own, which nobody logs in as. "
            "Name another, such as 'mapi'; `mapi migrate` makes it."
        )
    return str(found)


def _local_token(home: Path, superuser_url: str) -> str:
    """Return the token of this machine's admin, made with its tenant on the first start."""
    path = home / "token"
    known = read_secret(path)
    if known is not None:
        return known
    tenant_id = ensure_tenant(superuser_url, LOCAL_TENANT, json.dumps(LOCAL_LIMITS))
    # Written down before the database has it, under another name: a start that is killed in between
    # leaves no admin's token that nobody knows, and no known one that the database does not.
    coming = home / "token.new"
    token = token_from_text(keep_secret(coming, lambda: new_token().text))
    with psycopg.connect(superuser_url) as connection:
        connection.execute(
            "insert into mapi.projects (tenant_id, name) values (%s, %s) on conflict do nothing",
            [tenant_id, LOCAL_PROJECT],
        )
        connection.execute(
            "insert into mapi.tokens (tenant_id, id, secret_hash, name, scopes)"
            " values (%s, %s, %s, %s, %s) on conflict do nothing",
            [tenant_id, token.id, token.secret_hash, MACHINE_TOKEN, ["admin"]],
        )
    coming.replace(path)
    return token.text
