"""What the pages of `mapi serve` cost in a real browser, on loopback. There is no peer.

Each round is a browser that has seen nothing yet, and a server that is warm. Promises: the first rows of
the table of ``--rows`` runs with 20 series each (loaded by SQL) within 1 000 ms; the page of a run with
half as many series, its charts in sight drawn and the box that searches keys there, within 1 500 ms;
from the key that zooms into a curve of a hundred times as many points to all of its points in sight as
they were logged within 400 ms. Then a page follows a run of ten series and 100 points a second for
``--seconds``: what its scripts hold, garbage collected, grows by at most 50 MiB in ten minutes.
"""

from __future__ import annotations

import contextlib
import math
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from peer import Figures, Target, arguments_of, medians, report
from search_runs import fill
from servers.chromium import build_pages, chromium, memory_bytes, page_of, seen_at
from servers.platform import platform

import mapi

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from servers.platform import Platform

TARGETS: Final = {
    "first_content_ms": 1_000,
    "many_series_usable_ms": 1_500,
    "zoom_exact_ms": 400,
}
RUNS: Final = 10_000
#: A page that was looked at for less tells less of what it keeps.
LIVE_POINTS: Final = 60_000
GROWTH_MIB_MAX: Final = 50
#: A live run: each of its series has ten points a second.
LIVE_SERIES: Final = 10
CALLS_PER_SECOND: Final = 2
POINTS_PER_SECOND: Final = 100
#: The page is left to itself for so long before what it holds is first looked at.
SETTLE_SECONDS: Final = 20
LOOKS: Final = 10
#: More points than a drawing has room for; behind one key they are fewer.
SEEN_STEPS: Final = 1_300
#: Of one call.
BLOCK: Final = 50_000
MIB: Final = 1 << 20

ROWS = """__watch("rows", () => document.querySelector("[role=grid] [role=row] a") !== null);"""
CHARTS = """__watch("charts", () => {
  const inSight = [...document.querySelectorAll("figure")].filter(
    (one) => one.getBoundingClientRect().top < innerHeight);
  return inSight.length > 1 && inSight.every((one) => one.querySelector("canvas") !== null)
    && document.querySelector("[aria-label='Search keys']") !== null;
});"""
DRAWN = """(key) => __watch("drawn", () =>
  document.querySelector(`figure[aria-label="${key}"] canvas`) !== null)"""
#: From the key that zooms to the note under the chart that says so.
ZOOMED = """() => {
  addEventListener("keydown", () => { window.__pressedAt = performance.now(); },
    { once: true, capture: true });
  __watch("exact", () => /points, exact/.test(document.querySelector("figure")?.textContent ?? ""));
}"""


def first_content_ms(browser: Browser, where: Platform) -> float:
    """Return how long the first rows of the table take."""
    with page_of(browser, where, script=ROWS) as page:
        page.goto(f"{where.url}/runs")
        return seen_at(page, "rows")


def many_series(browser: Browser, where: Platform, run: str, *, key: str) -> Figures:
    """Return how long a run's page takes to be of use, and then its search for a key."""
    with page_of(browser, where, script=CHARTS) as page:
        page.goto(f"{where.url}/runs/{run}")
        usable = seen_at(page, "charts")
        page.evaluate(DRAWN, key)
        start = float(page.evaluate("performance.now()"))
        page.get_by_label("Search keys").fill(key)
        found = seen_at(page, "drawn") - start
        return {"many_series_usable_ms": usable, "many_series_search_ms": found}


def zoom_exact_ms(browser: Browser, where: Platform, run: str, *, start: int) -> float:
    """Return how long it takes from a key to points as they were logged, in a place of a curve."""
    with page_of(browser, where) as page:
        page.goto(f"{where.url}/runs/{run}?zoom=[{start},{start + SEEN_STEPS}]")
        chart = page.get_by_role("figure", name="loss", exact=True)
        chart.get_by_text("in buckets").wait_for()
        chart.get_by_label("Loading points").wait_for(state="detached")
        drawing = chart.get_by_role("application")
        drawing.focus()
        page.evaluate(ZOOMED)
        drawing.press("+")
        return seen_at(page, "exact") - float(page.evaluate("window.__pressedAt"))


def make_runs(api: mapi.Client, *, series: int, points: int) -> tuple[str, str]:
    """Make a run of many series and one of a long one; return their ids."""
    wide = api.runs.create(name="many series")
    for start in range(0, series, 500):
        keys = range(start, min(series, start + 500))
        for step in range(3):
            api.runs.log_metrics(wide.id, {_key(at): at + step for at in keys}, step=step)
    long = api.runs.create(name="long")
    for start in range(0, points, BLOCK):
        steps = range(start, min(points, start + BLOCK))
        values = [math.sin(step / 90_000) for step in steps]
        api.runs.log_series(long.id, "loss", values, steps=list(steps))
    for run in (wide, long):
        run.finish()
    return wide.id, long.id


def _key(at: int) -> str:
    return f"metric_{at:04}"


@contextlib.contextmanager
def logging(where: Platform, run: str) -> Iterator[None]:
    """Log 100 points a second into a run."""
    has_ended = threading.Event()

    def log() -> None:
        steps = POINTS_PER_SECOND // LIVE_SERIES // CALLS_PER_SECOND
        begun = time.monotonic()
        with mapi.Client(where.url, token=where.token) as api:
            turn = 0
            while not has_ended.wait(max(0.0, begun + turn / CALLS_PER_SECOND - time.monotonic())):
                for step in range(turn * steps, (turn + 1) * steps):
                    values = {
                        f"live_{at}": math.sin(step / (50 + at)) for at in range(LIVE_SERIES)
                    }
                    api.runs.log_metrics(run, values, step=step)
                turn += 1

    thread = threading.Thread(target=log)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def follow(browser: Browser, where: Platform, seconds: float) -> Figures:
    """Return what a page holds that follows a run, and by how much that grew, in MiB."""
    with mapi.Client(where.url, token=where.token) as api:
        run = api.runs.create(name="live").id
    with logging(where, run), page_of(browser, where) as page:
        page.goto(f"{where.url}/runs/{run}")
        page.locator("figure canvas").first.wait_for()
        settle = min(SETTLE_SECONDS, seconds / 2)
        page.wait_for_timeout(1_000 * settle)
        held = [memory_bytes(page) / MIB]
        for _ in range(LOOKS):
            page.wait_for_timeout(1_000 * (seconds - settle) / LOOKS)
            held.append(memory_bytes(page) / MIB)
        shown = page.get_by_role("figure", name="live_0", exact=True).text_content() or ""
    with mapi.Client(where.url, token=where.token) as api:
        points = sum(one.count for one in api.runs.metrics(run))
    told = ", ".join(f"{one:.1f}" for one in held)
    print(f"bench: MiB held: {told}; a chart says: {shown}", file=sys.stderr)
    return grown(held) | {"points_per_second": points / seconds}


def grown(held: list[float]) -> Figures:
    """Return what was held first, and by how much more at most later."""
    return {
        "held_mib": round(held[0], 1),
        "growth_mib": round(max(0.0, max(held[1:]) - held[0]), 1),
        "growth_at_end_mib": round(max(0.0, held[-1] - held[0]), 1),
    }


def live_seconds(given: float | None, runs: int) -> float:
    """Return how long a live run is followed: as long as was said, else as promised, or less of fewer runs."""
    if given is not None:
        return given
    return LIVE_POINTS / POINTS_PER_SECOND * min(1, runs / RUNS)


def add_seconds(parser: argparse.ArgumentParser) -> None:
    """Add what only this bench takes."""
    parser.add_argument(
        "--seconds",
        type=float,
        help="how long a live run is followed; 0 leaves it out (default: 600 of as many runs as are "
        "promised, and less of fewer)",
    )


def main() -> None:
    """Run the bench: a line for the pages, and one for the live run."""
    options = arguments_of(__doc__, rows=RUNS, rounds=5, add=add_seconds)
    runs: int = options.rows
    seconds = live_seconds(options.seconds, runs)
    series, points = max(10, runs // 2), max(10_000, runs * 100)
    build_pages()
    with (
        tempfile.TemporaryDirectory(prefix="et-bench-") as directory,
        contextlib.ExitStack() as undo,
    ):
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        where = undo.enter_context(platform(root / "home"))
        browser = undo.enter_context(chromium())
        path = "-c search_path=mapi,pg_temp -c timezone=UTC"
        with psycopg.connect(where.superuser_url(), autocommit=True, options=path) as owner:
            fill(owner, runs)
        with mapi.Client(where.url, token=where.token) as api:
            wide, long = make_runs(api, series=series, points=points)
        rounds = [
            {"first_content_ms": first_content_ms(browser, where)}
            | many_series(browser, where, wide, key=_key(series - 1))
            | {
                "zoom_exact_ms": zoom_exact_ms(
                    browser, where, long, start=(turn + 1) * points // (options.rounds + 2)
                )
            }
            # The first one warms the server.
            for turn in range(options.rounds + 1)
        ][1:]
        report(
            "pages",
            options.rounds,
            settings={"rows": runs, "series": series, "points": points},
            ours=medians(rounds),
            peer={},
            targets=[
                Target(name, f"<= {limit} ms", at_most=limit, at_rows=RUNS)
                for name, limit in TARGETS.items()
            ],
        )
        if seconds > 0:
            report(
                "pages_live",
                1,
                settings={
                    "rows": int(seconds * POINTS_PER_SECOND),
                    "seconds": seconds,
                },
                ours=follow(browser, where, seconds),
                peer={},
                targets=[
                    Target(
                        "growth_mib",
                        f"<= {GROWTH_MIB_MAX} MiB in ten minutes",
                        at_most=GROWTH_MIB_MAX,
                        at_rows=LIVE_POINTS,
                    )
                ],
            )


if __name__ == "__main__":
    main()
