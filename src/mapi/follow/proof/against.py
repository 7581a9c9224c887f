"""One run directory against the platform's run that it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import producers_of
from expr_tracker.history.progress import Progress, size_bytes
from expr_tracker.history.source import Source
from expr_tracker.store.enclosure import Enclosure
from expr_tracker.store.files import RunFiles, StreamKey, stream_keys
from mapi.filters import attribute
from mapi.follow.directories import run_directory
from mapi.follow.proof.attempts import compare_attempts
from mapi.follow.proof.differences import Difference, Differences
from mapi.follow.proof.documents import compare_documents
from mapi.follow.proof.facts import compare_facts
from mapi.follow.proof.lines import compare_lines, output_lines, row_lines
from mapi.follow.proof.media import compare_media
from mapi.follow.proof.points import PointProof, names_by_writer
from mapi.follow.proof.spans import compare_spans
from mapi.follow.proof.unread import not_compared, unread_files
from mapi.sdk.errors import SchemaInvalidError
from mapi.series.names import check_title
from mapi.wire.times import time_to_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from expr_tracker.history.location import Producer
    from mapi.follow.directories import RunDirectory
    from mapi.follow.proof.lines import Line
    from mapi.follow.proof.points import SeriesNames
    from mapi.follow.proof.unread import Unread
    from mapi.sdk.synchronous.client import Client
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.runs import AttemptFacts, RunFacts

__all__ = ["Proof", "prove"]


@dataclass
class Proof:
    """What the comparison of a run with the platform came to."""

    path: Path
    project: str
    """Where it was looked for."""
    run: str | None = None
    """The platform's id; ``None``: it has no such run."""
    compared: dict[str, int] = field(default_factory=dict)
    """How many things were looked at on either side, by what they are."""
    counts: list[tuple[str, str, int]] = field(default_factory=list)
    """What differs: of what, how, how many."""
    differences: list[Difference] = field(default_factory=list)
    """The first of them."""
    notes: list[str] = field(default_factory=list)
    """What is no difference and should be known, a sentence each."""
    problems: list[str] = field(default_factory=list)
    """What could not be compared, and why."""

    @property
    def is_equal(self) -> bool:
        """Whether the platform has what the files have, and nothing else."""
        return self.run is not None and not self.counts and not self.problems


def prove(
    client: Client, path: Path, *, progress: Callable[[int, int], object] | None = None
) -> Proof:
    """Compare all that a run's files hold with what the platform has of it.

    Args:
        client: of the platform; its project, else the token's, else the one called as the run's, is
            where the run is looked for.
        path: the run's directory.
        progress: hears of the bytes that are done, and of those there are.

    Raises:
        RunNotFoundError: there is no such run directory.
        ApiError: the platform refuses a question.
        ConnectionFailedError: it does not answer.
    """
    enclosure = Enclosure(path)
    with enclosure.held():
        proof = _prove(client, path, progress=progress)
    outside = (not_compared(error) for error in enclosure.refused())
    proof.problems = [*dict.fromkeys([*proof.problems, *outside])]
    return proof


def _prove(client: Client, path: Path, *, progress: Callable[[int, int], object] | None) -> Proof:
    producers = producers_of(path, "*")
    directory = run_directory(path)
    project = client.project or client.session().project or directory.project
    proof = Proof(path, project)
    if check_title("the name of a project", project) is not None:  # there can be none
        return proof
    runs = client.runs.in_project(project)
    facts = _found(runs, directory)
    if facts is None:
        return proof
    proof.run = facts.id
    differences = Differences(time_to_us(facts.created))
    _compare_all(runs, facts, producers, differences=differences, progress=progress)
    with differences.part("the run"):
        compare_facts(runs, facts, directory, differences=differences)
    proof.compared = dict(differences.compared)
    proof.counts = [(what, kind, count) for (what, kind), count in differences.counts.items()]
    proof.differences = differences.kept
    proof.problems = [*differences.problems, *differences.damage()]
    proof.notes = [*differences.sentences(), *_told_by_platform(facts)]
    return proof


def _found(runs: Runs, directory: RunDirectory) -> RunFacts | None:
    """Return the run of a directory, also where somebody put it into the trash."""
    wanted = attribute("external_id") == directory.id
    try:
        for trashed in (False, True):
            for one in runs.list(filter=wanted, trashed=trashed):
                return runs.get(one.id)
    except SchemaInvalidError as error:
        if all(fault.pointer != "/project" for fault in error.faults):
            raise
        # There is no such project to be seen.
    return None


def _compare_all(
    runs: Runs,
    facts: RunFacts,
    producers: list[Producer],
    *,
    differences: Differences,
    progress: Callable[[int, int], object] | None,
) -> None:
    run = facts.id
    summaries = [*runs.metrics(run)]
    names = names_by_writer(summaries)
    directory = producers[0].path.parent
    unread = unread_files(directory, differences)
    with differences.part("configuration, environment and pins"):
        compare_documents(
            runs,
            run,
            directory,
            keys=[one.key for one in producers],
            scalars=[one for one in summaries if one.is_scalar],
            differences=differences,
        )
    read = Progress(progress, sum(map(size_bytes, producers)))
    _compare_points(
        runs, run, producers, names=names, unread=unread, differences=differences, read=read
    )
    with differences.part("media"):
        compare_media(
            runs,
            run,
            directory,
            keys=[one.key for one in producers],
            unread=unread.metrics,
            differences=differences,
        )
    with differences.part("spans"):
        compare_spans(
            runs,
            run,
            directory,
            keys=stream_keys(directory, "spans"),
            unread=unread.spans,
            differences=differences,
        )
    with differences.part("lines of the log"):
        compare_lines(
            runs,
            run,
            _lines_of(directory, producers, unread=unread, differences=differences),
            unread={_writer(key) for key in unread.lines},
            labels=lambda stream, rank: _key(stream, rank).label,
            differences=differences,
        )


def _compare_points(  # noqa: PLR0913 - its parts, given by name
    runs: Runs,
    run: str,
    producers: list[Producer],
    *,
    names: dict[tuple[str, int], SeriesNames],
    unread: Unread,
    differences: Differences,
    read: Progress,
) -> None:
    """Compare attempts and points of all producers, those too that only the platform knows."""
    attempts: dict[tuple[str, int], list[AttemptFacts]] = {}
    for one in runs.attempts(run):
        attempts.setdefault((one.stream, one.rank), []).append(one)
    of_files = {_writer(producer.key): producer for producer in producers}
    for writer in {**of_files, **names, **attempts}:
        key, producer = _key(*writer), of_files.get(writer)
        proof = PointProof(
            runs, run, key=key, names=names.get(writer, {}), differences=differences
        )
        theirs = attempts.get(writer, [])
        if producer is None:
            proof.compare_with_nothing()
            compare_attempts([], theirs, key=key, differences=differences)
        elif key not in unread.metrics:
            with differences.part(producer.path.name):
                _compare_producer(producer, proof, theirs, differences=differences, read=read)


def _lines_of(
    directory: Path, producers: list[Producer], *, unread: Unread, differences: Differences
) -> dict[tuple[str, int], list[Iterator[Line]]]:
    """Return what each file makes of lines of the log, by the stream and rank that wrote it."""
    lines: dict[tuple[str, int], list[Iterator[Line]]] = {}
    for producer in producers:
        if producer.key not in unread.metrics:
            found = row_lines(producer, differences)
            lines.setdefault(_writer(producer.key), []).append(found)
    for key in stream_keys(directory, "console"):
        if key not in unread.console:
            printed = output_lines(RunFiles(directory, key).console, differences)
            lines.setdefault(_writer(key), []).append(printed)
    return lines


def _compare_producer(
    producer: Producer,
    proof: PointProof,
    attempts: list[AttemptFacts],
    *,
    differences: Differences,
    read: Progress,
) -> None:
    """Compare the attempts and the points of one producer."""
    with Source.offline(producer) as source:
        told = told_attempts(producer, source)
        compare_attempts(told, attempts, key=producer.key, differences=differences)
        # Of several attempts the bytes are read twice: as all together show them, and one by one.
        share = 1 if len(told) == 1 else 2
        proof.compare(source, told, lambda size: read.advance(size // share))
        if source.open_row is not None:
            differences.note(
                "row", "open when the process died: it is pushed when the run is taken up again"
            )


def _key(stream: str, rank: int) -> StreamKey:
    return StreamKey(stream or None, rank)


def _writer(key: StreamKey) -> tuple[str, int]:
    return key.stream or "", key.rank


def _told_by_platform(facts: RunFacts) -> Iterator[str]:
    """Yield what the platform says that it did not take, or has deleted."""
    for budget, count in facts.dropped.items():
        yield f"the platform did not take {count} over the budget {budget}"
    if facts.pruned is not None:
        told = msgspec.structs.asdict(facts.pruned)
        parts = [
            f"{count} {what.replace('_', ' ')}"
            for what, count in told.items()
            if what != "time" and count
        ]
        yield f"retention has deleted {', '.join(parts)} on the platform"
