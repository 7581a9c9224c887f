"""The timeline of a run on its page: spans walked by keys, zoomed, shared by path, and many of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

import mapi

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.browser.views import View

ORIGIN = 1_790_000_000_000_000_000
MS = 1_000_000


def opened(view: View, api: mapi.Client, run: mapi.Run, more: str = "") -> Page:
    """Open the tab."""
    return view.open(f"/runs/{run.id}?project={api.project}&tab=timeline{more}")


def some_run(api: mapi.Client) -> mapi.Run:
    """Return a run with two steps, one of which has two parts, on two ranks."""
    run = api.runs.create(name="timed")
    for rank in (0, 1):
        spans = [
            {"name": "step", "start_ns": ORIGIN, "duration_ns": 100 * MS, "step": 0},
            {
                "name": "step/forward",
                "start_ns": ORIGIN + 10 * MS,
                "duration_ns": 60 * MS,
                "depth": 1,
                "step": 0,
                "fields": {"layer": 7},
            },
            {"name": "step", "start_ns": ORIGIN + 200 * MS, "duration_ns": 100 * MS, "step": 1},
        ]
        api.runs.log_spans(run, spans, producer=mapi.Producer(stream="train", rank=rank))
    return run


def test_spans_are_walked_and_read_by_keys(view: View, api: mapi.Client) -> None:
    page = opened(view, api, some_run(api))
    lanes = page.get_by_role("application", name="Timeline of spans")
    facts = page.locator("#span-facts")
    lanes.press("ArrowRight")
    expect(facts).to_contain_text("100 ms")
    lanes.press("ArrowDown")
    expect(facts).to_contain_text("step/forward")
    expect(facts).to_contain_text('{"layer":7}')
    expect(facts).to_contain_text("train")
    lanes.press("Enter")
    page.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    lanes.press("ArrowUp")
    lanes.press("ArrowRight")
    expect(facts).to_contain_text("step 1")
    lanes.press("0")
    page.wait_for_url(lambda url: "from=" not in url)


def test_a_link_shows_the_same_part_of_the_time(view: View, api: mapi.Client) -> None:
    page = opened(view, api, some_run(api), f"&from={200 * MS}&to={300 * MS}")
    lanes = page.get_by_role("application", name="Timeline of spans")
    # All of the width is the second step, in the first row of the first lane.
    lanes.hover(position={"x": 100, "y": 24 + 20 + 9})
    expect(page.locator("#span-facts")).to_contain_text("step 1")
    expect(page.get_by_role("button", name="All", exact=True)).to_be_enabled()


def test_own_times_leave_out_what_lies_inside(view: View, api: mapi.Client) -> None:
    page = opened(view, api, some_run(api))
    table = page.get_by_role("table", name="Time by path")
    step = table.get_by_role("row").filter(has=page.get_by_role("button", name="step", exact=True))
    # Two ranks with two steps of 100 ms, of which 60 ms each lie in `forward`.
    expect(step.get_by_role("cell")).to_contain_text(
        ["step", "70.0 %", "280 ms", "400 ms", "4", "100 ms", "100 ms"]
    )
    table.get_by_role("button", name="step/forward", exact=True).click()
    page.wait_for_url(re.compile("span=step%2Fforward|span=step/forward"))


def test_two_hundred_thousand_spans_are_drawn_in_bounded_time_and_memory(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="long")
    spans = [
        {
            "name": ("step", "step/forward", "step/backward", "step/forward/attention")[at % 4],
            "start_ns": ORIGIN + (at // 4) * 10 * MS + (at % 4) * MS,
            "duration_ns": (9, 2, 4, 1)[at % 4] * MS,
            "depth": (0, 1, 1, 2)[at % 4],
            "step": at // 4,
        }
        for at in range(200_000)
    ]
    api.runs.log_spans(run, spans)
    page = opened(view, api, run)
    expect(page.get_by_text("200 000 spans")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("reading more")).to_have_count(0, timeout=60_000)
    taken = page.evaluate("performance.now()")
    lanes = page.get_by_role("application", name="Timeline of spans")
    lanes.focus()
    slowest = lanes.evaluate(
        """async (lanes) => {
          let slowest = 0;
          for (let at = 0; at < 40; at += 1) {
            const begin = performance.now();
            lanes.dispatchEvent(
              new KeyboardEvent("keydown", { key: at < 20 ? "+" : "d", bubbles: true }),
            );
            await new Promise(requestAnimationFrame);
            slowest = Math.max(slowest, performance.now() - begin);
          }
          return slowest;
        }"""
    )
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(
        f"200 000 spans after {taken:.0f} ms, slowest frame {slowest:.0f} ms, heap {heap:.0f} MB"
    )
    assert heap < 250
    assert slowest < 1_000
