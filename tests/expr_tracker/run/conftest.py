"""Runs in a folder of the test: what the tests of this folder share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.run import run as run_module
from expr_tracker.run.place import Place
from expr_tracker.run.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.testing import ManualClock

Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a maker of runs in one directory; whatever is left open is closed."""

    def open_one(
        *,
        name: str = "n",
        clock: ManualClock | None = None,
        config: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        run = Run(
            Place(tmp_path / "p" / name, tmp_path / "p" / "artifacts", "p", name),
            make_options({"capture": False, **options}),
            config=config,
            about={"project": "p", "name": "n", "time": 5.0},
            notices=Notices(),
            clock=clock,
        )
        made.append(run)
        return run

    made: list[Run] = []
    yield open_one
    sys.setprofile(None)
    for run in tuple(run_module.open_runs):
        run.finish(quiet=True)
    for run in made:  # those that ended as their process would have
        run._keeper.stop(5.0)
