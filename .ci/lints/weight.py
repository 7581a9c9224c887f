"""Rule `weight`: what is committed once is cloned for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lints.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "weight"
#: The longest file that is written by hand, the full lock, has 180 kB.
SIZE_BYTES_MAX = 512 * 1024
#: Files that may be heavier. A picture takes no comment, so the excuse stands here: name -> reason.
ALLOWED: dict[str, str] = {}


def check_size(path: str, size_bytes: int) -> Iterator[Finding]:
    """Report a file that is too heavy for a repository."""
    if size_bytes > SIZE_BYTES_MAX and path not in ALLOWED:
        yield Finding(
            path,
            1,
            RULE,
            f"{size_bytes:,} bytes, the limit is {SIZE_BYTES_MAX:,}; make it when it is needed, or "
            "name it with the reason in .ci/lints/weight.py",
        )
