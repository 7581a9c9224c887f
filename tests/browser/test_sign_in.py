"""A person comes in by the link that the server prints, or by a token, and goes out again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from playwright.sync_api import expect
from tests.acceptance.platform_servers import run_mapi
from tests.browser.views import LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi


def path_of(view: View) -> str:
    return urlsplit(view.page.url).path


def test_the_printed_link_lands_on_the_runs_once(
    platform: Server, open_view: Callable[..., View]
) -> None:
    first = open_view(signed_in=False)
    first.page.goto(platform.sign_in_url)
    first.page.wait_for_url("**/runs*")
    expect(first.page.get_by_role("button", name="this machine")).to_be_visible()
    # Neither the address nor what it leaves behind holds the code.
    assert "code" not in first.page.url
    second = open_view(signed_in=False)
    second.page.goto(platform.sign_in_url)
    expect(second.page.get_by_role("alert")).to_contain_text("used before")
    assert path_of(second) == "/sign-in"


def test_a_new_link_is_printed_by_the_command(
    platform: Server, open_view: Callable[..., View]
) -> None:
    done = run_mapi(platform.home, "admin", "sign-in")
    assert done.returncode == 0, done.stderr
    view = open_view(signed_in=False)
    view.page.goto(done.stdout.strip())
    view.page.wait_for_url("**/runs*")


def test_a_token_signs_in_and_a_wrong_one_is_told_so(
    platform: Server, open_view: Callable[..., View]
) -> None:
    view = open_view(signed_in=False)
    view.page.goto(f"{platform.url}/runs")
    view.page.wait_for_url("**/sign-in*")
    field = view.page.get_by_label("Token", exact=True)
    field.fill("mapi_0_wrong")
    field.press("Enter")
    expect(view.page.get_by_role("alert")).to_be_visible()
    field.fill(platform.token)
    field.press("Enter")
    view.page.wait_for_url("**/runs*")
    expect(view.page.get_by_role("button", name="this machine")).to_be_visible()


def test_who_signs_out_is_out_in_every_tab(
    platform: Server, open_view: Callable[..., View]
) -> None:
    view = open_view()
    view.page.goto(f"{platform.url}/runs")
    view.page.get_by_role("button", name="this machine").click()
    view.page.get_by_role("menuitem", name="Sign out").click()
    view.page.wait_for_url("**/sign-in*")
    assert [one for one in view.context.cookies() if "mapi" in one["name"]] == []
    other = view.context.new_page()
    other.goto(f"{platform.url}/runs")
    other.wait_for_url("**/sign-in*")


def test_the_way_in_can_be_used_by_everybody(open_view: Callable[..., View]) -> None:
    for look in LOOKS:
        view = open_view(look, signed_in=False)
        view.open("/sign-in")
        view.page.get_by_label("Token", exact=True).wait_for()
        view.axe()
        view.check_width()
        view.shoot()


def test_whoever_followed_a_link_sees_what_it_shows_after_the_sign_in(
    platform: Server, open_view: Callable[..., View]
) -> None:
    view = open_view(signed_in=False)
    view.page.goto(f"{platform.url}/experiments?q=warm-up&show=all")
    view.page.wait_for_url("**/sign-in*")
    view.page.get_by_label("Token", exact=True).fill(platform.token)
    view.page.keyboard.press("Enter")
    view.page.wait_for_url("**/experiments?q=warm-up&show=all")
    expect(view.page.get_by_label("Find by name")).to_have_value("warm-up")


def test_the_pages_are_drawn_in_a_face_without_serifs(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    view = open_view()
    page = view.open(f"/runs?project={api.project}")
    # What comes and goes while a page loads has no face any more when it is asked for.
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    devtools = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        devtools.send(f"{domain}.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    nodes = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "nav *"})["nodeIds"]
    faces = {
        font["familyName"]
        for node in nodes
        for font in devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    }
    assert faces
    assert [face for face in faces if "Sans" not in face and "Mono" not in face] == []
