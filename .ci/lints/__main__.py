"""Run the rules of this folder: ``python .ci/lints [FILE ...]``.

Without files, everything is checked that git tracks or would track. Warnings are printed and do not
fail; anything else does.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # `python .ci/lints` puts this folder on the path; the package lies one above.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from lints import docstring, exports, names, packages, places, size, weight
from lints.finding import Finding, is_excused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
SYNTAX_RULES = (size.check, docstring.check, names.check)


def files_of_repository(root: Path) -> list[str]:
    """Return the files that git tracks, or would with `git add .`, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return sorted({name for name in listed.stdout.split("\0") if (root / name).is_file()})


def check_file(root: Path, name: str) -> Iterator[Finding]:
    """Report what is wrong with one file and not excused.

    Args:
        root: The folder that names are relative to.
        name: The file, with forward slashes.
    """
    yield from weight.check_size(name, (root / name).stat().st_size)
    try:
        text = (root / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # a picture or the like
    findings = list(places.check_text(name, text))
    if name.endswith(".py"):
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            yield Finding(name, error.lineno or 1, "syntax", error.msg)
            return
        findings += [finding for rule in SYNTAX_RULES for finding in rule(name, tree, text)]
        for rule in (packages.check, exports.check):
            findings += rule(root, name, tree)
    lines = text.splitlines()
    yield from (finding for finding in findings if not is_excused(finding, lines))


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Check files, print the findings and return the exit code."""
    given = [Path(argument).resolve().relative_to(root).as_posix() for argument in arguments]
    chosen = given or files_of_repository(root)
    findings = [finding for name in chosen for finding in check_file(root, name)]
    for finding in findings:
        print(finding)
    return 1 if any(not finding.is_warning for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
