"""What tests of the table of runs share: addresses and rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    import mapi

__all__ = ["HOSTILE_NAMES", "address", "grid", "names", "row"]

#: Names that a page must show as what they are: texts.
HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(2)</script>',
    "javascript:alert(3)",
    "{{constructor.constructor('alert(4)')()}}",
    "\u202egnitset",
    "x" * 200,
    "\u062a\u0634\u063a\u064a\u0644 \u0627\u0644\u0646\u0645\u0648\u0630\u062c",
    "\U0001f600 r\u00e9glage",
)


def address(api: mapi.Client, **search: Any) -> str:
    """Return the address of the table of a client's project; lists are written as JSON."""
    parts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in {"project": api.project, **search}.items()
    }
    return f"/runs?{urlencode(parts)}"


def grid(page: Page) -> Locator:
    """Return the table."""
    return page.get_by_role("grid", name="Runs")


def row(page: Page, name: str) -> Locator:
    """Return the row of a run by its name."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def names(page: Page) -> list[str]:
    """Return the names in the table, from its top."""
    return grid(page).get_by_role("link").all_inner_texts()
