"""While the server has an outage: what was read stays in sight, and heals by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, Route, expect

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi


#: Milliseconds: a page asks three times more before it says so, and again every ten seconds.
LONG = 60_000


def refuse(route: Route) -> None:
    """Answer as a proxy does whose server is gone."""
    route.fulfill(status=503, body="")


def test_what_a_run_shows_outlives_an_outage_and_heals_by_itself(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(503)
    run = api.runs.create(name="first name")
    page = view.open(f"/runs/{run.id}?project={api.project}&tab=events")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    events = page.get_by_role("tabpanel").get_by_role("listitem")
    api.runs.update(run.id, name="second name")
    expect(events).not_to_have_count(0)
    known = events.count()
    page.route("**/v1/runs/*/life*", refuse)
    # What the stream says leads to a question that gets no answer.
    api.runs.update(run.id, name="third name")
    stale = page.get_by_text("Not up to date.")
    expect(stale).to_be_visible(timeout=LONG)
    assert events.count() == known
    view.axe()
    view.check_width()
    view.shoot("outage")
    page.unroute("**/v1/runs/*/life*")
    expect(events).to_have_count(known + 1, timeout=LONG)
    expect(stale).to_have_count(0)


@pytest.mark.parametrize(
    ("tab", "asked", "text"), [("params", "params", "0.25"), ("overview", "budgets", "no limit")]
)
def test_what_could_not_be_read_at_first_heals_by_itself(
    view: View, api: mapi.Client, tab: str, asked: str, text: str
) -> None:
    # A run without an environment has none to read.
    view.expected_statuses.update({503, 404})
    run = api.runs.create(name="a run")
    run.log_params({"lr": 0.25})
    run.finish()
    view.page.route(f"**/v1/runs/*/{asked}*", refuse)
    page = view.open(f"/runs/{run.id}?project={api.project}&tab={tab}")
    failure = page.get_by_role("alert").filter(has_text="This could not be shown")
    expect(failure).to_be_visible(timeout=LONG)
    page.unroute(f"**/v1/runs/*/{asked}*")
    expect(page.get_by_text(text, exact=True).first).to_be_visible(timeout=LONG)
    expect(failure).to_have_count(0)


def test_a_session_that_cannot_be_read_anew_takes_no_page_away(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(503)
    run = api.runs.create(name="a run")
    page = view.page
    page.clock.install()
    view.open(f"/runs/{run.id}?project={api.project}&tab=params")
    expect(page.get_by_text("This run has no params.")).to_be_visible()
    page.route("**/v1/session", refuse)
    page.clock.fast_forward(70_000)
    with page.expect_response("**/v1/session"):
        page.get_by_role("link", name="Experiments").click()
    for _ in range(3):
        ask_again(page)
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    expect(page.get_by_role("link", name="Runs")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def ask_again(page: Page) -> None:
    """Let the time of a new try come, and wait for its answer."""
    with page.expect_response("**/v1/session"):
        page.clock.run_for(8_000)
