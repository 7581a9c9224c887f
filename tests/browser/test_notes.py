"""Notes and descriptions that nest deeper than anybody reads: they are shown as written, the page stays whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.views import View

    import mapi

DEEP = {
    "quotes": ">" * 3000,
    "items": "- " * 2500,
    "numbers": "1. " * 3000,
    "brackets": "[" * 3000,
    "images": "![" * 1500,
    "marks": "*a " * 300 + "b* " * 300,
}


@pytest.mark.parametrize("kind", DEEP)
def test_a_text_that_nests_too_deep_is_shown_as_it_was_written(
    view: View, api: mapi.Client, kind: str
) -> None:
    text = f"{DEEP[kind]} the end"
    experiment = api.experiments.create("deep", description=text)
    deep = api.runs.create(name="deep", experiment=experiment.id)
    other = api.runs.create(name="other")
    api.runs.update(deep.id, note=text)
    api.runs.update(other.id, note="**plain**")
    page = view.open(f"/runs/{deep.id}?project={api.project}")
    expect(page.get_by_role("heading", name="deep")).to_be_visible()
    expect(page.get_by_text("the end")).to_be_attached()
    # It can be mended there.
    expect(page.get_by_role("button", name="Change the note")).to_be_visible()
    view.open(f"/experiments/{experiment.id}?project={api.project}")
    expect(page.get_by_text("the end")).to_be_attached()
    view.check_width()
    view.open(f"/compare?ids={deep.id},{other.id}&project={api.project}")
    expect(page.get_by_text("the end")).to_be_attached()
    expect(page.locator("strong", has_text="plain")).to_be_visible()
    view.check_width()
