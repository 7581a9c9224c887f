"""A writer on a disk that can fail, and what was said of it: what the tests of this folder share."""

from __future__ import annotations

import errno
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Self

import pytest

from expr_tracker.notices import Notices, logger
from expr_tracker.options import make_options
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.notices import Subject


class Heard(logging.Handler):
    """Collects what is logged while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def __enter__(self) -> Self:
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger.removeHandler(self)


def said_by(notices: Notices) -> str:
    """Return what is queued, as a log gets it."""
    with Heard() as heard:
        notices.emit()
    return "\n".join(heard.texts)


class Disk:
    """The system call ``write``, with a disk that can be full, slow or worse.

    Attributes:
        room: bytes that still fit; ``None`` is no limit.
        seconds: what one write takes, on the test's clock.
        after: an error that comes although everything was written.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.room: int | None = None
        self.seconds = 0.0
        self.after: OSError | None = None
        self.calls = 0

    def write(self, fd: int, data: bytes) -> int:
        self.calls += 1
        self._clock.advance(self.seconds)
        if self.room is None:
            written = os.write(fd, data)
        elif self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        else:
            written = os.write(fd, data[: self.room])
            self.room -= written
        if self.after is not None:
            error, self.after = self.after, None
            raise error
        return written


class Desk:
    """A writer, its clock, its disk and its notices."""

    def __init__(self, path: Path, *, subject: Subject = "rows", **options: Any) -> None:
        self.path = path
        self.clock = ManualClock()
        self.disk = Disk(self.clock)
        self.notices = Notices()
        self.lock = threading.RLock()
        self.writer = LineWriter(
            path,
            make_options(options),
            lock=self.lock,
            clock=self.clock,
            notices=self.notices,
            write=self.disk.write,
            subject=subject,
        )

    def put(self, *steps: int, text: str = "x") -> None:
        for step in steps:
            with self.lock:
                assert self.writer.append_row({"_step": step, "t": text}, step)

    def steps(self) -> list[int]:
        """Return the steps in the file, in file order."""
        return [row["_step"] for row in whole_rows(self.path) if "_step" in row]

    def said(self) -> str:
        """Return what was said since the last call."""
        return said_by(self.notices)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


@pytest.fixture(scope="session")
def desk_at() -> type[Desk]:
    """Return the maker of desks at any path: a class of a conftest cannot be imported."""
    return Desk


@pytest.fixture
def make(path: Path) -> Callable[..., Desk]:
    """Return the maker of desks at this test's path."""
    return lambda **options: Desk(path, **options)
