"""The pages over the example runs while those go on, and afterwards until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

from tooling.environment import ROOT, VENV, DevError, program_of, say
from tooling.pages import build_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SIGN_IN = "Sign in once: "
#: The server stops its database properly.
_END_SECONDS = 60


@contextlib.contextmanager
def shown(folder: Path) -> Iterator[Callable[[], None]]:
    """Show the runs below a folder in a browser while something goes on.

    Args:
        folder: Where the runs are, or will be.

    Yields:
        What waits until somebody has looked at them, if anybody sits at a terminal.
    """
    folder.mkdir(exist_ok=True)
    process = _begun(folder)
    try:
        yield lambda: _wait(process)
    finally:
        if process is not None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)


def _begun(folder: Path) -> subprocess.Popen[str] | None:
    """Start what shows them; without it the examples run all the same."""
    try:
        build_pages()
    except DevError as error:
        say(f"{error}; the examples run without pages")
        return None
    # In one project, which is there before the first of them.
    command = [str(program_of(VENV, "et")), "ui", str(folder.relative_to(ROOT))]
    command += ["--project", "examples", "--no-browser"]
    # A demo keeps to the clone.
    home = VENV / "demo-home"
    environment = {**os.environ, "MAPI_HOME": str(home)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(_SIGN_IN):
            address = line[len(_SIGN_IN) :].strip()
            say(f"the runs, live, in a browser: {address}")
            if sys.stdout.isatty():
                webbrowser.open(address)
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process
    say(f"the pages did not start (exit code {process.wait()}); the examples run without them")
    say(
        f"where it says that another version made the database, delete {home.relative_to(ROOT)}: it holds "
        "copies, and what was made or changed on the pages"
    )
    return None


def _wait(process: subprocess.Popen[str] | None) -> None:
    if process is None:
        return
    if not sys.stdout.isatty():
        say("no terminal to wait for Ctrl-C at: the pages end here; `et ui` opens them again")
        return
    say("the pages stay there until Ctrl-C")
    # Ctrl-C ends the server as well: it belongs to the same terminal.
    with contextlib.suppress(KeyboardInterrupt):
        process.wait()
