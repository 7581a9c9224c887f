"""A PostgreSQL server of our own, on a private socket in a directory that only we can open.

It listens on no network address, wants a password, and runs as long as its starter: where the
kernel can, it is told to shut down when that one dies, and whatever survived is shut down by the
next start. A killed server recovers by itself from its write-ahead log.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from psycopg.conninfo import make_conninfo

from mapi.database.embedded.sockets import make_socket_directory, remove_socket_directory
from mapi.database.secret_file import keep_secret
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.database.embedded.binaries import Binaries, Identity

__all__ = ["SUPERUSER", "EmbeddedServer", "Held"]

Held: TypeAlias = "Callable[[], contextlib.AbstractContextManager[None]]"

SUPERUSER: Final = "postgres"
_PORT: Final = 5432
#: Recovery after a crash may replay a gigabyte of log.
_START_SECONDS_MAX: Final = 600.0
_STOP_SECONDS_MAX: Final = 60.0
#: How long a fast shutdown may take before the server is told to drop everything.
_FAST_STOP_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.005
#: How long what is left of a killed server may hold its data.
_LET_GO_SECONDS: Final = 30.0
_HELD_POLL_SECONDS: Final = 0.2
_LOCK_FILE: Final = "postmaster.pid"
#: A laptop's share: the whole platform is to stay below 350 MiB after its start.
_CONFIGURATION: Final = {
    "listen_addresses": "",
    "port": str(_PORT),
    "max_connections": "60",
    "shared_buffers": "64MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "on",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "jit": "off",
}


class EmbeddedServer:
    """One database cluster under ``directory``.

    Args:
        directory: holds ``data``, ``password`` and ``log``; made on the first start.
        binaries: the installation that runs it.
        identity: as whom.
        held: a block that a signal does not leave in its midst: what it starts would be nobody's.
    """

    def __init__(
        self,
        directory: Path,
        binaries: Binaries,
        identity: Identity,
        *,
        held: Held = contextlib.nullcontext,
    ) -> None:
        self._held = held
        self._directory = directory
        self._binaries = binaries
        self._identity = identity
        self._data = directory / "data"
        self._log = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: Path | None = None
        self._attached: Path | None = None

    @property
    def process_id(self) -> int | None:
        """The server's process while it runs."""
        return None if self._process is None else self._process.pid

    @property
    def is_made(self) -> bool:
        """Whether there is a cluster, which is made by the first start."""
        return (self._data / "PG_VERSION").exists()

    def start(self) -> None:
        """Start the server, making the cluster if there is none; call it from the main thread.

        Raises:
            DatabaseError: it does not start; the message ends with what it said.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        password = self._password()
        if not self.is_made:
            self._make_cluster(password)
        self._refuse_other_version()
        self._stop_survivor()
        if self._socket is None:
            self._socket = make_socket_directory(self._directory, self._identity)
        try:
            self._launch_alone()
        except BaseException:
            self.stop()
            raise

    def restart_if_dead(self) -> bool:
        """Start the server again if it has died, in the same place; call it from the main thread.

        Returns:
            Whether it was dead and runs again.

        Raises:
            DatabaseError: it is dead and does not start yet: what its old processes hold must be
                let go of first. Call again.
        """
        if self._process is None or self._process.poll() is None:
            return False
        self._stop_survivor()
        dead = self._process
        try:
            self._launch()
        except BaseException:
            failed, self._process = self._process, dead
            if failed is not dead and failed.poll() is None:
                failed.kill()
                failed.wait()
            raise
        return True

    def stop(self) -> None:
        """Shut the server down; open transactions are rolled back."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_FAST_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_SECONDS_MAX)
        if self._socket is not None:
            remove_socket_directory(self._directory)
            self._socket = None

    def discard(self) -> None:
        """Remove the cluster; a server that outlived its starter is shut down before.

        Raises:
            DatabaseError: it cannot be removed.
        """
        self.stop()
        self._stop_survivor()
        try:
            shutil.rmtree(self._data)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DatabaseError(
                f"{self._data} cannot be removed ({error.strerror}). Give it to the user that runs "
                "this, or remove it."
            ) from error

    def url(self, user: str, password: str, database: str) -> str:
        """Return the connection string of a user.

        Raises:
            DatabaseError: the server is not running.
        """
        socket = self._socket or self._attached
        if socket is None:
            raise DatabaseError("The embedded database is not running.")
        return make_conninfo(
            host=str(socket), port=_PORT, user=user, password=password, dbname=database
        )

    def attach(self) -> bool:
        """Use the server that another process runs here; say whether there is one."""
        pid, status = self._postmaster()
        if pid is None or status != "ready" or not self._serves_here(pid):
            return False
        lines = (self._data / _LOCK_FILE).read_text(encoding="utf-8").splitlines()
        # pidfile.h: the fifth line is the socket's directory.
        self._attached = Path(lines[4].strip())
        return True

    def superuser_url(self, database: str = "postgres") -> str:
        """Return the connection string of the role that owns the cluster."""
        return self.url(SUPERUSER, self._password(), database)

    # -- the cluster ------------------------------------------------------------------------------

    def _password(self) -> str:
        return keep_secret(self._directory / "password", lambda: secrets.token_urlsafe(32))

    def _make_cluster(self, password: str) -> None:
        # Under another name until it is whole: a start that was killed here begins again.
        partial = self._directory / "data.part"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        self._give_away(partial)
        command = [
            self._binaries.program("initdb"),
            f"--pgdata={partial}",
            f"--username={SUPERUSER}",
            "--auth=scram-sha-256",
            "--pwfile=/dev/stdin",
            "--encoding=UTF8",
            "--data-checksums",
        ]
        # The built-in C.UTF-8 needs no locale of the machine, and never changes under an index.
        if self._binaries.version >= 17:
            command += ["--locale-provider=builtin", "--locale=C.UTF-8"]
        else:
            command += ["--locale=C"]
        done = subprocess.run(  # noqa: S603 - no user's text
            [*self._identity.prefix, *command],
            input=f"{password}\n".encode(),
            capture_output=True,
            check=False,
            user=self._identity.uid,
            cwd="/",
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").replace(password, "***")[-2000:]
            if os.strerror(errno.ENOSPC) in said:
                raise DatabaseError(
                    f"The disk of {partial} is full, so initdb could not make a database there: make "
                    "room for about 100 MB and some to grow, or name another disk with --home or "
                    "MAPI_HOME."
                )
            raise DatabaseError(f"initdb could not make {partial}:\n{said}")
        partial.rename(self._data)

    def _refuse_other_version(self) -> None:
        made_by = (self._data / "PG_VERSION").read_text(encoding="ascii").strip()
        if made_by != str(self._binaries.version):
            raise DatabaseError(
                f"{self._data} was made by PostgreSQL {made_by}, the installed one is "
                f"{self._binaries.version}. Run `mapi backup` with the version that made it, then "
                "`mapi restore` into a new home; or name the old programs with MAPI_PG_BIN."
            )

    def _give_away(self, directory: Path) -> None:
        if self._identity.uid is not None:
            os.chown(directory, self._identity.uid, -1)

    # -- the process ------------------------------------------------------------------------------

    def _launch_alone(self) -> None:
        """Start the server once nothing of an older one holds the data.

        Of a server that was killed a process may still end, or one may just begin that was started
        again a moment before: neither stands in ``postmaster.pid`` yet, and both are gone soon.
        """
        deadline = time.monotonic() + _LET_GO_SECONDS
        while True:
            try:
                self._launch()
            except DatabaseError as error:
                # A server that fails by itself takes its own lock file with it, and the holder may
                # have ended since.
                is_held = _LOCK_FILE in str(error) or (self._data / _LOCK_FILE).exists()
                if not is_held or time.monotonic() > deadline:
                    raise
                time.sleep(_HELD_POLL_SECONDS)
                self._stop_survivor()
            else:
                return

    def _launch(self) -> None:
        settings = {**_CONFIGURATION, "unix_socket_directories": str(self._socket)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [self._binaries.program("postgres"), "-D", str(self._data), *options]
        setpriv = shutil.which("setpriv")
        if setpriv is not None:  # within the namespace: entering one clears the death signal
            command = [setpriv, "--pdeathsig", "INT", "--", *command]
        started = time.monotonic()
        with self._log.open("ab") as log:
            where = log.tell()
            with self._held():
                self._process = self._popen(command, log)
        while not self._is_ready():
            if self._process.poll() is not None:
                raise DatabaseError(
                    f"The embedded database ended at its start (exit code "
                    f"{self._process.returncode}); it said:\n{self._said(where)}"
                )
            if time.monotonic() - started > _START_SECONDS_MAX:
                raise DatabaseError(
                    f"The embedded database was not ready after {_START_SECONDS_MAX:g} s; it said:"
                    f"\n{self._said(where)}"
                )
            time.sleep(_POLL_SECONDS)

    def _popen(self, command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - no user's text
            [*self._identity.prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # A Ctrl-C in our terminal is for us; we stop the server when nobody uses it any more.
            start_new_session=True,
            user=self._identity.uid,
            cwd="/",
        )

    def _said(self, offset: int) -> str:
        with self._log.open("rb") as log:
            log.seek(offset)
            return log.read()[-2000:].decode(errors="replace")

    def _is_ready(self) -> bool:
        pid, status = self._postmaster()
        # unshare and setpriv become the server: the process keeps its number.
        return self._process is not None and pid == self._process.pid and status == "ready"

    def _postmaster(self) -> tuple[int | None, str]:
        """Return pid and status from ``postmaster.pid``; its lines are those of pidfile.h."""
        try:
            lines = (self._data / _LOCK_FILE).read_text(encoding="utf-8").splitlines()
            return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
        except (OSError, ValueError, IndexError):
            return None, ""

    def _stop_survivor(self) -> None:
        """Shut down a server that outlived a killed starter."""
        pid, _ = self._postmaster()
        if pid is None:
            return
        if not self._serves_here(pid):
            self._take_over_lock(pid)
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS_MAX
        while self._serves_here(pid):
            if time.monotonic() > deadline:
                raise DatabaseError(
                    f"An older server, process {pid}, still works on {self._data} and does not "
                    "stop. End it, then start again."
                )
            time.sleep(_POLL_SECONDS)

    def _take_over_lock(self, pid: int) -> None:
        """Let PostgreSQL see that the holder of its lock file is dead, though its number lives.

        A killed server whose number nobody collects (no init in the container), or another program
        that has the number now, looks to it like a server on the data, for ever. Our own number, that
        of its parent, it passes over, and goes on to look whether anybody still uses the memory.
        """
        if not Path(f"/proc/{pid}").exists():
            return
        path = self._data / _LOCK_FILE
        _, _, rest = path.read_text(encoding="utf-8").partition("\n")
        # Whole at every moment: an empty lock file would keep everybody out.
        aside = path.with_name(f"{_LOCK_FILE}.aside")
        aside.write_text(f"{os.getpid()}\n{rest}", encoding="utf-8")
        owner = path.stat()
        os.chown(aside, owner.st_uid, owner.st_gid)
        aside.chmod(stat.S_IMODE(owner.st_mode))
        aside.replace(path)

    def _serves_here(self, pid: int) -> bool:
        """Say whether process ``pid`` is a server on our data, and no newcomer to an old number."""
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        # By another name of the home it is the same server: its lock must not be taken over.
        here = os.path.realpath(os.fsencode(self._data))
        return any(
            os.path.realpath(one) == here for one in command.split(b"\0") if one.startswith(b"/")
        )
