"""Every file name of a run directory.

::

    <root>/<project>/<name>/
        run.json                                   {"id", "created", "project", "name"}, written once
        run.json.damaged                           what stood there and was no JSON object, kept
        metrics[.STREAM][.rankN].jsonl             the rows
        metrics[.STREAM][.rankN].jsonl.parts/      set-aside parts, only with rotation
        metrics[.STREAM][.rankN].meta.json         the index: a hint that can be rebuilt
        metrics[.STREAM][.rankN].lock              the writer's lock
        metrics[.STREAM][.rankN].open.json         the journal of the open row
        metrics[.STREAM][.rankN].torn              what was cut off a torn tail, kept
        spans[.STREAM][.rankN].jsonl               finished spans, with .parts, index and .torn
        summary[.STREAM][.rankN].json              the last value of every metric, and pins
        config[.STREAM][.rankN].json               what the user configured
        about[.STREAM][.rankN].json                notes, tags, definitions of metrics
        environment[.STREAM][.rankN].json          code, packages, host
        config[.STREAM][.rankN]._attemptM.json     what attempt M was configured with, where a later
                                                   one replaced it; environment... likewise. M is 0
                                                   for a try that ended before it wrote a line
        console[.STREAM][.rankN].jsonl             standard output and error, on request
        artifacts.jsonl                            which artifacts the run made and used
        media/                                     images, figures and tables, by content hash

A stream never contains a dot nor begins with an underscore, so every name can be taken apart again
(`StreamKey.from_file`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from expr_tracker.store.names import stream_label

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "PART_FILE",
    "LineKind",
    "RunFiles",
    "StreamKey",
    "kept_of",
    "parts_of",
    "sidecar_of",
    "stream_keys",
    "torn_of",
]

#: What a line file of a producer holds, as its name begins.
LineKind = Literal["metrics", "spans", "console"]

#: Ours have six digits; older programs' had eight.
PART_FILE: Final = re.compile(r"\d{6}(?:\d{2})?\.jsonl")

_PARTS: Final = ".parts"
_SHARD_FILE: Final = re.compile(
    r"(?P<kind>[a-z]+)(?:\.(?P<stream>(?!rank\d+\.)[A-Za-z0-9][A-Za-z0-9_-]*))?"
    r"(?:\.rank(?P<rank>\d+))?\.jsonl"
)


@dataclass(frozen=True, order=False)
class StreamKey:
    """One producer's files: its stream (``None`` is the default) and its rank."""

    stream: str | None = None
    rank: int = 0

    @property
    def suffix(self) -> str:
        """The part of every file name that tells this producer from the others."""
        stream = f".{self.stream}" if self.stream is not None else ""
        rank = f".rank{self.rank}" if self.rank else ""
        return stream + rank

    @property
    def label(self) -> str:
        """How messages and timelines name it: ``default``, ``data``, ``data rank 1``."""
        stream = stream_label(self.stream)
        return f"{stream} rank {self.rank}" if self.rank else stream

    @property
    def order(self) -> tuple[bool, str, int]:
        """The sort key: default producer first, then by name, then by rank."""
        return (self.stream is not None, self.stream or "", self.rank)

    @classmethod
    def from_file(cls, name: str, kind: str = "metrics") -> StreamKey | None:
        """Return the producer whose ``kind`` file has this name; ``None`` if it is no such file."""
        match = _SHARD_FILE.fullmatch(name)
        if match is None or match["kind"] != kind:
            return None
        return cls(match["stream"], int(match["rank"] or 0))


def stream_keys(directory: Path, *kinds: str) -> list[StreamKey]:
    """Return the producers that have a file of one of the kinds in ``directory``, default first.

    A file that was set aside counts by its parts: a writer that is killed between the rename and the
    new file, and a user who moves the file away, leave nothing else.

    Args:
        directory: the run's directory.
        *kinds: what the files hold; by default ``metrics``.
    """
    try:
        names = os.listdir(directory)  # noqa: PTH208 - half the time of a Path each
    except FileNotFoundError:
        return []
    found: set[StreamKey] = set()
    for kind in kinds or ("metrics",):
        keys = {StreamKey.from_file(name, kind) for name in names}
        for name in names:
            if name.endswith(_PARTS):
                key = StreamKey.from_file(name.removesuffix(_PARTS), kind)
                if key not in keys and _has_part(directory / name):
                    keys.add(key)
        found.update(key for key in keys if key is not None)
    return sorted(found, key=lambda key: key.order)


def _has_part(folder: Path) -> bool:
    try:
        return any(map(PART_FILE.fullmatch, os.listdir(folder)))  # noqa: PTH208 - as above
    except (FileNotFoundError, NotADirectoryError):  # a file of that name is another program's
        return False


@dataclass(frozen=True)
class RunFiles:
    """The paths of one producer within one run directory."""

    directory: Path
    key: StreamKey = StreamKey()

    def _path(self, kind: str, ending: str) -> Path:
        return self.directory / f"{kind}{self.key.suffix}{ending}"

    def lines_of(self, kind: LineKind) -> Path:
        """Return the line file of a kind: `metrics`, `spans` or `console`."""
        return self._path(kind, ".jsonl")

    @property
    def identity(self) -> Path:
        """``run.json``: one per run."""
        return self.directory / "run.json"

    @property
    def metrics(self) -> Path:
        """The rows."""
        return self.lines_of("metrics")

    @property
    def spans(self) -> Path:
        """The finished spans."""
        return self.lines_of("spans")

    @property
    def console(self) -> Path:
        """Standard output and error."""
        return self.lines_of("console")

    @property
    def lock(self) -> Path:
        """The lock that a live writer holds; never the data file itself."""
        return self._path("metrics", ".lock")

    @property
    def journal(self) -> Path:
        """The open row."""
        return self._path("metrics", ".open.json")

    @property
    def summary(self) -> Path:
        """The last values and the pins."""
        return self._path("summary", ".json")

    @property
    def config(self) -> Path:
        """What the user configured."""
        return self._path("config", ".json")

    @property
    def about(self) -> Path:
        """Notes, tags and what is said about metrics."""
        return self._path("about", ".json")

    @property
    def environment(self) -> Path:
        """Code, packages, host."""
        return self._path("environment", ".json")

    @property
    def media(self) -> Path:
        """The folder of images, figures and tables."""
        return self.directory / "media"

    @property
    def artifacts(self) -> Path:
        """Which artifacts the run made and used; shared by its producers."""
        return self.directory / "artifacts.jsonl"


def sidecar_of(path: Path) -> Path:
    """Return the index file of a line file: ``metrics.jsonl`` → ``metrics.meta.json``."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".meta.json")


def torn_of(path: Path) -> Path:
    """Return where the torn tail of a line file is kept: ``metrics.jsonl`` → ``metrics.torn``."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".torn")


def kept_of(path: Path, attempt: int) -> Path:
    """Return where a document that gave way is kept: ``config.json`` → ``config._attempt1.json``."""
    return path.with_name(f"{path.name.removesuffix('.json')}._attempt{attempt}.json")


def parts_of(path: Path) -> Path:
    """Return the folder of a line file's set-aside parts."""
    return path.with_name(path.name + _PARTS)
