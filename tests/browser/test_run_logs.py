"""The log of a run on its page: followed, read back, filtered, and as a terminal would leave it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page
    from tests.browser.views import View

    import mapi

MANY = 2_500


def log_of(page: Page) -> Locator:
    """Return the box of the lines."""
    return page.get_by_role("log", name="Log lines")


def opened(view: View, api: mapi.Client, run: mapi.Run, more: str = "") -> Page:
    """Open the tab."""
    return view.open(f"/runs/{run.id}?project={api.project}&tab=logs{more}")


def test_new_lines_are_followed_until_somebody_scrolls_back(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="chatty")
    api.runs.log_lines(run, [{"message": f"line {at}"} for at in range(200)])
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines.get_by_text("line 199", exact=True)).to_be_in_viewport()
    api.runs.log_line(run, "line 200")
    expect(lines.get_by_text("line 200", exact=True)).to_be_in_viewport()
    lines.evaluate("(box) => { box.scrollTop = 0; }")
    expect(lines.get_by_text("line 0", exact=True)).to_be_in_viewport()
    jump = page.get_by_role("button", name="Follow the newest")
    expect(jump).to_be_visible()
    api.runs.log_line(run, "line 201")
    expect(page.get_by_text("202 read")).to_be_visible()
    expect(lines.get_by_text("line 0", exact=True)).to_be_in_viewport()
    jump.click()
    expect(lines.get_by_text("line 201", exact=True)).to_be_in_viewport()


def test_the_newest_line_stands_in_the_window(every_view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="chatty", tags={"team": "ads"})
    api.runs.log_lines(run, [{"message": f"line {at}"} for at in range(200)])
    page = opened(every_view, api, run)
    expect(log_of(page).get_by_text("line 199", exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollHeight") <= every_view.look.height
    every_view.shoot()


def test_lines_that_could_not_be_read_are_not_told_as_none(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(500)
    run = api.runs.create(name="chatty")
    api.runs.log_lines(run, [{"message": f"line {at}"} for at in range(3)])
    view.page.route("**/v1/runs/*/logs*", lambda route: route.fulfill(status=500, body=""))
    page = opened(view, api, run, "&log=zzz")
    failure = page.get_by_role("alert").filter(has_text="This could not be shown")
    expect(failure).to_be_visible()
    expect(page.get_by_text("No line matches.")).to_have_count(0)
    page.unroute("**/v1/runs/*/logs*")
    failure.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("No line matches.")).to_be_visible()
    expect(failure).to_have_count(0)


def test_lines_stay_while_newer_ones_cannot_be_read(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(500)
    run = api.runs.create(name="chatty")
    api.runs.log_lines(run, [{"message": f"line {at}"} for at in range(3)])
    page = opened(view, api, run)
    expect(log_of(page).get_by_text("line 2", exact=True)).to_be_visible()
    page.route("**/v1/runs/*/logs*", lambda route: route.fulfill(status=500, body=""))
    api.runs.log_line(run, "line 3")
    stale = page.get_by_role("status").filter(has_text="Not up to date.")
    expect(stale).to_be_visible()
    expect(log_of(page).get_by_text("line 2", exact=True)).to_be_visible()
    page.unroute("**/v1/runs/*/logs*")
    stale.get_by_role("button", name="Try again").click()
    expect(log_of(page).get_by_text("line 3", exact=True)).to_be_visible()
    expect(log_of(page).get_by_text("line 2", exact=True)).to_be_visible()
    expect(stale).to_have_count(0)


def test_every_line_is_reached_from_either_end(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="long")
    api.runs.log_lines(run, [{"message": f"line {at}."} for at in range(MANY)])
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines.get_by_text(f"line {MANY - 1}.", exact=True)).to_be_in_viewport()
    for read in ("2 000 read", "2 500 read"):
        lines.evaluate("(box) => { box.scrollTop = 0; }")
        expect(page.get_by_text(read)).to_be_visible()
    lines.evaluate("(box) => { box.scrollTop = 0; }")
    expect(lines.get_by_text("line 0.", exact=True)).to_be_in_viewport()
    page.get_by_text("From the first", exact=True).click()
    expect(lines.get_by_text("line 0.", exact=True)).to_be_in_viewport()
    expect(page.get_by_text(re.compile("^1 000 read"))).to_be_visible()


def test_older_lines_come_in_without_moving_what_is_read(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="long")
    api.runs.log_lines(run, [{"message": f"line {at}."} for at in range(MANY)])
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines.get_by_text(f"line {MANY - 1}.", exact=True)).to_be_in_viewport()
    # Behind the newest thousand lies line 1 500: a little below it more are asked for.
    lines.evaluate("(box) => { box.scrollTop = 300; }")
    seen = lines.get_by_text("line 1520.", exact=True)
    expect(seen).to_be_in_viewport()
    expect(page.get_by_text(re.compile("^2 000 read"))).to_be_visible()
    expect(seen).to_be_in_viewport()


def test_level_and_text_are_asked_of_the_server_and_stand_in_the_address(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="mixed")
    api.runs.log_lines(
        run,
        [
            {"message": f"{level} {at}", "level": level}
            for at in range(300)
            for level in ("debug", "info", "warning", "error")
        ],
    )
    page = opened(view, api, run)
    lines = log_of(page)
    page.get_by_label("Search in messages").fill("NING 7")
    page.wait_for_url(re.compile("log=NING"))
    expect(lines.get_by_text("warning 7", exact=True)).to_be_visible()
    expect(page.get_by_text("11 read")).to_be_visible()
    page.get_by_role("combobox", name="Least level").click()
    page.get_by_role("option", name="error").click()
    page.wait_for_url(re.compile("level=error"))
    expect(page.get_by_text("No line matches.")).to_be_visible()
    page.get_by_role("button", name="Show all lines").click()
    expect(lines.get_by_text("error 299", exact=True)).to_be_visible()
    api.runs.log_line(run, "after that", level="error")
    expect(lines.get_by_text("after that", exact=True)).to_be_in_viewport()


def test_a_progress_bar_is_its_last_state_and_the_raw_line_is_there_on_demand(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="bars")
    api.runs.log_line(
        run, "  0%|    |\r 50%|##  |\r\x1b[32m100%|####|\x1b[0m", fields={"epoch": 3}
    )
    api.runs.log_line(run, "a dump [cut: 1234 more characters]")
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines.get_by_text("100%|####|", exact=True)).to_be_visible()
    expect(lines).not_to_contain_text("50%")
    expect(lines).to_contain_text("epoch=3")
    expect(lines).to_contain_text("cut: 1 234 more characters were not kept")
    lines.get_by_role("button").first.press("Enter")
    raw = lines.get_by_label("As it was written", exact=True)
    expect(raw).to_contain_text("50%|##  |␍")
    expect(lines.get_by_label("Fields", exact=True)).to_contain_text('"epoch": 3')


def test_lines_that_go_back_again_and_again_are_read_at_once(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="bars")
    message = "x" * 8_000 + "\ra" * 4_000
    api.runs.log_lines(run, [{"message": message} for _ in range(40)])
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines).to_contain_text("axxx")
    lines.evaluate("(box) => { box.scrollTop = 0; }")
    expect(lines.locator("[data-index='0']")).to_be_in_viewport()


def test_where_the_log_begins_stands_in_the_address(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="long")
    api.runs.log_lines(run, [{"message": f"line {at}."} for at in range(300)])
    page = opened(view, api, run)
    page.get_by_text("From the first", exact=True).click()
    page.wait_for_url(re.compile("start=first"))
    page.reload()
    expect(log_of(page).get_by_text("line 0.", exact=True)).to_be_in_viewport()
    page.get_by_text("Newest", exact=True).click()
    page.wait_for_url(re.compile("^(?!.*start=)"))
    expect(log_of(page).get_by_text("line 299.", exact=True)).to_be_in_viewport()


def test_a_hundred_thousand_lines_are_opened_in_bounded_time_and_memory(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="endless")
    for part in range(10):
        api.runs.log_lines(
            run, [{"message": f"line {part * 10_000 + at}"} for at in range(10_000)]
        )
    page = opened(view, api, run)
    lines = log_of(page)
    expect(lines.get_by_text("line 99999", exact=True)).to_be_in_viewport()
    taken = page.evaluate("performance.now()")
    lines.evaluate("(box) => { box.scrollTop = 0; }")
    expect(page.get_by_text(re.compile("^2 000 read"))).to_be_visible()
    drawn = lines.locator("[data-index]").count()
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(f"newest of 100 000 lines after {taken:.0f} ms, {drawn} rows drawn, heap {heap:.0f} MB")
    assert drawn < 200
    assert heap < 150
