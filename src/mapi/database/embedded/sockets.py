"""The one directory that we use outside of our home: where the socket of the database stands.

A socket's path ends at 107 bytes, and a home may be deep. Where a directory was made is written
down in the home before it is made, and in it stands whose it is: so the start after a kill takes
away what the killed one left, and a copy of a home leaves alone what belongs to the other one.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mapi.database.embedded.binaries import Identity

__all__ = ["make_socket_directory", "remove_socket_directory"]

#: In the home: where the directory is. In the directory: whose it is.
_RECORD: Final = "socket"
_OWNER: Final = "home"
#: What PostgreSQL makes there.
_SOCKETS: Final = ".s.PGSQL.*"


def make_socket_directory(home: Path, identity: Identity) -> Path:
    """Make a new directory that only the server can open, in place of the last one.

    Args:
        home: of the server; it has none of its processes now.
        identity: as whom the server runs.
    """
    remove_socket_directory(home)
    while True:
        directory = Path(tempfile.gettempdir()) / f"mapi-{secrets.token_hex(4)}"
        (home / _RECORD).write_text(str(directory), encoding="utf-8")
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            break
    (directory / _OWNER).write_text(str(home.resolve()), encoding="utf-8")
    if identity.uid is not None:
        shutil.chown(directory, identity.uid)
    return directory


def remove_socket_directory(home: Path) -> None:
    """Take away the directory of a home, if there is one and it is this home's."""
    try:
        directory = Path((home / _RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    # Whatever is there in its place, or cannot be taken away, stays: it keeps nobody from starting.
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(directory.lstat().st_mode) and _is_of(directory, home):
            for path in (directory / _OWNER, *directory.glob(_SOCKETS)):
                path.unlink(missing_ok=True)
            directory.rmdir()
    (home / _RECORD).unlink(missing_ok=True)


def _is_of(directory: Path, home: Path) -> bool:
    try:
        return (directory / _OWNER).read_text(encoding="utf-8") == str(home.resolve())
    except FileNotFoundError:
        # Killed before it was written; what has anything else in it stays all the same.
        return True
