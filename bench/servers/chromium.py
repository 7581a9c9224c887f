"""A real Chromium that looks at our pages: the one that the tests use, fetched or installed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import Browser, sync_playwright

ROOT: Final = Path(__file__).resolve().parents[2]
if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from servers.platform import Platform

#: Of the root user in a container, without the services of Google that it would ask for.
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # The same pixels on every machine.
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)
#: A page that shows nothing for so long is broken.
PATIENCE_MS: Final = 120_000

#: Notes when what a script asks for is first there and has been painted, by the page's own clock,
#: which begins with the way to its address.
WATCH: Final = """
window.__seenAt = {};
window.__watch = (name, isThere) => {
  delete window.__seenAt[name];
  const look = () => {
    if (!isThere()) requestAnimationFrame(look);
    // A frame later it has been painted.
    else requestAnimationFrame(() => { window.__seenAt[name] = performance.now(); });
  };
  look();
};
"""


def build_pages() -> None:
    """Build the pages that `mapi serve` has, if their sources have changed.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, str(ROOT / "hatch_build.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the pages were not built:\n{done.stderr[-4_000:]}")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser."""
    # What fetches the services of the tests has a room of its own, which a test has already.
    sys.path.append(str(ROOT / ".ci"))
    from tooling.services import ensure_services, place_of  # noqa: PLC0415 - only now is it there

    ensure_services()
    with sync_playwright() as playwright:
        program = place_of("chromium") / "chromium"
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page_of(browser: Browser, where: Platform, *, script: str = "") -> Iterator[Page]:
    """Open a page that nobody has seen yet: nothing is cached, somebody is signed in.

    Args:
        browser: which.
        where: our server.
        script: runs in each document before all others, behind `WATCH`.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    try:
        context.set_default_timeout(PATIENCE_MS)
        answer = context.request.post(f"{where.url}/v1/session", data={"token": where.token})
        if not answer.ok:
            raise RuntimeError(f"no session: {answer.text()}")
        context.add_init_script(WATCH + script)
        yield context.new_page()
    finally:
        context.close()


def seen_at(page: Page, name: str) -> float:
    """Wait until what is watched under a name was seen; return when, in ms of the page's clock."""
    handle = page.wait_for_function("(name) => window.__seenAt?.[name]", arg=name)
    return float(handle.json_value())


def held_bytes(usage: dict[str, Any]) -> int:
    """Return what `Runtime.getHeapUsage` says that a page's scripts hold, with their typed arrays."""
    return int(
        usage["usedSize"]
        + usage.get("embedderHeapUsedSize", 0)
        + usage.get("backingStorageSize", 0)
    )


def memory_bytes(page: Page) -> int:
    """Return what a page's scripts hold once what nothing needs is thrown away."""
    session = page.context.new_cdp_session(page)
    try:
        # What the first round lets go may have been all that held something else.
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        return held_bytes(session.send("Runtime.getHeapUsage"))
    finally:
        session.detach()
