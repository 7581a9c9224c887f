"""The table of runs: what it shows, how it is led, and what others may write into it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import expect
from tests.browser.runs import HOSTILE_NAMES, address, grid, names, row
from tests.browser.views import LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Route
    from tests.browser.views import View

    import mapi

COLUMNS = ["status", "name", "params.lr", "metrics.loss{split=val}", "metrics.loss{split=val}.min"]


def three_runs(api: mapi.Client) -> None:
    for name, lr, values in (
        ("first", 0.1, [3.0, 1.0, 2.0]),
        ("second", 0.2, [5.0, math.nan]),
        ("third", 0.1, [0.123456, math.inf]),
    ):
        with api.runs.create(name=name, params={"lr": lr}, tags={"stage": "dev"}) as run:
            for step, value in enumerate(values):
                run.log({"loss": value}, step=step, labels={"split": "val"})


def test_values_orders_and_filters_stand_in_the_address(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api, columns=COLUMNS))
    expect(row(page, "first")).to_contain_text("succeeded")
    expect(row(page, "second")).to_contain_text("NaN")
    expect(row(page, "third")).to_contain_text("∞")
    expect(row(page, "third")).to_contain_text("0.1235")
    assert names(page) == ["third", "second", "first"]
    head = page.get_by_role("columnheader", name="loss{split=val} min").get_by_role("button").first
    head.click()
    expect(page).to_have_url(re.compile("sort="))
    head.click()
    expect(grid(page).get_by_role("link")).to_have_text(["third", "first", "second"])
    box = page.get_by_role("combobox", name="Filter")
    box.fill("params.lr = 0.1")
    box.press("Enter")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    shared = page.url
    again = view.context.new_page()
    again.goto(shared)
    expect(again.get_by_text("2 runs", exact=True)).to_be_visible()
    assert names(again) == ["third", "first"]
    page.get_by_role("button", name="Take out params.lr = 0.1").click()
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()


def test_a_wrong_filter_has_a_caret_and_completion_mends_it(view: View, api: mapi.Client) -> None:
    three_runs(api)
    view.expected_statuses.add(422)
    page = view.open(address(api))
    box = page.get_by_role("combobox", name="Filter")
    box.fill("metrics.loss.avg < 1")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("avg")
    expect(page.get_by_text("The filter cannot be read.")).to_be_visible()
    box.fill("")
    box.press_sequentially("metrics.lo")
    page.get_by_role("option").filter(has_text="loss{split=val}").first.click()
    expect(box).to_have_value("metrics.loss{split=val}")
    box.press_sequentially(" >= 2")
    box.press("Enter")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    assert names(page) == ["third", "first"]


def test_columns_are_found_added_ordered_and_kept_in_the_address(
    view: View, api: mapi.Client
) -> None:
    three_runs(api)
    page = view.open(address(api))
    page.get_by_role("button", name="Columns").click()
    search = page.get_by_role("textbox", name="Search for a column")
    search.fill("lr")
    offers = page.get_by_role("region", name="Columns to choose")
    offers.get_by_role("button", name="lr", exact=True).click()
    expect(page.get_by_role("columnheader", name="lr", exact=True)).to_be_visible()
    search.fill("metrics.loss{split=val} AT MIN metrics.loss{split=val}")
    page.get_by_role("button", name="as typed").click()
    expect(row(page, "first")).to_contain_text("1")
    columns = parse_qs(urlsplit(page.url).query)["columns"][0]
    assert "params.lr" in columns
    assert "AT MIN" in columns


def test_the_menu_of_a_column_orders_changes_moves_hides_and_groups(
    view: View, api: mapi.Client
) -> None:
    three_runs(api)
    columns = ["name", "tags.stage", "params.lr", "metrics.loss{split=val}"]
    page = view.open(address(api, columns=columns))
    expect(row(page, "first")).to_be_visible()

    def heads() -> list[str]:
        found = grid(page).get_by_role("columnheader").all()
        return [one.get_attribute("aria-label") or "" for one in found][1:]

    def choose(column: str, entry: str) -> None:
        page.get_by_role("button", name=f"What to do with the column {column}").click()
        page.get_by_role("menuitem", name=entry, exact=True).click()

    # By keys alone: a menu is a button that arrows lead into.
    page.get_by_role("button", name="What to do with the column loss{split=val}").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Sort ascending")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("sort=metrics.loss"))
    expect(grid(page).get_by_role("columnheader", name="loss{split=val}")).to_have_attribute(
        "aria-sort", "ascending"
    )
    choose("loss{split=val}", "max")
    expect(page.get_by_role("columnheader", name="loss{split=val} max")).to_be_visible()
    page.wait_for_url(re.compile("sort=metrics.loss%7Bsplit%3Dval%7D.max"))
    choose("loss{split=val} max", "Move left")
    expect(page.get_by_role("columnheader").last).to_have_accessible_name("lr")
    assert heads() == ["Name", "stage", "loss{split=val} max", "lr"]
    # A menu that is left alone changes nothing of what is chosen.
    page.get_by_label("Choose first").check()
    page.get_by_role("button", name="What to do with the column lr").click()
    expect(page.get_by_role("menuitem", name="Sort ascending")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)
    expect(page.get_by_label("Choose first")).to_be_checked()
    choose("stage", "Hide")
    page.wait_for_url(lambda url: "stage" not in url)
    choose("lr", "Group by this")
    expect(page.get_by_role("button", name="0.1", exact=True)).to_be_visible()


def test_the_menu_of_a_column_is_for_everybody(every_view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = every_view.open(address(api, columns=["name", "metrics.loss{split=val}", "params.lr"]))
    button = page.get_by_role("button", name="What to do with the column loss{split=val}")
    button.click()
    expect(page.get_by_role("menuitem", name="Hide")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot()


def test_groups_say_how_many_and_what_they_come_to(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api, columns=COLUMNS, group="params.lr"))
    group = page.get_by_role("row").filter(has=page.get_by_role("button", name="0.1", exact=True))
    # Of the smallest values 1 and 0.123456.
    expect(group).to_contain_text("0.5617")
    expect(group).to_contain_text("0.6198")
    page.get_by_role("button", name="0.1", exact=True).click()
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    assert names(page) == ["third", "first"]


def test_runs_are_chosen_tagged_moved_deleted_and_taken_back(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api, columns=["name", "experiment", "tags.stage"]))
    grid(page).focus()
    for key in ("ArrowDown", "x", "Shift+ArrowDown"):
        page.keyboard.press(key)
    bar = page.get_by_role("toolbar", name="Chosen runs")
    expect(bar).to_contain_text("2 runs chosen")
    expect(bar.get_by_role("button", name="Compare")).to_be_enabled()
    bar.get_by_role("button", name="Tag").click()
    page.get_by_role("combobox", name="Tag").fill("stage")
    page.get_by_label("Value").fill("prod")
    page.keyboard.press("Enter")
    expect(row(page, "third")).to_contain_text("prod")
    bar.get_by_role("button", name="Move").click()
    page.get_by_role("combobox", name="Experiment").fill("the best")
    page.get_by_role("button", name="Make it and move").click()
    expect(row(page, "second")).to_contain_text("the best")
    bar.get_by_role("button", name="Put into the trash").click()
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    assert [one.name for one in api.runs.list(trashed=True)] == ["third", "second"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    assert names(page) == ["third", "second", "first"]


def hold(route: Route) -> None:
    """Give no answer until there is no such rule any more."""
    del route


def test_keys_go_on_after_a_click_on_a_box(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api))
    row(page, "third").get_by_role("checkbox").click(force=True)
    bar = page.get_by_role("toolbar", name="Chosen runs")
    expect(bar).to_contain_text("1 run chosen")
    for key in ("ArrowDown", "x"):
        page.keyboard.press(key)
    expect(bar).to_contain_text("2 runs chosen")
    expect(row(page, "second")).to_have_attribute("aria-selected", "true")


def test_chips_of_the_filter_before_do_nothing(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api, filter="name = first"))
    before = page.get_by_role("button", name='Take out name = "first"')
    expect(before).to_be_enabled()
    page.route("**/v1/search/parse", hold)
    box = page.get_by_role("combobox", name="Filter")
    box.fill("name = second")
    box.press("Enter")
    expect(row(page, "second")).to_be_visible()
    expect(before).to_be_disabled()
    page.unroute("**/v1/search/parse")
    expect(page.get_by_role("button", name='Take out name = "second"')).to_be_enabled()
    expect(before).to_have_count(0)


def test_a_group_of_the_empty_text_leads_to_its_own_runs(view: View, api: mapi.Client) -> None:
    for name, tags in (("bare", {"baseline": ""}), ("set", {"baseline": "x"}), ("none", {})):
        with api.runs.create(name=name, tags=tags) as run:
            run.log({"loss": 1.0}, step=0)
    page = view.open(address(api, group="tags.baseline", columns=["name", "metrics.loss"]))
    page.get_by_role("button", name="(empty)").click()
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    assert names(page) == ["bare"]


def test_chosen_runs_that_a_filter_leaves_out_are_told_and_asked_about(
    every_view: View, api: mapi.Client
) -> None:
    three_runs(api)
    view = every_view
    page = view.open(address(api))
    for name in ("first", "second"):
        row(page, name).get_by_role("checkbox").check(force=True)
    box = page.get_by_role("combobox", name="Filter")
    box.fill("name = third")
    box.press("Enter")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name='Take out name = "third"')).to_be_visible()
    bar = page.get_by_role("toolbar", name="Chosen runs")
    expect(bar).to_contain_text("2 not in this list")
    view.axe()
    view.check_width()
    view.shoot("unseen")
    bar.get_by_role("button", name="Put into the trash").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 of them are not in the list that you see.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert list(api.runs.list(trashed=True)) == []
    bar.get_by_role("button", name="Leave out").click()
    expect(bar).to_have_count(0)


def test_a_view_is_saved_opened_renamed_and_deleted(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api, columns=COLUMNS, filter="params.lr = 0.1", sort="name"))
    views = page.get_by_role("region", name="Saved views")
    views.get_by_role("button", name="Save what is shown as a view").click()
    views.get_by_role("textbox", name="Name of the view").fill("<b>best</b>")
    page.keyboard.press("Enter")
    expect(views.get_by_role("button", name="<b>best</b>", exact=True)).to_be_visible()
    page.goto(view.url + address(api))
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    views.get_by_role("button", name="<b>best</b>", exact=True).click()
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    assert names(page) == ["first", "third"]
    views.get_by_role("button", name="What to do with").click()
    page.get_by_role("menuitem", name="Rename").click()
    views.get_by_role("textbox", name="New name").fill("better")
    page.keyboard.press("Enter")
    expect(views.get_by_role("button", name="better", exact=True)).to_be_visible()
    views.get_by_role("button", name="What to do with").click()
    page.get_by_role("menuitem", name="Delete for everybody").click()
    expect(views.get_by_role("button", name="better", exact=True)).to_have_count(0)
    assert list(api.views.list()) == []


def test_what_others_wrote_is_text(every_view: View, api: mapi.Client) -> None:
    for name in HOSTILE_NAMES:
        api.runs.create(name=name, params={"lr": name}, tags={"stage": name}).finish()
    columns = ["status", "name", "params.lr", "tags.stage", "created"]
    page = every_view.open(address(api, columns=columns))
    expect(page.get_by_text("8 runs", exact=True)).to_be_visible()
    assert set(names(page)) == set(HOSTILE_NAMES)
    assert page.locator("main img, main script").count() == 0
    every_view.check_width()
    every_view.axe()
    every_view.shoot()


def test_a_project_without_runs_says_how_to_begin(every_view: View, api: mapi.Client) -> None:
    page = every_view.open(address(api))
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()
    every_view.check_width()
    every_view.axe()
    every_view.shoot()


def test_a_project_without_runs_leads_to_another_one_as_soon_as_it_is_made(
    view: View, api: mapi.Client
) -> None:
    page = view.open(address(api))
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()
    # More than the page names: the newest is named all the same.
    for at in range(9):
        api.projects.create(f"0{api.project}-{at}")
    # As `et push --watch` makes it for the first run of a folder.
    made = f"{api.project}-made"
    api.projects.create(made)
    page.get_by_role("link", name=made).click()
    expect(page).to_have_url(re.compile(f"project={made}$"))
    expect(page.get_by_role("combobox", name="Project")).to_have_value(made)


def test_a_small_curve_that_could_not_be_read_says_so(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(422)
    run = api.runs.create(name="a run")
    api.runs.log_series(run, "loss", [3.0, 2.0, 1.0])
    view.page.route(
        "**/metrics/points*",
        lambda route: route.fulfill(
            status=422,
            content_type="application/problem+json",
            body='{"detail": "There is no such curve.", "code": "INVALID"}',
        ),
    )
    page = view.open(address(api, columns=["name", "metrics.loss"]))
    expect(row(page, "a run")).to_contain_text(
        "no curve. The curve could not be read: There is no"
    )


def test_the_program_for_a_project_that_begins_as_an_option_does_runs(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(422)
    page = view.open(f"/runs?{urlencode({'project': '-' + str(api.project)})}")
    expect(page.get_by_text(f"mapi projects create -- -{api.project}")).to_be_visible()


def test_a_project_that_is_not_there_is_told_and_others_are_offered(
    every_view: View, api: mapi.Client
) -> None:
    every_view.expected_statuses.add(422)
    missing = f"{api.project}-<b>gone</b>"
    page = every_view.open(f"/runs?{urlencode({'project': missing})}")
    expect(page.get_by_text(f"There is no project “{missing}” that you can see.")).to_be_visible()
    expect(page.get_by_text(f"mapi projects create '{missing}'")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot()
    page.get_by_role("link", name=api.project or "", exact=True).click()
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()


def test_a_project_that_is_made_meanwhile_is_shown(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(422)
    made = f"{api.project}-made"
    page = view.open(f"/runs?project={made}")
    expect(page.get_by_text(f"There is no project “{made}” that you can see.")).to_be_visible()
    api.projects.create(made)
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()


def test_the_mark_of_a_narrow_column_is_its_menu(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    three_runs(api)
    page = open_view(LOOKS[2]).open(address(api, columns=["status", "name", "params.lr"]))
    expect(row(page, "first")).to_be_visible()
    page.get_by_role("button", name="What to do with the column status").click()
    page.get_by_role("menuitem", name="Sort ascending").click()
    page.wait_for_url(re.compile("sort=status"))
    expect(grid(page).get_by_role("columnheader", name="status")).to_have_attribute(
        "aria-sort", "ascending"
    )
    page.get_by_role("button", name="What to do with the column status").click()
    page.get_by_role("menuitem", name="Hide").click()
    expect(grid(page).get_by_role("columnheader", name="status")).to_have_count(0)


def test_a_table_that_goes_on_to_the_right_shows_it_until_its_end(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    three_runs(api)
    page = open_view(LOOKS[2]).open(address(api))
    expect(row(page, "first")).to_be_visible()
    shade = page.locator("[data-more=right]")
    expect(shade).to_have_count(1)
    # It ends with the rows, not with the box.
    rows, cut = row(page, "first").bounding_box(), shade.bounding_box()
    assert rows is not None
    assert cut is not None
    assert cut["y"] + cut["height"] <= rows["y"] + 4 * rows["height"]
    grid(page).evaluate("(table) => table.scrollTo({ left: table.scrollWidth })")
    expect(shade).to_have_count(0)


def test_keys_lead_to_a_run_and_to_the_filter(view: View, api: mapi.Client) -> None:
    three_runs(api)
    page = view.open(address(api))
    expect(row(page, "third")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Filter")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    grid(page).focus()
    for key in ("End", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("/runs/run_"))
