"""The front door to runs on disk: `read_history` and `list_attempts`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, overload

from expr_tracker.history.answer import Labelled, answer, answer_several
from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.question import Question, ask
from expr_tracker.history.source import Source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import SupportsIndex, Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from expr_tracker.history.question import (
        ArrowOutput,
        AskedOfRun,
        AttemptChoice,
        MetricChoice,
        PandasOutput,
        PolarsOutput,
        RowsOutput,
    )
    from expr_tracker.ranges import StepRange
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt
    from expr_tracker.store.producers import RankChoice, StreamChoice

__all__ = ["answer_run", "list_attempts", "read_history"]


@overload
def read_history(
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    output_type: RowsOutput = ...,
    **asked: Unpack[AskedOfRun],
) -> list[Row]: ...
@overload
def read_history(
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    output_type: PandasOutput,
    **asked: Unpack[AskedOfRun],
) -> pd.DataFrame: ...
@overload
def read_history(
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    output_type: PolarsOutput,
    **asked: Unpack[AskedOfRun],
) -> pl.DataFrame: ...
@overload
def read_history(
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    output_type: ArrowOutput,
    **asked: Unpack[AskedOfRun],
) -> pa.Table: ...
@overload
def read_history(
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    output_type: str | None,
    **asked: Unpack[AskedOfRun],
) -> Any: ...
def read_history(  # noqa: PLR0913 - spelled out, so that `help` shows them
    run: str | os.PathLike[str],
    n: SupportsIndex | None = 50,
    *,
    stream: StreamChoice = None,
    output_type: str | None = "dict",
    metrics: MetricChoice = None,
    step_range: StepRange = None,
    include_meta: bool = True,
    fill_missing: bool = False,
    dropna: bool = False,
    attempt: AttemptChoice = None,
    rank: RankChoice = None,
) -> Any:
    """Read what a run has logged, while it is written or long after.

    Lines of one step are merged into one row: name by name the later line wins, and ``_time`` is
    that of the step's first line. Damaged lines are skipped and reported in one warning.

    Args:
        run: the run's directory, a metrics file, or one part of a rotated file.
        n: how many steps: the most recently written ones, or with ``step_range`` its highest;
            ``-1`` and ``None`` are all. Of several streams, ``n`` steps each.
        stream: ``None`` is the default producer; a name; a list of names or ``"*"`` gives rows of
            several, told apart by ``_stream`` (and ``_rank`` where ranks differ).
        output_type: ``"dict"`` (a list of rows), ``"pandas"``, ``"polars"`` or ``"arrow"``.
        metrics: one name or several; ``*``, ``?`` and ``[`` make a glob (``"train/*"``) unless a
            metric has exactly that name. ``a/b`` is also the member ``b`` of a dict ``a``.
        step_range: ``(start, stop)``, ``stop`` left out; ``None`` on either side for no limit.
        include_meta: whether rows carry ``_step`` and ``_time``.
        fill_missing: whether absent names are given as ``None``.
        dropna: with ``metrics``: whether rows that have none of them are left out.
        attempt: ``None`` is the default reading; a number shows that attempt alone, superseded
            rows included; ``"all"`` a row per attempt and step, with ``_attempt``.
        rank: ``None`` is the lowest rank of one stream and all ranks of several.

    Returns:
        A list of dicts, or the table of the library asked for. They are the caller's own.

    Raises:
        RunNotFoundError: no such run, stream or rank; the message lists what there is.
        QueryError: a keyword has no meaning.
        MissingExtraError: the library for the output is not installed.
    """
    question = ask(
        n,
        output_type=output_type,
        metrics=metrics,
        step_range=step_range,
        include_meta=include_meta,
        fill_missing=fill_missing,
        dropna=dropna,
        attempt=attempt,
    )
    return answer_run(run, question, stream=stream, rank=rank)


def answer_run(
    run: str | os.PathLike[str],
    question: Question,
    *,
    stream: Any,
    rank: Any,
    open_source: Callable[[Producer], Source] = Source.offline,
    report: Callable[[Source], None] = Source.report,
) -> Any:
    """Return what the streams of a run that are meant answer.

    Args:
        run: as for `read_history`, and so are ``stream`` and ``rank``.
        question: what is asked.
        stream: which streams.
        rank: which ranks.
        open_source: opens one; a process that writes one of them opens that one in its own way.
        report: called with each when it is read.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: a keyword has no meaning.
        MissingExtraError: the library for the output is not installed.
    """
    producers = producers_of(run, stream, rank)
    is_single = len(producers) == 1 and (stream is None or isinstance(stream, str))
    if is_single and stream != "*" and rank != "*":
        with open_source(producers[0]) as source:
            result = answer(source, question)
            report(source)
            return result
    has_ranks = len({producer.key.rank for producer in producers}) > 1
    parts = []
    with ExitStack() as stack:
        for producer in producers:
            source = stack.enter_context(open_source(producer))
            origin: dict[str, Any] = {"_stream": producer.key.stream}
            if has_ranks:
                origin["_rank"] = producer.key.rank
            parts.append(Labelled(source, origin))
        result = answer_several(parts, question)
        for part in parts:
            report(part.source)
        return result


def list_attempts(
    run: str | os.PathLike[str], stream: str | None = None, rank: int | None = None
) -> list[Attempt]:
    """Return the attempts of one stream, in the order they were made.

    One without an end of its own is ``running`` while its process holds the stream, else ``lost``.
    The first began with its first row.

    Raises:
        RunNotFoundError: no such run, stream or rank.
    """
    producer = producers_of(run, stream, rank)[0]
    with Source.offline(producer) as source:
        source.report_lost()
        return told_attempts(producer, source)
