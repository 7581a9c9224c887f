"""Rule `names`: words that stand where a noun of the field is missing."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "names"
BANNED = frozenset(
    {"manager", "helper", "helpers", "util", "utils", "common", "misc"}
    | {"handler", "handlers", "processor", "impl"}
)
#: Banned as a whole module name only: as a part it is often a term (base_url, base_name).
BANNED_MODULES = frozenset({"base"})
#: Banned as the last word: everything is data and info.
BANNED_ENDINGS = frozenset({"data", "info"})
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words(name: str) -> list[str]:
    """Split a snake_case or CamelCase name into lower-case words."""
    return [word.lower() for word in WORD.findall(name)]


def missing_noun(name: str) -> str | None:
    """Return the banned word of a name, or None."""
    parts = words(name)
    for part in parts:
        if part in BANNED:
            return part
    if len(parts) > 1 and parts[-1] in BANNED_ENDINGS:
        return parts[-1]
    return None


def check(path: str, tree: ast.Module, text: str) -> Iterator[Finding]:
    """Report modules, their folders, classes and functions with a banned word in the name.

    In tests only the files are looked at: a test's name is a sentence, and a double carries the
    names of what it stands for.
    """
    del text
    place = PurePosixPath(path)
    for part in (*place.parts[:-1], place.stem):
        word = part if part in BANNED_MODULES else missing_noun(part)
        if word and not part.startswith("test_"):
            yield Finding(path, 1, RULE, advice(part, word))
    if place.parts[0] == "tests":
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        word = missing_noun(node.name)
        if word and not node.name.startswith("test_"):
            yield Finding(path, node.lineno, RULE, advice(node.name, word))


def advice(name: str, word: str) -> str:
    """Return what is wrong with a name and what to do."""
    return f"'{word}' in the name '{name}' hides a missing noun; name the thing or what it does"
