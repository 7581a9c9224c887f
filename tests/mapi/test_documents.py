"""The pages about the platform: every request is sent, every filter is read, every route is listed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_caller
from tests.mapi.storing import temporary_objects

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.search import parse_filter
from mapi.series.budgets import Budgets
from mapi.series.name_map import series_from_name
from mapi.tracking.changes import Changes
from mapi.wire.enums import WarningCode
from mapi.wire.events import LogFrame, ProjectFrame, StatusFrame, TrackingFrame, WarningFrame

if TYPE_CHECKING:
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

PAGES = Path(__file__).parents[2] / "docs" / "platform"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Writes the list of routes anew.
WRITES = "MAPI_WRITE_OPENAPI" in os.environ
ROUTES = "## Routes\n\n"
FRAMES = (LogFrame, ProjectFrame, StatusFrame, TrackingFrame, WarningFrame)


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
        assert found.get(name, 0) == value, (page, request)
    for prefix, name in (("run_", "run"), ("view_", "view"), ("exp_", "experiment")):
        if method == "POST" and str(found.get("id", "")).startswith(prefix):
            known[name] = found["id"]


@pytest.mark.parametrize(
    "text", [line for _, parts in blocks("filter") for part in parts for line in part.splitlines()]
)
def test_every_filter_of_a_page_is_read(text: str) -> None:
    parse_filter(text, series_from_name=series_from_name)


def test_the_page_of_the_interface_lists_every_route() -> None:
    app = build_app(
        Database("host=nowhere", connections=2), version="0", objects=temporary_objects()
    )
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |"
        for path, methods in sorted(app.state.description["paths"].items())
        for method, operation in sorted(methods.items())
    ]
    listed = "\n".join(["| route | does |", "|---|---|", *rows]) + "\n"
    page = PAGES / "http-api.md"
    head, _, tail = page.read_text("utf-8").partition(ROUTES)
    if WRITES:
        page.write_text(head + ROUTES + listed, "utf-8")
        tail = listed
    assert tail == listed, "the routes have changed: run this test with MAPI_WRITE_OPENAPI=1"


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


def test_the_page_of_events_names_every_frame_and_warning() -> None:
    text = (PAGES / "events.md").read_text("utf-8")
    frames = {one.__struct_config__.tag for one in FRAMES}
    assert frames == set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE))
    assert set(WarningCode) == set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))
