"""What a run says of itself: the figures of ``info()`` and the line that ``finish`` writes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.notices import counted
from expr_tracker.run.place import seen_from_here
from expr_tracker.store.rescue_file import rescue_command

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.run.parts import RunParts

__all__ = ["finish_report", "info"]

#: Kinds of loss in the closing line: more would bury the figures before them.
_KINDS_SHOWN: Final = 10


def info(parts: RunParts) -> Row:
    """Return the state of a run as nested figures; the keys are the baseline's and ``loss``."""
    stream = parts.stream
    writer, recorder, notices = stream.writer, stream.recorder, stream.notices
    directory = str(stream.files.directory)
    loss = loss_of(parts)
    with stream.lock:
        # At one moment: a thread that writes what waited changes several of them together.
        of_writer: Row = {
            "rows_on_disk": writer.index.rows,
            "last_step": writer.index.last_step,
            "rows_logged": recorder.rows,
            "pending_bytes": writer.pending_bytes,
            "durability": writer.durability,
            "write_failure": writer.failure,
        }
    history: Row = {
        "log_dir": directory,
        "metrics_file": str(stream.files.metrics),
        **of_writer,
        **parts.spans.counts(),
        "dropped_records": notices.total("rows", "dropped", "refused"),
        "dropped_spans": notices.total("spans", "dropped", "refused"),
        # For programs of the baseline; `expr_tracker.info` says what they mean where no row is cached.
        "cached_rows": 0,
        "cached_bytes": 0,
        "cache_limit_bytes": stream.options.cache_bytes or 0,
        "disk_prefix": of_writer["rows_on_disk"],
        "evicted_rows": of_writer["rows_on_disk"],
        **parts.history.get().statistics(),
    }
    return {
        "history": history,
        "jsonl": {"log_dir": directory},
        "artifacts": {"root": str(stream.place.artifacts)},
        "rank": stream.rank,
        "stream": stream.files.key.stream,
        "attempt": stream.life.attempt,
        "summary": dict(parts.whole_summary()),
        "backends": parts.backends.figures(),
        "loss": loss,
    }


def loss_of(parts: RunParts) -> dict[str, dict[str, int]]:
    """Return what was refused at a call, dropped later, or stored in another form, by kind.

    What is in a rescue file is counted by the file. What a backend has not as it stands in the files is
    in another form, for the files have it.
    """
    notices, artifacts = parts.stream.notices, parts.artifacts.made
    dropped = notices.counts("dropped")
    if artifacts is not None and artifacts.failure_count:
        dropped["artifacts that could not be stored"] = artifacts.failure_count
    return {
        "refused": notices.counts("refused"),
        "dropped": dropped,
        "rescued": notices.counts("rescued"),
        "degraded": notices.counts("degraded") | parts.backends.losses(),
    }


def finish_report(parts: RunParts, *, is_quiet: bool, error: str | None = None) -> None:
    """Log one line: what was stored, what was not, and what only in another form.

    It is a warning if there is any of the latter two.

    Args:
        parts: what the run is made of.
        is_quiet: leave the line out unless something was lost.
        error: the exception that alone says how the run ended; a warning too, for the program did
            not say it.
    """
    stream = parts.stream
    loss: dict[str, Any] = loss_of(parts)
    refused, dropped = sum(loss["refused"].values()), sum(loss["dropped"].values())
    directory = seen_from_here(stream.files.directory)
    rescued = ", ".join(
        f"{number} ({rescue_command(file, directory)})" for file, number in loss["rescued"].items()
    )
    degraded = sum(loss["degraded"].values())
    is_lost = bool(refused or dropped or rescued)
    if not is_quiet or is_lost:
        why = _biggest([*loss["refused"].items(), *loss["dropped"].items()])
        otherwise = f", degraded {degraded} ({_biggest([*loss['degraded'].items()])})"
        rows, pending = stream.writer.index.rows, stream.writer.pending_bytes
        text = (
            f"{stream.place.project}/{stream.place.name} ({stream.files.key.label}): "
            f"{_ending(stream.life.status, error)}stored "
            f"{counted(rows, 'row')}; refused {refused}, dropped {dropped}"
            f"{f' ({why})' if why else ''}{otherwise if degraded else ''}"
            f"{f', rescued {rescued}' if rescued else ''}, pending {counted(pending, 'byte')}. "
            f"{directory}{'' if (url := parts.backends.url) is None else f', {url}'}"
        )
        is_warning = bool(is_lost or degraded or error)
        stream.notices.say(text, level=logging.WARNING if is_warning else logging.INFO)
    stream.notices.emit()


def _ending(status: str | None, error: str | None) -> str:
    if error is None:
        return ""
    return f"{status}, by the {error} in flight (finish(exit_code=0) says otherwise); "


def _biggest(counts: list[tuple[str, int]]) -> str:
    """Return the largest counts in words, and how many kinds are left out."""
    left = len(counts) - _KINDS_SHOWN
    if left > 0:
        counts = sorted(counts, key=lambda count: -count[1])[:_KINDS_SHOWN]
    words = [f"{kind}: {number}" for kind, number in counts]
    if left > 0:
        words.append(f"and {counted(left, 'more kind')} in info()['loss']")
    return ", ".join(words)
