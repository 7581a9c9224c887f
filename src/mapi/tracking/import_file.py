"""A file of exported runs, checked whole before anything of it is written.

A fault points at its line: ``/lines/17/values/3`` is of the line that is counted 17 from 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

from mapi.access.identifiers import EXPERIMENT, RUN, VIEW, uuid_from_text
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.series.name_map import is_full_name, writer_from_labels
from mapi.series.names import (
    canonical_labels,
    check_key,
    check_labels,
    check_name,
    check_note,
    check_param,
    check_stream,
    check_tag,
    labels_hash,
)
from mapi.series.prunings import PRUNED
from mapi.tracking.experiments import check_experiment_name
from mapi.tracking.import_life import check_life
from mapi.tracking.import_pruned import check_pruned
from mapi.tracking.logs import checked_lines
from mapi.tracking.spans import SPAN_FIELDS_BYTES_MAX
from mapi.tracking.texts import json_text
from mapi.tracking.views import check_search, check_view_name
from mapi.wire.decoding import decode, pointer
from mapi.wire.enums import RunKind, Source
from mapi.wire.exchange import (
    EXPORT_VERSION,
    LINE_BYTES_MAX,
    AttemptLine,
    DocumentLine,
    EndLine,
    ExperimentLine,
    ExportLine,
    HeaderLine,
    LifeLine,
    LogRecord,
    MediaLine,
    ParamLine,
    PointsLine,
    PrunedLine,
    RunLine,
    SpanLine,
    TagLine,
    ViewLine,
)
from mapi.wire.metrics import RANK_MAX
from mapi.wire.notes import DOCUMENT_BYTES_MAX, LogLine, SpanRow
from mapi.wire.times import check_time, check_time_ns, check_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

__all__ = ["FileFacts", "RunLines", "check_file", "log_lines", "read_lines", "span_rows"]

#: Runs of one file; more are imported in several.
_RUNS_MAX: Final = 10_000
#: Entries of the life of one run: 10 000 changes of it, and warnings, of which each has a limit.
_LIFE_MAX: Final = 20_000
#: The highest number of the first of them, and one more for each before: what happens to a run here has the
#: numbers behind the last that it came with, and comes in again.
_LIFE_ID_MAX: Final = 2**31
#: The times that the lines which have some may name.
_TIMES: Final = ("created", "started", "finished", "archived", "time")
#: What stands before all points of its run, and what is said of one that does not.
_EARLIER: Final[dict[type, str]] = {
    AttemptLine: "attempts stand before the points that they wrote",
    PrunedLine: "what was pruned stands before the points that are left",
}
_DOCUMENTS: Final = ("environment", "config")

#: What may stand below a run.
RunLines = Any


@dataclass(slots=True)
class FileFacts:
    """What a file holds."""

    runs: list[UUID] = field(default_factory=list)
    is_trusted: bool = False
    """It says what only the platform itself can know: who may not administrate cannot bring it in."""


def read_lines(file: BinaryIO) -> Iterator[tuple[int, ExportLine]]:
    """Yield the lines of a file with their numbers, from its beginning.

    Raises:
        InvalidError: a line is too long, or none of an export.
    """
    file.seek(0)
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            _refuse(number, "", f"the line has more than {LINE_BYTES_MAX} bytes")
        try:
            kind: Any = ExportLine
            found: ExportLine = decode(line, kind, bytes_max=LINE_BYTES_MAX)
        except InvalidError as error:
            # The file was read well as a body; what is no JSON is a fault of its line.
            raise InvalidError(
                [
                    replace(
                        one,
                        pointer=pointer("lines", number) + one.pointer,
                        message=_unread(number, line) if one.code else one.message,
                        code="",
                    )
                    for one in error.faults
                ]
            ) from None
        yield number, found
        number += 1


def _unread(number: int, line: bytes) -> str:
    """Return why a line of a file is none, for whoever chose the file."""
    if number == 0:
        return "the file is no jsonl export: its first line is no JSON in UTF-8"
    if not line.endswith(b"\n"):
        return "the file ends within the line: it is torn, so copy or export it again"
    return "the line is no JSON in UTF-8"


def check_file(file: BinaryIO, *, now_us: int) -> FileFacts:
    """Return what a file holds, if all of it keeps the rules.

    Args:
        file: JSON lines.
        now_us: the server's time in microseconds since 1970 UTC.

    Raises:
        InvalidError: it is no export, torn, or breaks a rule; it says in which line.
    """
    check = _Check(now_us)
    number = -1
    for number, line in read_lines(file):
        check.take(number, line)
    if not check.has_ended:
        _refuse(number + 1, "", "the file ends without its last line: it is torn")
    return check.facts


class _Check:
    def __init__(self, now_us: int) -> None:
        self.facts = FileFacts()
        self.has_ended = False
        self._now_us = now_us
        #: Ids by what they are of: an experiment and a run may have the same UUID.
        self._known: set[tuple[str, UUID]] = set()
        self._names: set[tuple[str, str]] = set()
        self._run = ""
        self._has_points = False
        #: The life of the run so far: how many entries, and the number of the last one.
        self._life = (0, 0)
        #: The series of the run whose summaries stood so far, by key and labels.
        self._summaries: set[tuple[str, int]] = set()

    def take(self, number: int, line: ExportLine) -> None:
        self._take_frame(number, line)
        for name in _TIMES:
            self._check_time(number, f"/{name}", getattr(line, name, None))
        match line:
            case HeaderLine():
                pass
            case EndLine():
                if line.lines != number:
                    _refuse(number, "/lines", f"{number} lines stand before, not {line.lines}")
                self.has_ended = True
            case ExperimentLine() | ViewLine():
                self._run = ""
                self._take_group(number, line)
            case RunLine():
                self._take_run(number, line)
            case _:
                if line.run != self._run:
                    _refuse(number, "/run", "a line stands below the run that it belongs to")
                if self._has_points:
                    _check(number, "/type", _EARLIER.get(type(line)))
                self._take_content(number, line)

    def _take_frame(self, number: int, line: ExportLine) -> None:
        """Look at what holds for lines of every type."""
        if self.has_ended:
            _refuse(number, "", "nothing may follow the line that ends the file")
        if (number == 0) != isinstance(line, HeaderLine):
            _refuse(number, "/type", "a file begins with the line of type export, and has one")
        if isinstance(line, HeaderLine) and line.version != EXPORT_VERSION:
            wrong = f"this server reads version {EXPORT_VERSION}, not {line.version}"
            _refuse(number, "/version", wrong)

    def _take_group(self, number: int, line: ExperimentLine | ViewLine) -> None:
        if isinstance(line, ExperimentLine):
            _check(number, "/name", check_experiment_name(line.name))
            self._know(number, "/experiment", EXPERIMENT, text=line.experiment)
            _check(number, "/description", check_note(line.description))
            self._name(number, "/name", "experiment", text=line.name)
            return
        _check(number, "/name", check_view_name(line.name))
        self._know(number, "/view", VIEW, text=line.view)
        self._name(number, "/name", "saved view", text=line.name)
        if line.experiment is not None:
            found = _id(number, "/experiment", EXPERIMENT, text=line.experiment)
            if (EXPERIMENT, found) not in self._known:
                _refuse(number, "/experiment", "an experiment stands before its saved views")
        self._take_checked(number, lambda: check_search(line.filter, line.sort, line.columns))

    def _know(self, number: int, at: str, prefix: str, *, text: str) -> UUID:
        """Take the id of something that the file brings, once."""
        found = _id(number, at, prefix, text=text)
        if (prefix, found) in self._known:
            _refuse(number, at, f"{text[:80]!r} stands in the file twice")
        self._known.add((prefix, found))
        return found

    def _name(self, number: int, at: str, what: str, *, text: str) -> None:
        """Take a name that is unique in a project, once."""
        if (what, text) in self._names:
            _refuse(number, at, f"the file has the {what} {text[:80]!r} twice")
        self._names.add((what, text))

    def _check_time(self, number: int, at: str, time: datetime | None) -> None:
        if time is not None:
            _check(number, at, check_time(time, now_us=self._now_us))

    def _take_run(self, number: int, line: RunLine) -> None:
        run_id = self._know(number, "/run", RUN, text=line.run)
        if len(self.facts.runs) >= _RUNS_MAX:
            _refuse(number, "/run", f"a file has at most {_RUNS_MAX} runs")
        if line.parent is not None:
            _id(number, "/parent", RUN, text=line.parent)
        if line.retry_of is not None:
            _id(number, "/retry_of", RUN, text=line.retry_of)
        if line.external_id is not None:
            self._name(number, "/external_id", "external id", text=line.external_id)
        for at, wrong in (("/name", check_name(line.name)), ("/note", check_note(line.note))):
            _check(number, at, wrong)
        if line.pruned is not None:
            self._check_time(number, "/pruned/time", line.pruned.time)
            if not any(getattr(line.pruned, name) for name in PRUNED):
                rule = f"one of {', '.join(PRUNED)} is more than 0, or there is no pruned"
                _refuse(number, "/pruned", f"nothing was deleted: {rule}")
        if line.spec is not None or line.kind is not RunKind.EXTERNAL:
            self.facts.is_trusted = True
        self.facts.runs.append(run_id)
        self._run, self._has_points, self._life = line.run, False, (0, 0)
        self._summaries.clear()

    def _take_content(self, number: int, line: RunLines) -> None:
        self.facts.is_trusted |= getattr(line, "source", Source.API) is Source.RUNNER
        _check(number, "/stream", check_stream(getattr(line, "stream", "")))
        match line:
            case LifeLine():
                self._take_life(number, line)
            case ParamLine():
                _check(number, "/text", check_param(line.key, line.text))
            case TagLine():
                _check(number, "/text", check_tag(line.key, line.text, platform=True))
            case DocumentLine():
                _check(number, "/name", _check_document(line.name))
                self._check_time(number, "/time", line.time)
                self._take_checked(
                    number,
                    lambda: json_text(line.content, "/content", bytes_max=DOCUMENT_BYTES_MAX),
                )
            case PrunedLine():
                self._take_pruned(number, line)
            case PointsLine():
                self._has_points = True
                self._take_points(number, line)
            case LogRecord():
                self._take_checked(
                    number, lambda: checked_lines(log_lines([line]), now_us=self._now_us)
                )
            case SpanLine():
                _check(number, "/start_ns", check_time_ns(line.start_ns, now_us=self._now_us))
                text = line.fields or {}
                self._take_checked(
                    number, lambda: json_text(text, "/fields", bytes_max=SPAN_FIELDS_BYTES_MAX)
                )
            case MediaLine():
                _take_name(number, line)
            case _:
                # Its shape is all that it has to have.
                assert isinstance(line, AttemptLine)

    def _take_checked(self, number: int, check: Callable[[], object]) -> None:
        """Let a rule of the log speak, and move its pointer to the line."""
        try:
            check()
        except InvalidError as error:
            _refuse(
                number,
                error.faults[0].pointer.removeprefix("/lines/0"),
                error.faults[0].message,
            )

    def _take_life(self, number: int, line: LifeLine) -> None:
        count, last = self._life
        if line.id <= last:
            _refuse(number, "/id", f"{line.id} does not rise above {last}, the one before")
        if count >= _LIFE_MAX:
            _refuse(number, "", f"a run has at most {_LIFE_MAX} entries of its life")
        if line.id > _LIFE_ID_MAX + count:
            _refuse(
                number, "/id", f"{line.id} is above {_LIFE_ID_MAX + count}: no run has had as many"
            )
        wrong = check_life(line)
        if wrong is not None:
            _refuse(number, f"/{wrong[0]}", wrong[1])
        self._life = (count + 1, line.id)

    def _take_pruned(self, number: int, line: PrunedLine) -> None:
        _take_series(number, line)
        if line.summary is None:
            return
        series = (line.key, labels_hash(canonical_labels(line.labels)))
        if series in self._summaries:
            _refuse(
                number,
                "/summary",
                "a series has one, with the newest attempt of those that are gone",
            )
        self._summaries.add(series)
        for name in ("first_time", "last_time"):
            self._check_time(number, f"/summary/{name}", getattr(line.summary, name))
        wrong = check_pruned(line.summary)
        if wrong is not None:
            _refuse(number, f"/summary/{wrong[0]}", wrong[1])

    def _take_points(self, number: int, line: PointsLine) -> None:
        _take_series(number, line)
        for name in ("steps", "times"):
            if len(getattr(line, name)) != len(line.values):
                _refuse(number, f"/{name}", f"there is one of the {name} for each value")
        for at, time_us in enumerate(line.times):
            _check(number, f"/times/{at}", check_time_us(time_us, now_us=self._now_us))


def _take_series(number: int, line: PointsLine | PrunedLine) -> None:
    """Look at the name of a series."""
    _check(number, "/key", check_key(line.key))
    _check(number, "/labels", check_labels(line.labels, reserved=True))
    if writer_from_labels(line.labels) is None:
        rule = f"a whole number from 1 to {RANK_MAX}, and rank 0 goes without a label"
        _refuse(number, "/labels/rank", f"{line.labels['rank'][:80]!r} is no rank: {rule}")
    _take_name(number, line)


def _take_name(number: int, line: PointsLine | PrunedLine | MediaLine) -> None:
    """Look at a name that is given in full, of lines that have one."""
    if line.name is None:
        return
    if not is_full_name(line.name, line.key, canonical_labels(line.labels)):
        _refuse(
            number, "/name", "the key and the label raw stand for another name, or for all of it"
        )
    if "\0" in line.name:
        _refuse(number, "/name", "it has U+0000, which cannot be stored; leave the member out")


def log_lines(lines: Sequence[LogRecord]) -> list[LogLine]:
    """Return log lines as they are written."""
    return [
        LogLine(message=one.message, level=one.level, fields=one.fields or {}, time=one.time)
        for one in lines
    ]


def span_rows(lines: Sequence[SpanLine]) -> list[SpanRow]:
    """Return spans as they are written."""
    return [
        SpanRow(
            name=one.name,
            start_ns=one.start_ns,
            duration_ns=one.duration_ns,
            depth=one.depth,
            track=one.track,
            step=one.step,
            fields=one.fields,
        )
        for one in lines
    ]


def _check_document(name: str) -> str | None:
    if name in _DOCUMENTS:
        return None
    return f"{name[:80]!r} is no document: one of {', '.join(_DOCUMENTS)}"


def _id(number: int, at: str, prefix: str, *, text: str) -> UUID:
    try:
        return uuid_from_text(prefix, text)
    except NotFoundError:
        _refuse(number, at, f"{text[:80]!r} is no id: {prefix} and a UUID")


def _check(number: int, at: str, wrong: str | None) -> None:
    if wrong is not None:
        _refuse(number, at, wrong)


def _refuse(number: int, at: str, message: str) -> NoReturn:
    raise InvalidError(Fault(pointer("lines", number) + at, message))
