"""MLflow's server, the newest release, from an environment that is made outside of this project."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg
from peer import cache_directory
from psycopg import sql

from servers.processes import ended, free_port, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Without a version: the promise is about what people install today. What was found is reported.
PACKAGES = ("mlflow", "psycopg2-binary")
#: Nothing of a bench is anybody's business.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


@dataclass(frozen=True)
class Mlflow:
    """A server that answers.

    Attributes:
        url: its address.
        pid: its process.
        start_seconds: from the start of the process to the first answer of ``/health``.
    """

    url: str
    pid: int
    start_seconds: float


def mlflow_python() -> Path:
    """Return the interpreter of MLflow's environment, which is made on the first call.

    It stays in the cache until its folder is deleted.
    """
    folder = cache_directory() / f"mlflow-python{sys.version_info[0]}.{sys.version_info[1]}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed.json"
    if stamp.exists():
        return python
    print(f"bench: installing {' '.join(PACKAGES)} into {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--disable-pip-version-check", *PACKAGES], check=True)
    asked = "from importlib.metadata import version; print(version('mlflow'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    stamp.write_text(json.dumps({"mlflow": done.stdout.strip()}))
    return python


def mlflow_version() -> str:
    """Return the release in the environment."""
    folder = mlflow_python().parents[1]
    return str(json.loads((folder / "installed.json").read_text())["mlflow"])


def sqlite_address(folder: Path) -> str:
    """Return where a server keeps its rows in a file, as MLflow's own default does."""
    return f"sqlite:///{folder / 'mlflow.db'}"


def postgres_address(superuser_url: str, *, name: str = "mlflow") -> str:
    """Make a database beside ours in the same PostgreSQL; return it as SQLAlchemy reads it."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    return sqlalchemy_address(superuser_url, name)


def sqlalchemy_address(conninfo: str, name: str) -> str:
    """Return a connection string of PostgreSQL as an address, with another database's name."""
    found = psycopg.conninfo.conninfo_to_dict(conninfo)
    who = f"{quote(str(found['user']), safe='')}:{quote(str(found['password']), safe='')}"
    host = quote(str(found["host"]), safe="")
    return f"postgresql+psycopg2://{who}@/{name}?host={host}&port={found['port']}"


@contextlib.contextmanager
def mlflow(folder: Path, address: str) -> Iterator[Mlflow]:
    """Run a server with its artifacts in a folder and its rows at an address, as it comes."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    port = free_port()
    command: list[str | Path] = [mlflow_python(), "-m", "mlflow", "server"]
    command += ["--backend-store-uri", address, "--artifacts-destination", folder / "artifacts"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("a") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            # It leaves the locks of its databases where temporary files go.
            env=os.environ | QUIET | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
        )
    with ended(process):
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/health", process, log=log)
        yield Mlflow(url, process.pid, time.perf_counter() - start)
