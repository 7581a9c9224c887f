"""A package that somebody installs: it has the pages, and serves them without Node.js or a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import hatch_build
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.acceptance.platform_servers import Server

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("packages")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return folder


def test_a_source_distribution_has_built_pages_and_needs_no_node(
    packages: Path, tmp_path: Path
) -> None:
    (archive,) = packages.glob("*.tar.gz")
    # `tarfile` extracts in one way on Python 3.11.2 and in another, with a warning, on 3.12.
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    (unpacked,) = tmp_path.iterdir()
    assert hatch_build.is_fresh(unpacked)
    names = {path.name for path in unpacked.rglob("*")}
    assert "package-lock.json" in names
    assert "node_modules" not in names


def test_an_installed_wheel_serves_the_pages(
    packages: Path, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    (wheel,) = packages.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")
    server = serve(PYTHONPATH=str(tmp_path / "site"))
    with urllib.request.urlopen(f"{server.url}/runs/run_1", timeout=30) as answer:
        page = answer.read().decode()
    assert '<div id="root">' in page
    linked = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    # What the page asks of the API ahead of its scripts is for who is signed in.
    loaded = [one for one in linked if not one.startswith("/v1/")]
    assert any(one.endswith(".js") for one in loaded)
    for one in loaded:
        with urllib.request.urlopen(server.url + one, timeout=30) as answer:
            assert answer.status == 200, one
    # It is the wheel that answers, and no checkout beside it.
    kept = {path.name for path in (tmp_path / "site/mapi/web/assets").iterdir()}
    assert {Path(one).name for one in loaded if "/assets/" in one} <= kept
