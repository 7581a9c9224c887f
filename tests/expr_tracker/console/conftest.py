from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.console.capture import ConsoleCapture
from expr_tracker.store.lines import decode_line
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Lines(list[bytes]):
    """Collects the lines of the file."""

    def __call__(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        self.append(line)

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows = [decode_line(line) for line in self]
        assert None not in rows
        return [row for row in rows if row is not None]

    @property
    def texts(self) -> list[str]:
        return [row["text"] for row in self.rows]


class Console:
    """A console of two memory streams in the place of the process's own."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.clock = ManualClock(100.0)
        self.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        self.stderr = io.StringIO()
        self._captures: list[ConsoleCapture] = []
        self._before: tuple[Any, Any] | None = None

    def capture(
        self, append: Callable[[bytes], object] | None = None, **options: Any
    ) -> ConsoleCapture:
        capture = ConsoleCapture(append or self.lines, self.clock, **options)
        # Not in the fixture: pytest puts its own streams back between set-up and test.
        self._before = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = self.stdout, self.stderr
        self._captures.append(capture)
        capture.start()
        return capture

    def close(self) -> None:
        for capture in self._captures:
            capture.stop()
        if self._before is not None and sys.stdout is self.stdout:
            sys.stdout, sys.stderr = self._before

    def shown(self) -> str:
        buffer = self.stdout.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@pytest.fixture
def console() -> Iterator[Console]:
    made = Console()
    yield made
    made.close()
