"""Rule `packages`: a package's docstring is the map of its modules: it names each, and no other."""

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
    """Report what a package's docstring names and nothing bears, and modules that it leaves out.

    A module of the package, a neighbour, a function or a class of it may bear a name.

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
    named = NAMED.findall(ast.get_docstring(tree) or "")
    for word in named:
        if word not in known:
            yield Finding(name, 1, RULE, f"no module {word!r} here; name one that exists")
    for module in sorted(modules_of(folder) - set(named)):
        yield Finding(
            name, 1, RULE, f"the module `{module}` stands in no sentence; say what it owns"
        )


def modules_of(folder: Path) -> set[str]:
    """Return the modules and packages in a folder; those with leading underscores are Python's own."""
    entries = [*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py"))]
    return {entry.stem for entry in entries if not entry.stem.startswith("_")}
