"""What `conftest` promises to every test."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def test_what_is_temporary_lands_where_pytest_clears_up(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    base = tmp_path_factory.getbasetemp().resolve()
    assert Path(tempfile.mkdtemp()).resolve().is_relative_to(base)
    asked = "import tempfile; print(tempfile.mkdtemp())"
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()).resolve().is_relative_to(base)
