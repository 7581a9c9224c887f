from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tooling import locks

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_a_plain_install_takes_two_dependencies() -> None:
    names = [text.split(">")[0] for text in PROJECT["dependencies"]]
    assert names == ["click", "msgspec"]


def test_the_extra_all_holds_every_other_extra() -> None:
    extras = set(PROJECT["optional-dependencies"]) - {"all"}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == f"expr-tracker[{','.join(sorted(extras, key=everything.index))}]"


def test_there_is_a_command_for_each_half() -> None:
    assert PROJECT["scripts"] == {"et": "expr_tracker.cli:main", "mapi": "mapi.cli:main"}


@pytest.mark.parametrize("package", ["expr_tracker", "mapi"])
def test_each_package_is_marked_as_typed(package: str) -> None:
    assert (ROOT / "src" / package / "py.typed").exists()


def test_the_installed_version_is_the_one_in_pyproject() -> None:
    assert importlib.metadata.version("expr-tracker") == PROJECT["version"]


def test_the_licence_is_shipped_and_named() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_source_archive_builds_the_package_and_holds_no_test_that_could_not_run(
    tmp_path: Path,
) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    # `tarfile` extracts in one way on Python 3.11.2 and in another, with a warning, on 3.12.
    subprocess.run(["tar", "-xzf", archive, "-C", unpacked], check=True)
    (folder,) = unpacked.iterdir()
    assert {path.name for path in folder.iterdir()} == {
        ".gitignore",  # hatchling's own: a build from the archive leaves out the same files
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "docs",
        "examples",
        "hatch_build.py",
        "pyproject.toml",
        "src",
        "web",
    }
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == source


def test_the_locks_belong_to_pyproject() -> None:
    assert locks.stale_locks() == []


def test_every_locked_package_has_a_hash() -> None:
    for name in locks.LOCKS:
        text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        # At the beginning of a line: a marker behind a pin compares as well.
        pins = re.findall(r"^[A-Za-z0-9][\w.-]*(?:\[[\w,]+\])?==", text, re.MULTILINE)
        assert len(locks.stanzas(text)) == len(pins) > 0


def test_the_library_imports_without_any_extra_being_loaded() -> None:
    program = (
        "import sys, expr_tracker\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*sorted(loaded & {'click', 'numpy', 'pandas', 'polars', 'pyarrow', 'matplotlib',"
        " 'psutil', 'pynvml', 'pydantic', 'torch', 'mapi'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", [".ci/run", ".ci/check", "dev.py"])
def test_what_people_start_is_executable(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
