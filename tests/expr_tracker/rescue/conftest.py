"""A run that a full disk cut, and the rescue file of what it lost: what this folder's tests share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.notices import Notices
from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles, StreamKey, parts_of
from expr_tracker.store.index import Attempt
from expr_tracker.store.lines import encode_line
from expr_tracker.store.markers import begin_marker, end_marker
from expr_tracker.store.place import prepare
from expr_tracker.store.reader import LineFile
from expr_tracker.store.rescue_file import write_rescue_file
from expr_tracker.store.sidecar import save_index

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class CutRun:
    """A run whose newest attempt could not write its last rows.

    Attributes:
        directory: the run's directory.
        key: whose rows they are.
        now: the time of the newest line.
    """

    directory: Path
    key: StreamKey = field(default_factory=StreamKey)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        write_once(self.files.identity, {"id": self.directory.name, "created": 1.0})

    @property
    def files(self) -> RunFiles:
        return RunFiles(self.directory, self.key)

    @property
    def path(self) -> Path:
        return self.files.metrics

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def rows(self, *steps: int, text: str = "x") -> list[bytes]:
        return [encode_line({"_step": step, "_time": self.tick(), "t": text}) for step in steps]

    def begin(self, number: int, from_step: int | None = None) -> bytes:
        return encode_line(begin_marker(number, from_step, time=self.tick(), pid=7))

    def end(self, number: int, status: str = "succeeded") -> bytes:
        return encode_line(end_marker(number, status, time=self.tick()))

    def write(self, lines: list[bytes], *, part_lines: int | None = None) -> None:
        """Write the file, in parts of so many lines, and its sidecar."""
        folder, number = parts_of(self.path), 0
        while part_lines is not None and len(lines) > part_lines:
            number += 1
            folder.mkdir(exist_ok=True)
            (folder / f"{number:06}.jsonl").write_bytes(b"".join(lines[:part_lines]))
            lines = lines[part_lines:]
        self.path.write_bytes(b"".join(lines))
        self.save_sidecar()

    def save_sidecar(self) -> None:
        index = prepare(self.path, Notices())
        with LineFile(self.path) as file:
            save_index(index, file, {"project": "p"})

    def rescue(
        self, lines: list[bytes], *, number: int = 1, began: float | None = None, size: int = 1
    ) -> Path:
        """Write a rescue file as the writer does; where it ``began`` is in a marker of `begin`."""
        attempt = Attempt(number, time=began, pid=None if began is None else 7)
        name, _, _ = write_rescue_file(self.path, lines, attempt=attempt, size=size)
        return Path(name)

    def old_rescue(self, lines: list[bytes], name: str | None = None) -> Path:
        """Write a rescue file as versions did that wrote no first line."""
        name = name or f"expr-tracker-{self.path.stem}-k3x9q2ab.jsonl"
        path = self.directory.parent / name
        path.write_bytes(b"".join(lines))
        return path

    def content(self) -> bytes:
        with LineFile(self.path) as file:
            return file.read(0, file.size)

    def snapshot(self) -> dict[str, bytes]:
        """Return every file of the run's directory."""
        return {
            str(path.relative_to(self.directory)): path.read_bytes()
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }


@pytest.fixture(scope="session")
def cut_run_at() -> type[CutRun]:
    """Return the maker of runs at any path: a class of a conftest cannot be imported."""
    return CutRun


@pytest.fixture
def cut_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CutRun]:
    """Return the maker of runs below this test's folder, which is the temporary one as well."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def make(name: str = "r", **fields: Any) -> CutRun:
        return CutRun(tmp_path / "p" / name, **fields)

    return make
