"""Rule `docstring`: a module says what it owns; the map of the project is built from that.

ruff asks the same of the library; this asks it of the scripts, benches and examples too. In tests
the file name says it.
"""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "docstring"


def check(path: str, tree: ast.Module, text: str) -> Iterator[Finding]:
    """Report a module without a docstring."""
    is_test = PurePosixPath(path).parts[0] == "tests"
    if text.strip() and not is_test and not (ast.get_docstring(tree) or "").strip():
        yield Finding(
            path, 1, RULE, "module without a docstring; begin with one sentence on what it owns"
        )
