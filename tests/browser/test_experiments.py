"""Experiments: found, made, described, archived and deleted, and live while they are looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.runs import names, row

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi

HOSTILE = "<img src=x onerror=alert(1)> عربي " + "x" * 150


def test_an_experiment_is_made_described_archived_and_deleted(
    view: View, api: mapi.Client
) -> None:
    page = view.open(f"/experiments?project={api.project}")
    expect(page.get_by_text("There is no experiment yet")).to_be_visible()
    page.get_by_role("button", name="New experiment").click()
    page.get_by_role("dialog").get_by_label("Name").fill("learning rates")
    page.get_by_role("button", name="Make").click()
    page.wait_for_url("**/experiments/exp_*")
    page.get_by_role("button", name="Add a description").click()
    page.get_by_role("textbox", name="Description").fill(
        "# Why\n\n<b>no</b> [x](javascript:alert(1))"
    )
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Why")).to_be_visible()
    expect(page.get_by_text("<b>no</b>")).to_be_visible()
    assert page.locator("a[href^='javascript']").count() == 0
    page.get_by_role("button", name="Actions of").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.locator("h1").get_by_text("archived")).to_be_visible()
    page.get_by_role("button", name="Actions of").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_text("It has no runs.")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_url(re.compile("/experiments\\?"))
    assert [one.name for one in api.experiments.list()] == []


def test_a_long_description_is_changed_with_its_buttons_in_sight(
    every_view: View, api: mapi.Client
) -> None:
    made = api.experiments.create("long", description="- [ ] one\n- [x] two\n- three\n" * 30)
    page = every_view.open(f"/experiments/{made.id}?project={api.project}")
    page.get_by_role("button", name="Edit: Description").click()
    box = page.get_by_role("textbox", name="Description")
    box.press("Control+End")
    box.press_sequentially("the end")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_in_viewport()
    every_view.shoot("editor")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(box).to_have_count(0)
    assert api.experiments.get(made.id).description.endswith("the end")


def test_a_project_that_is_not_there_is_said_and_the_list_comes_once_it_is(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(422)
    made = f"{api.project}-later"
    page = view.open(f"/experiments?project={made}")
    expect(page.get_by_text(f"There is no project “{made}”")).to_be_visible()
    api.projects.create(made)
    expect(page.get_by_text("There is no experiment yet")).to_be_visible()


def test_a_name_that_is_taken_is_told_where_it_was_typed(view: View, api: mapi.Client) -> None:
    api.experiments.create("taken")
    view.expected_statuses.add(409)
    page = view.open(f"/experiments?project={api.project}")
    page.get_by_role("button", name="New experiment").click()
    page.get_by_role("dialog").get_by_label("Name").fill("taken")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("already")


def test_counts_follow_the_runs_without_a_reload(view: View, api: mapi.Client) -> None:
    made = api.experiments.create("live")
    page = view.open(f"/experiments?project={api.project}")
    row = page.get_by_role("row", name=re.compile("live"))
    expect(row).to_be_visible()
    page.evaluate("window.stays = true")
    run = api.runs.create(name="late", experiment=made.id)
    expect(row).to_contain_text("1 active of 1")
    run.finish()
    expect(row).not_to_contain_text("active of")
    assert page.evaluate("window.stays")


def test_an_experiment_has_a_table_of_its_runs_with_views_of_its_own(
    view: View, api: mapi.Client
) -> None:
    made = api.experiments.create("tried", description="Why.")
    page = view.open(f"/experiments/{made.id}?project={api.project}")
    expect(page.get_by_text("It has no runs yet")).to_be_visible()
    api.runs.create(name="elsewhere").finish()
    for name, lr in (("low", 0.1), ("high", 0.5)):
        api.runs.create(name=name, experiment=made.id, params={"lr": lr}).finish()
    expect(page.get_by_text("2 runs", exact=True).first).to_be_visible()
    assert names(page) == ["high", "low"]
    box = page.get_by_role("combobox", name="Filter")
    box.fill("params.lr < 0.2")
    box.press("Enter")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    views = page.get_by_role("region", name="Saved views")
    views.get_by_role("button", name="Save what is shown as a view").click()
    views.get_by_role("textbox", name="Name of the view").fill("careful")
    page.keyboard.press("Enter")
    expect(views.get_by_role("button", name="careful", exact=True)).to_be_visible()
    assert [one.experiment for one in api.views.list()] == [made.id]
    # It means the runs of this experiment: the table of all runs has it not.
    view.open(f"/runs?project={api.project}")
    expect(row(page, "elsewhere")).to_be_visible()
    expect(page.get_by_role("button", name="careful", exact=True)).to_have_count(0)
    view.open(f"/experiments/{made.id}?project={api.project}")
    expect(row(page, "high")).to_be_visible()
    views.get_by_role("button", name="careful", exact=True).click()
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    assert names(page) == ["low"]


def test_what_was_deleted_meanwhile_is_told(view: View, api: mapi.Client) -> None:
    made = api.experiments.create("gone")
    api.experiments.delete(made.id)
    view.expected_statuses.add(404)
    page = view.open(f"/experiments/{made.id}?project={api.project}")
    expect(page.get_by_text("There is no such experiment")).to_be_visible()


def test_the_pages_of_experiments_are_for_everybody(every_view: View, api: mapi.Client) -> None:
    made = api.experiments.create(
        HOSTILE, description="- [x] a\n\n`code` ![p](https://x.example/)"
    )
    with api.runs.create(name=HOSTILE, experiment=made.id) as run:
        run.log({"loss": 1.0}, step=0)
    page = every_view.open(f"/experiments?project={api.project}")
    expect(page.get_by_role("link", name="<img")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("list")
    page.get_by_role("link", name="<img").click()
    expect(page.get_by_role("grid", name="Runs").get_by_role("link")).to_have_count(1)
    every_view.settle()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("one")
