from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def lint_imports(copy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "--no-cache"],
        cwd=copy,
        # The copy must be seen before the project that is installed in this environment.
        env={"PYTHONPATH": str(copy / "src"), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def add_import(copy: Path, module: str, added: str) -> None:
    path = copy / "src/expr_tracker" / module
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    # At the end, inside a function: a lazy import counts as well.
    path.write_text(f"{text}\n\ndef _forbidden() -> None:\n    {added}\n", encoding="utf-8")


def broken_contracts(copy: Path) -> list[str]:
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "BROKEN" in line]


def test_the_contracts_hold(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "added", "contract"),
    [
        ("store", "import expr_tracker.history", "downwards only"),
        ("record", "import expr_tracker.store", "downwards only"),
        ("spans", "from expr_tracker import current", "downwards only"),
        ("history", "import mapi", "never imports the platform"),
        ("clock", "from expr_tracker import options", "know no other room"),
        ("errors", "import expr_tracker.store", "know no other room"),
        ("cli/ls", "from expr_tracker.store.files import StreamKey", "reads no file"),
        ("cli/table", "from expr_tracker.nonfinite import without_nonfinite", "reads no file"),
        ("../mapi/tracking/media", "from PIL import Image", "decodes no image"),
        ("../mapi/api/media", "import cv2", "decodes no image"),
    ],
)
def test_a_forbidden_import_is_seen(copy: Path, module: str, added: str, contract: str) -> None:
    add_import(copy, module, added)
    assert any(contract in line for line in broken_contracts(copy))


def test_a_cycle_is_seen(copy: Path) -> None:
    add_import(copy, "clock", "import expr_tracker.errors")
    add_import(copy, "errors", "import expr_tracker.clock")
    assert any("part of a cycle" in line for line in broken_contracts(copy))


def test_a_part_that_knows_the_whole_run_is_seen(copy: Path) -> None:
    add_import(copy, "run/documents", "from expr_tracker.run.run import Run")
    assert any("part of a cycle" in line for line in broken_contracts(copy))


def test_a_new_room_has_to_take_its_place(copy: Path) -> None:
    (copy / "src/expr_tracker/somewhere.py").touch()
    done = lint_imports(copy)
    assert done.returncode == 1
    assert "somewhere" in done.stdout
