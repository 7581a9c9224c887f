"""Runs that are written as files, line by line: what the tests of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

END: Final[Row] = {"_attempt_end": 1, "_status": "succeeded", "_time": 9.0}
DEFAULT: Final = StreamKey()


class Runs:
    """Makes run directories.

    Attributes:
        END: the end of a first attempt that succeeded.
    """

    END = END

    @staticmethod
    def make(
        run: Path, rows: list[Row], key: StreamKey = DEFAULT, end: Row | None = END
    ) -> RunFiles:
        """Write one stream of a run, and the run's identity, which may be there already."""
        run.mkdir(parents=True, exist_ok=True)
        files = RunFiles(run, key)
        write_once(files.identity, {"id": "1", "created": 5.0})
        lines = [*rows, end] if end is not None else rows
        files.metrics.write_bytes(b"".join(map(encode_line, lines)))
        return files

    @staticmethod
    def rows_to(stop: int) -> list[Row]:
        """Return a row for every step below ``stop``."""
        return [{"_step": i, "_time": float(i), "loss": i / 2} for i in range(stop)]


@pytest.fixture(scope="session")
def runs() -> type[Runs]:
    """Return the maker of run directories: a class of a conftest cannot be imported."""
    return Runs
