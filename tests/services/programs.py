"""Where the programs of the services are: fetched into ``.services``, or installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tooling import services

__all__ = ["libraries_of_ceph", "program", "until_we_die"]


def program(name: str) -> str:
    """Return the path of a program; without it the test fails, as it would prove nothing."""
    found = services.place_of(name) / name
    if found.exists():
        return str(found)
    pytest.fail(
        f"no program {name}: run `python3 dev.py test`, which fetches it, or "
        f"`apt-get install {services.PROGRAMS[name]}`",
        pytrace=False,
    )


def until_we_die(signal_name: str) -> list[str]:
    """Return the words before a command that end its process with ours, where the kernel can."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", signal_name, "--"]


def libraries_of_ceph() -> Path:
    """Return the folder of the plugins that Ceph's programs load while they run."""
    for root in (services.SERVICES / "root", Path("/")):
        for found in root.glob("usr/lib/*/rados-classes"):
            return found.parent
    pytest.fail("no folder rados-classes: it comes with ceph-osd", pytrace=False)
