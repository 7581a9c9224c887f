"""One run directory against the platform's run that it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import producers_of
from expr_tracker.history.progress import Progress, size_bytes
from expr_tracker.history.source import Source
from expr_tracker.history.status import status_of
from expr_tracker.store.files import RunFiles, StreamKey, stream_keys
from mapi.filters import attribute
from mapi.follow.directories import run_directory
from mapi.follow.instants import instant_of
from mapi.follow.proof.attempts import compare_attempts
from mapi.follow.proof.differences import Difference, Differences
from mapi.follow.proof.documents import compare_documents
from mapi.follow.proof.lines import compare_lines, output_lines, row_lines
from mapi.follow.proof.media import compare_media
from mapi.follow.proof.points import PointProof, series_by_writer
from mapi.follow.proof.spans import compare_spans
from mapi.follow.run import AS_FILES_SAY
from mapi.sdk.errors import SchemaInvalidError
from mapi.series.names import check_title
from mapi.wire.enums import RunStatus
from mapi.wire.times import time_to_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from expr_tracker.history.location import Producer
    from mapi.follow.directories import RunDirectory
    from mapi.follow.proof.lines import Line
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
        _compare_run(facts, directory, differences)
        _compare_about(runs, facts, directory, differences=differences)
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
    series = series_by_writer(summaries)
    directory = producers[0].path.parent
    with differences.part("configuration, environment and pins"):
        compare_documents(
            runs,
            run,
            directory,
            keys=[one.key for one in producers],
            scalars=[one for one in summaries if one.is_scalar],
            differences=differences,
        )
    attempts = runs.attempts(run)
    lines: dict[tuple[str, int], list[Iterator[Line]]] = {}
    read = Progress(progress, sum(map(size_bytes, producers)))
    for producer in producers:
        key = producer.key
        writer = key.stream or "", key.rank
        proof = PointProof(
            runs, run, key=key, there=series.pop(writer, {}), differences=differences
        )
        theirs = [one for one in attempts if (one.stream, one.rank) == writer]
        with differences.part(producer.path.name):
            _compare_producer(producer, proof, theirs, differences=differences, read=read)
        lines[writer] = [row_lines(producer, differences)]
    for writer in {*series, *((one.stream, one.rank) for one in attempts)} - {*lines}:
        key = _key(*writer)
        strange = PointProof(
            runs, run, key=key, there=series.get(writer, {}), differences=differences
        )
        strange.compare_with_nothing()
        theirs = [one for one in attempts if (one.stream, one.rank) == writer]
        compare_attempts([], theirs, key=key, differences=differences)
    for key in stream_keys(directory, "console"):
        printed = output_lines(RunFiles(directory, key).console, differences)
        lines.setdefault((key.stream or "", key.rank), []).append(printed)
    with differences.part("media"):
        compare_media(
            runs, run, directory, keys=[one.key for one in producers], differences=differences
        )
    with differences.part("spans"):
        compare_spans(
            runs, run, directory, keys=stream_keys(directory, "spans"), differences=differences
        )
    with differences.part("lines of the log"):
        compare_lines(
            runs,
            run,
            lines,
            labels=lambda stream, rank: _key(stream, rank).label,
            differences=differences,
        )


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


def _compare_run(facts: RunFacts, directory: RunDirectory, differences: Differences) -> None:
    """Compare what is known of the run as a whole; its name is changed on the platform at will."""
    status = status_of(directory.path)
    differences.compare("fact")
    if facts.status is RunStatus.CANCELLED and facts.reason != AS_FILES_SAY:
        differences.note(
            "", f"it was cancelled on the platform and stays so; its files say that it is {status}"
        )
    elif facts.status.value != status:
        differences.add(
            Difference("fact", "value", "", "status", files=status, platform=facts.status.value)
        )
    began = instant_of(directory.created)
    if began is not None:
        differences.compare("fact")
        if facts.started == facts.created < began:
            differences.note(
                "", "it began ahead of the platform's clock, which says when it heard of it"
            )
        elif facts.started != began:
            differences.add(
                Difference(
                    "fact", "value", "", "started", files=str(began), platform=str(facts.started)
                )
            )
    if facts.trashed is not None:
        differences.note("", "it is in the trash of the platform")
    if status == "running":
        differences.note("", "it goes on: what was not pushed yet is missing")


def _compare_about(
    runs: Runs, facts: RunFacts, directory: RunDirectory, *, differences: Differences
) -> None:
    """Note where note and tags are others: the run is made with them, and anybody may change them there."""
    for change in directory.changes:
        differences.note("", change)
    if directory.note and facts.note != directory.note:
        differences.note("", "its note on the platform is another one than that of its files")
    there = runs.tags(facts.id) if directory.tags else {}
    differences.note(
        "tag", "of its files that the platform has not: somebody took it away, or there was no room",
        count=sum(tag not in there for tag in directory.tags),
    )  # fmt: skip


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
