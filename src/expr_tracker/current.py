"""The functions of the package that act on this process's run, which is in `own_run`.

One run is open at a time. `init` makes it, `finish` ends it, and the exit hook ends it where the
program did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, overload

from expr_tracker import own_run
from expr_tracker.loading import loading
from expr_tracker.spans import NAMED_BY_KEYWORD, name_among, span_class

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, MutableMapping, Sequence
    from typing import SupportsIndex, Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from expr_tracker.artifacts import Artifact, StoreMode
    from expr_tracker.clock import Clock
    from expr_tracker.history.question import (
        ArrowOutput,
        Asked,
        AskedHere,
        AttemptChoice,
        MetricChoice,
        PandasOutput,
        PolarsOutput,
        RowsOutput,
    )
    from expr_tracker.options import OptionKeywords
    from expr_tracker.ranges import StepRange
    from expr_tracker.row import Row
    from expr_tracker.run import Run
    from expr_tracker.spans import Span
    from expr_tracker.store.producers import RankChoice, StreamChoice

__all__ = [
    "define_metric",
    "finish",
    "get_run",
    "history",
    "info",
    "init",
    "log",
    "log_artifact",
    "rewind",
    "span",
    "start_span",
    "summary",
    "use_artifact",
]


class _Running:
    """The sentinel for "the stream that this process writes", which differs from ``None``."""

    def __repr__(self) -> str:
        return "<the running stream>"


RUNNING: Final = _Running()


def init(  # noqa: PLR0913, PLR0917 - the signature that programs already call
    project: str,
    name: str | None = None,
    entity: str | None = None,
    dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the name that callers use
    run_dir: str | os.PathLike[str] | None = None,
    notes: str | None = None,
    tags: Sequence[str] | None = None,
    resume: Any = "allow",
    config: Any = None,
    backends: Any = None,
    backend_kwargs: dict[str, Any] | None = None,
    print_to_screen: bool | None = None,  # noqa: FBT001 - as above
    alert: Any = None,
    alert_rules: Sequence[Any] = (),
    clock: Clock | None = None,
    **kwargs: Unpack[OptionKeywords],
) -> Run:
    """Open a run for this process and make it the current one.

    The run lives in ``<dir>/<project>/<name>/``. Where it exists already, logging continues behind
    its last step, in a new attempt.

    Args:
        project: the folder that groups runs.
        name: the run's folder; ``None`` makes one from the time and a random ending.
        entity: who the run belongs to; kept with the run. Left out of a run that is continued,
            this and ``notes``, ``tags`` and ``config`` stay what they were.
        dir: the root of all runs; by default ``ET_DIR``, else ``runs``. A relative path is settled
            now: where the program goes later changes nothing.
        run_dir: the run's directory itself, instead of ``dir``.
        notes: free text; kept with the run.
        tags: labels; kept with the run.
        resume: ``"allow"``, ``"must"``, ``"never"``, ``"auto"``, True, False or ``None``. Without
            effect in this version: it is for backends, and a local run is always continued.
        config: any JSON, dataclass, pydantic model, argparse namespace or the like; secrets are
            redacted before it is written.
        backends: mirrors of the run, by name; by default ``ET_BACKENDS``. ``"mapi"`` is the platform:
            what is logged is delivered while the run goes on, by a thread that training does not
            notice. ``"jsonl"``, the local log, always happens. There are no others in this version,
            which says so.
        backend_kwargs: arguments by backend; those of ``"mapi"`` are ``url``, ``token`` and
            ``project``, by default as `mapi.Client` finds them. Those of ``"jsonl"`` are options of
            the run, below the keywords.
        print_to_screen: print every committed row; by default no.
        alert: alert configuration. Without effect in this version, which says so.
        alert_rules: rules to watch. Without effect in this version, which says so.
        clock: what tells the times of rows and spans, in tests of programs that log: see
            `expr_tracker.testing.ManualClock`.
        **kwargs: the options, each a field of `expr_tracker.options.Options`:

            - ``stream``: the producer that this process is; by default the unnamed one.
            - ``rank_aware``: whether a rank above 0 writes files of its own.
            - ``resume_step``: begin an attempt at this step; earlier rows from there on give way.
            - ``step_policy``: a step below the newest is stored (``"allow"``), dropped and counted
              (``"monotonic"``) or an error (``"strict"``).
            - ``durability``: ``"process"`` survives ``kill -9``, ``"fsync"`` power loss,
              ``"buffered"`` neither. ``buffer_size``, ``buffer_interval`` and
              ``max_buffer_seconds`` say when a buffer is written.
            - ``max_pending_records``, ``max_pending_bytes``: what memory holds while the file cannot
              be written. ``max_record_bytes``: the longest line. ``max_file_bytes``: rotation.
            - ``spans``, ``span_metrics``: whether spans are written, and become metrics;
              ``span_count``: counts too; ``span_print_fn``, ``span_plugins``: what runs with each.
            - ``print_handle``: what prints rows.
            - ``capture``: git state, arguments, packages and host; ``capture_console``: what is
              printed; ``system_metrics``: the machine, every ``system_interval`` seconds.
            - ``finish_timeout``: seconds that ``finish`` may take.
            - ``alert_window``: points that ``run.history.series.points`` returns at most.
            - ``backend_on_rank``: the rank that feeds backends, 0 by default; ``None`` is all.
            - without effect: ``alert_on_rank`` (no rules yet), ``cache_bytes``, ``cache_rows`` and
              ``span_async_write`` (not needed any more).

    Returns:
        The run, which is a context manager too.

    Raises:
        RunActiveError: this process has an open run.
        StreamInUseError: another live process writes the same stream of the same run.
        NameRefusedError: project, name or stream cannot be a file name.
        UnknownOptionError: an option's name is not known.
        OptionError: an option's value breaks its rule.
        OSError: the directory cannot be written.
    """
    with own_run.opening():
        with loading.gate():
            from expr_tracker.run.setup import open_run  # noqa: PLC0415 - only who logs pays

        own_run.run = run = open_run(
            project,
            name,
            root=dir,
            run_dir=run_dir,
            about={"entity": entity, "notes": notes, "tags": tags},
            config=config,
            backends=backends,
            backend_kwargs=backend_kwargs,
            alerts=(alert, alert_rules),
            resume=resume,
            clock=clock,
            options=kwargs
            if print_to_screen is None
            else {"print_to_screen": print_to_screen, **kwargs},
            dropped_before=own_run.discarded_calls(),
        )
    return run


def log(data: Any, step: Any = None, commit: bool | None = None) -> None:  # noqa: FBT001 - as users call it
    """Record metrics.

    Args:
        data: a dict of metric names and values; anything else is stored under ``value``.
        step: the row's step, a whole number. Left out, values join the open row, or the next step.
        commit: whether the row is complete now: by default yes without ``step``, no with it.

    Raises:
        NoRunError: no run is open.
        StepError: ``step`` is no whole number of 64 bits.
        StepOrderError: ``step`` is below the newest one, under ``step_policy="strict"``.
    """
    run = own_run.run
    if run is not None:
        run.log(data, step, commit)
    elif own_run.is_discarded:
        own_run.discard("log")
    else:
        own_run.refuse("log")


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:  # noqa: FBT001 - as above
    """End the current run: commit the open row, write everything, say what was not stored.

    A second call does nothing.

    Args:
        exit_code: 0 marks the attempt as succeeded, anything else as failed. Left out, the exception
            decides that the call stands in, in a ``finally`` or ``except`` block: the closing line
            then names it. Without one, the attempt succeeded.
        quiet: leave out the closing line unless something was lost.

    Raises:
        NoRunError: no run was ever opened in this process.
    """
    run = own_run.run
    if run is None:
        if own_run.has_had_one():
            return
        own_run.refuse("finish")
    try:
        run.finish(exit_code, quiet)
    finally:
        if run.is_finished:
            own_run.let_go(run)


def get_run() -> Run | None:
    """Return the current run; ``None`` where none is open."""
    return own_run.if_open()


@overload
def history(
    n: SupportsIndex | None = 50, *, output_type: RowsOutput = ..., **asked: Unpack[AskedHere]
) -> list[Row]: ...
@overload
def history(
    n: SupportsIndex | None = 50, *, output_type: PandasOutput, **asked: Unpack[AskedHere]
) -> pd.DataFrame: ...
@overload
def history(
    n: SupportsIndex | None = 50, *, output_type: PolarsOutput, **asked: Unpack[AskedHere]
) -> pl.DataFrame: ...
@overload
def history(
    n: SupportsIndex | None = 50, *, output_type: ArrowOutput, **asked: Unpack[AskedHere]
) -> pa.Table: ...
@overload
def history(
    n: SupportsIndex | None = 50, *, output_type: str | None, **asked: Unpack[AskedHere]
) -> Any: ...
def history(  # noqa: PLR0913 - the signature that programs already call
    n: SupportsIndex | None = 50,
    *,
    stream: StreamChoice | _Running = RUNNING,
    output_type: str | None = "dict",
    metrics: MetricChoice = None,
    step_range: StepRange = None,
    include_meta: bool = True,
    include_open: bool = True,
    fill_missing: bool = False,
    dropna: bool = False,
    attempt: AttemptChoice = None,
    rank: RankChoice = None,
    run: str | os.PathLike[str] | None = None,
) -> Any:
    """Return the newest rows.

    Args:
        n: steps, newest last; ``-1`` or ``None`` is all.
        stream: left out, the stream that this process writes (with ``run``: the default producer);
            ``None`` the default producer; a name; a list; ``"*"`` all, with a ``_stream`` column.
        output_type: ``"dict"`` (a list of dicts), ``"pandas"``, ``"polars"`` or ``"arrow"``.
        metrics: a name, a glob (``"train/*"``) or a list of them; by default every metric.
        step_range: ``(start, stop)``, half open; either may be ``None``.
        include_meta: whether rows have ``_step`` and ``_time``.
        include_open: whether the open row counts as the newest step.
        fill_missing: whether absent metrics are there as ``None``.
        dropna: leave out rows that have none of the selected metrics.
        attempt: a number, or ``"all"``; by default the newest value of every step.
        rank: a number, a list of them or ``"*"`` for all. Left out: of the stream that this process
            writes its own rank, of another one the lowest, of several streams all.
        run: read this run's directory (or metrics file) instead of the current run.

    Raises:
        NoRunError: no run is open and ``run`` is left out.
        RunNotFoundError: there is no such run, stream or file.
        QueryError: a range, type or selection has no meaning.
    """
    current = own_run.if_open()
    asked: Asked = {
        "metrics": metrics,
        "step_range": step_range,
        "include_meta": include_meta,
        "fill_missing": fill_missing,
        "dropna": dropna,
        "attempt": attempt,
    }
    if run is not None:
        with loading.gate():
            from expr_tracker.history import read_history  # noqa: PLC0415 - only who reads pays

        wanted = None if isinstance(stream, _Running) else stream
        return read_history(run, n, stream=wanted, rank=rank, output_type=output_type, **asked)
    if current is None:
        own_run.refuse("history")
    own = current.files.key
    wanted = own.stream if isinstance(stream, _Running) else stream
    if (wanted is None or isinstance(wanted, str)) and (wanted, rank) in (
        (own.stream, None),
        (own.stream, own.rank),
    ):
        return current.history.query(
            n, include_open=include_open, output_type=output_type, **asked
        )
    return current.history.query_several(
        n, stream=wanted, rank=rank, include_open=include_open, output_type=output_type, **asked
    )


def info() -> dict[str, Any]:
    """Return the current run's state as figures: rows, bytes, losses, durability, summary.

    ``info()["backends"]`` says of each backend how many rows of this process's streams it has
    (``delivered``) and does not have yet (``waiting``), how many values it has no place for
    (``dropped``), its ``last_error`` and the run's ``url`` there.

    ``info()["history"]`` has five keys for programs that were written for 0.4, which kept rows in
    memory: nothing is kept here but in the file, so ``cached_rows`` and ``cached_bytes`` are 0,
    ``disk_prefix`` and ``evicted_rows`` are the rows in the file, and ``cache_limit_bytes`` is the
    option ``cache_bytes``, which limits nothing.

    Raises:
        NoRunError: no run is open.
    """
    return own_run.need("info").info()


def summary() -> MutableMapping[str, Any]:
    """Return the last value of every metric; assigning a key pins it.

    Raises:
        NoRunError: no run is open.
    """
    return own_run.need("summary").summary


def define_metric(name: str, **kwargs: Any) -> None:
    """Say something about a metric: ``unit="ms"``, ``goal="minimize"``, ``description="..."``.

    Definitions are kept in ``about.json`` for whoever reads the run; the log itself, the summary
    included, stays the same.

    Args:
        name: the metric's name, or a pattern for several.
        **kwargs: ``unit``, ``goal``, ``description``, ``step_metric``, ``step_sync``, ``hidden``,
            ``overwrite`` and ``summary``. Other words are kept too, with a warning that names the
            nearest one.

    Raises:
        NoRunError: no run is open.
    """
    own_run.need("define_metric").define_metric(name, **kwargs)


def rewind(step: int) -> None:
    """Go back to ``step``: a new attempt begins there, and earlier rows from there on give way.

    Raises:
        NoRunError: no run is open.
        StepError: ``step`` is no whole number of 64 bits.
    """
    own_run.need("rewind").rewind(step)


def log_artifact(  # noqa: PLR0917 - as above
    artifact_or_path: Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,  # noqa: A002 - as above
    aliases: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    mode: StoreMode = "copy",
) -> Artifact:
    """Store a file, folder or `Artifact` as the next version of its name.

    Args:
        artifact_or_path: what to store; a path's stem is the default name.
        name: the artifact's name.
        type: what it is; ``"dataset"`` by default.
        aliases: names that point to this version from now on.
        metadata: anything plain that describes it.
        mode: ``"copy"``, ``"link"`` (hard link where possible) or ``"reference"`` (only listed).

    Raises:
        NoRunError: no run is open.
        ArtifactError: a name, alias, entry or mode breaks its rule.
        FileNotFoundError: the path does not exist.
    """
    return own_run.need("log_artifact").log_artifact(
        artifact_or_path, name, type, aliases, metadata, mode
    )


def use_artifact(
    artifact_or_name: Artifact | str,
    type: str | None = None,  # noqa: A002
    *,
    where: str | os.PathLike[str] | None = None,
) -> Artifact:
    """Return a stored artifact and note that this run uses it.

    Args:
        artifact_or_name: ``"name"``, ``"name:latest"``, ``"name:v3"`` or ``"name:alias"``; or an
            artifact that was returned before.
        type: what it must be.
        where: the folder of a project, of one of its runs or of the artifacts themselves, to look
            there. No run need be open, and none notes it: hand what is returned to another call to
            have it noted.

    Raises:
        NoRunError: no run is open, and ``where`` is left out.
        ArtifactNotFoundError: there is no such artifact, version or alias.
        ArtifactError: it is of another type, or its stored files were changed.
    """
    if where is not None:
        with loading.gate():
            from expr_tracker.artifacts import find_store  # noqa: PLC0415 - only who asks pays

        return find_store(where).use(artifact_or_name, type)
    return own_run.need("use_artifact").use_artifact(artifact_or_name, type)


@overload
def span(
    name: str,
    /,
    *,
    print_fn: Callable[[str], object] | None = ...,
    plugins: Any = ...,
    **attributes: Any,
) -> Span: ...
@overload
def span(
    *,
    name: str,
    print_fn: Callable[[str], object] | None = ...,
    plugins: Any = ...,
    **attributes: Any,
) -> Span: ...
def span(
    name: str = NAMED_BY_KEYWORD,
    /,
    *,
    print_fn: Callable[[str], object] | None = None,
    plugins: Any = (),
    **attributes: Any,
) -> Span:
    """Time a block: ``with et.span("forward"): ...``; also ``async with``, and as a decorator.

    Args:
        name: the last part of the span's path; the open spans of the thread or task are before it.
        print_fn: receives a line at the start and the end.
        plugins: what runs with the span and its children.
        **attributes: kept with the span; ``name`` too, where the name itself is given by position.

    Raises:
        TypeError: there is no name, by position or by keyword.
    """
    if name is NAMED_BY_KEYWORD:
        name = name_among(attributes, "et.span")
    if own_run.is_discarded:
        own_run.discard("span")
    return (span_class.made or span_class.get())(
        name, attributes, print_fn, plugins, own_run.target
    )


@overload
def start_span(
    name: str,
    /,
    *,
    print_fn: Callable[[str], object] | None = ...,
    plugins: Any = ...,
    **attributes: Any,
) -> Span: ...
@overload
def start_span(
    *,
    name: str,
    print_fn: Callable[[str], object] | None = ...,
    plugins: Any = ...,
    **attributes: Any,
) -> Span: ...
def start_span(
    name: str = NAMED_BY_KEYWORD,
    /,
    *,
    print_fn: Callable[[str], object] | None = None,
    plugins: Any = (),
    **attributes: Any,
) -> Span:
    """Begin a span that ``.end()`` ends: for blocks that no ``with`` can hold."""
    if name is NAMED_BY_KEYWORD:
        name = name_among(attributes, "et.start_span")
    return span(name, print_fn=print_fn, plugins=plugins, **attributes).begin()
