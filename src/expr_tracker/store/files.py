"""Every file name of a run directory, and the rules for names that become file names.

::

    <root>/<project>/<name>/
        run.json                                   {"id", "created", "project", "name"}, written once
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

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import NameRefusedError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "RunFiles",
    "StreamKey",
    "check_name",
    "check_stream",
    "is_own_file",
    "path_within",
    "stream_keys",
]

_STREAM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
#: What people call the producer without a name, on the command line too.
_DEFAULT_LABEL: Final = "default"
_RANK_SHARD: Final = re.compile(r"rank\d+", re.IGNORECASE)
_SHARD_FILE: Final = re.compile(
    r"(?P<kind>[a-z]+)(?:\.(?P<stream>(?!rank\d+\.)[A-Za-z0-9][A-Za-z0-9_-]*))?"
    r"(?:\.rank(?P<rank>\d+))?\.jsonl"
)
_OF_PRODUCER: Final = r"(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)?(?:\.rank\d+)?"
#: Below a run directory. In any letter case: on some file systems it is the same file.
_OWN: Final = re.compile(
    r"run\.json|artifacts\.jsonl"
    rf"|(?:metrics|spans|console){_OF_PRODUCER}\.(?:jsonl|meta\.json|lock|open\.json|torn)"
    rf"|(?:summary|config|about|environment){_OF_PRODUCER}(?:\._attempt\d+)?\.json"
    r"|[^/]+\.jsonl\.parts(?:/.*)?|media(?:/.*)?",
    re.IGNORECASE | re.DOTALL,
)
#: Most file systems hold 255 bytes a name; a stream shares its file name with other words.
_STREAM_CHARACTERS_MAX: Final = 128
_NAME_BYTES_MAX: Final = 255
#: Folders that a search for runs goes through.
_LISTED_KINDS: Final = frozenset({"project", "run"})
#: Names that Windows gives to devices, in any letter case and with any extension.
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"com{number}" for number in range(1, 10)}
    | {f"lpt{number}" for number in range(1, 10)}
)


def check_stream(stream: object) -> str | None:
    """Return ``stream`` if it can be a stream's name (``None`` is the default producer).

    Raises:
        NameRefusedError: it cannot; the message says why.
    """
    if stream is None:
        return None
    if not isinstance(stream, str):
        raise NameRefusedError(
            f"stream={stream!r} ({type(stream).__name__}): a stream is a text, or None for the "
            "default producer."
        )
    if not _STREAM.fullmatch(stream):
        raise NameRefusedError(
            f"stream={stream!r}: a stream is part of a file name: letters, digits, '_' and '-', "
            f"beginning with a letter or digit. Try {_cleaned(stream)!r}."
        )
    if stream == _DEFAULT_LABEL:
        raise NameRefusedError(
            f"stream={stream!r}: that is what the producer without a name is called. Leave stream "
            "out to be it, or try 'main'."
        )
    if _RANK_SHARD.fullmatch(stream):
        raise NameRefusedError(
            f"stream={stream!r}: 'rank' and a number already names the files of a rank. "
            f"Try 'worker{stream[4:]}'."
        )
    if len(stream) > _STREAM_CHARACTERS_MAX:
        raise NameRefusedError(
            f"stream={stream[:40]!r}... has {len(stream)} characters; the limit is "
            f"{_STREAM_CHARACTERS_MAX}."
        )
    return stream


def _cleaned(stream: str) -> str:
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "-", stream).strip("-_")
    if cleaned == _DEFAULT_LABEL:
        return "main"
    if not cleaned or _RANK_SHARD.fullmatch(cleaned):
        return "worker-" + cleaned if cleaned else "worker"
    return cleaned


def check_name(kind: str, name: object) -> str:
    """Return ``name`` if it can be one folder below its parent, on every common file system.

    Args:
        kind: what it names (``"project"``, ``"run"``, ``"artifact"``), for the message.
        name: the name.

    Raises:
        NameRefusedError: it could leave its folder or cannot be a folder.
    """
    if not isinstance(name, str):
        raise NameRefusedError(
            f"{kind} name {name!r} ({type(name).__name__}): a name is a text; use str(...)."
        )
    rule = _broken_rule(name)
    if rule is None and kind in _LISTED_KINDS:
        rule = _hidden_rule(name)
    # Programs name runs by the time of day, so a run's name may have a colon.
    if rule is None and kind not in _LISTED_KINDS:
        rule = _unportable_rule(name)
    if rule is not None:
        shown = name if len(name) <= 60 else name[:60] + "..."
        raise NameRefusedError(
            f"{kind} name {shown!r}: {rule}. Use letters, digits, spaces, '-', '_' and '.'."
        )
    return name


def _unportable_rule(name: str) -> str | None:
    if any(character in '<>:"|?*' for character in name):
        return 'the characters < > : " | ? * cannot be in it (Windows refuses them)'
    return None


def _broken_rule(name: str) -> str | None:  # noqa: PLR0911 - one line per rule
    if not name:
        return "a name cannot be empty"
    if name in {".", ".."}:
        return "it would leave its folder"
    if "/" in name or "\\" in name:
        return "a name is one folder, so '/' and '\\' cannot be in it"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "control characters (NUL, line breaks, ...) cannot be in it"
    if any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        return "it holds half of a surrogate pair, which no file system stores"
    if name[-1] in ". " or name[0] == " ":
        return "it cannot begin with a space or end with a space or a dot"
    if name.split(".", 1)[0].lower() in _DEVICES:
        return "Windows keeps that name for a device"
    if len(name.encode("utf-8")) > _NAME_BYTES_MAX:
        return f"it is longer than {_NAME_BYTES_MAX} bytes"
    return None


def _hidden_rule(name: str) -> str | None:
    """Return why a run of or below that folder would not be listed."""
    if name.lower() == "artifacts":
        return f"a project keeps its artifacts under that name. Try {name + '-1'!r}"
    if name[0] == ".":
        cleaned = name.lstrip(". ") or "run"
        if _broken_rule(cleaned) is not None or cleaned.lower() == "artifacts":
            cleaned = f"run-{cleaned}"
        return f"runs below hidden folders are not listed. Try {cleaned!r}"
    return None


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
        stream = self.stream if self.stream is not None else _DEFAULT_LABEL
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


def stream_keys(directory: Path, kind: str = "metrics") -> list[StreamKey]:
    """Return the producers that have a ``kind`` file in ``directory``, default first."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except FileNotFoundError:
        return []
    found = {StreamKey.from_file(name, kind) for name in names}
    return sorted((key for key in found if key is not None), key=lambda key: key.order)


@dataclass(frozen=True)
class RunFiles:
    """The paths of one producer within one run directory."""

    directory: Path
    key: StreamKey = StreamKey()

    def _path(self, kind: str, ending: str) -> Path:
        return self.directory / f"{kind}{self.key.suffix}{ending}"

    @property
    def identity(self) -> Path:
        """``run.json``: one per run."""
        return self.directory / "run.json"

    @property
    def metrics(self) -> Path:
        """The rows."""
        return self._path("metrics", ".jsonl")

    @property
    def spans(self) -> Path:
        """The finished spans."""
        return self._path("spans", ".jsonl")

    @property
    def console(self) -> Path:
        """Standard output and error."""
        return self._path("console", ".jsonl")

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
    return path.with_name(path.name + ".parts")


def is_own_file(path: Path, run: Path) -> bool:
    """Say whether a file of that path would be one of a run's own, there already or not.

    Args:
        path: where something else is about to be written.
        run: the run that it is made of: its directory, or one of its files. Other runs are known
            by their identity.
    """
    target = path.parent.resolve() / path.name
    source = run.resolve()
    if target == source:
        return True
    home = source if source.is_dir() else source.parent
    if home.name.endswith(".parts"):
        home = home.parent
    for folder in target.parents:
        if (folder == home or (folder / "run.json").is_file()) and _OWN.fullmatch(
            target.relative_to(folder).as_posix()
        ):
            return True
    return False


def path_within(directory: Path, name: str) -> Path | None:
    """Return the place that ``name`` has below ``directory``, links followed.

    ``None``: it lies elsewhere. A name that was read from a file may hold ``..`` or be a link.
    """
    root = directory.resolve()
    try:
        target = (root / name).resolve()
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links
        return None
    return target if target != root and target.is_relative_to(root) else None
