"""Charts of large runs in a browser: what they cost, printed, and what they must not."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.test_run_charts import chart_of, drawing_of

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.browser.views import View

    import mapi

SERIES = 5_000
POINTS = 1_000_000
#: Of one request.
BLOCK = 50_000
#: A page may grow by so much while one works with it.
GROWTH_BYTES_MAX = 50 * 2**20


def heap_bytes(page: Page) -> int:
    """Return what the page's scripts hold once what nothing needs is thrown away."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"])


def test_five_thousand_series_are_drawn_only_where_they_are_seen(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="many")
    for step in range(3):
        for start in range(0, SERIES, 500):
            metrics = {f"metric_{at:04}": at + step for at in range(start, start + 500)}
            api.runs.log_metrics(run.id, metrics, step=step)
    page = view.open(f"/runs?project={api.project}")
    began = time.monotonic()
    view.open(f"/runs/{run.id}?project={api.project}")
    expect(page.get_by_text("5 000 charts")).to_be_visible()
    expect(chart_of(page, "metric_0000").locator("canvas")).to_be_visible()
    print(f"5 000 series: {time.monotonic() - began:.2f} s, {heap_bytes(page) / 2**20:.0f} MiB")
    assert page.locator("canvas").count() < 30
    page.mouse.wheel(0, 100_000)
    expect(chart_of(page, "metric_0000")).to_have_count(0)
    page.get_by_label("Search keys").fill("4321")
    expect(chart_of(page, "metric_4321").locator("canvas")).to_be_visible()


def test_a_million_points_are_exact_where_one_zooms(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="long")
    for start in range(0, POINTS, BLOCK):
        steps = range(start, start + BLOCK)
        values = [math.sin(step / 90_000) for step in steps]
        if start == 350_000:
            values[1_234] = 9.0
        api.runs.log_series(run.id, "loss", values, steps=list(steps))
    page = view.open(f"/runs/{run.id}?project={api.project}")
    loss = chart_of(page, "loss")
    expect(loss).to_contain_text("1 000 000 points, in buckets")
    before = heap_bytes(page)
    # The spike is one point of a million; all zooms have it until it is out of sight.
    page.goto(f"{page.url}&zoom=[351000,351500]")
    expect(loss).to_contain_text("501 points, exact")
    drawing_of(page, "loss").focus()
    for _ in range(6):
        page.keyboard.press("-")
    expect(loss).to_contain_text("in buckets")
    # To where nobody has been yet.
    page.keyboard.press("Shift+ArrowRight")
    began = time.monotonic()
    for _ in range(6):
        page.keyboard.press("+")
    expect(loss).to_contain_text("points, exact")
    print(f"a million points: exact after {time.monotonic() - began:.2f} s of zooming in")
    grown = heap_bytes(page) - before
    print(f"a million points: {before / 2**20:.0f} MiB, {grown / 2**20:+.1f} MiB by zooming")
    assert grown < GROWTH_BYTES_MAX


def test_a_curve_that_is_too_long_for_an_axis_says_what_it_leaves_out(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="longer")
    length = POINTS + 2 * BLOCK
    for start in range(0, length, BLOCK):
        steps = range(start, start + BLOCK)
        api.runs.log_series(run.id, "loss", [float(step) for step in steps], steps=list(steps))
    view.expected_statuses.add(422)
    page = view.open(f"/runs/{run.id}?project={api.project}&x=run_time")
    loss = chart_of(page, "loss")
    # The server sorts nearly a million points by their times.
    expect(loss).to_contain_text("left out: too many but over steps", timeout=60_000)
    said = loss.inner_text()
    shown, left_out = (
        int(re.sub(r"\D", "", found))
        for pattern in (r"([\d\s]+) points", r"oldest ([\d\s]+) left out")
        for found in re.findall(pattern, said)[:1]
    )
    assert shown + left_out == length
    assert 950_000 < shown <= POINTS
    page.get_by_role("combobox", name="Drawn over").click()
    page.get_by_role("option", name="over steps").click()
    expect(loss).to_contain_text("1 100 000 points, in buckets")
    expect(loss).not_to_contain_text("left out")
