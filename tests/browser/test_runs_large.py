"""The table of ten thousand runs: what it costs, printed, and what it must not."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import psycopg
from playwright.sync_api import expect
from tests.browser.runs import address, grid, names, row

from mapi.config import settings_from
from mapi.serve.platform import embedded_server

if TYPE_CHECKING:
    from playwright.sync_api import Request
    from tests.acceptance.platform_servers import Server
    from tests.browser.views import View

    import mapi

RUNS = 10_000
#: A screen shows about twenty, and some more are ready on both sides.
ROWS_DRAWN_MAX = 80
#: What nobody waits for: a hang is told apart from a machine that has other things to do.
WAIT_MS = 60_000

FILL = """
with made as (
    insert into runs (tenant_id, id, project_id, kind, status, name, created)
    select
        projects.tenant_id, gen_random_uuid(), projects.id, 'fit', 'succeeded',
        'run ' || lpad(number::text, 5, '0'), now() - number * interval '1 second'
    from generate_series(0, %(runs)s - 1) as number
    join projects on projects.name = %(project)s
    returning tenant_id, id, project_id, right(name, 5)::int as number
)
insert into run_params (tenant_id, run_id, key, project_id, text, number, source)
select tenant_id, id, 'seed', project_id, (number %% 100)::text, number %% 100, 'api' from made
"""


def fill(platform: Server, project: str) -> None:
    """Put runs into a project, the first one the newest, with a param of a hundred values."""
    server = embedded_server(settings_from({"MAPI_HOME": str(platform.home)}))
    assert server.attach()
    path = "-c search_path=mapi,pg_temp"
    with psycopg.connect(server.superuser_url(), autocommit=True, options=path) as owner:
        owner.execute(FILL, {"runs": RUNS, "project": project})
        owner.execute("analyze runs, run_params")


def is_further(asked: Request) -> bool:
    """Say whether a further page of a list is asked for."""
    return asked.url.endswith("/v1/runs/search") and "cursor" in (asked.post_data or "")


def test_ten_thousand_runs_are_scrolled_sorted_and_filtered_with_few_rows_in_the_page(
    view: View, api: mapi.Client, platform: Server
) -> None:
    fill(platform, api.project or "")
    times: list[str] = []
    began = time.monotonic()

    def done(what: str) -> None:
        nonlocal began
        times.append(f"{what} {time.monotonic() - began:.2f} s")
        drawn = page.get_by_role("row").count()
        assert drawn < ROWS_DRAWN_MAX, f"{what}: {drawn} rows"
        began = time.monotonic()

    further: list[Request] = []
    view.page.on("request", lambda asked: further.append(asked) if is_further(asked) else None)
    page = view.open(address(api, columns=["name", "params.seed", "created"]))
    expect(row(page, "run 00000")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("10 000 runs", exact=True)).to_be_visible()
    done("first rows")
    view.settle()
    assert further == [], "the head of a list asks for one page"

    table = grid(page)
    table.hover()
    with page.expect_request(is_further):
        page.mouse.wheel(0, 200)
    table.focus()
    while row(page, "run 09999").count() == 0:
        assert time.monotonic() - began < WAIT_MS / 1_000, names(page)[-1:]
        page.keyboard.press("End")
        page.wait_for_timeout(20)
    expect(row(page, "run 09999")).to_be_visible(timeout=WAIT_MS)
    done("to the last row")

    page.keyboard.press("Home")
    expect(row(page, "run 00000")).to_be_visible()
    done("back to the first")

    head = page.get_by_role("columnheader", name="seed").get_by_role("button").first
    head.click()
    expect(page).to_have_url(re.compile("sort="))
    expect(table.get_by_role("link").first).to_have_text(re.compile(r"run \d+99"), timeout=WAIT_MS)
    done("sorted by a param")

    box = page.get_by_role("combobox", name="Filter")
    box.fill("params.seed = 7")
    box.press("Enter")
    expect(page.get_by_text("100 runs", exact=True)).to_be_visible(timeout=WAIT_MS)
    assert all(name.endswith("07") for name in names(page))
    done("filtered")
    print(f"10 000 runs: {', '.join(times)}")
