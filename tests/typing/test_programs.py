"""The public types, checked as a user would: `mypy --strict` over programs, without our settings.

Each program says with `assert_type` what it gets, and with ``type: ignore`` comments which errors a
type checker has to find: one that it does not find is an unused comment, and an error itself.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted(path for path in HERE.glob("*.py") if not path.name.startswith("test_"))
SOURCE = HERE.parents[1] / "src"

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is part of the lint tools"),
]


def checked(folder: Path, *programs: Path) -> str:
    """Return what mypy says about programs in a folder of their own; empty where all is well."""
    configuration = folder / "mypy.ini"
    # pyarrow ships no types, which users have to say too; everything else is mypy's own default.
    configuration.write_text(
        f"[mypy]\nstrict = True\nmypy_path = {SOURCE}\nfollow_imports = silent\n"
        "[mypy-pyarrow.*]\nignore_missing_imports = True\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(configuration), *map(str, programs)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_programs_have_the_types_they_say_and_the_errors_they_expect(tmp_path: Path) -> None:
    assert len(PROGRAMS) >= 2
    assert checked(tmp_path, *PROGRAMS) == ""


def test_a_wrong_type_and_an_error_that_is_not_found_are_both_seen(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from typing import assert_type\n"
        "import expr_tracker as et\n"
        "assert_type(et.history(output_type='polars'), int)\n"
        "et.log({'loss': 1.0})  # type: ignore[arg-type]\n"
    )
    said = checked(tmp_path, program)
    assert "program.py:3: error: Expression is of type" in said
    assert 'program.py:4: error: Unused "type: ignore" comment' in said
