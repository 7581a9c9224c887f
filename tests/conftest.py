"""What every test may rely on: a clean environment, a folder of its own, repeatable properties."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import hypothesis
import pytest
from tests.services.fixtures import (  # noqa: F401 - pytest finds fixtures by their names here
    gateway,
    managed_database,
    managed_postgres,
    start_pooler,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# No deadline: on a shared machine a slow example says nothing about the code; the pytest timeout
# catches what hangs. In CI the examples are the same each time, so a red run can be repeated.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")

#: Variables that change what the tracker does; a developer's or a scheduler's must not leak in.
PREFIXES = ("ET_", "WANDB_", "MAPI_", "SLURM_", "OMPI_COMM_WORLD_", "PMI_")
NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "WEBHOOK_URL")


@pytest.fixture(scope="session", autouse=True)
def _temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let what is temporary, of programs under test too, land where pytest clears up.

    A program that is killed, and a run of the tests that is, leaves what it has there.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("t"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def _clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take away what the environment would say, and let stray files land in a folder of the test."""
    for name in list(os.environ):
        if name in NAMES or name.startswith(PREFIXES):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
