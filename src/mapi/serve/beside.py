"""A server beside a folder of runs, and what delivers them to it, for as long as somebody looks.

The server is `mapi serve` in a process of its own, with a home of its own for each folder: it holds
copies, and may be deleted while nobody looks, if nothing else was made there. One that runs for the folder already is used and left as it
is. Where ``MAPI_HOME`` is set, that is the home. A server that was started here ends with us, however we end:
it stops when its standard input does.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
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
from mapi.sdk.server import Server, kept_server
from mapi.sdk.synchronous.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    from mapi.follow.opened import PushReport

__all__ = ["Shown", "home_beside", "show"]

_SIGN_IN: Final = "Sign in once: "
#: A database is stopped properly within this; else it is told to stop at once.
_END_SECONDS: Final = 30.0
#: Between two tries to be the one who starts a server.
_TURN_SECONDS: Final = 0.1
#: How long somebody else's server that does not answer is waited for: it may be one that ended.
_PATIENCE_SECONDS: Final = 30.0
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
    variables: dict[str, str]
    """By which programs find the server, also where `mapi login` keeps another: no secret is in them."""


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
    tell: Callable[[PushReport], object],
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
    with _server(home, port, pause) as beside:
        if beside is None:
            return
        server, process = beside.server, beside.process

        def is_over(seconds: float) -> bool:
            return pause(seconds) or (process is not None and process.poll() is not None)

        try:
            with Client(
                server.url,
                token=server.token,
                project=project,
                timeout_seconds=CALL_SECONDS,
                tries=1,
            ) as client:
                page = _page(client, directory)
                link = f"{beside.sign_in_url}&next={quote(page, safe='')}"
                variables = {"MAPI_HOME": str(home.absolute()), "MAPI_URL": server.url}
                is_new = process is not None
                begun(Shown(server.url + page, link, is_new=is_new, variables=variables))
                patience = _PATIENCE_SECONDS if process is None else math.inf
                pusher = Pusher(client, patience_seconds=patience, pause=is_over)
                watch = Watch(pusher, client, [directory], tell=tell)
                watch.run(is_over)
                if process is None or process.poll() is None:
                    watch.look()
        except MapiError as error:
            if process is None or process.poll() is None:
                raise PlatformError(str(error)) from error
        if process is not None and process.poll() is not None:
            raise PlatformError(
                f"The server of {home} has ended (exit code {process.returncode}); the runs are as they "
                "were. Call et ui again."
            )


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


@dataclass(frozen=True, slots=True)
class _Beside:
    """A server of a home."""

    server: Server
    sign_in_url: str
    process: subprocess.Popen[str] | None
    """Where it was started here."""


@contextlib.contextmanager
def _server(home: Path, port: int, pause: Callable[[float], bool]) -> Iterator[_Beside | None]:
    """Give the server of a home, started here if there is none; ``None`` if ``pause`` ended it before.

    Raises:
        PlatformError: it does not start.
    """
    with contextlib.ExitStack() as undo:
        with contextlib.ExitStack() as turn:
            # Of two that begin at once, the second uses the server of the first.
            if not _takes_turn(home, pause, undo=turn):
                yield None
                return
            running = _running(home)
            if running is None:
                beside = undo.enter_context(_started(home, port))
            else:
                beside = _Beside(running, _new_link(home, running.url), None)
        yield beside


def _takes_turn(home: Path, pause: Callable[[float], bool], *, undo: contextlib.ExitStack) -> bool:
    """Wait until nobody else looks for the server of a home; say whether it was waited to the end."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home / "beside.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PlatformError(f"The home {home} cannot be written: {error.strerror}.") from error
    undo.callback(os.close, descriptor)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if pause(_TURN_SECONDS):
                return False
        else:
            return True


@contextlib.contextmanager
def _started(home: Path, port: int) -> Iterator[_Beside]:
    words = ["serve", "--home", str(home), "--port", str(port), "--no-browser", "--stop-at-eof"]
    # In a session of its own: Ctrl-C in the terminal ends us, and what is logged until then is still
    # delivered before we end the server.
    process = subprocess.Popen(  # noqa: S603 - our own program
        _command(*words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        sign_in = _said(process.stdout)
        if sign_in is None:
            raise PlatformError(
                f"The server of {home} did not start (exit code {process.wait()}); it says above "
                f"why.{_way_out(home)}"
            )
        threading.Thread(target=_pass_over, args=(process.stdout,), daemon=True).start()
        found = kept_server(home / "local.json")
        if found is None:
            raise PlatformError(f"The server of {home} has ended right after its start.")
        yield _Beside(found, sign_in, process)
    finally:
        _end(process)


def _way_out(home: Path) -> str:
    """Return what to do with the database of another version; nothing of a home that may hold more than copies."""
    if homes().named is not None:
        return ""
    return (
        f" Where it says that another version made the database, delete {home}: what the folder's files hold "
        "is delivered anew. What is only there is lost: what was made or changed on its pages, and what "
        "programs wrote to the server itself."
    )


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


def _running(home: Path) -> Server | None:
    """Return the server that runs in a home."""
    try:
        found = kept_server(home / "local.json")
        if found is not None:
            with Client(found.url, token=found.token, timeout_seconds=5, tries=1) as client:
                client.projects.list()
    except MapiError:
        # It ends at the moment, or the file is none of ours.
        return None
    return found


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
