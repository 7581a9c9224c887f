"""Settings: tokens shown once, roles, and what the viewer may not see said in its place."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import httpx
import psycopg
import pytest
from playwright.sync_api import expect
from tests.acceptance.platform_servers import run_mapi
from tests.browser.views import LOOKS

from mapi.config import settings_from
from mapi.serve.platform import embedded_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi

#: Longer than any trash keeps.
SET_BACK = "update runs set trashed = now() - interval '4000 days' where id = %(run)s"
TABS = ("tokens", "members", "projects", "limits", "usage", "retention", "audit")


def test_a_token_is_shown_once_works_and_is_revoked(
    view: View, api: mapi.Client, platform: Server
) -> None:
    page = view.open(f"/settings?project={api.project}")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill(f"ci of {api.project}")
    page.get_by_role("button", name="Make").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    asked = {"Authorization": f"Bearer {secret}"}
    assert httpx.get(f"{platform.url}/v1/projects", headers=asked).status_code == 200
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("row", name=f"ci of {api.project}")).to_be_visible()
    page.reload()
    expect(page.get_by_role("row", name=f"ci of {api.project}")).to_be_visible()
    assert secret not in page.content()
    page.get_by_role("button", name=f"Revoke ci of {api.project}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name=f"ci of {api.project}")).to_have_count(0)
    assert httpx.get(f"{platform.url}/v1/projects", headers=asked).status_code == 401


def test_a_role_is_given_changed_and_taken_away(view: View, api: mapi.Client) -> None:
    user = f"ada of {api.project}"
    page = view.open(f"/settings?tab=members&project={api.project}")
    page.get_by_role("button", name="Give a role").click()
    page.get_by_label("User").fill(user)
    page.get_by_role("button", name="Give", exact=True).click()
    page.get_by_label(f"Role of {user}", exact=True).select_option("runner")
    page.reload()
    expect(page.get_by_label(f"Role of {user}", exact=True)).to_have_value("runner")
    page.get_by_role("button", name=f"Take away the role of {user}").click()
    page.get_by_role("dialog").get_by_role("button", name="Take away").click()
    expect(page.get_by_label(f"Role of {user}", exact=True)).to_have_count(0)


def test_what_a_viewer_may_not_see_is_said_in_its_place(
    platform: Server, api: mapi.Client, open_view: Callable[..., View]
) -> None:
    user = f"eve of {api.project}"
    answer = httpx.put(
        f"{platform.url}/v1/members",
        json={"user": user, "role": "viewer", "project": api.project},
        headers={"Authorization": f"Bearer {platform.token}"},
    )
    assert answer.status_code == 200, answer.text
    done = run_mapi(platform.home, "admin", "sign-in", "--user", user)
    view = open_view(signed_in=False)
    view.expected_statuses.add(403)
    view.page.goto(done.stdout.strip())
    view.page.wait_for_url("**/runs*")
    page = view.open("/settings?tab=audit")
    expect(page.get_by_text("You may not see this")).to_be_visible()
    page.get_by_role("tab", name="Members").click()
    expect(page.get_by_role("row", name=user)).to_be_visible()
    expect(page.get_by_role("button", name="Give a role")).to_have_count(0)


@pytest.mark.parametrize("tab", TABS)
def test_every_part_is_for_everybody(every_view: View, api: mapi.Client, tab: str) -> None:
    page = every_view.open(f"/settings?tab={tab}&project={api.project}")
    expect(page.get_by_role("tab", selected=True)).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot(tab)


def test_the_tabs_stand_in_one_row_and_the_chosen_one_is_in_sight(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    page = open_view(LOOKS[2]).open(f"/settings?tab=audit&project={api.project}")
    chosen = page.get_by_role("tab", selected=True)
    expect(chosen).to_have_text("Audit")
    expect(chosen).to_be_in_viewport(ratio=1)
    page.get_by_role("tab", name="Tokens").scroll_into_view_if_needed()
    tabs = page.get_by_role("tab").all()
    tops = {tab.evaluate("(one) => one.getBoundingClientRect().top") for tab in tabs}
    assert len(tops) == 1


def test_limits_have_what_was_used_of_them_and_what_had_no_room(
    view: View, api: mapi.Client, platform: Server
) -> None:
    answer = httpx.put(
        f"{platform.url}/v1/limits",
        json={"project": api.project, "tracking": {"tags": 4}},
        headers={"Authorization": f"Bearer {platform.token}"},
    )
    assert answer.status_code == 200, answer.text
    api.runs.create(name="two", tags={"a": "1", "b": "2"})
    api.runs.create(name="five", tags={str(at): "1" for at in range(5)})
    page = view.open(f"/settings?tab=limits&project={api.project}")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="tags"))
    expect(row.get_by_role("cell").nth(0)).to_have_text("4")
    expect(row.get_by_role("cell").nth(1)).to_have_text("4")
    expect(row.get_by_role("cell").nth(3)).to_have_text("1 of 1 run")


def test_a_limit_of_bytes_is_changed_in_the_unit_in_which_it_is_shown(
    view: View, api: mapi.Client
) -> None:
    api.limits.set({"log_bytes": 1 << 26})
    page = view.open(f"/settings?tab=limits&project={api.project}")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="log bytes"))
    expect(row).to_contain_text("64 MiB")
    row.get_by_role("button", name="Change the limit of log bytes").click()
    field = page.get_by_label(f"Of each run in {api.project}")
    expect(field).to_have_value("64 MiB")
    field.fill("32 MB")
    expect(page.get_by_role("button", name="Set", exact=True)).to_be_disabled()
    field.fill("32 MiB")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(row).to_contain_text("32 MiB")
    assert api.limits.get().tracking["log_bytes"] == 32 << 20


def test_a_dry_run_counts_by_project_what_would_go(
    every_view: View, api: mapi.Client, platform: Server
) -> None:
    """A run that was put into the trash long ago; nobody waits for it, so its time is set back."""
    with api.runs.create(name="old") as run:
        api.runs.log_series(run, "loss", [1.0, 0.5])
    api.runs.delete(run)
    server = embedded_server(settings_from({"MAPI_HOME": str(platform.home)}))
    assert server.attach()
    path = "-c search_path=mapi,pg_temp"
    with psycopg.connect(server.superuser_url(), autocommit=True, options=path) as owner:
        owner.execute(SET_BACK, {"run": uuid.UUID(run.id.removeprefix("run_"))})
    try:
        page = every_view.open(f"/settings?tab=retention&project={api.project}")
        table = page.get_by_role("region", name="What a pass would delete now")
        row = table.get_by_role("row").filter(has_text=api.project or "")
        expect(row.get_by_role("cell").first).to_have_text("1")
        every_view.axe()
        every_view.check_width()
        every_view.shoot("rows")
    finally:
        # Others look at a server on which nothing is old enough.
        api.runs.purge(run)


def test_retention_tells_how_long_what_is_kept_and_what_would_go(
    every_view: View, api: mapi.Client, platform: Server
) -> None:
    with api.runs.create(name="best") as run:
        run.log({"loss": 0.5}, step=0)
    rule = ("--project", api.project or "", "--best", "3", "--by", "metrics.loss.min")
    done = run_mapi(platform.home, "admin", "retention", "set", *rule)
    assert done.returncode == 0, done.stderr
    page = every_view.open(f"/settings?tab=retention&project={api.project}")
    days = page.get_by_role("region", name="How long what is kept")
    expect(days.get_by_role("row", name="Runs in the trash")).to_contain_text("30 days")
    expect(days.get_by_role("row", name="Points with a step")).to_contain_text("for ever")
    expect(page.get_by_text("nothing was deleted by it")).to_be_visible()
    expect(page.get_by_text("Nothing: no run is old enough.")).to_be_visible()
    rules = page.get_by_role("region", name="What is kept whatever its age")
    expect(rules.get_by_role("row", name=api.project or "")).to_contain_text(
        "the best 3 by metrics.loss.min"
    )
    every_view.axe()
    every_view.check_width()
    every_view.shoot("rules")
