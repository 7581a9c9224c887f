"""A real server and a real browser: one of each a session, and a fresh context for each test."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from servers.chromium import FLAGS
from tests.acceptance.platform_servers import Server
from tests.browser.views import LOOKS, ROOT, Look, View
from tests.services.programs import program

import mapi
from mapi.database.embedded.sockets import remove_socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

#: Milliseconds that a test waits for what a page shows; a machine has other things to do as well.
WAIT_MS = 15_000
REPORT = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder: it takes a browser."""
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test has failed, for who keeps a screenshot of it."""
    del call
    report = yield
    if report.failed:
        item.stash[REPORT] = True
    return report


@pytest.fixture(scope="session")
def built_pages() -> None:
    """The pages, built from the sources as they are."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "hatch_build.py")], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(done.stderr[-4_000:], pytrace=False)


@pytest.fixture(scope="session")
def platform(built_pages: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that all tests share: each works in a project of its own."""
    server = Server(tmp_path_factory.mktemp("platform") / "home")
    yield server
    server.end()
    remove_socket_directory(server.home / "postgres")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def api(platform: Server) -> Iterator[mapi.Client]:
    """A client in a project of the test's own, for what the page is to show."""
    name = f"p{uuid.uuid4().hex[:12]}"
    with mapi.Client(platform.url, token=platform.token) as client:
        client.projects.create(name)
    with mapi.Client(platform.url, token=platform.token, project=name) as client:
        yield client


@pytest.fixture
def open_view(
    platform: Server, chromium: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[..., View]]:
    """Open pages: ``open_view(look, signed_in=False)``; at the end each is checked."""
    views: list[View] = []

    def begin(look: Look = LOOKS[0], *, signed_in: bool = True, origin: str = "") -> View:
        context = chromium.new_context(
            viewport={"width": look.width, "height": look.height},
            color_scheme=look.theme,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="Europe/Berlin",
        )
        context.set_default_timeout(WAIT_MS)
        if signed_in:
            sign_in(context, platform)
        name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.originalname or request.node.name)
        found = View(context, url=origin or platform.url, name=name.strip("-"), look=look)
        views.append(found)
        return found

    yield begin
    has_failed = request.node.stash.get(REPORT, False)
    try:
        for number, view in enumerate(views):
            if has_failed:
                view.shoot(f"failed{number}")
            else:
                view.check()
    except BaseException:
        for number, view in enumerate(views):
            view.shoot(f"failed{number}")
        raise
    finally:
        for view in views:
            view.context.close()


@pytest.fixture
def view(open_view: Callable[..., View]) -> View:
    """A signed-in page on a screen, by day."""
    return open_view()


@pytest.fixture(params=LOOKS, ids=str)
def every_view(open_view: Callable[..., View], request: pytest.FixtureRequest) -> View:
    """A signed-in page in both themes, on a screen and on a phone: four tests of one."""
    return open_view(request.param)


def sign_in(context: Any, platform: Server) -> None:
    """Give a browser the cookie of a session of its own."""
    answer = context.request.post(f"{platform.url}/v1/session", data={"token": platform.token})
    assert answer.ok, answer.text()
