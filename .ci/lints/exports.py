"""Rule `exports`: a name that crosses modules of the package stands in the ``__all__`` it comes from.

Privacy is ``__all__``: whoever changes a name that is not in it need not look elsewhere.
"""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULE = "exports"
SOURCE = "src"


def check(root: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Report what a module of ``src`` imports from another one that does not export it.

    Args:
        root: The folder that ``name`` is relative to.
        name: The file, with forward slashes.
        tree: Its syntax tree.
    """
    if not name.startswith(f"{SOURCE}/"):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None or node.level:
            continue
        place = root / SOURCE / node.module.replace(".", "/")
        exported = exports_of(place)
        for alias in node.names:
            if exported is None or alias.name in exported or is_module(place / alias.name):
                continue
            yield Finding(
                name,
                node.lineno,
                RULE,
                f"{alias.name!r} is not in the __all__ of {node.module}; put it there",
            )


def is_module(place: Path) -> bool:
    """Say whether a path without its ending is a module or a package."""
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


@functools.cache
def exports_of(place: Path) -> frozenset[str] | None:
    """Return the ``__all__`` of the module at a path without its ending; ``None`` without one."""
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not path.is_file():
        return None
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return None
