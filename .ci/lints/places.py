"""Rule `places`: no path of one machine, no address of one package registry in the repository.

Either works for its author only, and tells others about a machine that is none of theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "places"
# The patterns are written so that this file does not match itself.
PATHS = re.compile(r"(?<![\w.$}])/(?:work|root)/|/tmp/(?:bash_jobs|tooling)")
HOSTS = re.compile(
    r"(?:test\.)?pypi\.(?:org|python\.org)|pythonhosted\.(?:org|com)"
    r"|registry\.(?:npmjs|yarnpkg)\.(?:org|com)|(?:deb|security|ftp)\.debian\.org|/opt/(?:pypi|wheels)",
    re.IGNORECASE,
)


def check_text(path: str, text: str) -> Iterator[Finding]:
    """Report each line that names a place."""
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in (("a path of one machine", PATHS), ("a registry", HOSTS)):
            match = pattern.search(line)
            if match is not None:
                yield Finding(
                    path,
                    number,
                    RULE,
                    f"'{match[0]}' names {what}; use a relative path, or leave it to the "
                    "configuration of whoever runs it",
                )
