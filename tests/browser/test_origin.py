"""What another page in the same browser can do to somebody who is signed in here: nothing."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi

#: Of another port of this machine: to a browser the same site, to which it sends all cookies.
ATTACK = """<!doctype html><title>other</title>
<form id="plain" method="post" enctype="text/plain" action="{url}/v1/runs">
<input name='{{"name": "forged", "x": "' value='"}}'></form>
<form id="out" method="post" action="{url}/sign-out"><input name="csrf" value=""></form>
<form id="in" method="post" action="{url}/sign-in"><input name="token" value="{token}"></form>
<script>
window.answers = {{}};
async function attempt(name, path, options) {{
  try {{
    const answer = await fetch("{url}" + path, {{credentials: "include", ...options}});
    window.answers[name] = `${{answer.type}} ${{answer.status}} ${{await answer.text()}}`;
  }} catch (error) {{ window.answers[name] = `refused`; }}
}}
window.attack = () => Promise.all([
  attempt("read", "/v1/session", {{}}),
  attempt("read blindly", "/v1/session", {{mode: "no-cors"}}),
  attempt("write", "/v1/runs", {{method: "POST", body: '{{"name": "forged"}}',
    headers: {{"Content-Type": "application/json"}}}}),
  attempt("write blindly", "/v1/runs", {{method: "POST", body: '{{"name": "forged"}}', mode: "no-cors"}}),
  attempt("delete", "/v1/session", {{method: "DELETE"}}),
]);
</script>"""


@contextlib.contextmanager
def other_origin(text: str) -> Iterator[str]:
    """Serve a page from another port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def names(api: mapi.Client) -> list[str]:
    return [run.name for run in api.runs.list(filter='name = "forged"')]


def test_a_page_of_another_port_neither_reads_nor_writes_with_the_cookie(
    platform: Server, open_view: Callable[..., View], api: mapi.Client
) -> None:
    view = open_view()
    attacker = view.context.new_page()
    with other_origin(ATTACK.format(url=platform.url, token=platform.token)) as origin:
        attacker.goto(origin)
        attacker.evaluate("window.attack()")
        answers = attacker.evaluate("window.answers")
        for form in ("plain", "out"):
            attacker.goto(origin)
            with attacker.expect_navigation():
                attacker.evaluate(f"document.getElementById('{form}').submit()")
            assert view.answers[{"plain": "/v1/runs", "out": "/sign-out"}[form]] == 403
    # An answer that it may not read does not reach it either: what is sent blindly is as refused.
    assert answers == dict.fromkeys(answers, "refused")
    assert len(answers) == 5
    everywhere = type(api)(platform.url, token=platform.token)
    with everywhere:
        assert names(everywhere) == []
    # The session is what it was.
    view.open("/runs")
    expect(view.page.get_by_role("button", name="this machine")).to_be_visible()
    view.foreign.clear()  # the attacker's own page is another origin
    attacker.close()


def test_nobody_is_signed_in_by_another_page(
    platform: Server, open_view: Callable[..., View]
) -> None:
    """Else a person would log into the attacker's project without knowing."""
    view = open_view(signed_in=False)
    view.expected_statuses.add(403)
    with other_origin(ATTACK.format(url=platform.url, token=platform.token)) as origin:
        view.page.goto(origin)
        with view.page.expect_navigation():
            view.page.evaluate("document.getElementById('in').submit()")
        assert view.answers["/sign-in"] == 403
        assert [one for one in view.context.cookies() if "mapi" in one["name"]] == []
    view.foreign.clear()


def test_no_page_shows_ours_in_a_frame(platform: Server, open_view: Callable[..., View]) -> None:
    view = open_view()
    with other_origin(f'<iframe src="{platform.url}/runs"></iframe>') as origin:
        view.page.goto(origin)
        frame = view.page.frames[-1]
        frame.wait_for_load_state()
        assert frame.locator("#root").count() == 0
    view.foreign.clear()
    view.failures.clear()  # the browser says why


@pytest.mark.parametrize("path", ["/", "/runs", "/sign-in", "/nothing-here"])
def test_a_page_asks_its_own_server_only_and_breaks_no_policy(view: View, path: str) -> None:
    view.expected_statuses.add(404)
    view.open(path)
    answer = view.page.request.get(view.url + path, headers={"Accept": "text/html"})
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    assert view.foreign == []
    # What is stopped here is noted: the check at the end is not blind.
    stopped = view.context.new_page()
    stopped.goto(view.url + path)
    stopped.evaluate(
        "() => { const one = document.createElement('script'); one.text = 'window.ran = 1';"
        " document.head.append(one);"
        " const two = new Image(); two.src = 'https://evil.example/x.png'; }"
    )
    stopped.wait_for_function("window.__violations.length >= 2")
    assert stopped.evaluate("window.ran") is None
    stopped.close()
    view.foreign.clear()  # stopped before it was sent
    view.failures.clear()
