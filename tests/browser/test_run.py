"""The page of a run: what stands at its head, how it is changed, and what others wrote into it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.mapi.api.media_calls import png

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi

TABS = ("charts", "params", "logs", "media", "timeline", "events", "overview")
#: What a run without documents is answered, and a test of it expects.
ABSENT = 404

#: A name, a note, a tag, a param, a line, a path or a caption that would be more than text.
SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"
NOTE = f"""# Note

{SCRIPT}

[run me](javascript:alert(3)) [data](data:text/html,hello) [site](https://example.org/)
![tracked](https://evil.example/pixel.png) <iframe src="https://evil.example/"></iframe>
"""


def address(run: mapi.Run, api: mapi.Client, **search: str) -> str:
    """Return the address of a run's page."""
    more = "".join(f"&{name}={value}" for name, value in search.items())
    return f"/runs/{run.id}?project={api.project}{more}"


def full_run(api: mapi.Client, *, text: str = "plain") -> mapi.Run:
    """Return a run with some of everything, in which whatever users name or write is ``text``."""
    run = api.runs.create(
        name=text,
        note=NOTE if text == SCRIPT else "A **note**",
        params={"lr": 0.001, "model.depth": 12, text[:200]: text},
        tags={"team": "ads", text[:200]: text},
    )
    api.runs.log_series(run, "loss", [1.0, 0.5, float("nan"), 0.25])
    api.runs.log_line(run, f"{text}\r100% {text}", level="warning", fields={text: text})
    api.runs.log_image(run, "samples", png(8, 8), step=0, caption=text)
    api.runs.log_table(run, "rows", [[1, text]], columns=["n", text], step=0)
    start = 1_790_000_000_000_000_000
    api.runs.log_spans(
        run,
        [
            {"name": "step", "start_ns": start, "duration_ns": 5_000_000},
            {
                "name": f"step/{text}",
                "start_ns": start + 1_000_000,
                "duration_ns": 2_000_000,
                "depth": 1,
                "fields": {"why": text},
            },
        ],
    )
    api.runs.put_config(run, {"nested": {text: [1, text]}})
    api.runs.put_environment(run, {"python": "3.11", "host": text})
    return run


@pytest.mark.parametrize("tab", TABS)
def test_what_users_wrote_is_text_on_every_tab(view: View, api: mapi.Client, tab: str) -> None:
    run = full_run(api, text=SCRIPT)
    page = view.open(address(run, api, tab=tab))
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT)
    expect(page.get_by_role("link", name="site")).to_have_attribute("href", "https://example.org/")
    panel = page.get_by_role("tabpanel")
    expect(panel).not_to_be_empty()
    expect(panel.locator(".mantine-Skeleton-root")).to_have_count(0)
    assert page.locator("main script, main iframe, main img[src='x']").count() == 0
    assert page.locator("a[href^='javascript:'], a[href^='data:']").count() == 0
    assert page.get_by_text("run me").locator("xpath=ancestor-or-self::a").count() == 0
    # What else could have run is noted by the view: dialogs, other origins, the policy.


def test_every_tab_is_for_everybody(every_view: View, api: mapi.Client) -> None:
    run = full_run(api)
    for tab in TABS:
        page = every_view.open(address(run, api, tab=tab))
        expect(page.get_by_role("tab", selected=True)).to_have_text(tab.capitalize())
        expect(page.get_by_role("tabpanel").locator(".mantine-Skeleton-root")).to_have_count(0)
        every_view.axe()
        every_view.check_width()
        every_view.shoot(tab)


def test_an_empty_run_says_on_every_tab_what_would_be_there(
    every_view: View, api: mapi.Client
) -> None:
    every_view.expected_statuses.add(ABSENT)
    run = api.runs.create(name="x" * 200)
    for tab in TABS:
        page = every_view.open(address(run, api, tab=tab))
        panel = page.get_by_role("tabpanel")
        expect(panel.locator(".mantine-Skeleton-root")).to_have_count(0)
        expect(panel).not_to_be_empty()
        every_view.axe()
        every_view.check_width()


def test_a_run_that_is_nowhere_says_so(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(ABSENT)
    page = view.open(f"/runs/run_019a0000-0000-7000-8000-000000000000?project={api.project}")
    expect(page.get_by_role("alert")).to_contain_text("There is no run at this address")
    page.get_by_role("link", name="See all runs").click()
    page.wait_for_url(re.compile(r"/runs\?"))


def test_name_note_and_tags_are_changed_where_they_stand(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="first", tags={"team": "ads"})
    page = view.open(address(run, api))
    page.get_by_role("button", name="Change the name").click()
    page.get_by_label("Name of the run").fill("second")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("second")
    page.get_by_role("button", name="Add a note").click()
    page.get_by_label("Note, as Markdown").fill("It **diverged**")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Note").locator("strong")).to_have_text("diverged")
    page.get_by_role("button", name="Add a tag").click()
    page.get_by_label("Key").fill("stage")
    page.get_by_label("Value").fill("dev")
    page.keyboard.press("Enter")
    tags = page.get_by_role("group", name="Tags")
    expect(tags).to_contain_text("stage dev")
    page.get_by_role("button", name="Delete the tag team").click()
    expect(tags).not_to_contain_text("ads")
    facts = api.runs.get(run)
    assert (facts.name, facts.note) == ("second", "It **diverged**")
    assert api.runs.tags(run) == {"stage": "dev"}


def test_two_people_who_change_one_note_undo_nothing_of_each_other(
    view: View, api: mapi.Client
) -> None:
    view.expected_statuses.add(412)
    run = api.runs.create(name="shared", note="old")
    page = view.open(address(run, api))
    page.get_by_role("button", name="Change the note").click()
    page.get_by_label("Note, as Markdown").fill("mine")
    api.runs.update(run, note="theirs")
    page.get_by_role("button", name="Save").click()
    conflict = page.get_by_role("alert")
    expect(conflict).to_contain_text("theirs")
    assert api.runs.get(run).note == "theirs"
    conflict.get_by_role("button", name="Replace it with mine").click()
    expect(page.get_by_role("region", name="Note")).to_have_text("mine")
    assert api.runs.get(run).note == "mine"


def test_a_change_of_another_field_is_no_conflict(view: View, api: mapi.Client) -> None:
    view.expected_statuses.add(412)
    run = api.runs.create(name="shared", note="old")
    page = view.open(address(run, api))
    page.get_by_role("button", name="Change the note").click()
    page.get_by_label("Note, as Markdown").fill("new")
    api.runs.update(run, name="renamed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Note")).to_have_text("new")
    expect(page.get_by_role("heading", level=1)).to_have_text("renamed")
    facts = api.runs.get(run)
    assert (facts.name, facts.note) == ("renamed", "new")


def test_what_happens_to_a_run_is_seen_without_a_reload(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="live")
    page = view.open(address(run, api, tab="params"))
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.evaluate("window.stayed = true")
    api.runs.log_params(run, {"lr": 0.125})
    expect(page.get_by_role("table", name="Params")).to_contain_text("0.125")
    api.runs.set_tags(run, {"stage": "late"})
    expect(page.get_by_role("group", name="Tags")).to_contain_text("late")
    api.runs.update(run, name="renamed", status="failed", reason="out of memory")
    expect(page.get_by_role("heading", level=1)).to_have_text("renamed")
    expect(page.get_by_text("out of memory")).to_be_visible()
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("running → failed")
    assert page.evaluate("window.stayed") is True


def test_a_run_goes_into_the_trash_and_comes_back(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="old")
    page = view.open(address(run, api, tab="events"))
    page.get_by_role("button", name="More to do with the run").click()
    page.get_by_role("menuitem", name="Put into the trash").click()
    expect(page.get_by_text("In the trash", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Change the name")).to_have_count(0)
    assert api.runs.get(run).trashed is not None
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("In the trash", exact=True)).to_have_count(0)
    assert api.runs.get(run).trashed is None


def test_a_run_that_goes_on_is_cancelled_by_who_means_it(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="endless")
    page = view.open(address(run, api, tab="events"))
    page.get_by_role("button", name="Cancel run").click()
    page.get_by_role("dialog").get_by_role("button", name="Let it go on").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert api.runs.get(run).status == "running"
    page.get_by_role("button", name="Cancel run").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("cancelled", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Cancel run")).to_have_count(0)
    assert api.runs.get(run).status == "cancelled"


def test_an_image_within_a_link_of_a_note_is_its_text(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="a run")
    badge = "[![build](https://a.example/b.png)](https://b.example/)"
    api.runs.update(run.id, note=f"{badge} ![x](https://c.example/)")
    page = view.open(address(run, api))
    link = page.get_by_role("link", name="build")
    expect(link).to_have_attribute("href", "https://b.example/")
    expect(page.get_by_role("link", name="x", exact=True)).to_be_visible()
    assert page.locator("a a").count() == 0


def test_every_page_has_a_title_of_its_own(view: View, api: mapi.Client) -> None:
    experiment = api.experiments.create("rates")
    run = api.runs.create(name="a run")
    page = view.open(f"/runs?project={api.project}")
    expect(page).to_have_title(f"Runs · {api.project} · mapi")
    view.open(address(run, api))
    expect(page).to_have_title("a run · mapi")
    view.open(f"/experiments?project={api.project}")
    expect(page).to_have_title(f"Experiments · {api.project} · mapi")
    view.open(f"/experiments/{experiment.id}?project={api.project}")
    expect(page).to_have_title("rates · Experiment · mapi")
    view.open(f"/settings?project={api.project}&tab=members")
    expect(page).to_have_title("Members · Settings · mapi")
    view.open(f"/compare?project={api.project}")
    expect(page).to_have_title("Compare · mapi")


def test_all_of_a_long_reason_is_shown_on_demand(every_view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="x" * 200)
    last = "the last line of it"
    run.finish("failed", reason="\n".join(["out of memory: " + "a long text " * 20] * 5 + [last]))
    page = every_view.open(address(run, api, tab="events"))
    more = page.get_by_role("button", name="Show all of it")
    expect(more).to_be_visible()
    reason = page.get_by_role("region", name="Reason")
    cut = reason.evaluate("(one) => one.clientHeight")
    every_view.axe()
    every_view.check_width()
    every_view.shoot("cut")
    more.press("Enter")
    expect(page.get_by_role("button", name="Show less")).to_be_visible()
    assert reason.evaluate("(one) => one.clientHeight") > 3 * cut
    every_view.axe()
    every_view.check_width()
    every_view.shoot("open")
    page.get_by_role("button", name="Show less").press("Enter")
    expect(more).to_be_visible()


def test_of_many_tags_the_first_are_shown_and_the_others_on_demand(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="tagged", tags={f"key{at:02d}": "value" for at in range(13)})
    page = view.open(address(run, api, tab="events"))
    tags = page.get_by_role("group", name="Tags")
    expect(tags).to_contain_text("key09")
    expect(tags).not_to_contain_text("key10")
    tags.get_by_role("button", name="3 more").click()
    expect(tags).to_contain_text("key12")
    tags.get_by_role("button", name="Show fewer").click()
    expect(tags).not_to_contain_text("key10")


def test_which_events_are_shown_stands_in_the_address(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="a run")
    api.runs.update(run, name="another name")
    page = view.open(address(run, api, tab="events"))
    expect(page.get_by_role("tabpanel")).to_contain_text("Renamed")
    page.get_by_role("tabpanel").get_by_text(re.compile("^Warnings")).click()
    page.wait_for_url(re.compile("events=warnings"))
    page.reload()
    expect(page.get_by_role("tabpanel")).to_contain_text("No warnings.")
    page.get_by_role("tabpanel").get_by_text(re.compile(r"^All \d")).click()
    page.wait_for_url(re.compile("^(?!.*events=)"))


def test_an_export_is_the_run_as_it_was_logged(view: View, api: mapi.Client) -> None:
    run = full_run(api)
    page = view.open(address(run, api))
    page.get_by_role("button", name="More to do with the run").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Everything").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert json.loads(lines[0])["type"] == "export"
    assert json.loads(lines[-1])["type"] == "end"


def test_what_a_budget_dropped_stands_at_the_head_and_in_the_events(
    view: View, api: mapi.Client
) -> None:
    api.limits.set({"tags": 1})
    run = api.runs.create(name="full", tags={"a": "1", "b": "2", "c": "3"})
    page = view.open(address(run, api, tab="overview"))
    view.expected_statuses.add(ABSENT)
    expect(page.get_by_text("Budgets dropped 2 tags.")).to_be_visible()
    row = page.get_by_role("row", name=re.compile("^tags"))
    expect(row).to_contain_text("2")
    page.get_by_role("link", name="See the warnings").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("TRACKING_BUDGET")
    expect(page.get_by_role("tabpanel")).to_contain_text("2 tags")


def test_params_are_searched_and_folded_and_the_address_says_how(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(
        name="p", params={"model.layers.10.width": 64, "model.layers.2.width": 128, "lr": 0.1}
    )
    page = view.open(address(run, api, tab="params"))
    table = page.get_by_role("table", name="Params")
    expect(table.get_by_role("row")).to_have_count(4)
    page.get_by_text("Tree", exact=True).click()
    page.wait_for_url(re.compile("tree=true"))
    expect(table.get_by_role("cell").filter(has_text=re.compile(r"^\D*(2|10)$"))).to_have_count(2)
    table.get_by_role("button", name="Close model", exact=True).click()
    expect(table).not_to_contain_text("128")
    page.get_by_label("Search in Params").fill("lr")
    page.wait_for_url(re.compile("params=lr"))
    page.reload()
    expect(table).to_contain_text("0.1")
    expect(table).not_to_contain_text("model")


def test_a_run_leads_to_its_experiment_to_the_run_above_and_to_the_one_tried_again(
    view: View, api: mapi.Client
) -> None:
    experiment = api.experiments.create("study")
    above = api.runs.create(name="sweep")
    run = api.runs.create(name="trial", parent=above, experiment=experiment)
    run.finish("failed", reason="out of memory")
    page = view.open(address(run, api, tab="events"))
    page.get_by_role("button", name="More to do with the run").click()
    page.get_by_role("menuitem", name="Retry").click()
    again = page.get_by_role("definition").get_by_role("link", name="trial")
    expect(again).to_be_visible()
    again.click()
    expect(page.get_by_text("out of memory").first).to_be_visible()
    page.get_by_role("link", name="sweep").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sweep")
    page.go_back()
    page.get_by_role("link", name="study").click()
    page.wait_for_url(re.compile(r"/experiments/"))


def test_a_single_attempt_is_chosen_and_stands_in_the_address(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="resumed")
    api.runs.log_series(run, "loss", [3.0, 2.0, 1.0])
    api.runs.begin_attempt(run, 2, from_step=1)
    api.runs.log_series(run, "loss", [1.5, 1.25], steps=[1, 2])
    page = view.open(address(run, api))
    page.get_by_role("combobox", name="Attempt").click()
    page.get_by_role("option", name="only 1").click()
    page.wait_for_url(re.compile("attempt=1"))
