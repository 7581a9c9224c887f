"""Rule `packages`: a package's docstring is the map of its modules, so it names no other ones."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULE = "packages"
#: A lower-case word in single backticks; double ones hold code.
NAMED = re.compile(r"(?<!`)`([a-z_][a-z0-9_]*)`(?!`)")


def check(root: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Report names in a package's docstring that no module, neighbour or function of it bears.

    Args:
        root: The folder that ``name`` is relative to.
        name: The file, with forward slashes.
        tree: Its syntax tree.
    """
    path = root / name
    if path.name != "__init__.py":
        return
    folder = path.parent
    known = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    known |= {entry.stem for entry in [*folder.iterdir(), *folder.parent.iterdir()]}
    known |= sys.stdlib_module_names
    for word in NAMED.findall(ast.get_docstring(tree) or ""):
        if word not in known:
            yield Finding(name, 1, RULE, f"no module {word!r} here; name one that exists")
