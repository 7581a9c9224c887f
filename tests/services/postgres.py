"""A PostgreSQL 15 as others run it for us: over TCP, with an operator who is no superuser.

It is Debian's, so that the oldest supported version and its libraries are what is tested, and has
nothing of the embedded one but the way around its refusal to run as root.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from tests.services.ports import free_port
from tests.services.programs import program, until_we_die

from mapi.database.embedded.binaries import find_identity

__all__ = ["ManagedDatabase", "ManagedPostgres"]

_START_SECONDS_MAX: Final = 60.0
_LOOK_SECONDS: Final = 0.02


class ManagedDatabase:
    """An empty database, and who may do what in it."""

    def __init__(self, postgres: ManagedPostgres, name: str) -> None:
        self.name = name
        self.login = f"mapi_of_{name}"
        self.password = secrets.token_urlsafe(16)
        self._postgres = postgres
        self.bin = postgres.bin

    @property
    def url(self) -> str:
        """As the role that the server connects with; `mapi migrate` makes it."""
        return self._postgres.url(self.login, self.password, self.name)

    @property
    def operator_url(self) -> str:
        """As the role that may make roles, and schemas in this database: all that a cloud gives."""
        return self._postgres.url("operator", self._postgres.password, self.name)

    @property
    def superuser_url(self) -> str:
        return self._postgres.url("postgres", self._postgres.password, self.name)

    @property
    def settings(self) -> dict[str, str]:
        return {"MAPI_DATABASE_URL": self.url, "MAPI_DATABASE_ADMIN_URL": self.operator_url}


class ManagedPostgres:
    """One server in a folder of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.password = secrets.token_urlsafe(16)
        self.bin = Path(program("postgres")).parent
        self._identity = find_identity(65534)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = directory / "log"

    def url(self, user: str, password: str, database: str) -> str:
        return make_conninfo(
            host="127.0.0.1", port=self.port, user=user, password=password, dbname=database
        )

    def start(self) -> None:
        data = self.directory / "data"
        data.mkdir(mode=0o700)
        if self._identity.uid is not None:
            shutil.chown(data, self._identity.uid)
        done = subprocess.run(
            [
                *self._identity.prefix,
                program("initdb"),
                f"--pgdata={data}",
                "--username=postgres",
                "--auth=scram-sha-256",
                "--pwfile=/dev/stdin",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ],
            input=f"{self.password}\n".encode(),
            capture_output=True,
            check=False,
            user=self._identity.uid,
            cwd="/",
        )
        assert done.returncode == 0, done.stderr.decode()
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "password_encryption": "scram-sha-256",
            "max_connections": "60",
            "timezone": "Pacific/Auckland",  # not ours: nothing may lean on it
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *self._identity.prefix,
                    *until_we_die("QUIT"),
                    program("postgres"),
                    "-D",
                    str(data),
                    *words,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self._identity.uid,
                cwd="/",
            )
        deadline = time.monotonic() + _START_SECONDS_MAX
        while True:
            assert self._process.poll() is None, self._log.read_text()
            with contextlib.suppress(psycopg.OperationalError):
                self._make_operator()
                return
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(_LOOK_SECONDS)

    def _make_operator(self) -> None:
        url = self.url("postgres", self.password, "postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("create role operator login createrole createdb password {}").format(
                    sql.Literal(self.password)
                )
            )

    def new_database(self) -> ManagedDatabase:
        """Return an empty database that the operator owns."""
        found = ManagedDatabase(self, f"db_{secrets.token_hex(4)}")
        with psycopg.connect(
            self.url("operator", self.password, "postgres"), autocommit=True
        ) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(found.name)))
        return found

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGQUIT)  # immediate: nobody needs the data any more
            process.wait(_START_SECONDS_MAX)
