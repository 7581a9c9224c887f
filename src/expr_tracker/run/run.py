"""The run that users hold: it opens the rooms in order and hands calls on.

What is public here is the interface of a run. The parts behind it are in `parts`, all ends of a run
in `closing`, and neither knows this module.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Self, overload

from expr_tracker.capture.configuration import config_from
from expr_tracker.clock import Clock, SystemClock
from expr_tracker.errors import OptionError
from expr_tracker.record.keeper import Keeper
from expr_tracker.row import Row, step_from
from expr_tracker.run.closing import Closing, give_up
from expr_tracker.run.opening import mark_rewind, open_stream
from expr_tracker.run.parts import RunParts
from expr_tracker.run.place import seen_from_here
from expr_tracker.run.report import info
from expr_tracker.run.stream import warn_of_value
from expr_tracker.run.upkeep import Upkeep
from expr_tracker.spans import NAMED_BY_KEYWORD, name_among, span_class
from expr_tracker.texts import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, MutableMapping
    from types import TracebackType

    from expr_tracker.artifacts import Artifact, ArtifactStore, StoreMode
    from expr_tracker.backends import Choice
    from expr_tracker.history import HistoryStore
    from expr_tracker.notices import Notices
    from expr_tracker.options import Options
    from expr_tracker.run.place import Place
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.spans import Span
    from expr_tracker.store.files import RunFiles

__all__ = ["Run", "abandon_open_runs", "finish_at_exit", "open_runs"]

#: The runs of this process that are open; the fork hook goes through them.
open_runs: set[Run] = set()


class Run:
    """One stream of one run directory, open for writing; ``et.init`` makes it.

    It is a context manager too: the end of the block finishes it, with the status that the block
    ended with.

    Attributes:
        spans: where the run's spans end.
    """

    def __init__(  # noqa: PLR0913 - what `init` was given, checked
        self,
        place: Place,
        options: Options,
        *,
        config: Row | None,
        about: Row,
        notices: Notices,
        clock: Clock | None = None,
        backends: Choice | None = None,
    ) -> None:
        """Open the run; see `expr_tracker.init` for what may be raised."""
        self._place = place
        stream, is_summary_behind = open_stream(
            place,
            options,
            started_at=about.get("time"),
            clock=clock if clock is not None else SystemClock(),
            notices=notices,
        )
        closing: Closing | None = None
        try:
            self._stream: OpenStream = stream
            self._life = stream.life
            self._parts = RunParts(
                stream,
                about=about,
                config=config,
                is_summary_behind=is_summary_behind,
                backends=backends,
            )
            self._upkeep = Upkeep(self._parts)
            self._keeper = Keeper(
                self._upkeep.tasks, notices, name=f"expr-tracker-keeper-{stream.files.key.label}"
            )
            self._closing = closing = Closing(
                self._parts, self._keeper, self._upkeep, forget=lambda: open_runs.discard(self)
            )
            # The hot path: one attribute, no method in between. The method of the class, which it
            # hides, is what help() shows; that it is there costs a call nothing measurable.
            self.log = stream.recorder.log  # type: ignore[method-assign]
            self.spans = self._parts.spans
            self._begin()
            open_runs.add(self)
        except BaseException:
            if closing is None:
                give_up(stream)
            else:
                closing.undo()
            raise

    def _begin(self) -> None:
        stream, parts = self._stream, self._parts
        parts.last_values.complete()
        if stream.options.print_to_screen:
            handle = stream.options.print_handle

            def print_handle(row: Row) -> None:
                handle(str(row))

            stream.recorder.add_sink(print_handle)
        self._upkeep.write_documents()
        if not self._keeper.start():
            parts.go_without_thread()
        parts.companions.start()
        self._closing.watch()
        parts.save_unsaved_summary()
        parts.start_backends()
        attempt = stream.life.attempt
        where = f": attempt {attempt}, next step {stream.recorder.step}" if attempt > 1 else ""
        stream.notices.say(
            f"{self.project}/{self.name} ({stream.files.key.label}) is logged to "
            f"{seen_from_here(stream.files.directory)}{where}.",
            level=logging.INFO,
        )
        stream.notices.emit()

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def project(self) -> str:
        """The project's name."""
        return self._place.project

    @property
    def name(self) -> str:
        """The run's name."""
        return self._place.name

    @property
    def id(self) -> str:
        """What stays the same where the run's directory is moved or copied: ``id`` of ``run.json``."""
        return str(self._stream.identity.get("id", ""))

    @property
    def stream(self) -> str | None:
        """This process's stream; ``None`` is the default producer."""
        return self._stream.files.key.stream

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self._stream.rank

    @property
    def backend_run_name(self) -> str:
        """What a mirror calls this part of the run: ``NAME[-STREAM][-rankN]``.

        A mirror has one step axis a run, so streams and ranks become runs of their own there, grouped
        under `name`.
        """
        key = self._stream.files.key
        stream = "" if key.stream is None else f"-{key.stream}"
        return f"{self.name}{stream}{f'-rank{key.rank}' if key.rank else ''}"

    @property
    def dir(self) -> str:
        """The run directory, as an absolute path."""
        return str(self._stream.files.directory)

    @property
    def files(self) -> RunFiles:
        """The paths of this stream's files."""
        return self._stream.files

    @property
    def options(self) -> Options:
        """Every tunable of the run."""
        return self._stream.options

    @property
    def config(self) -> Row:
        """What the user configured, secrets redacted; left out of a resume, what the run has."""
        return self._parts.documents.config

    @property
    def entity(self) -> str | None:
        """Who the run belongs to, as given to ``init``, now or before."""
        return self._parts.documents.about.get("entity")

    @property
    def notes(self) -> str | None:
        """Free text, as given to ``init``, now or before."""
        return self._parts.documents.about.get("notes")

    @property
    def tags(self) -> list[str]:
        """Labels, as given to ``init``, now or before."""
        return list(self._parts.documents.about.get("tags") or ())

    @property
    def backends(self) -> dict[str, Any]:
        """How far each backend of the run is, by its name: ``info()["backends"]``."""
        self._life.guard()
        return self._parts.backends.figures()

    @property
    def url(self) -> str | None:
        """The address of the run at its first backend; ``None`` as long as none was reached."""
        return self._parts.backends.url

    # -- how far it is -------------------------------------------------------------------------------

    @property
    def attempt(self) -> int:
        """The number of the attempt that rows belong to now, from 1."""
        return self._life.attempt

    @property
    def step(self) -> int:
        """The open step, else the next one."""
        self._life.guard()
        return self._stream.recorder.step

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended and let go of its files."""
        return self._life.is_closed

    def info(self) -> Row:
        """Return the run's state as figures; see `expr_tracker.info`."""
        self._life.guard()
        return info(self._parts)

    # -- recording -----------------------------------------------------------------------------------

    def log(self, data: Any, step: Any = None, commit: bool | None = None) -> None:  # noqa: FBT001 - as users call it
        """Record metrics; see `expr_tracker.log`.

        On a run that is finished nothing is stored: the call is counted, and warned about once.

        Args:
            data: a dict of metric names and values; anything else is stored under ``value``.
            step: the row's step, a whole number. Left out, values join the open row, or the next step.
            commit: whether the row is complete now: by default yes without ``step``, no with it.

        Raises:
            StepError: ``step`` is no whole number of 64 bits.
            StepOrderError: ``step`` is below the newest one, under ``step_policy="strict"``.
            ForkedObjectError: the run belongs to the parent of this process.
        """
        self._stream.recorder.log(data, step, commit)

    def define_metric(self, name: str, **kwargs: Any) -> None:
        """Keep what is said about a metric (unit, goal, axis); see `expr_tracker.define_metric`."""
        self._life.check_open("define_metric")
        self._parts.documents.define_metric(name, kwargs)

    @overload
    def span(
        self,
        name: str,
        /,
        *,
        print_fn: Callable[[str], object] | None = ...,
        plugins: Any = ...,
        **attributes: Any,
    ) -> Span: ...
    @overload
    def span(
        self,
        /,
        *,
        name: str,
        print_fn: Callable[[str], object] | None = ...,
        plugins: Any = ...,
        **attributes: Any,
    ) -> Span: ...
    def span(
        self,
        name: str = NAMED_BY_KEYWORD,
        /,
        *,
        print_fn: Callable[[str], object] | None = None,
        plugins: Any = (),
        **attributes: Any,
    ) -> Span:
        """Time a block for this run; see `expr_tracker.span`."""
        self._life.guard()
        if name is NAMED_BY_KEYWORD:
            name = name_among(attributes, "run.span")
        return span_class.get()(
            name, attributes, print_fn=print_fn, plugins=plugins, target=lambda: self.spans
        )

    @overload
    def start_span(
        self,
        name: str,
        /,
        *,
        print_fn: Callable[[str], object] | None = ...,
        plugins: Any = ...,
        **attributes: Any,
    ) -> Span: ...
    @overload
    def start_span(
        self,
        /,
        *,
        name: str,
        print_fn: Callable[[str], object] | None = ...,
        plugins: Any = ...,
        **attributes: Any,
    ) -> Span: ...
    def start_span(
        self,
        name: str = NAMED_BY_KEYWORD,
        /,
        *,
        print_fn: Callable[[str], object] | None = None,
        plugins: Any = (),
        **attributes: Any,
    ) -> Span:
        """Begin a span of this run that ``.end()`` ends; see `expr_tracker.start_span`."""
        if name is NAMED_BY_KEYWORD:
            name = name_among(attributes, "run.start_span")
        return self.span(name, print_fn=print_fn, plugins=plugins, **attributes).begin()

    def log_artifact(  # noqa: PLR0917 - the signature of `expr_tracker.log_artifact`
        self,
        artifact_or_path: Artifact | str | os.PathLike[str],
        name: str | None = None,
        type: str | None = None,  # noqa: A002 - the name that callers use
        aliases: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        mode: StoreMode = "copy",
    ) -> Artifact:
        """Store a file, folder or `Artifact` as the next version; see `expr_tracker.log_artifact`."""
        self._life.check_open("log_artifact")
        # What describes a file is as readable as a configuration: secrets stay out of it too.
        warn = partial(warn_of_value, self._stream.notices)
        plain = None if metadata is None else config_from(metadata, warn, argument="metadata")
        return self.artifacts.log(
            artifact_or_path, name, type, aliases, plain, mode, step=self.step
        )

    def use_artifact(self, artifact_or_name: Artifact | str, type: str | None = None) -> Artifact:  # noqa: A002
        """Return a stored artifact; see `expr_tracker.use_artifact`."""
        self._life.check_open("use_artifact")
        return self.artifacts.use(artifact_or_name, type, step=self.step)

    def rewind(self, step: int) -> None:
        """Go back to ``step`` in a new attempt: earlier rows from there on are superseded.

        Raises:
            StepError: ``step`` is no step.
            RunFinishedError: the run is finished.
        """
        life, parts = self._life, self._parts
        life.check_open("rewind")
        wanted = step_from(step)
        number = life.attempt + 1

        def mark() -> None:
            mark_rewind(self._stream.writer, number, wanted, clock=self._stream.clock)
            life.attempt = number
            parts.last_values.forget()

        self._stream.recorder.begin_attempt(wanted, mark)
        parts.last_values.complete()

    def flush(self, commit_open: bool = False) -> None:  # noqa: FBT001, FBT002 - the public name's form
        """Write everything that waits, so that it survives the death of the process.

        The open row stays open: it is kept in its journal. With ``commit_open`` it is committed.
        """
        self._parts.flush(commit_open)

    # -- reading -------------------------------------------------------------------------------------

    @property
    def history(self) -> HistoryStore:
        """The rows of this stream, live."""
        self._life.guard()
        return self._parts.history.get()

    @property
    def summary(self) -> MutableMapping[str, Any]:
        """The last value of every metric; assigned keys are pinned."""
        return self._parts.whole_summary()

    @property
    def artifacts(self) -> ArtifactStore:
        """The project's artifacts."""
        self._life.guard()
        return self._parts.artifacts.get()

    # -- the end -------------------------------------------------------------------------------------

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:  # noqa: FBT001
        """Commit the open row, write everything, say what was not stored, and let go.

        A second call does nothing; callers on other threads wait for the first.

        Args:
            exit_code: 0 is success, anything else a failure. Left out, the exception decides that
                the call stands in, in a ``finally`` or ``except`` block; without one it is success.
            quiet: ``True`` leaves out the closing line unless something was lost.

        Raises:
            RunFinishedError: called from inside a sink of this very run.
            OptionError: ``exit_code`` is no whole number.
        """
        if exit_code is not None and not isinstance(exit_code, int):
            raise OptionError(f"exit_code={shown(exit_code)}: expected a whole number or None.")
        status = None if exit_code is None else "failed" if exit_code else "succeeded"
        self._closing.finish(status, is_quiet=bool(quiet))

    def __enter__(self) -> Self:
        self._life.guard()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.finish_after(error)

    def __repr__(self) -> str:
        # A log handler may show a run whose opening failed, before it had a stream.
        stream: OpenStream | None = getattr(self, "_stream", None)
        label = stream.files.key.label if stream is not None else "not opened"
        directory = stream.files.directory if stream is not None else self._place.directory
        status = str(stream.life) if stream is not None else "running"
        return f"<Run {self.project}/{self.name} ({label}): {status}, {directory}>"


def finish_at_exit(run: Run) -> None:
    """Close a run as the interpreter ends; in a forked child nothing is written."""
    run._closing.finish_at_exit()  # noqa: SLF001 - of this module


def abandon_open_runs() -> None:
    """Make every open run its parent's: for the fork hook in the child, touches no lock."""
    for run in tuple(open_runs):
        run._closing.abandon_in_child()  # noqa: SLF001 - of this module
    open_runs.clear()
