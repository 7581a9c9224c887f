"""The media of a run on its page: each item reached by its step, and each with its own error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.mapi.api.media_calls import png

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route
    from tests.browser.views import View

    import mapi


def opened(view: View, api: mapi.Client, run: mapi.Run, more: str = "") -> Page:
    """Open the tab."""
    return view.open(f"/runs/{run.id}?project={api.project}&tab=media{more}")


def card(page: Page, name: str) -> Locator:
    """Return the frame of a key."""
    return page.get_by_role("figure").filter(has=page.get_by_title(name, exact=True))


def test_every_item_is_reached_by_its_step(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="m")
    for step in (0, 10, 20):
        api.runs.log_image(run, "samples", png(4, 4, grey=step), step=step, caption=f"at {step}")
    api.runs.log_image(run, "late", png(4, 4), step=20)
    api.runs.log_image(run, "final", png(4, 4))
    page = opened(view, api, run)
    samples = card(page, "samples")
    expect(samples).to_contain_text("step 20")
    expect(samples.get_by_role("img")).to_have_js_property("naturalWidth", 4)
    page.get_by_label("The step before").click()
    page.wait_for_url(re.compile("step=10"))
    expect(samples).to_contain_text("at 10")
    expect(card(page, "late")).to_contain_text("Nothing up to this step.")
    expect(card(page, "final")).to_contain_text("no step")
    slider = page.get_by_role("slider", name="Step")
    slider.press("ArrowLeft")
    expect(samples).to_contain_text("at 0")
    page.reload()
    expect(samples).to_contain_text("at 0")
    page.get_by_text("All steps", exact=True).click()
    strip = page.get_by_role("region", name="samples")
    expect(strip.get_by_role("figure")).to_have_count(3)
    page.wait_for_url(re.compile("steps=all"))
    page.get_by_text("Large", exact=True).click()
    page.wait_for_url(re.compile("size=large"))
    page.reload()
    expect(strip.get_by_role("figure")).to_have_count(3)
    expect(page.get_by_role("radio", name="Large")).to_be_checked()


def test_tables_are_asked_for_as_they_come_into_view(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="m")
    for step in range(40):
        api.runs.log_table(run, "rows", [{"at": step}], step=step)
    page = opened(view, api, run)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/content" in one.url else None)
    page.get_by_text("All steps", exact=True).click()
    strip = page.get_by_role("region", name="rows")
    expect(strip.get_by_role("figure")).to_have_count(24)
    expect(strip.get_by_role("table").first).to_be_visible()
    assert len(asked) < 16
    strip.get_by_role("button", name="Show more: 16 are left").click()
    expect(strip.get_by_role("figure")).to_have_count(40)
    last = strip.get_by_role("figure").last
    last.scroll_into_view_if_needed()
    expect(last.get_by_role("table")).to_contain_text("39")


def test_an_item_of_a_step_between_shows_which_step_it_is_of(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="m")
    for key, steps in (("often", (0, 5, 10)), ("seldom", (0, 10))):
        for step in steps:
            api.runs.log_image(run, key, png(4, 4, grey=step), step=step)
    page = opened(view, api, run, "&step=5")
    expect(card(page, "often")).to_contain_text("step 5")
    expect(card(page, "seldom")).to_contain_text("step 0")


def test_a_broken_item_shows_its_own_error_and_the_others_are_shown(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(503)
    run = api.runs.create(name="m")
    broken = api.runs.log_image(run, "broken", png(4, 4), step=0)
    api.runs.log_image(run, "whole", png(4, 4), step=0)
    api.runs.log_table(run, "rows", [[1, "one"], [2, "two"]], columns=["n", "word"], step=0)
    table = api.runs.log_table(run, "torn", [[1]], columns=["n"], step=0)

    def refuse(route: Route) -> None:
        route.fulfill(
            status=503,
            content_type="application/problem+json",
            body='{"detail": "The store does not answer.", "code": "UNAVAILABLE"}',
        )

    for item in (broken, table):
        view.context.route(f"**/media/{item.id}/content", refuse)
    page = opened(view, api, run)
    expect(card(page, "broken").get_by_role("alert")).to_contain_text("The store does not answer.")
    expect(card(page, "whole").get_by_role("img")).to_have_js_property("naturalWidth", 4)
    rows = page.get_by_role("table", name="Table rows")
    expect(rows.get_by_role("row")).to_have_count(3)
    expect(rows).to_contain_text("two")
    # A server that may answer later is asked a few times.
    torn = card(page, "torn").get_by_role("alert")
    expect(torn).to_contain_text("does not answer", timeout=20_000)
    view.context.unroute_all()
    card(page, "broken").get_by_role("button", name="Try again").click()
    expect(card(page, "broken").get_by_role("img")).to_have_js_property("naturalWidth", 4)


def test_a_new_item_appears_without_a_reload(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="m")
    api.runs.log_image(run, "samples", png(4, 4), step=0, caption="first")
    page = opened(view, api, run)
    expect(card(page, "samples")).to_contain_text("first")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    api.runs.log_image(run, "samples", png(4, 4, grey=9), step=1, caption="second")
    expect(card(page, "samples")).to_contain_text("second")
    api.runs.log_table(run, "words", [["x"]], columns=["w"], step=1)
    expect(card(page, "words")).to_be_visible()


def test_a_picture_is_looked_at_large_and_put_away_by_keys(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="m")
    api.runs.log_image(run, "samples", png(4, 4), step=3)
    page = opened(view, api, run)
    page.get_by_role("button", name="samples, larger").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("samples, step 3")
    view.axe()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
