"""Rule `size`: a long module has two nouns, a long function two verbs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "size"
# The modules of well-kept libraries are 90 to 350 lines at the median, and 95 of 100 of their
# functions are shorter than 60.
MODULE_LINES_WARN, MODULE_LINES_MAX = 400, 600
FUNCTION_LINES_WARN, FUNCTION_LINES_MAX = 50, 70


def last_line(node: ast.stmt) -> int:
    """Return the line a statement ends on; trees made from text always know it."""
    assert node.end_lineno is not None
    return node.end_lineno


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines the docstring takes: explaining a front door must not cost it lines."""
    if ast.get_docstring(node) is None:
        return 0
    return last_line(node.body[0]) - node.body[0].lineno + 1


def check(path: str, tree: ast.Module, text: str) -> Iterator[Finding]:
    """Report a module and each function that is longer than its limit."""
    count = text.count("\n")
    if count > MODULE_LINES_WARN:
        yield Finding(
            path,
            1,
            RULE,
            f"module of {count} lines, the limit is {MODULE_LINES_MAX} (warned from "
            f"{MODULE_LINES_WARN}); find its second noun and give it a module",
            is_warning=count <= MODULE_LINES_MAX,
        )
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        count = last_line(node) - node.lineno + 1 - docstring_lines(node)
        if count > FUNCTION_LINES_WARN:
            yield Finding(
                path,
                node.lineno,
                RULE,
                f"{node.name} has {count} lines, the limit is {FUNCTION_LINES_MAX} (warned from "
                f"{FUNCTION_LINES_WARN}); split it where a comment would introduce a part",
                is_warning=count <= FUNCTION_LINES_MAX,
            )
