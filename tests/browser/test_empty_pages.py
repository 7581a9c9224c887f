"""A page without anything offers a program: pasted as it is, it fills the page."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page
    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi

#: What each tab shows once the program that it offers has run, by a part of its text.
SHOWN = {
    "charts": "100 points",
    "params": "depth",
    "logs": "epoch 1 is done",
    "media": "predictions",
    "timeline": "forward",
}


def paste(page: Page, platform: Server, folder: Path) -> None:
    """Run the program that a page offers, as somebody does who is signed in there."""
    program = page.get_by_role("main").locator("pre").inner_text()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAPI_", "ET_"))
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**kept, "MAPI_URL": platform.url, "MAPI_TOKEN": platform.token},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_project_without_runs_has_one_after_its_program_was_pasted(
    view: View, api: mapi.Client, platform: Server, tmp_path: Path
) -> None:
    page = view.open(f"/runs?project={api.project}")
    expect(page.get_by_text("This project has no runs yet.")).to_be_visible()
    paste(page, platform, tmp_path)
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()


@pytest.mark.parametrize("tab", list(SHOWN))
def test_what_an_empty_tab_offers_makes_a_run_that_fills_it(
    tab: str, view: View, api: mapi.Client, platform: Server, tmp_path: Path
) -> None:
    empty = api.runs.create(name="empty")
    empty.finish()
    page = view.open(f"/runs/{empty.id}?project={api.project}&tab={tab}")
    paste(page, platform, tmp_path)
    made = next(iter(api.runs.list()))
    assert made.id != empty.id
    view.open(f"/runs/{made.id}?project={api.project}&tab={tab}")
    expect(page.get_by_role("tabpanel").get_by_text(SHOWN[tab]).first).to_be_visible()


def test_a_run_without_children_has_one_after_its_program_was_pasted(
    view: View, api: mapi.Client, platform: Server, tmp_path: Path
) -> None:
    parent = api.runs.create(name="parent")
    page = view.open(f"/runs/{parent.id}?project={api.project}&tab=children")
    paste(page, platform, tmp_path)
    expect(page.get_by_role("link", name="fold 1")).to_be_visible()
    parent.finish()


def test_a_list_without_experiments_has_one_with_a_run_after_its_program_was_pasted(
    view: View, api: mapi.Client, platform: Server, tmp_path: Path
) -> None:
    page = view.open(f"/experiments?project={api.project}")
    expect(page.get_by_text("There is no experiment yet")).to_be_visible()
    paste(page, platform, tmp_path)
    expect(page.get_by_role("row", name="learning rates")).to_contain_text("1")
    (made,) = api.experiments.list()
    assert made.runs == 1


def test_an_experiment_without_runs_has_one_after_its_program_was_pasted(
    view: View, api: mapi.Client, platform: Server, tmp_path: Path
) -> None:
    made = api.experiments.create('the "best" \\ of {all}')
    page = view.open(f"/experiments/{made.id}?project={api.project}")
    expect(page.get_by_text("It has no runs yet")).to_be_visible()
    paste(page, platform, tmp_path)
    expect(page.get_by_text("1 run", exact=True).first).to_be_visible()
    assert api.experiments.get(made.id).runs == 1


def test_what_is_empty_begins_where_its_page_does(every_view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="empty")
    run.finish()
    places = {
        "experiments": (f"/experiments?project={api.project}", "h1"),
        "compare": (f"/compare?project={api.project}", "h1"),
        "media": (f"/runs/{run.id}?project={api.project}&tab=media", "h1"),
    }
    for part, (address, head) in places.items():
        page = every_view.open(address)
        said = page.get_by_role("main").locator("p").first
        expect(said).to_be_visible()
        title, text = page.locator(head).first.bounding_box(), said.bounding_box()
        assert title is not None
        assert text is not None
        assert abs(title["x"] - text["x"]) <= 1, part
        every_view.axe()
        every_view.check_width()
        every_view.shoot(part)
