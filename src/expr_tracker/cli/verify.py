"""``et verify``: whether a run's files are whole, or hold the same as another's, or as the platform."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import Failure, reported
from expr_tracker.cli.parameters import RunPath
from expr_tracker.cli.progress import progress_bar
from expr_tracker.cli.table import cell_text, echo_table, json_bytes
from expr_tracker.cli.terminal import say, say_json
from expr_tracker.errors import PlatformError
from expr_tracker.notices import counted

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.history import RunReport, StreamReport
    from mapi.follow.proof.against import Proof
    from mapi.follow.proof.differences import Difference

__all__ = ["command"]

#: What --against calls the platform; a folder of that name is ``./mapi``.
_PLATFORM: Final = "mapi"
#: How a table names what differs.
_KINDS: Final = {
    "missing": "missing there",
    "extra": "only there",
    "value": "another value",
    "time": "another time",
    "pruned": "deleted there by retention",
}


@click.command()
@click.argument("run", type=RunPath(), shell_complete=candidates.runs)
@click.option(
    "--against", metavar="DIR|mapi",
    help="Another run, which should hold the same rows; or mapi: the platform, which should have the same.",
    shell_complete=candidates.runs,
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="How to print.",
)  # fmt: skip
@reported()
def command(*, run: Path, against: str | None, form: str) -> None:
    """Read every line of a run and say what is there and what is wrong.

    Ends with exit code 1 if anything is wrong, or differs from what is given with --against.

    \b
    et verify runs/llm/sft-1
    et verify runs/llm/sft-1 --against backup/sft-1
    et verify runs/llm/sft-1 --against mapi
    """  # noqa: D301 - click reads the control character
    from expr_tracker.history import compare, producers_of, verify

    if against is not None and against != _PLATFORM:
        producers_of(against, "*")  # a name that is wrong is refused before all is read
    with progress_bar("Verifying") as progress:
        report = verify(run, progress=progress)
    is_sound = not report.problems
    if against == _PLATFORM:
        proof = _prove(report.path)
        is_sound = is_sound and proof.is_equal
        if form == "json":
            say_json(json_bytes(_document(report) | {"against": _proof_document(proof)}))
        else:
            _tell(report)
            _tell_proof(proof)
    else:
        differences = [] if against is None else compare(run, against)
        is_sound = is_sound and not differences
        if form == "json":
            beside = (
                {}
                if against is None
                else {"against": {"run": against, "differences": differences}}
            )
            say_json(json_bytes(_document(report) | beside))
        else:
            _tell(report)
            for difference in differences:
                say(f"differs: {difference}")
            if against is not None and not differences:
                say(f"equal to {against}")
    if not is_sound:
        click.get_current_context().exit(1)
    if form == "text":
        say("ok")


def _prove(path: Path) -> Proof:
    try:
        from mapi.follow import front
    except ImportError as error:
        from expr_tracker.extras import missing_extra

        raise missing_extra(error, "client", what="et verify --against mapi") from error
    try:
        with progress_bar("Comparing") as progress:
            return front.prove_run(path, progress=progress)
    except PlatformError as error:
        # Nothing was compared: that is neither equal nor different.
        raise Failure(str(error)) from error


def _tell(report: RunReport) -> None:
    say(f"{report.path}: {report.status}")
    for stream in report.streams:
        for line in _lines(stream):
            say(line)
    for note in report.notes:
        say(f"note: {note}")
    for problem in report.problems:
        say(f"wrong: {problem}")


def _tell_proof(proof: Proof) -> None:
    if proof.run is None:
        say(
            f"differs: the project {proof.project} of the platform has no such run; et push brings it there"
        )
        return
    looked_at = ", ".join(counted(count, what) for what, count in proof.compared.items())
    say(f"{proof.run} in {proof.project}: {looked_at} compared")
    for note in proof.notes:
        say(f"note: {note}")
    for problem in proof.problems:
        say(f"wrong: {problem}")
    for what, kind, count in proof.counts:
        say(f"differs: {counted(count, what)} {_KINDS.get(kind, kind)}")
    if proof.differences:
        echo_table(
            ["what", "difference", "whose", "name", "step", "files", "platform"],
            map(_cells, proof.differences),
            wanted=["difference", "name", "step", "files", "platform"],
        )
        left = sum(count for *_, count in proof.counts) - len(proof.differences)
        if left:
            say(f"and {left} more")
    if proof.is_equal:
        say("equal to what the platform has")


def _cells(one: Difference) -> list[str]:
    name = one.name if one.attempt is None else f"{one.name} (attempt {one.attempt})"
    kind = _KINDS.get(one.kind, one.kind)
    cells = (one.what, kind, one.producer, name, one.step, one.files, one.platform)
    return [*map(cell_text, cells)]


def _document(report: RunReport) -> dict[str, Any]:
    document = dataclasses.asdict(report)
    for stream, told in zip(report.streams, document["streams"], strict=True):
        told |= {"path": str(stream.path), "problems": stream.problems}
    return document | {
        "path": str(report.path),
        "notes": report.notes,
        "problems": report.problems,
    }


def _proof_document(proof: Proof) -> dict[str, Any]:
    return {
        "run": proof.run,
        "project": proof.project,
        "equal": proof.is_equal,
        "compared": proof.compared,
        "counts": [
            {"what": what, "kind": kind, "count": count} for what, kind, count in proof.counts
        ],
        "differences": [dataclasses.asdict(one) for one in proof.differences],
        "notes": proof.notes,
        "problems": proof.problems,
    }


def _lines(stream: StreamReport) -> list[str]:
    if stream.refusal is not None:
        return [f"  {stream.label}: not read"]
    steps = counted(stream.steps, "step")
    if stream.min_step is not None:
        steps += f" ({stream.min_step} to {stream.max_step})"
    lines = [f"  {stream.label}: {counted(stream.rows, 'row')}, {steps}, sidecar {stream.sidecar}"]
    if len(stream.attempts) > 1:
        for attempt in stream.attempts:
            begins = "" if attempt.from_step is None else f", from step {attempt.from_step}"
            rows = f"{counted(attempt.rows, 'row')}{begins}"
            if attempt.clock_back:
                rows += f", its clock {attempt.clock_back:.0f} s back"
            lines.append(f"    attempt {attempt.number}: {rows}, {attempt.status}")
    if stream.has_open_row:
        lines.append("    the open row of a process that died is counted (from its journal)")
    if stream.media:
        lines.append(f"    {counted(stream.media, 'media file')}")
    lines.append(f"    sha256 {stream.sha256}")
    return lines
