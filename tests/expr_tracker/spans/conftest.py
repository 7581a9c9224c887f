"""A run as spans see it, in memory; and a span room in which nothing was warned about yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.clock import SystemClock
from expr_tracker.notices import Notices
from expr_tracker.row import RowEncoder
from expr_tracker.spans import stack
from expr_tracker.spans.span import Span
from expr_tracker.store.lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class RunInMemory:
    """Keeps what spans hand over; the twin of a run's recorder."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.records = True
        self.print_fn: Callable[[str], object] | None = None
        self.plugins: tuple[Any, ...] = ()
        self.is_open = True
        self.step = 0
        self.metrics: list[tuple[str, float, dict[str, Any]]] = []
        self.lines: list[bytes] = []
        self.dropped: list[str] = []
        self.warned: list[str] = []
        self._encoder = RowEncoder(lambda key, text: self.warned.append(f"{key}: {text}"))

    def finished(
        self, path: str, duration_ms: float, metrics: dict[str, Any], *, joins: Any = None
    ) -> int | None:
        if not self.is_open:
            return None
        self.metrics.append((path, duration_ms, dict(metrics)))
        return self.step

    def append(self, line: bytes) -> None:
        self.lines.append(line)

    def encode(self, key: str, value: object) -> Any:
        return self._encoder.value(key, value)

    def redact(self, value: Any, /) -> Any:
        return value

    def count_dropped(self, kind: str) -> None:
        self.dropped.append(kind)

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows = [decode_line(line) for line in self.lines]
        assert all(row is not None for row in rows)
        return [row for row in rows if row is not None]

    @property
    def paths(self) -> list[str]:
        return [row["name"] for row in self.rows]


class SpanRoom:
    """`et.span` and `et.start_span` as a program has them, on a run that a test holds."""

    def __init__(self, run: RunInMemory) -> None:
        self.run: RunInMemory | None = run

    def span(
        self, name: str, /, *, print_fn: Any = None, plugins: Any = (), **attributes: Any
    ) -> Span:
        return Span(name, attributes, print_fn=print_fn, plugins=plugins, target=lambda: self.run)

    def start_span(self, name: str, /, **options: Any) -> Span:
        return self.span(name, **options).begin()


@pytest.fixture(autouse=True)
def _nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stack, "_notices", Notices())
    token = stack.open_spans.set(None)
    yield
    stack.open_spans.reset(token)


@pytest.fixture
def run() -> RunInMemory:
    return RunInMemory()


@pytest.fixture
def room(run: RunInMemory) -> SpanRoom:
    return SpanRoom(run)


@pytest.fixture
def spans_file() -> Callable[..., Path]:
    """Return a function that writes spans to a run's span file, as recorders do."""

    def write(directory: Path, *spans: dict[str, Any] | str, name: str = "spans.jsonl") -> Path:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [s if isinstance(s, str) else json.dumps({**_SPAN, **s}) for s in spans]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


#: Times in whole and half seconds: exact in floating point.
_SPAN = {"_step": 0, "name": "a", "depth": 0, "track": 1, "start": 1000.0, "dur_ms": 500.0}
