"""A folder with what `pip install 'expr-tracker[client]'` brings, and nothing else to import.

The requirements are those of pyproject.toml, followed through the installed packages; each is a link
to where it is installed. So a module that the client takes from elsewhere is not there.
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ROOT", "install", "requirements_of"]

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements_of(*extras: str) -> set[str]:
    """Return the names of all packages that an install with these extras brings."""
    wanted = list(PROJECT["dependencies"])
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    found: set[str] = set()
    _follow(map(Requirement, wanted), found)
    return found


def _follow(wanted: Iterable[Requirement], found: set[str]) -> None:
    for one in wanted:
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        seen = {name, *(f"{name}[{extra}]" for extra in one.extras)}
        if seen <= found:
            continue
        found |= seen
        below = (Requirement(text) for text in metadata.requires(name) or [])
        _follow(
            (
                inner
                for inner in below
                if inner.marker is None
                or any(inner.marker.evaluate({"extra": extra}) for extra in one.extras or {""})
            ),
            found,
        )


def install(folder: Path, *extras: str) -> Path:
    """Link the packages of an install with these extras, and our own, into a folder."""
    folder.mkdir()
    for package in ("expr_tracker", "mapi"):
        (folder / package).symlink_to(ROOT / "src" / package)
    for name in requirements_of(*extras):
        if "[" in name:
            continue
        distribution = metadata.distribution(name)
        for top in {path.parts[0] for path in distribution.files or []} - {"..", "__pycache__"}:
            place = Path(str(distribution.locate_file(top)))
            if not (folder / top).exists():
                (folder / top).symlink_to(place)
    return folder
