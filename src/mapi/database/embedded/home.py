"""The home of an embedded database: who may work in it, and where it must not lie.

Two servers on one data directory destroy it. An ``flock`` keeps two processes of this machine
apart; ``owner.json`` names the machine and its boot, because a lock of another host is not seen
here; and a network file system is refused, because both may be wrong on it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Final

from mapi.errors import DatabaseError, HomeInUseError

__all__ = ["Home", "advice_for_home"]

#: Types in ``/proc/self/mountinfo`` whose server is another machine.
_NETWORK_TYPES: Final = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "lustre",
        "glusterfs",
        "beegfs",
        "gpfs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.rclone",
        "fuse.gcsfuse",
    }
)


def advice_for_home(error: OSError) -> str:
    """Return what helps where a home cannot be made or written."""
    if error.errno in {errno.EEXIST, errno.ENOTDIR}:
        return "Something on its path is a file and no directory: name another with --home or MAPI_HOME."
    if error.errno == errno.EROFS:
        return "Its disk is read-only: name one on another disk with --home or MAPI_HOME."
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "Make room, or name one on another disk with --home or MAPI_HOME."
    return "Give it to the user that runs this, or name another with --home or MAPI_HOME."


class Home:
    """A directory with mode 0700 that one process works in at a time.

    Args:
        directory: it is made if it is missing.
        allow_network: trust a network file system.
    """

    def __init__(self, directory: Path, *, allow_network: bool = False) -> None:
        self.directory = directory
        self._allow_network = allow_network
        self._lock_fd: int | None = None
        self._is_owner = False

    def enter(self) -> None:
        """Make the directory and become the one who works in it.

        Raises:
            HomeInUseError: another process or another host does.
            DatabaseError: it cannot be made or written, or lies where a database must not.
        """
        try:
            self._enter()
        except OSError as error:
            # Not the name of the file that was tried: the home is what the operator knows.
            raise DatabaseError(
                f"The home {self.directory} cannot be written ({error.strerror}). "
                f"{advice_for_home(error)}"
            ) from error

    def _enter(self) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseError(
                f"The home {self.directory} cannot be made ({error.strerror}). "
                f"{advice_for_home(error)}"
            ) from error
        self._refuse_network()
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            owner = self._owner()
            raise HomeInUseError(
                f"The home {self.directory} is in use by process {owner.get('pid', '?')} of "
                f"{owner.get('host', 'this host')}. Stop that one, or name another home with "
                "--home or MAPI_HOME."
            ) from error
        self._lock_fd = descriptor
        try:
            self._refuse_other_host()
            self._write_owner()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Let another process work here."""
        descriptor, self._lock_fd = self._lock_fd, None
        if self._is_owner:
            self._is_owner = False
            with contextlib.suppress(OSError):
                (self.directory / "owner.json").unlink()
        if descriptor is not None:
            os.close(descriptor)

    def _refuse_network(self) -> None:
        kind = _file_system_of(self.directory)
        if kind in _NETWORK_TYPES and not self._allow_network:
            raise DatabaseError(
                f"The home {self.directory} lies on a network file system ({kind}), where a "
                "database is not safe. Name a local directory with --home or MAPI_HOME, or insist "
                "with --allow-network-home."
            )

    def _owner(self) -> dict[str, object]:
        try:
            owner = json.loads((self.directory / "owner.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return owner if isinstance(owner, dict) else {}

    def _refuse_other_host(self) -> None:
        owner = self._owner()
        if not owner or owner.get("host") == socket.gethostname():
            return
        if owner.get("boot") == _boot_id():
            return  # this machine under a new name
        raise HomeInUseError(
            f"The home {self.directory} belongs to the host {owner.get('host')!r} (process "
            f"{owner.get('pid', '?')}), which has not left it. Two servers on one database destroy "
            f"it. Stop that one; if it is gone for good, remove {self.directory / 'owner.json'}."
        )

    def _write_owner(self) -> None:
        owner = {"host": socket.gethostname(), "boot": _boot_id(), "pid": os.getpid()}
        path = self.directory / "owner.json"
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(owner))
        partial.replace(path)
        self._is_owner = True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _file_system_of(directory: Path) -> str:
    """Return the type of the file system that holds ``directory``; empty where unknown."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    resolved = directory.resolve()
    best, kind = -1, ""
    for line in lines:
        # proc(5): ... mount point (5th), optional fields, "-", type
        left, _, right = line.partition(" - ")
        words = left.split()
        mount = Path(words[4].encode().decode("unicode_escape"))
        if resolved.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), right.split()[0]
    return kind
