"""The runs below a run: found from it, live, and the way back up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.runs import grid, names, row

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi

HOSTILE = "<img src=x onerror=alert(1)> \u0639\u0631\u0628\u064a " + "x" * 150


def make_fold(api: mapi.Client, parent: mapi.Run, name: str, *, lr: float) -> mapi.Run:
    run = api.runs.create(name=name, parent=parent, params={"lr": lr, "depth": 3})
    run.log({"val_loss": lr * 2, "epoch": 1}, step=0)
    run.finish()
    return run


def test_children_are_a_table_with_what_tells_them_apart(view: View, api: mapi.Client) -> None:
    parent = api.runs.create(name="sweep")
    api.runs.create(name="no child")
    make_fold(api, parent, "fold 1", lr=0.125)
    child = make_fold(api, parent, "fold 2", lr=0.25)
    page = view.open(f"/runs/{parent.id}?project={api.project}")
    tab = page.get_by_role("tab", name="Children 2")
    tab.click()
    expect(row(page, "fold 2")).to_contain_text("succeeded")
    assert names(page) == ["fold 2", "fold 1"]
    for value in ("0.25", "0.5"):
        expect(row(page, "fold 2").get_by_text(value, exact=True)).to_be_visible()
    heads = grid(page).get_by_role("columnheader")
    expect(heads.filter(has_text="lr")).to_have_count(1)
    expect(heads.filter(has_text="depth")).to_have_count(0)
    # The run and the table both hear of what changes; the page says so once.
    expect(page.get_by_role("banner").get_by_text("Live", exact=True)).to_have_count(1)
    # The page hears of the next one by itself.
    page.evaluate("window.stays = true")
    make_fold(api, parent, "fold 3", lr=0.5)
    expect(page.get_by_role("tab", name="Children 3")).to_be_visible()
    page.mouse.move(0, 0)
    expect(row(page, "fold 3")).to_contain_text("succeeded")
    assert page.evaluate("window.stays")
    row(page, "fold 2").get_by_role("link").click()
    page.wait_for_url(re.compile(child.id))
    expect(page.get_by_role("heading", name="fold 2")).to_be_visible()
    expect(page.get_by_role("tab", name="Children")).to_have_count(0)
    page.get_by_role("link", name="sweep").click()
    expect(page.get_by_role("heading", name="sweep")).to_be_visible()
    expect(row(page, "no child")).to_have_count(0)


def test_filter_and_columns_of_the_children_stand_in_the_address(
    view: View, api: mapi.Client
) -> None:
    parent = api.runs.create(name="sweep")
    for at in range(3):
        make_fold(api, parent, f"fold {at}", lr=at / 8)
    page = view.open(f"/runs/{parent.id}?project={api.project}&tab=children")
    box = page.get_by_role("combobox", name="Filter")
    box.fill("params.lr > 0")
    box.press("Enter")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    again = view.context.new_page()
    again.goto(page.url)
    expect(again.get_by_text("2 runs", exact=True)).to_be_visible()
    assert names(again) == ["fold 2", "fold 1"]


def test_a_run_that_goes_on_shows_its_first_child(view: View, api: mapi.Client) -> None:
    parent = api.runs.create(name="pipeline")
    page = view.open(f"/runs/{parent.id}?project={api.project}")
    expect(page.get_by_role("heading", name="pipeline")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_role("tab", name="Children")).to_have_count(0)
    api.runs.create(name="stage 1", parent=parent)
    expect(page.get_by_role("tab", name="Children 1")).to_be_visible()


def test_the_children_are_for_everybody(every_view: View, api: mapi.Client) -> None:
    parent = api.runs.create(name="sweep")
    make_fold(api, parent, HOSTILE, lr=0.1)
    for at in range(12):
        make_fold(api, parent, f"fold {at}", lr=1 / (at + 3))
    page = every_view.open(f"/runs/{parent.id}?project={api.project}&tab=children")
    expect(row(page, "fold 1")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("some")
    alone = api.runs.create(name="alone")
    every_view.open(f"/runs/{alone.id}?project={api.project}&tab=children")
    expect(page.get_by_text("No run stands below this one")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("none")
