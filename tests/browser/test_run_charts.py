"""Charts of a run in a browser: what they draw and tell, by pointer and keys, live."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect
from tests.browser.views import Look

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page
    from tests.browser.views import View

    import mapi

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</svg><script>alert(1)</script>",
    "\u202eolleh",
    "😀" * 40,
    "x" * 200,
    "=1+1",
]


def chart_of(page: Page, key: str) -> Locator:
    return page.get_by_role("figure", name=key, exact=True)


def drawing_of(page: Page, key: str) -> Locator:
    return chart_of(page, key).get_by_role("application")


def drag(page: Page, drawing: Locator, start: float, end: float) -> None:
    """Drag over a drawing, from one share of its width to another."""
    box = drawing.bounding_box()
    assert box is not None
    height = box["y"] + 60
    page.mouse.move(box["x"] + start * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], height, steps=4)
    page.mouse.up()


def make_curves(api: mapi.Client) -> str:
    run = api.runs.create(name="curves")
    values = [2 * math.exp(-at / 40) for at in range(120)]
    api.runs.log_series(run.id, "loss", values, labels={"split": "train"})
    values[30], values[31], values[60], values[90] = math.nan, math.nan, math.inf, -math.inf
    api.runs.log_series(run.id, "loss", values, labels={"split": "val"})
    api.runs.log_series(run.id, "time_ms", [12 + at % 3 for at in range(120)])
    api.runs.log_series(run.id, "epoch", [at // 10 for at in range(120)])
    return run.id


def test_a_chart_says_what_is_behind_it_and_what_is_not_finite(
    view: View, api: mapi.Client
) -> None:
    run = make_curves(api)
    page = view.open(f"/runs/{run}?project={api.project}")
    loss = chart_of(page, "loss")
    expect(loss).to_contain_text("240 points, exact")
    expect(loss).to_contain_text("2 NaN \N{MULTIPLICATION SIGN}")
    expect(loss).to_contain_text("1 +∞ ▲")
    expect(loss).to_contain_text("1 \N{MINUS SIGN}∞ ▼")
    drawing_of(page, "loss").focus()
    for _ in range(31):
        page.keyboard.press("ArrowRight")
    told = loss.get_by_role("status")
    expect(told).to_contain_text("step 30")
    expect(told).to_contain_text("NaN")


def test_charts_are_for_everybody(every_view: View, api: mapi.Client) -> None:
    run = make_curves(api)
    page = every_view.open(f"/runs/{run}?project={api.project}&smooth=0.9")
    expect(chart_of(page, "epoch").locator("canvas")).to_be_visible()
    every_view.axe()
    every_view.check_width()
    every_view.shoot("charts")
    every_view.open(f"/runs/{run}?project={api.project}&full=loss&x=time&logy=true")
    dialog = page.get_by_role("dialog", name="loss")
    expect(dialog.locator("canvas")).to_be_visible()
    every_view.axe()
    every_view.shoot("full")


def test_the_lines_of_a_long_legend_are_for_everybody(every_view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="many lines")
    for at in range(30):
        api.runs.log_series(run.id, "loss", [1.0, at / 30], labels={"fold": f"fold {at}"})
    page = every_view.open(f"/runs/{run.id}?project={api.project}")
    expect(chart_of(page, "loss")).to_contain_text("40 points, exact")
    every_view.axe()
    every_view.shoot("chart")
    page.get_by_label("Full screen").click()
    expect(page.get_by_role("dialog", name="loss").locator("canvas")).to_be_visible()
    every_view.axe()
    every_view.shoot("full")


def test_an_address_shows_the_same_charts(view: View, api: mapi.Client) -> None:
    run = make_curves(api)
    page = view.open(f"/runs/{run}?project={api.project}")
    page.get_by_label("Search keys").fill("lo va")
    expect(page.get_by_role("figure")).to_have_count(1)
    page.get_by_role("switch", name="log y").check()
    page.get_by_label("Pin loss").click()
    expect(page.get_by_label("Unpin loss")).to_be_visible()
    page.wait_for_url(re.compile("charts=.*pins="))
    other = view.context.new_page()
    other.goto(page.url)
    expect(other.get_by_role("figure")).to_have_count(1)
    expect(other.get_by_label("log y")).to_be_checked()
    expect(other.get_by_label("Unpin loss")).to_be_visible()


def test_a_pinned_chart_stands_first_in_the_next_run_too(view: View, api: mapi.Client) -> None:
    first, second = make_curves(api), make_curves(api)
    page = view.open(f"/runs/{first}?project={api.project}")
    expect(page.get_by_role("figure").first).to_have_accessible_name("epoch")
    page.get_by_label("Pin time_ms").click()
    expect(page.get_by_role("figure").first).to_have_accessible_name("time_ms")
    page.wait_for_url(re.compile("pins="))
    view.open(f"/runs/{second}?project={api.project}")
    expect(page.get_by_role("figure").first).to_have_accessible_name("time_ms")


def test_keys_zoom_all_charts_together(view: View, api: mapi.Client) -> None:
    run = make_curves(api)
    page = view.open(f"/runs/{run}?project={api.project}")
    expect(chart_of(page, "epoch")).to_contain_text("120 points, exact")
    drawing_of(page, "loss").focus()
    page.keyboard.press("+")
    page.wait_for_url(re.compile("zoom="))
    expect(chart_of(page, "epoch")).to_contain_text("60 points, exact")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("-")
    page.keyboard.press("0")
    expect(chart_of(page, "epoch")).to_contain_text("120 points, exact")
    page.wait_for_url(lambda url: "zoom=" not in url)


def test_keys_tell_values_when_the_pointer_has_left(view: View, api: mapi.Client) -> None:
    page = view.open(f"/runs/{make_curves(api)}?project={api.project}")
    drawing = drawing_of(page, "loss")
    drawing.click()
    page.mouse.move(2, 2)
    told = chart_of(page, "loss").get_by_role("status").filter(has_text="step")
    expect(told).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(told).to_be_visible()
    page.keyboard.press("Tab")
    expect(told).to_have_count(0)


def test_of_all_charts_one_tells_its_values(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    run = make_curves(api)
    view = open_view(Look("light", 390, 844))
    page = view.open(f"/runs/{run}?project={api.project}")
    for key in ("epoch", "loss"):
        drawing = drawing_of(page, key)
        drawing.scroll_into_view_if_needed()
        # A finger that is lifted leaves nothing: no event says that it is gone.
        drawing.evaluate(
            """(element) => {
              const box = element.getBoundingClientRect();
              const at = {clientX: box.x + box.width / 2, clientY: box.y + 60};
              const touch = new Touch({identifier: 1, target: element, ...at});
              for (const name of ["touchstart", "touchmove"]) {
                element.dispatchEvent(new TouchEvent(name, {touches: [touch]}));
              }
              element.dispatchEvent(new TouchEvent("touchend", {touches: []}));
            }"""
        )
        expect(chart_of(page, key).get_by_role("status")).to_contain_text("step")
    expect(page.get_by_role("figure").get_by_role("status")).to_have_count(1)


def test_a_hidden_line_stays_hidden_where_its_chart_fills_the_window_or_is_scrolled_away(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="many charts")
    for at in range(60):
        api.runs.log_metrics(run, {f"m{at:02d}": at}, step=0)
    page = view.open(f"/runs/{run.id}?project={api.project}")
    line = chart_of(page, "m00").get_by_role("button", name="m00", exact=True)
    line.click()
    expect(line).to_have_attribute("aria-pressed", "false")
    chart_of(page, "m00").get_by_label("Full screen").click()
    dialog = page.get_by_role("dialog", name="m00")
    expect(dialog.get_by_role("button", name="m00", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )
    page.keyboard.press("Escape")
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    expect(chart_of(page, "m59")).to_be_in_viewport()
    expect(chart_of(page, "m00")).to_have_count(0)
    page.evaluate("window.scrollTo(0, 0)")
    expect(line).to_have_attribute("aria-pressed", "false")


def test_a_search_goes_on_while_one_types(view: View, api: mapi.Client) -> None:
    page = view.open(f"/runs/{make_curves(api)}?project={api.project}")
    box = page.get_by_role("searchbox", name="Search keys")
    box.click()
    page.keyboard.type("lo")
    page.wait_for_url(re.compile("charts=lo"))
    expect(chart_of(page, "epoch")).to_have_count(0)
    page.keyboard.type("ss")
    page.wait_for_url(re.compile("charts=loss"))
    expect(box).to_be_focused()
    expect(box).to_have_value("loss")
    page.keyboard.press("Home")
    page.keyboard.type("abc")
    expect(box).to_have_value("abcloss")
    page.wait_for_url(re.compile("charts=abcloss"))
    page.get_by_role("tab", name="Params").click()
    page.go_back()
    expect(box).to_have_value("abcloss")


def test_two_fingers_zoom_and_a_button_leads_back(
    open_view: Callable[..., View], api: mapi.Client
) -> None:
    run = make_curves(api)
    view = open_view(Look("light", 390, 844))
    page = view.open(f"/runs/{run}?project={api.project}&charts=time_ms")
    chart = chart_of(page, "time_ms")
    expect(chart).to_contain_text("120 points, exact")
    drawing = drawing_of(page, "time_ms").bounding_box()
    assert drawing is not None
    middle, height = drawing["x"] + 0.6 * drawing["width"], drawing["y"] + 80
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, *shares: float) -> None:
        fingers.send(
            "Input.dispatchTouchEvent",
            {
                "type": kind,
                "touchPoints": [
                    {"x": middle + share * drawing["width"], "y": height, "id": at}
                    for at, share in enumerate(shares)
                ],
            },
        )

    touch("touchStart", -0.05)
    touch("touchStart", -0.05, 0.05)
    for apart in (0.1, 0.15, 0.2):
        touch("touchMove", -apart, apart)
    touch("touchEnd")
    page.wait_for_url(re.compile("zoom="))
    expect(chart).not_to_contain_text("120 points")
    low, high = json.loads(parse_qs(urlsplit(page.url).query)["zoom"][0])
    # Four times as far apart: a quarter is seen, around what lay between the fingers.
    assert 25 < high - low < 35
    assert low < 119 * 0.6 < high
    chart.get_by_role("button", name="Show all").click()
    expect(chart).to_contain_text("120 points, exact")
    # One finger reads.
    touch("touchStart", 0.0)
    touch("touchMove", 0.02)
    touch("touchMove", 0.1)
    touch("touchEnd")
    expect(chart.get_by_role("status")).to_contain_text("step")


def test_curves_go_over_another_metric(view: View, api: mapi.Client) -> None:
    run = make_curves(api)
    api.runs.log_series(run, "late", [1.0] * 5, steps=[118, 119, 120, 121, 122])
    page = view.open(f"/runs/{run}?project={api.project}&x=epoch&charts=late")
    expect(chart_of(page, "late")).to_contain_text("3 without a place on this axis")


def test_a_logarithmic_axis_says_what_it_has_no_place_for(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="signs")
    api.runs.log_series(run.id, "delta", [1.0, -1.0, 0.0, 10.0])
    page = view.open(f"/runs/{run.id}?project={api.project}&logy=true")
    expect(chart_of(page, "delta")).to_contain_text("2 ≤ 0: not on a log axis")


def test_new_points_are_drawn_without_a_reload_and_leave_the_zoom(
    view: View, api: mapi.Client
) -> None:
    run = api.runs.create(name="live")
    api.runs.log_series(run.id, "loss", [float(at) for at in range(50)])
    page = view.open(f"/runs/{run.id}?project={api.project}")
    loss = chart_of(page, "loss")
    expect(loss).to_contain_text("50 points, exact")
    page.evaluate("window.isTheSame = true")
    api.runs.log_series(run.id, "loss", [1.0] * 25, steps=list(range(50, 75)))
    expect(loss).to_contain_text("75 points, exact")
    drag(page, drawing_of(page, "loss"), 0.3, 0.6)
    page.wait_for_url(re.compile("zoom="))
    zoomed = loss.get_by_text("points, exact").inner_text()
    address = page.url
    api.runs.log_series(run.id, "loss", [-3.0] * 25, steps=list(range(75, 100)))
    expect(loss.get_by_role("row", name="loss")).to_contain_text("\N{MINUS SIGN}3")
    expect(loss.get_by_text("points, exact")).to_have_text(zoomed)
    assert page.url == address
    drawing_of(page, "loss").focus()
    page.keyboard.press("0")
    expect(loss).to_contain_text("100 points, exact")
    assert page.evaluate("window.isTheSame")


def test_a_correction_is_drawn_without_a_reload(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="corrected")
    api.runs.log_series(run.id, "loss", [1.0] * 40 + [1e9] + [1.0] * 9)
    page = view.open(f"/runs/{run.id}?project={api.project}")
    loss = chart_of(page, "loss")
    expect(loss).to_contain_text("50 points, exact")
    api.runs.delete_points(run.id, "loss", first=40, last=40, reason="a spike of the probe")
    expect(loss).to_contain_text("49 points, exact")
    api.runs.correct_series(run.id, "loss", [math.nan], steps=[7])
    expect(loss).to_contain_text("1 NaN")


def test_hostile_labels_are_texts_in_the_page_and_in_files(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name=HOSTILE[0])
    for name in HOSTILE:
        api.runs.log_series(run.id, "loss", [0.5, 0.25], labels={"name": name})
    page = view.open(f"/runs/{run.id}?project={api.project}")
    loss = chart_of(page, "loss")
    for name in HOSTILE:
        expect(loss.get_by_text(f"name={name}", exact=True)).to_be_attached()
    page.get_by_label("More of this chart").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Save as SVG").click()
    text = waiting.value.path().read_text("utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;img src=x" in text


def test_a_picture_of_a_chart_is_a_file(view: View, api: mapi.Client) -> None:
    page = view.open(f"/runs/{make_curves(api)}?project={api.project}&charts=loss")
    page.get_by_label("More of this chart").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Save as PNG").click()
    assert waiting.value.suggested_filename == "loss.png"
    assert waiting.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_file_has_every_point_as_it_was_logged(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="exact")
    generator = random.Random(5)
    values = [generator.uniform(-1, 1) * 10 ** generator.randint(-300, 300) for _ in range(9_000)]
    values += [math.nan, math.inf, -math.inf]
    for start in (0, 6_000):
        steps = list(range(start, min(start + 6_000, len(values))))
        api.runs.log_series(run.id, "loss", [values[step] for step in steps], steps=steps)
    page = view.open(f"/runs/{run.id}?project={api.project}")
    expect(chart_of(page, "loss")).to_contain_text("9 003 points, in buckets")
    page.get_by_label("More of this chart").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="Save all points as CSV").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"))))
    assert [int(row["step"]) for row in rows] == list(range(len(values)))
    assert [repr(float(row["value"])) for row in rows] == [repr(value) for value in values]


def test_the_numbers_of_a_chart_are_a_table(view: View, api: mapi.Client) -> None:
    run = api.runs.create(name="table")
    api.runs.log_series(run.id, "loss", [0.1 + 0.2, 1 / 3])
    page = view.open(f"/runs/{run.id}?project={api.project}")
    page.get_by_label("More of this chart").click()
    page.get_by_role("menuitem", name="Show the numbers").click()
    table = page.get_by_role("dialog").get_by_role("table")
    expect(table).to_contain_text("0.30000000000000004")
    expect(table).to_contain_text("0.3333333333333333")


def test_a_line_that_cannot_be_read_says_so_and_the_others_stay(
    view: View, api: mapi.Client
) -> None:
    run = make_curves(api)
    view.expected_statuses.add(404)
    problem = {
        "type": "about:blank",
        "title": "Not found",
        "status": 404,
        "detail": "It is gone.",
        "code": "NOT_FOUND",
        "errors": [],
        "request_id": "req_1",
    }
    view.context.route(
        re.compile(r"/metrics/points\?.*label\.split=val"),
        lambda route: route.fulfill(
            status=404, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    page = view.open(f"/runs/{run}?project={api.project}")
    loss = chart_of(page, "loss")
    expect(loss).to_contain_text("It is gone.")
    expect(loss).to_contain_text("120 points, exact")
