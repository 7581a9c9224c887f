"""A server that goes away and comes back under open pages: they say so, and heal by themselves."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from tests.acceptance.platform_servers import Server
from tests.browser.conftest import sign_in
from tests.browser.runs import address, row
from tests.browser.test_run_charts import chart_of

import mapi
from mapi.database.embedded.sockets import remove_socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.views import View

LOST = "Connection lost, trying again …"
#: Browsers try again after a few seconds; a server that begins needs some, too.
HEALED_MS = 60_000


class Restarted:
    """A server of a test's own, which it may kill."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server = Server(home)
        self.port = urlsplit(self.server.url).port

    def kill(self) -> None:
        """End the process as a machine without memory would."""
        self.server.end(signal.SIGKILL)

    def begin(self, *words: str) -> Server:
        """Start it in the same home, by default elsewhere than before."""
        self.server = Server(self.home, *words)
        return self.server

    def come_back(self) -> None:
        """Start it where it was."""
        self.begin("--port", str(self.port))


@pytest.fixture
def restarted(built_pages: None, tmp_path: Path) -> Iterator[Restarted]:
    del built_pages
    found = Restarted(tmp_path / "home")
    yield found
    if found.server.process.poll() is None:
        found.server.end()
    remove_socket_directory(found.home / "postgres")


@pytest.mark.timeout(240)
def test_pages_say_that_the_server_is_gone_and_have_what_came_meanwhile_when_it_is_back(
    restarted: Restarted, open_view: Callable[..., View]
) -> None:
    server = restarted.server
    view = open_view(signed_in=False, origin=server.url)
    # The console calls each try that nobody answered an error.
    view.expected_errors |= {"net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}
    view.expected_errors |= {"net::ERR_CONNECTION_RESET", "net::ERR_EMPTY_RESPONSE"}
    sign_in(view.context, server)
    with mapi.Client(server.url, token=server.token, project="default") as api:
        run = api.runs.create(name="goes on", params={"lr": 0.1}).id
        api.runs.log_metrics(run, {"loss": 0.5}, step=0)
        runs = view.open(address(api, columns=["name", "metrics.loss"]))
    expect(row(runs, "goes on")).to_contain_text("0.5")
    one = view.context.new_page()
    one.goto(f"{view.url}/runs/{run}")
    expect(chart_of(one, "loss")).to_contain_text("1 point, exact")
    pages = (runs, one)
    for page in pages:
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate("window.isTheSamePage = true")

    restarted.kill()
    for page in pages:
        expect(page.get_by_text(LOST)).to_be_visible()
    view.shoot("lost")

    # While no page can hear it.
    elsewhere = restarted.begin()
    with mapi.Client(elsewhere.url, token=elsewhere.token) as api:
        api.runs.log_metrics(run, {"loss": 0.25}, step=1)
        api.runs.create(name="begun meanwhile")
    elsewhere.end()
    for page in pages:
        expect(page.get_by_text(LOST)).to_be_visible()

    restarted.come_back()
    for page in pages:
        expect(page.get_by_text(LOST)).to_have_count(0, timeout=HEALED_MS)
    expect(row(runs, "goes on")).to_contain_text("0.25")
    expect(row(runs, "begun meanwhile")).to_be_visible()
    expect(chart_of(one, "loss")).to_contain_text("2 points, exact")
    for page in pages:
        expect(page.get_by_text("Live", exact=True)).to_be_visible()

    # And what comes now is heard as before.
    back = restarted.server
    with mapi.Client(back.url, token=back.token) as api:
        api.runs.log_metrics(run, {"loss": 0.125}, step=2)
    expect(row(runs, "goes on")).to_contain_text("0.125")
    expect(chart_of(one, "loss")).to_contain_text("3 points, exact")
    for page in pages:
        assert page.evaluate("window.isTheSamePage") is True
