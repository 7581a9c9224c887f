"""The table of runs while runs go on: no reload, and nothing moves under the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.runs import address, grid, names, row

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi


def test_new_and_changed_runs_appear_without_a_reload(view: View, api: mapi.Client) -> None:
    api.runs.create(name="old").finish()
    page = view.open(address(api))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.evaluate("window.isTheSamePage = true")
    other = view.context.new_page()
    other.goto(view.url + address(api))
    expect(other.get_by_text("Live", exact=True)).to_be_visible()
    run = api.runs.create(name="late")
    for one in (page, other):
        expect(row(one, "late")).to_contain_text("running")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    run.finish()
    for one in (page, other):
        expect(row(one, "late")).to_contain_text("succeeded")
    assert page.evaluate("window.isTheSamePage") is True


def test_no_row_moves_while_the_pointer_is_over_the_table(view: View, api: mapi.Client) -> None:
    runs = [api.runs.create(name=f"run {number}") for number in range(5)]
    page = view.open(address(api))
    row(page, "run 2").hover()
    before = names(page)
    api.runs.create(name="new").finish()
    bar = page.get_by_role("button", name="1 new run")
    expect(bar).to_be_visible()
    runs[2].finish()
    expect(row(page, "run 2")).to_contain_text("succeeded")
    assert names(page) == before
    bar.click()
    expect(row(page, "new")).to_be_visible()
    assert names(page) == ["new", *before]


def test_a_run_that_leaves_the_filter_waits_until_the_pointer_has_left(
    view: View, api: mapi.Client
) -> None:
    runs = [api.runs.create(name=f"run {number}") for number in range(3)]
    page = view.open(address(api, filter="status = running"))
    row(page, "run 0").hover()
    runs[1].finish()
    expect(page.get_by_role("button", name="1 gone")).to_be_visible()
    assert names(page) == ["run 2", "run 1", "run 0"]
    page.mouse.move(5, 5)
    expect(row(page, "run 1")).to_have_count(0)
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()


def test_a_list_that_is_scrolled_stays_where_it_is(view: View, api: mapi.Client) -> None:
    for number in range(60):
        api.runs.create(name=f"run {number}").finish()
    page = view.open(address(api))
    grid(page).evaluate("(grid) => grid.scrollTo({ top: 640 })")
    expect(row(page, "run 35")).to_be_visible()
    place = row(page, "run 35").bounding_box()
    api.runs.create(name="new").finish()
    expect(page.get_by_role("button", name="1 new run")).to_be_visible()
    assert row(page, "run 35").bounding_box() == place
