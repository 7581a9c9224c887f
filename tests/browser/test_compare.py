"""Runs side by side: what differs, the best, the same link for all, and what cannot be compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from mapi.sdk.queueing import Place
from mapi.wire.metrics import SeriesColumns

if TYPE_CHECKING:
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
    # A run without an environment has none to read.
    view.expected_statuses.add(404)
    view.open(f"/compare?ids={','.join(ids)}&project={api.project}{more}")


def test_links_stay_in_the_project(view: View, api: mapi.Client) -> None:
    ids = [make(api, "a", lr=0.1, loss=0.5), make(api, "b", lr=0.2, loss=0.25)]
    opened(view, api, ids)
    page = view.page
    page.get_by_role("region", name="Params").get_by_role("link", name="a").click()
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
    heads = page.get_by_role("region", name="Runs").get_by_role("columnheader")
    expect(heads).to_have_count(3)
    page.get_by_role("combobox", name="Add a run").fill("third")
    page.get_by_role("option", name=re.compile("third one")).click()
    expect(heads).to_have_count(4)
    assert ids[2] in page.url


def test_what_cannot_be_compared_is_named_and_the_rest_is_compared(
    view: View, api: mapi.Client
) -> None:
    ids = [make(api, name, lr=len(name), loss=0.5) for name in ("a", "bb", "in the trash")]
    api.runs.delete(ids[2])
    missing = "run_01a22d2a-0658-7e53-953f-1e24118ff9aa"
    opened(view, api, [*ids, missing])
    page = view.page
    expect(page.get_by_text("There is no such run")).to_be_visible()
    expect(page.get_by_role("region", name="Params")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("It is in the trash")).to_have_count(0)
    page.get_by_role("button", name="Take it out").click()
    expect(page.get_by_text("There is no such run")).to_have_count(0)


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
