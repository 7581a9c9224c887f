"""Our server: `mapi serve` with the database that it brings, in a home of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mapi.config import settings_from
from mapi.serve.platform import embedded_server
from servers.processes import ended, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: The console script's own way in, with the interpreter that runs the bench.
PROGRAM = "from mapi.cli import main; main()"


@dataclass(frozen=True)
class Platform:
    """A server that answers.

    Attributes:
        url: its address.
        token: an admin's.
        pid: its process; the database is below it.
        home: its folder.
        start_seconds: from the start of the process to the first answer of ``/readyz``.
    """

    url: str
    token: str
    pid: int
    home: Path
    start_seconds: float

    def superuser_url(self, database: str = "postgres") -> str:
        """Return the connection string of the role that owns the database's cluster."""
        server = embedded_server(settings_from({"MAPI_HOME": str(self.home)}))
        if not server.attach():
            raise RuntimeError(f"no database runs in {self.home}")
        return server.superuser_url(database)


@contextlib.contextmanager
def platform(home: Path) -> Iterator[Platform]:
    """Run a server in a home, which a second run finds as the first one left it."""
    found = home / "local.json"
    log = home.parent / f"{home.name}.log"
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "serve",
        "--port=0",
        "--no-browser",
        f"--home={home}",
    ]
    with log.open("a") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True
        )
    with ended(process):
        while not found.exists() and process.poll() is None:
            time.sleep(0.005)
        if not found.exists():
            raise RuntimeError(f"mapi serve ended with {process.poll()}:\n{log.read_text()}")
        where = json.loads(found.read_text(encoding="ascii"))
        wait_for(f"{where['url']}/readyz", process, log=log)
        took = time.perf_counter() - start
        yield Platform(where["url"], where["token"], process.pid, home, took)
