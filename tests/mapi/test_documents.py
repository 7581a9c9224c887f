"""The pages about the platform: every request is sent, every filter is read, every route is listed."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_caller
from tests.mapi.storing import temporary_objects

from mapi.api.app import build_app
from mapi.config import settings_from
from mapi.database.door import Database
from mapi.sdk.pulse import HEARTBEAT_SECONDS
from mapi.search import parse_columns, parse_filter, parse_sort
from mapi.series.budgets import Budgets
from mapi.series.media_headers import TABLE_ROWS_MAX
from mapi.series.name_map import series_from_name
from mapi.series.names import LABEL_VALUE_LENGTH_MAX, LOG_MESSAGE_BYTES_MAX
from mapi.tracking.attempts import ATTEMPTS_MAX
from mapi.tracking.changes import Changes
from mapi.tracking.writing import WRITERS_MAX
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.enums import Budget, WarningCode
from mapi.wire.events import (
    DeletedFrame,
    LogFrame,
    ProjectFrame,
    StatusFrame,
    TrackingFrame,
    WarningFrame,
)
from mapi.wire.metrics import POINTS_MAX
from mapi.wire.notes import LOG_LINES_MAX, SPANS_MAX
from mapi.wire.times import check_time_us

if TYPE_CHECKING:
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

PAGES = Path(__file__).parents[2] / "docs" / "platform"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Writes the list of routes anew.
WRITES = "MAPI_WRITE_OPENAPI" in os.environ
ROUTES = "## Routes\n\n"
SHAPES = """## Bodies and answers

A member with a question mark may be missing. `openapi.json` has every limit of a text, a number or a list.
"""
FRAMES = (DeletedFrame, LogFrame, ProjectFrame, StatusFrame, TrackingFrame, WarningFrame)


def blocks(kind: str) -> list[tuple[str, list[str]]]:
    found = []
    for page in sorted(PAGES.glob("*.md")):
        parts = [text for name, text in BLOCK.findall(page.read_text("utf-8")) if name == kind]
        if parts:
            found.append((page.name, parts))
    return found


@pytest.mark.parametrize(("page", "requests"), blocks("http"), ids=lambda one: str(one)[:20])
async def test_requests_are_answered_as_a_page_says(
    database: Database, tenant: Tenant, page: str, requests: list[str]
) -> None:
    changes = Changes(database, None)
    changes.end_streams()
    caller = make_caller(
        build_app(database, version="0", objects=temporary_objects(), changes=changes), tenant
    )
    known = {"run0": await caller.make_run(name="one from before")}
    for request in requests:
        await answer(caller, request, known, page=page)


async def answer(caller: Caller, request: str, known: dict[str, str], *, page: str) -> None:
    sent, _, told = request.strip().partition("\n\n")
    first, *rest = sent.split("\n")
    method, _, path = first.partition(" ")
    for name, value in known.items():
        path = path.replace("{" + name + "}", value)
    path, _, query = path.partition("?")
    headers = {"Content-Type": "application/json"}
    while rest and re.match(r"[A-Z][\w-]+: ", rest[0]):
        name, _, value = rest.pop(0).partition(": ")
        headers[name] = value
    status, _, expected = told.partition(" ")
    response = await caller.send(
        method,
        path,
        status=int(status),
        headers=headers,
        params=[tuple(one.split("=", 1)) for one in query.split("&")] if query else None,
        content="\n".join(rest).encode() or None,
    )
    found: Any = response.json() if response.content else {}
    for name, value in json.loads(expected or "{}").items():
        assert name in found, (page, request)
        assert found[name] == value, (page, request)
    for prefix, name in (("run_", "run"), ("view_", "view"), ("exp_", "experiment")):
        if method == "POST" and str(found.get("id", "")).startswith(prefix):
            known[name] = found["id"]


@pytest.mark.parametrize(
    "text", [line for _, parts in blocks("filter") for part in parts for line in part.splitlines()]
)
def test_every_filter_of_a_page_is_read(text: str) -> None:
    parse_filter(text, series_from_name=series_from_name)


@pytest.mark.parametrize(("kind", "parse"), [("sort", parse_sort), ("columns", parse_columns)])
def test_every_sort_and_every_columns_of_a_page_are_read(kind: str, parse: Any) -> None:
    lines = [line for _, parts in blocks(kind) for part in parts for line in part.splitlines()]
    assert lines
    for line in lines:
        parse(line, series_from_name=series_from_name)


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    """The description of the interface."""
    app = build_app(
        Database("host=nowhere", connections=2), version="0", objects=temporary_objects()
    )
    found: dict[str, Any] = app.state.description
    return found


def test_the_page_of_the_interface_lists_every_route_and_shape(
    description: dict[str, Any],
) -> None:
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |"
        for path, methods in sorted(description["paths"].items())
        for method, operation in sorted(methods.items())
    ]
    listed = "\n".join(["| route | does |", "|---|---|", *rows]) + "\n"
    listed += f"\n{SHAPES}" + "".join(
        f"\n### {name}\n\n{shape_text(shape)}"
        for name, shape in sorted(description["components"]["schemas"].items())
    )
    page = PAGES / "http-api.md"
    head, _, tail = page.read_text("utf-8").partition(ROUTES)
    if WRITES:
        page.write_text(head + ROUTES + listed, "utf-8")
        tail = listed
    assert tail == listed, "the interface has changed: run this test with MAPI_WRITE_OPENAPI=1"


def shape_text(shape: dict[str, Any]) -> str:
    """Return what a page says of a struct or of a list of words."""
    said = f"{shape['description'].strip()}\n\n"
    if "enum" in shape:
        return f"{said}{', '.join(f'`{word}`' for word in shape['enum'])}\n"
    needed = shape.get("required", ())
    rows = [
        f"| `{name}`{'' if name in needed else ' ?'} | {type_text(one)} |"
        f" {one.get('description', '').replace('|', chr(92) + '|')} |\n"
        for name, one in shape.get("properties", {}).items()
    ]
    return f"{said}| member | is | |\n|---|---|---|\n{''.join(rows)}"


#: By the type of JSON schema.
KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "object",
    "array": "list",
}


def type_text(one: dict[str, Any]) -> str:
    """Return a type in words; what is more than a word has a place of its own on the page."""
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(map(type_text, one["anyOf"])))
    if "enum" in one:
        return " or ".join(f"`{word}`" for word in one["enum"])
    if one.get("items"):
        return f"list of {type_text(one['items'])}"
    return simple_type_text(one)


def simple_type_text(one: dict[str, Any]) -> str:
    if isinstance(one.get("additionalProperties"), dict) and one["additionalProperties"]:
        return f"names to {type_text(one['additionalProperties'])}"
    if one.get("format") == "date-time":
        return "time"
    return KINDS.get(one.get("type", ""), "JSON")


def test_the_budgets_of_the_page_are_the_defaults() -> None:
    text = (PAGES / "track.md").read_text("utf-8").replace(" ", " ")
    table = text[text.index("| budget | default |") :]
    for limit in (
        Budgets().series,
        Budgets().points,
        Budgets().points_per_series,
        Budgets().params,
        Budgets().tags,
        Budgets().log_lines,
        Budgets().spans,
        Budgets().media_items,
    ):
        assert f"{limit:,}".replace(",", " ") in table
    assert (Budgets().log_bytes, Budgets().media_bytes) == (2 << 20, 256 << 20)


def table_of(page: str, head: str) -> list[list[str]]:
    """Return the cells of the rows below the head of a table."""
    text = (PAGES / page).read_text("utf-8")
    rows = text[text.index(f"| {head} |") :].splitlines()[2:]
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in itertools.takewhile(lambda row: row.startswith("|"), rows)
    ]


def test_the_budgets_of_the_protocol_are_all_budgets_with_their_defaults() -> None:
    told = {name.strip("`"): limit for name, limit, _ in table_of("run-protocol.md", "budget")}
    assert told == {
        budget.value: f"{Budgets().limit(budget):,}".replace(",", " ") for budget in Budget
    }


def test_the_numbers_of_the_protocol_are_those_of_the_code() -> None:
    limits = {row[0]: row[1] for row in table_of("run-protocol.md", "limit")}
    assert limits == {
        "bytes of a batch, inflated (gzip or zstd)": f"{BATCH_BYTES_MAX >> 20} MiB",
        "points of a batch": f"{POINTS_MAX // 1_000} 000",
        "log lines of a batch": f"{LOG_LINES_MAX // 1_000} 000",
        "spans of a batch": f"{SPANS_MAX // 1_000} 000",
        "a message": f"{LOG_MESSAGE_BYTES_MAX >> 10} KiB",
        "how far ahead of the server a time may be": "a day",
    }
    text = " ".join((PAGES / "run-protocol.md").read_text("utf-8").split())
    settings = settings_from({})
    for said in (
        f"every {HEARTBEAT_SECONDS:g} seconds",
        f"none for {settings.heartbeat_timeout_seconds:g} seconds",
        f"room for {ATTEMPTS_MAX // 1_000} 000 attempts",
        f"room for {WRITERS_MAX // 1_000} 000 writers",
        f"at most {TABLE_ROWS_MAX // 1_000} 000 rows",
        f"up to {LABEL_VALUE_LENGTH_MAX} characters",
    ):
        assert said in text, said
    now = time_ns() // 1_000
    day = 86_400_000_000
    assert check_time_us(now + day - 1_000_000, now_us=now) is None
    assert check_time_us(now + day + 1_000_000, now_us=now) is not None


def test_the_protocol_promises_nothing_of_what_is_not_there(description: dict[str, Any]) -> None:
    text = (PAGES / "run-protocol.md").read_text("utf-8")
    assert "signature" not in text
    for path in re.findall(r"`(?:GET|POST|PUT|PATCH) …(/[\w/]+)`", text):
        assert f"/v1/runs/{{run}}{path}" in description["paths"]


def test_the_page_of_events_names_every_frame_and_warning() -> None:
    text = (PAGES / "events.md").read_text("utf-8")
    frames = {one.__struct_config__.tag for one in FRAMES}
    assert frames == set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE))
    assert set(WarningCode) == set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))
