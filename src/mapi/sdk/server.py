"""Where the server is, and the token for it: arguments, variables, the profile, this machine's own.

For each of address, token and project what is said first counts: the argument, then the variable
(``MAPI_URL``, ``MAPI_TOKEN``, ``MAPI_PROJECT``), then the file that `mapi login` wrote, then
``MAPI_HOME/local.json``, which a server of this machine keeps while it runs. A token that a file
holds is for the address that stands beside it, and is sent to no other.

A server that was killed leaves its file behind, and anybody may listen at its address by then. So a
server holds a lock on its file for as long as it lives, and a file without it counts as none.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.config import client_places
from mapi.errors import SettingError
from mapi.sdk.addresses import checked_url

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Server", "announce_server", "find_server", "kept_server"]

#: Three texts; what is larger is another file.
_FILE_BYTES_MAX: Final = 65_536


@dataclass(frozen=True, slots=True)
class Server:
    """A server and who asks it."""

    url: str
    """Without a slash at its end."""
    token: str
    project: str | None = None
    """``None`` leaves it to the token."""

    def __repr__(self) -> str:
        return f"<Server {self.url} project={self.project!r}>"


def find_server(
    *,
    url: str | None = None,
    token: str | None = None,
    project: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Server:
    """Return the server that is meant.

    Args:
        url: its address; wins over everything.
        token: its token.
        project: where to work.
        environment: variables by name; by default those of the process.

    Raises:
        SettingError: nothing says where the server is, or what says so cannot be read.
    """
    places = client_places(environment)
    given_url, given_token = url or places.url, token or places.token
    found_project = project or places.project
    found_url, found_token = given_url, given_token
    for path in (places.profile, places.local):
        if found_url is not None and found_token is not None:
            break
        kept = kept_server(path)
        if kept is None or (found_url is not None and kept.url != checked_url(found_url)):
            continue
        found_url = kept.url
        found_token = found_token or kept.token
        found_project = found_project or kept.project
    if found_url is None:
        raise SettingError(
            "Nothing says where the server is: start one on this machine with `mapi serve`, keep "
            "the address of one with `mapi login URL`, or set MAPI_URL and MAPI_TOKEN."
        )
    found_url = checked_url(found_url)
    if found_token is None:
        raise SettingError(
            f"There is no token for {found_url}: `mapi login {found_url}` keeps one, MAPI_TOKEN "
            "gives one."
        )
    return Server(found_url, _checked_token(found_token), found_project)


def announce_server(path: Path, server: Server) -> int:
    """Write the file by which clients of this machine find a server.

    Returns:
        A descriptor, to be open for as long as the server lives.
    """
    partial = path.with_suffix(".part")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        told = {"url": server.url, "token": server.token, "pid": os.getpid()}
        os.write(descriptor, json.dumps(told).encode("ascii"))
        partial.replace(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def kept_server(path: Path) -> Server | None:
    """Return what a file says; ``None`` if there is no file, or its server was killed.

    Raises:
        SettingError: it cannot be read, or is no file of ours.
    """
    try:
        # A pipe by that name would be waited for.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SettingError(f"{path} is no file; remove it.")
            text = file.read(_FILE_BYTES_MAX)
            is_locked = _is_locked(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        found: Any = json.loads(text)
        url, token, project = found["url"], found["token"], found.get("project")
    except (ValueError, KeyError, TypeError, AttributeError):
        found = url = token = project = None
    if not isinstance(url, str) or not isinstance(token, str):
        raise SettingError(
            f"{path} does not hold the address and the token of a server: `mapi login URL` or "
            "`mapi serve` writes it anew."
        )
    # Only a server says which process it is: `mapi login` keeps what is true without one.
    if "pid" in found and not is_locked:
        return None
    return Server(checked_url(url), token, project if isinstance(project, str) else None)


def _is_locked(descriptor: int) -> bool:
    if sys.platform == "win32":  # no server of ours runs there
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _checked_token(token: str) -> str:
    # It becomes a header: nothing in it may end one. The message does not show it.
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingError("The token has characters that no token has: was it copied whole?")
    return token
