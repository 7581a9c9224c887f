"""The checks of `mapi doctor`: what would keep the platform from serving, and the fix."""

from __future__ import annotations

import contextlib
import difflib
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import psycopg

from mapi.config import VARIABLES, unread_variables
from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries, find_identity
from mapi.database.embedded.home import advice_for_home
from mapi.database.isolation import other_logins, unguarded_tables
from mapi.database.migrate import require_migrated
from mapi.errors import MapiError
from mapi.objects.opening import open_store
from mapi.serve.half_restored import refuse_half_restored
from mapi.serve.platform import (
    LOGIN,
    database_password,
    embedded_server,
    login_of,
    require_one_database,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mapi.config import Settings

__all__ = ["Finding", "Verdict", "examine"]

#: The write-ahead log alone may take a gigabyte.
_FREE_BYTES_MIN: Final = 2 << 30
#: Tokens and leases end by the clock; NTP keeps machines within milliseconds.
_CLOCK_SECONDS_MAX: Final = 5.0


class Verdict(StrEnum):
    """What a check found."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    subject: str
    verdict: Verdict
    text: str
    """What is so; where it is wrong, with the fix."""


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Yield what each check finds; a check that cannot be made is a failed one."""
    checks = {"settings": _settings, "home": _home, "database": _database, "store": _store}
    for subject, check in checks.items():
        try:
            yield await check(settings)
        except (MapiError, OSError, psycopg.Error) as error:
            yield Finding(subject, Verdict.FAILED, " ".join(str(error).split()))


async def _settings(settings: Settings) -> Finding:
    unread = unread_variables()
    if unread:
        near = difflib.get_close_matches(unread[0], VARIABLES, n=1)
        advice = (
            f"is {near[0]} meant?" if near else "docs/platform/settings.md has those that are."
        )
        return Finding(
            "settings", Verdict.WARNING, f"{', '.join(unread)}: read by nothing; {advice}"
        )
    url = settings.public_url
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
            return Finding(
                "settings",
                Verdict.WARNING,
                f"MAPI_PUBLIC_URL={url} is not encrypted: browsers will not keep the session. Put "
                "a proxy with a certificate before the server, and name its https address.",
            )
        if parts.scheme == "https" and not settings.trusted_proxies:
            return Finding(
                "settings",
                Verdict.WARNING,
                "MAPI_PUBLIC_URL is https, so a proxy stands before the server: name its address "
                "in MAPI_TRUSTED_PROXIES, or every client has the proxy's address in the log.",
            )
    if settings.database_url is not None and url is None:
        return Finding(
            "settings",
            Verdict.WARNING,
            "MAPI_PUBLIC_URL is not set: only addresses and localhost are taken as this server's "
            "name.",
        )
    return Finding("settings", Verdict.OK, "read")


async def _home(settings: Settings) -> Finding:
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.home):
            pass
    except OSError as error:
        # Not the name of the file that was tried: the home is what the operator knows.
        return Finding(
            "home",
            Verdict.FAILED,
            f"The home {settings.home} cannot be written ({error.strerror}). {advice_for_home(error)}",
        )
    free = shutil.disk_usage(settings.home).free
    if free < _FREE_BYTES_MIN:
        return Finding(
            "home",
            Verdict.WARNING,
            f"{settings.home} has {free >> 20} MiB free, which a busy database may fill; make "
            "room, or name another disk with MAPI_HOME.",
        )
    if settings.home.stat().st_mode & 0o077:
        return Finding(
            "home",
            Verdict.WARNING,
            f"Others may look into {settings.home}: chmod 700 {settings.home}",
        )
    return Finding("home", Verdict.OK, f"{settings.home}, {free >> 30} GiB free")


async def _database(settings: Settings) -> Finding:
    url = settings.database_url
    if url is None:
        binaries = find_binaries(settings.postgres_bin)
        find_identity(settings.postgres_uid)
        refuse_half_restored(settings.home)
        server = embedded_server(settings)
        if not server.attach():
            return Finding(
                "database",
                Verdict.OK,
                f"our own PostgreSQL {binaries.version} in {binaries.directory}; not running",
            )
        url = server.url(LOGIN, database_password(settings), "postgres")
    login_of(url)
    require_migrated(url)
    require_one_database(settings)
    door = Database(url, connections=2, pooled=settings.is_pooled)
    await door.open()  # refuses a role with power
    await door.close()
    with psycopg.connect(url) as connection:
        unguarded, others = unguarded_tables(connection), other_logins(connection)
        database = connection.info.dbname
        row = connection.execute("select extract(epoch from clock_timestamp())").fetchone()
        version = connection.info.server_version // 10_000
    if unguarded:
        return Finding(
            "database",
            Verdict.FAILED,
            f"Row-level security does not keep tenants apart in {', '.join(unguarded)}: it is not "
            "enabled and forced with a policy that asks for the tenant. Somebody has changed the "
            "schema: stop the servers, and put back what was there (in a new database, `mapi migrate` "
            "makes it) or restore a backup.",
        )
    if others:
        return Finding(
            "database",
            Verdict.WARNING,
            f"Other roles may connect to this database and see what the server sees: "
            f"{', '.join(others)}. If they are another installation's, let its owner run REVOKE CONNECT "
            f'ON DATABASE "{database}" FROM PUBLIC, {", ".join(others)}.',
        )
    assert row is not None
    apart = abs(float(row[0]) - time.time())
    if apart > _CLOCK_SECONDS_MAX:
        return Finding(
            "database",
            Verdict.WARNING,
            f"The clocks of the database and of this machine are {apart:.0f} s apart: tokens end "
            "too early or too late. Keep both with NTP.",
        )
    return Finding("database", Verdict.OK, f"PostgreSQL {version}, migrated")


async def _store(settings: Settings) -> Finding:
    store, _ = open_store(
        settings.bundles_url, home=settings.home, upload_url="", secret=os.urandom(32)
    )
    key = f"doctor/{secrets.token_hex(8)}"
    try:
        await store.put(key, b"written by mapi doctor")
        await store.read(key)
    except MapiError as error:
        if settings.bundles_url is None or settings.bundles_url.startswith("file:"):
            raise
        # Half a second, that only who has a bucket waits for.
        from mapi.objects.cloud import CloudStore, cause_of  # noqa: PLC0415

        endpoint = store.endpoint if isinstance(store, CloudStore) else None
        at = f" at {endpoint}" if endpoint else ""
        return Finding("store", Verdict.FAILED, f"{settings.bundles_url}{at}: {cause_of(error)}.")
    finally:
        with contextlib.suppress(MapiError):
            await store.delete(key)
    if settings.keeps_objects_apart:
        return Finding(
            "store",
            Verdict.WARNING,
            f"Objects are files in {settings.home}/objects, which a second server does not see: "
            "set MAPI_BUNDLES_URL before there is one. For one server this is well.",
        )
    return Finding("store", Verdict.OK, settings.bundles_url or f"{settings.home}/objects")
