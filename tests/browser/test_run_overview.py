"""The overview of a run on its page: whose documents it shows, and what its address holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

import mapi

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.browser.views import View


def opened(view: View, api: mapi.Client, run: mapi.Run, more: str = "") -> Page:
    """Open the tab."""
    return view.open(f"/runs/{run.id}?project={api.project}&tab=overview{more}")


def test_documents_of_a_producer_whose_attempts_nobody_registered_can_be_chosen(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="two streams")
    api.runs.put_config(run, {"lr": 0.25})
    api.runs.put_config(run, {"workers": 4}, producer=mapi.Producer("data", 3))
    page = opened(view, api, run)
    config = page.get_by_role("region", name="Config")
    expect(config.get_by_role("table")).to_contain_text("0.25")
    page.get_by_role("combobox", name="Stream and rank").click()
    page.get_by_role("option", name="data, rank 3").click()
    expect(config.get_by_role("table")).to_contain_text("workers")
    expect(page.get_by_role("region", name="Environment")).to_contain_text("None was kept.")
    page.wait_for_url(re.compile("stream=data"))
    page.reload()
    expect(config.get_by_role("table")).to_contain_text("workers")
    expect(config.get_by_role("table")).not_to_contain_text("lr")


def test_what_a_single_other_producer_wrote_is_shown_and_says_whose_it_is(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="a stream")
    api.runs.put_environment(run, {"host": "node-17"}, producer=mapi.Producer("data", 3))
    page = opened(view, api, run)
    environment = page.get_by_role("region", name="Environment")
    expect(environment).to_contain_text("of data, rank 3")
    expect(environment.get_by_role("table")).to_contain_text("node-17")


def test_which_documents_there_are_heals_after_an_outage(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(503)
    run = api.runs.create(name="a run")
    api.runs.put_config(run, {"lr": 0.25})
    run.finish()
    view.page.route("**/documents", lambda route: route.fulfill(status=503, body=""))
    page = opened(view, api, run)
    failure = page.get_by_role("alert").filter(has_text="This could not be shown")
    expect(failure).to_be_visible(timeout=60_000)
    page.unroute("**/documents")
    table = page.get_by_role("region", name="Config").get_by_role("table")
    expect(table).to_contain_text("0.25", timeout=60_000)
    expect(failure).to_have_count(0)


def test_the_address_holds_what_the_overview_looks_for_and_how(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="a run")
    for at in range(14):
        api.runs.log_series(run, f"metric{at}", [float(at)])
    api.runs.put_config(run, {"model": {"depth": 12, "width": 64}, "lr": 0.25})
    page = opened(view, api, run)
    page.get_by_label("Search in series").fill("metric13")
    page.wait_for_url(re.compile("series=metric13"))
    page.get_by_label("Search in Config").fill("depth")
    page.wait_for_url(re.compile("config=depth"))
    config = page.get_by_role("region", name="Config")
    config.get_by_text("Flat", exact=True).click()
    page.wait_for_url(re.compile("flat="))
    page.reload()
    expect(page.get_by_role("table", name="Series").get_by_role("row")).to_have_count(2)
    table = config.get_by_role("table")
    expect(table).to_contain_text("model.depth")
    expect(table).not_to_contain_text("width")
    page.get_by_label("Search in series").fill("")
    page.wait_for_url(re.compile("^(?!.*series=)"))
