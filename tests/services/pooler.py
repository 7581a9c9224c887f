"""PgBouncer before a database, in transaction mode: two statements may meet two connections."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.services.ports import free_port, wait_for_port
from tests.services.programs import program, until_we_die

from mapi.database.embedded.binaries import find_identity

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.postgres import ManagedDatabase

__all__ = ["Pooler"]

_START_SECONDS_MAX: Final = 30.0

_CONFIGURATION: Final = """\
[databases]
{name} = host={host} port={port} user={login} password='{password}'

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
auth_type = plain
auth_file = {users}
ignore_startup_parameters = extra_float_digits
server_reset_query =
"""


class Pooler:
    """One PgBouncer before one database.

    Args:
        directory: for its files.
        database: what lies behind it.
        size: connections to the database, for however many clients.
    """

    def __init__(self, directory: Path, database: ManagedDatabase, *, size: int) -> None:
        self._directory = directory
        self._database = database
        self._size = size
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """As the role that the server connects with."""
        return make_conninfo(self._database.url, host="127.0.0.1", port=self._port)

    @property
    def settings(self) -> dict[str, str]:
        return {
            **self._database.settings,
            "MAPI_DATABASE_URL": self.url,
            "MAPI_DATABASE_DIRECT_URL": self._database.url,
        }

    def start(self) -> None:
        parts = conninfo_to_dict(self._database.url)
        users, configuration = self._directory / "users.txt", self._directory / "pgbouncer.ini"
        users.write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
        configuration.write_text(
            _CONFIGURATION.format(
                name=self._database.name,
                host=parts["host"],
                port=parts["port"],
                login=parts["user"],
                password=parts["password"],
                listen_port=self._port,
                size=self._size,
                users=users,
            )
        )
        log = self._directory / "pgbouncer.log"
        # It refuses root, who is an ordinary user in a namespace; where there are none it changes to
        # whom it is told, once it has read its files.
        identity = find_identity(65534)
        words = [] if identity.uid is None else ["--user=nobody"]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *identity.prefix,
                    *until_we_die("TERM"),
                    program("pgbouncer"),
                    *words,
                    str(configuration),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_for_port(self._port, seconds_max=_START_SECONDS_MAX, said=log.read_text)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(_START_SECONDS_MAX)
