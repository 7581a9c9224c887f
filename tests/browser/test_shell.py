"""What stands around every page: the project of what is open, and what an ended session looks like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page
    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi


def project_choice(page: Page) -> Locator:
    return page.get_by_label("Project", exact=True).first


@pytest.mark.parametrize("search", ["", "?project=default&tab=params"])
def test_the_head_has_the_project_of_the_run_that_is_open(
    view: View, api: mapi.Client, search: str
) -> None:
    run = api.runs.create(name="here", params={"lr": 1})
    page = view.open(f"/runs/{run.id}{search}")
    expect(page.get_by_role("heading", name="here")).to_be_visible()
    expect(project_choice(page)).to_have_value(api.project or "")
    page.wait_for_url(re.compile(f"project={api.project}"))
    assert ("tab=params" in page.url) == ("tab=params" in search)
    # A way from here stays in the project.
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url(re.compile(rf"/runs\?project={api.project}"))
    expect(page.get_by_role("link", name="here")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="here")).to_be_visible()
    project_choice(page).click()
    page.get_by_role("option", name="default", exact=True).click()
    page.wait_for_url(re.compile(r"/runs\?project=default$"))


def test_the_head_has_the_project_of_the_experiment_and_of_the_comparison_that_is_open(
    view: View, api: mapi.Client
) -> None:
    # Of an environment that no run has.
    view.expected_statuses.add(404)
    made = api.experiments.create("here")
    page = view.open(f"/experiments/{made.id}")
    expect(project_choice(page)).to_have_value(api.project or "")
    runs = [api.runs.create(name=f"run {at}") for at in range(2)]
    page = view.open(f"/compare?ids={runs[0].id},{runs[1].id}")
    expect(project_choice(page)).to_have_value(api.project or "")


def test_a_list_stays_one_where_another_project_is_chosen(view: View, api: mapi.Client) -> None:
    page = view.open("/settings?tab=limits&project=default")
    project_choice(page).click()
    page.get_by_role("option", name=api.project, exact=True).click()
    expect(page.get_by_text(f"of the project {api.project} may keep")).to_be_visible()
    assert "tab=limits" in page.url


def test_whoever_is_signed_out_meanwhile_is_told_and_comes_back_to_the_same(
    view: View, api: mapi.Client, platform: Server
) -> None:
    run = api.runs.create(name="still here")
    run.log_line("the first line")
    page = view.open(f"/runs/{run.id}?project={api.project}")
    expect(page.get_by_role("heading", name="still here")).to_be_visible()
    view.context.clear_cookies()
    page.get_by_role("tab", name="Logs").click()
    said = page.get_by_role("alert").filter(has_text="The session has ended")
    expect(said).to_be_visible()
    # What was open stays: it may hold what somebody has typed.
    expect(page.get_by_role("heading", name="still here")).to_be_visible()
    said.get_by_role("button", name="Sign in again").click()
    page.wait_for_url("**/sign-in*")
    page.get_by_label("Token", exact=True).fill(platform.token)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run.id}?*")
    assert f"project={api.project}" in page.url
    assert "tab=logs" in page.url
    expect(page.get_by_text("the first line")).to_be_visible()


def test_an_idle_page_finds_out_that_it_is_signed_out_and_in_again(
    view: View, api: mapi.Client, platform: Server
) -> None:
    page = view.open(f"/runs?project={api.project}")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    view.context.clear_cookies()
    # The stream of events is asked for anew, as it is whenever a network or a server was gone.
    view.context.set_offline(True)
    view.context.set_offline(False)
    said = page.get_by_role("alert").filter(has_text="The session has ended")
    expect(said).to_be_visible()
    api.runs.create(name="meanwhile")
    sign_in(view.context, platform)
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(said).to_have_count(0)
    expect(page.get_by_role("link", name="meanwhile")).to_be_visible()


def test_the_word_of_an_ended_session_can_be_read_by_everybody(
    every_view: View, api: mapi.Client
) -> None:
    page = every_view.open(f"/runs?project={api.project}")
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()
    every_view.context.clear_cookies()
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("button", name="Trash").click()
    expect(page.get_by_role("button", name="Sign in again")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot()


#: Members of addresses with values of every wrong kind; the router reads them as JSON.
WRONG = ("null", "true", "{}", "[]", "[[1]]", "[null]", "5", "-9e99", "__proto__", "constructor")
MEMBERS = {
    "/runs": ("filter", "sort", "columns", "view", "group", "trash", "chosen"),
    "/compare": ("ids", "q", "all", "stat", "best", "x", "logy", "plot", "axes", "media", "step"),
    "/experiments": ("q", "show", "sort"),
    "/settings": ("tab", "revoked"),
    "/runs/{run}": (
        "tab", "attempt", "params", "tree", "level", "log", "media", "step", "span", "from", "to",
        "charts", "pins", "zoom", "x", "smooth",
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", MEMBERS)
def test_an_address_that_makes_no_sense_shows_a_page_all_the_same(
    view: View, api: mapi.Client, path: str
) -> None:
    run = api.runs.create(name="here", params={"lr": 1})
    api.runs.log_series(run, "loss", [1.0, 0.5])
    place = path.format(run=run.id)
    # A text that is no filter is told in its place.
    view.expected_statuses |= {400, 404, 422}
    for wrong in WRONG:
        said = [f"{name}={quote(wrong)}" for name in MEMBERS[path]]
        page = view.open(f"{place}?project={api.project}&{'&'.join(said)}")
        expect(page.get_by_label("Places")).to_be_visible()
        expect(
            page.locator("main h1, main h2, main [role=tablist], main input").first
        ).to_be_visible()
        twice = "&".join(f"{one}&{one}" for one in said)
        page = view.open(f"{place}?project={api.project}&{twice}")
        expect(
            page.locator("main h1, main h2, main [role=tablist], main input").first
        ).to_be_visible()
        assert "Cannot " not in page.locator("main").inner_text()


@pytest.mark.parametrize("name", ["2026", "true", "1e5", "null"])
def test_a_project_may_be_called_like_a_number(
    view: View, api: mapi.Client, platform: Server, name: str
) -> None:
    api.projects.create(name, if_exists="get")
    _, made = platform.ask("POST", "/v1/runs", {"project": name, "name": "here"})
    page = view.open(f"/runs?project={name}")
    expect(project_choice(page)).to_have_value(name)
    page.get_by_role("link", name="here").first.click()
    page.wait_for_url(re.compile(f"/runs/{made['id']}"))
    page.reload()
    expect(project_choice(page)).to_have_value(name)
