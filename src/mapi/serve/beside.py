"""A server beside a folder of runs, and what delivers them to it, for as long as somebody looks.

The server is `mapi serve` in a process of its own, with a home of its own for each folder: it holds
copies, and may be deleted while nobody looks. One that runs for the folder already is used and left as it
is. Where ``MAPI_HOME`` is set, that is the home.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from expr_tracker.errors import PlatformError, TrackerError
from mapi.config import homes
from mapi.errors import MapiError
from mapi.follow.directories import find_directories, run_directory
from mapi.follow.front import CALL_SECONDS
from mapi.follow.projects import Projects
from mapi.follow.pushing import Pusher
from mapi.follow.watching import Watch
from mapi.sdk.synchronous.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    from mapi.follow.opened import RunReport

__all__ = ["Shown", "home_beside", "show"]

_SIGN_IN: Final = "Sign in once: "
#: A database is stopped properly within this; else it is told to stop at once.
_END_SECONDS: Final = 30.0
#: Of a home's name, behind the folder's own.
_DIGEST_LENGTH: Final = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """Where the pages are."""

    url: str
    """Of the page that shows the runs, for who is signed in."""
    sign_in_url: str
    """The same, and it signs a browser in, once."""
    is_new: bool
    """Whether the server was started for this, and ends with it."""


def home_beside(directory: Path) -> Path:
    """Return the home of the server that shows a folder."""
    found = homes()
    if found.named is not None:
        return found.named
    real = directory.resolve()
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()
    # No two folders share one, and whoever looks into the parent knows which is whose.
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name).strip("-.") or "root"
    return (
        found.default.with_name(f"{found.default.name}-ui")
        / f"{name[:40]}-{digest[:_DIGEST_LENGTH]}"
    )


def show(
    directory: Path,
    *,
    project: str | None,
    port: int,
    begun: Callable[[Shown], object],
    pause: Callable[[float], bool],
    tell: Callable[[RunReport], object],
) -> None:
    """Serve the pages of a folder's runs, and deliver what is and comes there, until ``pause`` ends it.

    Args:
        directory: the folder; it may be empty still.
        project: takes all runs; without one each goes to the project that is called as its own.
        port: of a server that is started; 0 takes any that is free.
        begun: hears where the pages are, once they are there.
        pause: waits for so many seconds; ``True`` ends it.
        tell: hears of each run when there is something to say of it.

    Raises:
        PlatformError: the server does not start, or answers no more.
    """
    home = home_beside(directory)
    try:
        with (
            _server(home, port) as (url, token, sign_in, is_new),
            Client(
                url, token=token, project=project, timeout_seconds=CALL_SECONDS, tries=1
            ) as client,
        ):
            page = _page(client, directory)
            begun(Shown(url + page, f"{sign_in}&next={quote(page, safe='')}", is_new))
            pusher = Pusher(client, patience_seconds=math.inf, pause=pause)
            watch = Watch(pusher, client, [directory], tell=tell)
            watch.run(pause)
            watch.look()
    except MapiError as error:
        raise PlatformError(str(error)) from error


def _page(client: Client, directory: Path) -> str:
    """Return the address of the page that shows the runs, or the newest one's project."""
    if client.project is not None:
        client.projects.create(client.project, if_exists="get")
        return _page_of(client.project)
    newest, project = -math.inf, None
    for path in find_directories([directory], may_be_empty=True):
        # What cannot be read is told by what delivers it.
        with contextlib.suppress(TrackerError, OSError):
            changed = path.stat().st_mtime
            if changed > newest:
                newest, project = changed, run_directory(path).project
    if project is None:
        return "/runs"
    # The page may be there before the first run is.
    Projects(client).runs_of(project)
    return _page_of(project)


def _page_of(project: str) -> str:
    return f"/runs?{urlencode({'project': project})}"


@contextlib.contextmanager
def _server(home: Path, port: int) -> Iterator[tuple[str, str, str, bool]]:
    """Give address, token and sign-in address of a server, and whether it was started here."""
    running = _running(home)
    if running is not None:
        url, token = running
        yield url, token, _new_link(home, url), False
        return
    words = ["serve", "--home", str(home), "--port", str(port), "--no-browser"]
    # In a session of its own: Ctrl-C in the terminal ends us, and what is logged until then is still
    # delivered before we end the server.
    process = subprocess.Popen(  # noqa: S603 - our own program
        _command(*words), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        sign_in = _said(process.stdout)
        if sign_in is None:
            raise PlatformError(
                f"The server of {home} did not start (exit code {process.wait()}); it says above why."
            )
        threading.Thread(target=_pass_over, args=(process.stdout,), daemon=True).start()
        found = _running(home)
        if found is None:
            raise PlatformError(f"The server of {home} has ended right after its start.")
        yield *found, sign_in, True
    finally:
        _end(process)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mapi", *words]


def _said(output: IO[str]) -> str | None:
    """Return the address that signs in; ``None`` where the program ends before it prints one."""
    for line in output:
        if line.startswith(_SIGN_IN):
            return line.removeprefix(_SIGN_IN).strip()
    return None


def _pass_over(output: IO[str]) -> None:
    """Read what else is printed: a full pipe would stop the server."""
    with contextlib.suppress(OSError, ValueError):
        for _ in output:
            pass


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _running(home: Path) -> tuple[str, str] | None:
    """Return address and token of the server that runs in a home."""
    try:
        told = json.loads((home / "local.json").read_text("ascii"))
        url, token = str(told["url"]), str(told["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        with Client(url, token=token, timeout_seconds=5, tries=1) as client:
            client.projects.list()
    except MapiError:
        # Left behind by one that was killed.
        return None
    return url, token


def _new_link(home: Path, url: str) -> str:
    """Return a new sign-in address of a server that runs."""
    words = ["admin", "--home", str(home), "sign-in", "--url", url]
    done = subprocess.run(  # noqa: S603 - our own program
        _command(*words), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise PlatformError(
            done.stderr.strip() or f"The server at {url} makes no sign-in address."
        )
    return done.stdout.strip()
