"""Runs side by side: what differs, the best, the same link for all, and what cannot be compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.views import Look

from mapi.sdk.queueing import Place
from mapi.wire.metrics import SeriesColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page
    from tests.browser.views import View

    import mapi

HOSTILE = "<img src=x onerror=alert(1)> " + "y" * 150


def make(api: mapi.Client, name: str, *, lr: float, loss: float) -> str:
    """A run that has ended, with a curve and a note."""
    run = api.runs.create(name=name, params={"lr": lr, "depth": 12}, tags={"team": "ads"})
    with run:
        for step in range(20):
            run.log({"loss": loss + 1 / (step + 1), "acc": 1 - loss}, step=step)
        run.log_image("samples", [[step / 20 for step in range(20)]] * 8, step=0)
    api.runs.update(run.id, note=f"**{name[:20]}** <script>alert(1)</script>")
    return run.id


def opened(view: View, api: mapi.Client, ids: list[str], more: str = "") -> None:
    view.open(f"/compare?ids={','.join(ids)}&project={api.project}{more}")


def heads_of(page: Page) -> Locator:
    """Return the runs above their columns."""
    return page.get_by_role("list", name="Runs that are compared")


def test_links_stay_in_the_project(view: View, api: mapi.Client) -> None:
    ids = [make(api, "a", lr=0.1, loss=0.5), make(api, "b", lr=0.2, loss=0.25)]
    opened(view, api, ids)
    page = view.page
    heads_of(page).get_by_role("link", name="a").click()
    page.wait_for_url(re.compile(rf"/runs/{ids[0]}\?project={api.project}$"))
    experiment = api.experiments.create("rates")
    view.open(f"/experiments/{experiment.id}?project={api.project}")
    page.get_by_role("link", name="All experiments").click()
    page.wait_for_url(re.compile(rf"/experiments\?project={api.project}$"))
    view.open(f"/compare?project={api.project}")
    page.get_by_role("link", name="the table of runs").click()
    page.wait_for_url(re.compile(rf"/runs\?project={api.project}$"))


def test_only_what_differs_is_shown_and_the_link_shows_the_same(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, "a", lr=0.1, loss=0.5), make(api, "b", lr=0.2, loss=0.25)]
    opened(view, api, ids)
    page = view.page
    params = page.get_by_role("region", name="Params")
    expect(params.get_by_role("rowheader", name="lr")).to_be_visible()
    expect(params.get_by_role("rowheader", name="depth")).to_have_count(0)
    page.get_by_label("Show what is the same").check(force=True)
    expect(params.get_by_role("rowheader", name="depth")).to_be_visible()
    best = page.get_by_role("region", name="Metrics").get_by_role("cell", name="best:")
    expect(best).to_have_count(2)
    page.get_by_role("button", name=re.compile("loss is the best")).click()
    page.wait_for_url(re.compile("best="))
    page.reload()
    expect(params.get_by_role("rowheader", name="depth")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("max of loss"))).to_be_visible()


def test_a_run_is_taken_out_and_added_by_a_part_of_its_name(view: View, api: mapi.Client) -> None:
    ids = [make(api, name, lr=0.1, loss=0.5) for name in ("first", "second", "third one")]
    opened(view, api, ids)
    page = view.page
    page.get_by_role("button", name="Take third one out").click()
    heads = heads_of(page).get_by_role("listitem")
    expect(heads).to_have_count(2)
    page.get_by_role("combobox", name="Add a run").fill("third")
    page.get_by_role("option", name=re.compile("third one")).click()
    expect(heads).to_have_count(3)
    assert ids[2] in page.url


def test_a_run_that_is_called_as_one_that_is_compared_is_offered_with_its_ending(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, name, lr=0.1, loss=0.5) for name in ("same", "other", "same")]
    opened(view, api, ids[:2])
    view.page.get_by_role("combobox", name="Add a run").fill("same")
    option = view.page.get_by_role("option", name=re.compile("same"))
    expect(option).to_contain_text(f"…{ids[2][-4:]}")


def test_a_series_of_a_long_name_leaves_the_page_its_width_and_is_cut_with_a_mark(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    key, labels = "m" * 64, {"raw": "s" * 150}
    ids = []
    for at in range(6):
        with api.runs.create(name=f"run {at}") as run:
            for step in range(3):
                run.log({"n": at + step}, step=step)
                if at > 0:
                    run.log({key: at - step}, step=step, labels=labels)
        ids.append(run.id)
    for look in (Look("light"), Look("dark", 390, 844)):
        view = open_view(look)
        opened(view, api, ids, "&plot=scatter")
        page = view.page
        title = page.get_by_role("figure", name=key).get_by_role("heading")
        expect(title).to_have_css("display", "block")
        expect(title).to_have_css("padding-left", "0px")
        expect(title).to_have_css("text-overflow", "ellipsis")
        expect(page.get_by_role("img", name=re.compile("a point for each run"))).to_be_visible()
        view.check_width()
        # The keyboard leaves nothing behind the runs, which stay at the head.
        assert (
            page.evaluate("getComputedStyle(document.documentElement).scrollPaddingTop") == "96px"
        )
        view.shoot("long")


def test_what_cannot_be_compared_is_named_and_the_rest_is_compared(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, name, lr=len(name), loss=0.5) for name in ("a", "bb", "in the trash")]
    api.runs.delete(ids[2])
    missing = "run_01a22d2a-0658-7e53-953f-1e24118ff9aa"
    view.expected_statuses.add(404)
    opened(view, api, [*ids, missing])
    page = view.page
    expect(page.get_by_text("There is no such run")).to_be_visible()
    expect(page.get_by_role("region", name="Params")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("It is in the trash")).to_have_count(0)
    page.get_by_role("button", name="Take it out").click()
    expect(page.get_by_text("There is no such run")).to_have_count(0)


def test_a_run_that_is_deleted_for_good_meanwhile_is_said_to_be_gone_and_is_taken_out(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, name, lr=len(name), loss=0.5) for name in ("a", "bb", "doomed")]
    view.expected_statuses.add(404)
    opened(view, api, ids)
    page = view.page
    heads = heads_of(page).get_by_role("listitem")
    expect(heads).to_have_count(3)
    page.evaluate("window.stays = true")
    api.runs.delete(ids[2])
    expect(page.get_by_text("It is in the trash")).to_be_visible()
    api.runs.purge(ids[2])
    expect(page.get_by_text("There is no such run: it was deleted for good")).to_be_visible()
    expect(page.get_by_role("button", name="Restore")).to_have_count(0)
    expect(heads).to_have_count(2)
    page.get_by_role("button", name="Take it out").click()
    expect(page.get_by_text("There is no such run")).to_have_count(0)
    assert ids[2] not in page.url
    assert page.evaluate("window.stays")


def test_the_last_but_one_is_heard_of_too_when_it_is_deleted_for_good(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, name, lr=len(name), loss=0.5) for name in ("stays", "doomed")]
    view.expected_statuses.add(404)
    api.runs.delete(ids[1])
    opened(view, api, ids)
    page = view.page
    expect(page.get_by_text("It is in the trash")).to_be_visible()
    api.runs.purge(ids[1])
    expect(page.get_by_text("There is no such run: it was deleted for good")).to_be_visible()
    expect(page.get_by_text("One run is no comparison")).to_be_visible()


def test_runs_of_one_name_are_told_apart_wherever_they_stand(view: View, api: mapi.Client) -> None:
    name = "a name that is longer than any legend has room for, twice"
    ids = [make(api, name, lr=at, loss=0.5 - at / 10) for at in range(2)]
    ids.append(make(api, "its own", lr=3, loss=0.4))
    opened(view, api, ids, "&plot=scatter")
    page = view.page
    endings = [one[-4:] for one in ids[:2]]
    heads = heads_of(page).get_by_role("listitem")
    legend = page.get_by_role("figure", name="loss").locator("tbody")
    plot = page.get_by_role("img", name=re.compile("a point for each run"))
    metrics = page.get_by_role("region", name="Metrics")
    for at, ending in enumerate(endings):
        expect(heads.nth(at)).to_contain_text(f"…{ending}")
        expect(metrics.get_by_role("columnheader", name=f"{name} …{ending}")).to_have_count(1)
        expect(legend.get_by_text(f"…{ending}")).to_be_visible()
        expect(plot.locator("text").filter(has_text=f"…{ending}")).to_have_count(1)
    expect(heads.nth(2).get_by_role("link")).to_have_text("its own")


def test_the_runs_stay_in_sight_above_their_columns(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    phone = open_view(Look("light", 390, 844))
    ids = [make(api, f"run {at}", lr=at, loss=0.5 + at / 10) for at in range(5)]
    opened(phone, api, ids)
    page = phone.page
    metrics = page.get_by_role("region", name="Metrics")
    metrics.evaluate("box => { box.scrollLeft = 130 }")
    page.get_by_role("region", name="Tags").or_(
        page.get_by_role("heading", name="Tags")
    ).first.scroll_into_view_if_needed()
    heads = heads_of(page).get_by_role("listitem")
    cells = metrics.get_by_role("row").nth(1).get_by_role("cell")
    # The group follows with the browser's next frame.
    page.wait_for_function(
        "document.querySelector('[aria-label=\"Runs that are compared\"]').parentElement"
        ".parentElement.scrollLeft === 130"
    )
    for at in (2, 4):
        head, cell = heads.nth(at).bounding_box(), cells.nth(at).bounding_box()
        assert head is not None
        assert cell is not None
        assert abs(head["x"] - cell["x"]) <= 1
        assert abs(head["width"] - cell["width"]) <= 1
        assert 48 <= head["y"] <= 60
    phone.check_width()
    # A shade says that there is more, until the last column is in sight.
    shade = metrics.locator("xpath=..").locator("[data-more=right]")
    expect(shade).to_have_count(1)
    metrics.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    expect(shade).to_have_count(0)


def test_a_wide_table_and_a_step_of_the_address_leave_the_page_its_width(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    ids = []
    for at in range(2):
        deep = f"{'>' * 300} quoted\n\n{'- ' * 100} listed"
        run = api.runs.create(name=f"wide {at}", note=deep)
        rows = [[at + column for column in range(60)] for _ in range(3)]
        api.runs.log_table(run, "wide", rows, columns=[f"column {n}" for n in range(60)], step=1)
        api.runs.log_table(run, "wide", rows, columns=[f"column {n}" for n in range(60)], step=2)
        run.finish()
        ids.append(run.id)
    for look in (Look("light"), Look("dark", 390, 844)):
        view = open_view(look)
        for step in ("1", "-9e99", "9e99"):
            opened(view, api, ids, f"&step={step}")
            tables = view.page.get_by_role("table", name="Table wide")
            tables.first.scroll_into_view_if_needed()
            expect(tables.first.get_by_text("column 0", exact=True)).to_be_visible()
            view.check_width()
        quoted = view.page.get_by_text("quoted").first
        quoted.scroll_into_view_if_needed()
        box = quoted.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= look.width
        assert box["width"] > 100
        view.shoot("wide")


def test_none_one_and_eleven_runs_say_what_to_do(view: View, api: mapi.Client) -> None:
    page = view.open(f"/compare?project={api.project}")
    expect(page.get_by_text("No runs are chosen yet")).to_be_visible()
    opened(view, api, [make(api, "alone", lr=0.1, loss=0.5)])
    expect(page.get_by_text("One run is no comparison")).to_be_visible()
    opened(view, api, [f"run_{at}" for at in range(11)])
    expect(page.get_by_text("11 runs are too many")).to_be_visible()


def test_a_run_that_goes_on_changes_without_a_reload(view: View, api: mapi.Client) -> None:
    other = make(api, "other", lr=0.1, loss=0.5)
    run = api.runs.create(name="live", params={"lr": 0.3})
    opened(view, api, [other, run.id])
    page = view.page
    table = page.get_by_role("region", name="Metrics")
    page.evaluate("window.stays = true")
    run.log({"late": 42.5}, step=0)
    run.flush()
    expect(table.get_by_role("rowheader", name=re.compile("late"))).to_be_visible()
    expect(table).to_contain_text("42.5")
    assert page.evaluate("window.stays")
    run.finish()


def test_the_comparison_is_for_everybody(every_view: View, api: mapi.Client) -> None:
    ids = [
        make(api, name, lr=at / 7, loss=0.5 / (at + 1)) for at, name in enumerate(("a", HOSTILE))
    ]
    opened(every_view, api, ids)
    expect(every_view.page.get_by_role("heading", name="Notes")).to_be_visible()
    every_view.settle()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("parallel")
    opened(every_view, api, ids, "&plot=scatter")
    expect(every_view.page.get_by_role("heading", name="Notes")).to_be_visible()
    every_view.settle()
    every_view.axe()


def test_a_name_that_no_label_has_room_for_is_told_in_full(view: View, api: mapi.Client) -> None:
    beginning = "Loss of the ä-encoder / " * 20
    names = [f"{beginning}first", f"{beginning}second"]
    ids = []
    for number in range(2):
        run = api.runs.create(name=f"run {number}")
        sent = [
            SeriesColumns(name=name, steps=[0, 1], times=None, values=[1.0, number + 0.5])
            for name in names
        ]
        api.runs.send_points(run.id, sent, place=Place("pages", after=-1, seq=1))
        ids.append(run.id)
    opened(view, api, ids)
    page = view.page
    metrics = page.get_by_role("region", name="Metrics")
    for name in names:
        expect(metrics.get_by_title(name, exact=True)).to_be_visible()
    view.check_width()
    view.shoot("compared")
    view.open(f"/runs/{ids[0]}?project={api.project}")
    for name in names:
        legend = page.get_by_role("button", name=name, exact=True)
        title = legend.get_attribute("title")
        assert title is not None
        assert title.startswith(name)
    view.check_width()
    view.shoot("charts")
