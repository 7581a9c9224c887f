"""What a run says of itself: the figures of ``info()`` and the line that ``finish`` writes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.run.run import Run

__all__ = ["finish_report", "info"]

#: Kinds of loss in the closing line: more would bury the figures before them.
_KINDS_SHOWN: Final = 10


def info(run: Run) -> Row:
    """Return the state of a run as nested figures; the keys are the baseline's and ``loss``."""
    writer, recorder = run.writer, run.recorder
    loss = loss_of(run)
    history: Row = {
        "log_dir": run.dir,
        "metrics_file": str(run.files.metrics),
        "rows_on_disk": writer.index.rows,
        "last_step": writer.index.last_step,
        "rows_logged": recorder.rows,
        "pending_bytes": writer.pending_bytes,
        **run.spans.counts(),
        "dropped_records": run.notices.total("rows", "dropped", "refused"),
        "dropped_spans": run.notices.total("spans", "dropped", "refused"),
        "cached_rows": 0,
        "cached_bytes": 0,
        "cache_limit_bytes": run.options.cache_bytes or 0,
        "disk_prefix": writer.index.rows,
        "evicted_rows": writer.index.rows,
        "durability": writer.durability,
        "write_failure": writer.failure,
        **run.history.statistics(),
    }
    return {
        "history": history,
        "jsonl": {"log_dir": run.dir},
        "artifacts": {"root": str(run.place.artifacts)},
        "rank": run.rank,
        "stream": run.stream,
        "attempt": run.attempt,
        "summary": dict(run.summary),
        "loss": loss,
    }


def loss_of(run: Run) -> dict[str, dict[str, int]]:
    """Return what was refused at a call, dropped later, or stored in another form, by kind.

    What is in a rescue file is counted by the file.
    """
    notices = run.notices
    dropped = notices.counts("dropped")
    if run.artifacts_failed:
        dropped["artifacts that could not be stored"] = run.artifacts_failed
    return {
        "refused": notices.counts("refused"),
        "dropped": dropped,
        "rescued": notices.counts("rescued"),
        "degraded": notices.counts("degraded"),
    }


def finish_report(run: Run, *, is_quiet: bool) -> None:
    """Log one line: what was stored and what was not; a warning if anything was lost."""
    loss: dict[str, Any] = loss_of(run)
    refused, dropped = sum(loss["refused"].values()), sum(loss["dropped"].values())
    rescued = ", ".join(f"{number} ({file})" for file, number in loss["rescued"].items())
    is_lost = bool(refused or dropped or rescued)
    if not is_quiet or is_lost:
        why = _biggest([*loss["refused"].items(), *loss["dropped"].items()])
        text = (
            f"{run.project}/{run.name} ({run.files.key.label}): stored {run.writer.index.rows} "
            f"rows; refused {refused}, dropped {dropped}"
            f"{f' ({why})' if why else ''}{f', rescued {rescued}' if rescued else ''}, pending {run.writer.pending_bytes} bytes. {run.dir}"
        )
        run.notices.say(text, level=logging.WARNING if is_lost else logging.INFO)
    run.notices.emit()


def _biggest(counts: list[tuple[str, int]]) -> str:
    """Return the largest counts in words, and how many kinds are left out."""
    left = len(counts) - _KINDS_SHOWN
    if left > 0:
        counts = sorted(counts, key=lambda count: -count[1])[:_KINDS_SHOWN]
    words = [f"{number} {kind}" for kind, number in counts]
    return ", ".join([*words, f"and {left} more kinds in info()['loss']"] if left > 0 else words)
