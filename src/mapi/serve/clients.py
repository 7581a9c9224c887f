"""PostgreSQL's own programs, which write and read dumps.

A dump is loaded as a script, so that one of a newer program goes into an older server: what is set
there for the session, and the server does not know, is left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import psycopg

from mapi.database.embedded.binaries import find_binaries
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from mapi.config import Settings

__all__ = ["dump_schema", "load_dump"]

#: What the head of a script sets, and PostgreSQL 15 and 16 do not know: off is what they do.
_NEWER_SETTING: Final = b"SET transaction_timeout = 0;"
#: The settings of a session stand before anything else; no row is so early.
_HEAD_LINES: Final = 40
_CHUNK_BYTES: Final = 1 << 20
_SAID_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Client:
    """A program and how it reaches the database."""

    program: str
    where: str
    """A connection string without the password, which all see among a program's words."""
    password: str

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "PGPASSWORD": self.password}

    def failed(self, said: bytes) -> DatabaseError:
        """Return the error with what the program said, and without its own hints."""
        text = said.decode(errors="replace")
        if self.password:
            text = text.replace(self.password, "***")
        # pg_dump would have row-level security turned off or passed over, which loses rows.
        lines = [line for line in text.strip().splitlines() if "HINT:" not in line]
        name, told = Path(self.program).name, " ".join(lines)[-_SAID_MAX:]
        fix = self._fix(text)
        # What to do comes first: what the program said is long, and SQL.
        return DatabaseError(f"{name} failed: {f'{fix} ({told})' if fix else told}")

    def _fix(self, said: str) -> str:
        if "row-level security" in said or "row security" in said:
            role = psycopg.conninfo.conninfo_to_dict(self.where).get("user", "")
            return (
                f"The role {role!r} of MAPI_DATABASE_ADMIN_URL does not see every tenant: back up and "
                f'restore as a superuser, or let one run ALTER ROLE "{role}" BYPASSRLS.'
            )
        if "version mismatch" in said or "unsupported version" in said:
            return (
                "MAPI_PG_BIN names the programs of another version: they have to be at least as new "
                "as the server and as those that wrote the backup."
            )
        return ""


def _client(settings: Settings, name: str, *, url: str) -> _Client:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    password = str(parts.pop("password", ""))
    program = find_binaries(settings.postgres_bin).program(name)
    if not Path(program).is_file():
        raise DatabaseError(
            f"There is no program {program}. MAPI_PG_BIN names a directory with all of "
            "PostgreSQL's programs; unset it for those that came along."
        )
    return _Client(program, psycopg.conninfo.make_conninfo("", **parts), password)


def dump_schema(settings: Settings, *, url: str, snapshot: str, path: Path) -> None:
    """Write our schema as a snapshot shows it into a new file.

    Raises:
        DatabaseError: the program is missing or fails.
    """
    client = _client(settings, "pg_dump", url=url)
    done = subprocess.run(  # noqa: S603 - the operator's own program
        [
            client.program,
            f"--dbname={client.where}",
            "--format=custom",
            "--schema=mapi",
            f"--snapshot={snapshot}",
            f"--file={path}",
        ],
        env=client.environment,
        capture_output=True,
        check=False,
        cwd="/",
    )
    if done.returncode != 0:
        raise client.failed(done.stderr)


def load_dump(settings: Settings, *, url: str, path: Path) -> None:
    """Load a dump in one transaction: all of it or nothing.

    Raises:
        DatabaseError: a program is missing or fails, or the database refuses.
    """
    reader = _client(settings, "pg_restore", url=url)
    writer = _client(settings, "psql", url=url)
    with ExitStack() as undo:
        read_said, written_said = (undo.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        script = subprocess.Popen(  # noqa: S603 - the operator's own program
            [reader.program, "--exit-on-error", "--file=-", str(path)],
            env=reader.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=read_said,
            cwd="/",
        )
        undo.callback(_end, script)
        session = subprocess.Popen(  # noqa: S603 - the operator's own program
            [
                writer.program,
                "--no-psqlrc",
                "--quiet",
                "--set=ON_ERROR_STOP=1",
                f"--dbname={writer.where}",
            ],
            env=writer.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=written_said,
            cwd="/",
        )
        undo.callback(_end, session)
        assert script.stdout is not None
        assert session.stdin is not None
        is_read = False
        try:
            # Not psql's own single transaction: the end of a torn script would commit it.
            session.stdin.write(b"begin;\n")
            _pass_on(script.stdout, session.stdin)
            is_read = script.wait() == 0
            if is_read:
                session.stdin.write(b"commit;\n")
            session.stdin.close()
        except BrokenPipeError:
            is_read = True  # whoever does not take it says why
        if session.wait() != 0:
            raise writer.failed(_said(written_said))
        if not is_read:
            raise reader.failed(_said(read_said))


def _pass_on(script: IO[bytes], session: IO[bytes]) -> None:
    for _ in range(_HEAD_LINES):
        line = script.readline()
        if line.strip() != _NEWER_SETTING:
            session.write(line)
    shutil.copyfileobj(script, session, _CHUNK_BYTES)


def _said(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program that is not waited for any more, and let go of its pipes."""
    if process.poll() is None:
        process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()
