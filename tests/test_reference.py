"""The reference has every public name, and its pages leave out only what exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "reference").glob("*.md"))
#: ``::: a.b`` and its indented options.
DIRECTIVE = re.compile(r"^::: (?P<path>[\w.]+)\n(?P<options>(?:[ \t]+.*\n)*)", re.MULTILINE)
LEFT_OUT = re.compile(r"!\^\((?P<names>[\w|]+)\)\$")
PUBLIC = [
    "expr_tracker",
    "expr_tracker.artifacts",
    "expr_tracker.console",
    "expr_tracker.errors",
    "expr_tracker.history",
    "expr_tracker.media",
    "expr_tracker.options",
    "expr_tracker.plugins",
    "expr_tracker.rescue",
    "expr_tracker.testing",
    "expr_tracker.trace",
]


def found(path: str) -> Any:
    """Return the object at a dotted path; the longest part of it that is a module is imported."""
    parts = path.split(".")
    for stop in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:stop]))
        except ModuleNotFoundError:
            continue
        for name in parts[stop:]:
            value = getattr(value, name)
        return value
    raise AssertionError(path)


def directives() -> dict[str, str]:
    """Return what the pages render, with its options."""
    return {
        match["path"]: match["options"]
        for page in PAGES
        for match in DIRECTIVE.finditer(page.read_text(encoding="utf-8"))
    }


def is_shown(package: str, name: str) -> bool:
    wanted = getattr(found(package), name)
    for path, options in directives().items():
        value = found(path)
        if path == f"{package}.{name}" or value is wanted:
            return True
        if isinstance(value, ModuleType) and "members: false" not in options:
            exported = {exported: getattr(value, exported) for exported in value.__all__}
            if any(member is wanted and own == name for own, member in exported.items()):
                return True
    return False


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_stands_in_the_reference(package: str) -> None:
    names = set(found(package).__all__) - {"__version__"}
    assert [name for name in sorted(names) if not is_shown(package, name)] == []


def test_every_directive_names_something_that_exists() -> None:
    assert len(directives()) > len(PUBLIC)
    for path in directives():
        assert found(path) is not None


def test_what_a_page_leaves_out_exists() -> None:
    left_out = {}
    for path, options in directives().items():
        for match in LEFT_OUT.finditer(options):
            value = found(path)
            members = [getattr(value, name) for name in getattr(value, "__all__", [])] or [value]
            for name in match["names"].split("|"):
                left_out[name] = any(hasattr(member, name) for member in members)
    assert left_out, "no page leaves anything out: the pattern has to fit the pages"
    assert all(left_out.values()), left_out
