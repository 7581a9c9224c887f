"""A span: one timed part of a step, from its start to its end.

What the room asks of an open run is `SpanTarget`; without one a span times, prints and runs its
plugins but records nothing. A `Span` owns the state of one go: entered again while it is open, or
used as a decorator, it makes copies of itself, so each go has its own.

This is the hot path (a few microseconds a span, next to the training step): no locks, no
generator-made context managers, nothing built that is not needed. Whether a span is open is decided
by testing and setting `Span.is_open` with no call in between, where the interpreter neither
switches threads nor delivers a signal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import ref

from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.row import key_text
from expr_tracker.spans import printing, stack
from expr_tracker.spans.decorate import decorated
from expr_tracker.spans.hooks import end_plugins, start_plugins
from expr_tracker.spans.own_clock import own_clock
from expr_tracker.spans.recording import record
from expr_tracker.spans.stack import (
    DEPTH_MAX,
    OVERFLOW_PATH,
    PATH_CHARACTERS_MAX,
    Entry,
    report_lost,
    settled,
    warn_once,
)
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from types import TracebackType

    from expr_tracker.clock import Clock
    from expr_tracker.row import Row
    from expr_tracker.spans.target import SpanTarget

__all__ = ["Span"]

_SEQUENCES: Final = (tuple, list)
#: No clock shows it: a monotonic one may begin at 0, and never goes below.
_NOT_BEGUN: Final = -1

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _no_target() -> None:
    return None


class Span:
    """One timed part of a step: a context manager, an async one, and a decorator.

    Attributes:
        name: its own name; ``path`` is the names of the open spans around it, joined by ``/``.
        attributes: what was given about it, as it was given.
        depth: how many spans were open around it.
        track: the thread that its root span began in.
        duration_ms: milliseconds from start to end; 0.0 until it ends.
        metrics: what plugins measured; filled when it ends.
        error: the type name of the exception that ended it, or ``None``.
        is_open: whether it has begun and not ended.
    """

    __slots__ = (
        "__weakref__",
        "_begun_by_hand",
        "_clock",
        "_entry",
        "_generation",
        "_offset",
        "_own_plugins",
        "_own_print_fn",
        "_plugins",
        "_print_fn",
        "_print_level",
        "_repeats",
        "_started_ns",
        "_target",
        "_target_at_start",
        "attributes",
        "depth",
        "duration_ms",
        "error",
        "is_open",
        "metrics",
        "name",
        "path",
        "track",
    )

    _clock: Clock
    _entry: Entry | None
    _repeats: list[Span] | None
    _print_fn: Callable[[str], object] | None
    _plugins: Sequence[Any]
    error: str | None

    def __init__(  # noqa: PLR0917 - by position: keywords cost each span 60 ns
        self,
        name: str,
        attributes: dict[str, Any],
        print_fn: Callable[[str], object] | None = None,
        plugins: Any = None,
        target: Callable[[], SpanTarget | None] = _no_target,
    ) -> None:
        self.is_open = False
        if type(name) is not str or not name or name[0] == "/" or name[-1] == "/":
            name = key_text(name).strip("/") or "span"
        self.name = self.path = name
        self.attributes = attributes
        self._own_print_fn = print_fn
        if plugins and type(plugins) not in _SEQUENCES:
            plugins = (plugins,)
        self._own_plugins = plugins
        self._target = target
        self._generation = stack.generation
        self._repeats = None
        self._begun_by_hand = False
        self._started_ns = _NOT_BEGUN
        self._offset = 0.0
        self.duration_ms = 0.0
        self.error = None
        self.metrics: Row = {}
        self.depth = 0
        self.track = 0

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"{self.duration_ms:.3f} ms"
        return f"<Span {self.path!r} {state}>"

    @property
    def started_at(self) -> float:
        """When it began, in Unix seconds; 0.0 before."""
        begun = self._started_ns != _NOT_BEGUN
        return self._offset + self._started_ns / 1e9 if begun else 0.0

    def set(self, /, **attributes: Any) -> Span:
        """Add attributes and return the span.

        Raises:
            ForkedObjectError: the span belongs to the parent process.
        """
        if self._generation != stack.generation:
            raise stack.refuse_after_fork(f"The span {self.path!r}")
        self.attributes.update(attributes)
        return self

    def begin(self) -> Span:
        """Begin without ``with``; `end` ends it, and so does a ``with`` over the begun span.

        Raises:
            ForkedObjectError: the span, or a plugin of it, belongs to the parent process.
        """
        span = self.__enter__()
        span._begun_by_hand = True  # noqa: SLF001 - of its own class
        return span

    def end(self, error: BaseException | type[BaseException] | str | None = None) -> float:
        """End the span and return its milliseconds; a second end changes nothing.

        Args:
            error: what ended it, where it failed: an exception, its type or its name.

        Raises:
            ForkedObjectError: the span belongs to the parent process.
        """
        if self._generation != stack.generation:
            raise stack.refuse_after_fork(f"The span {self.path!r}")
        if self.is_open:
            self.is_open = False
            if error is not None:
                self.error = _error_name(error)
            self._finish(self._clock.monotonic_ns())
        return self.duration_ms

    # One method, however long: a call more costs a thirtieth of the whole span.
    def __enter__(self) -> Span:  # noqa: C901, PYI034 - and a repeat returns a copy
        if self._generation != stack.generation:
            raise stack.refuse_after_fork(f"The span {self.path!r}")
        if self.is_open:
            return self._enter_again()
        self.is_open = True
        if self._started_ns != _NOT_BEGUN:
            self.duration_ms, self.error, self.metrics = 0.0, None, {}
        target = self._target_at_start = self._target()
        clock = self._clock = own_clock if target is None else target.clock
        print_fn, plugins = self._own_print_fn, self._own_plugins
        open_spans = stack.open_spans
        below = open_spans.get()
        parent = None
        if below is not None:
            reference = below[0]
            parent = reference() if reference is not None else None
            if parent is None or not parent.is_open:
                below, parent = settled(below, target)
        if below is None or parent is None:
            self.path, self.depth, self.track, self._print_level = self.name, 0, get_ident(), 0
        else:
            below = self._join(parent, below)
            self.track, self._print_level = parent.track, 0
            if print_fn is None:
                print_fn = parent._print_fn  # noqa: SLF001 - of its own class
                if print_fn is not None:
                    self._print_level = parent._print_level + 1  # noqa: SLF001 - of its own class
            plugins = plugins or parent._plugins  # noqa: SLF001 - of its own class
        if target is not None:
            print_fn = print_fn or target.print_fn
            plugins = plugins or target.plugins
        self._print_fn = print_fn
        self._plugins = plugins or ()
        if plugins or print_fn:
            self._announce()
        now = self._started_ns = clock.monotonic_ns()
        if target is None and now > own_clock.due_ns:
            own_clock.resync()
        self._offset = clock.offset
        entry = self._entry = [ref(self), below, self.name]
        open_spans.set(entry)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._repeats or self._generation != stack.generation:
            self._exit_rare(kind)
        elif self.is_open:
            self.is_open = False
            if kind is not None:
                self.error = kind.__name__
            self._finish(self._clock.monotonic_ns())

    async def __aenter__(self) -> Span:  # noqa: PYI034 - a repeat returns a copy
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: _Function) -> _Function:
        """Return ``function`` so that each call of it is a span.

        Of a generator the whole iteration is measured, of a coroutine the whole await.

        Raises:
            TypeError: it is no function.
        """
        return decorated(self.copy, function)

    def copy(self) -> Span:
        """Return a span like this one that has not begun."""
        return Span(
            self.name,
            dict(self.attributes),
            print_fn=self._own_print_fn,
            plugins=self._own_plugins,
            target=self._target,
        )

    def pause(self) -> None:
        """Step off the caller's stack while staying open: a generator hands a value out."""
        open_spans = stack.open_spans
        entry = self._entry
        if entry is not None and open_spans.get() is entry:
            open_spans.set(entry[1])

    def resume(self) -> None:
        """Step onto the caller's stack again: the generator goes on, perhaps elsewhere."""
        if self.is_open:
            open_spans = stack.open_spans
            entry = self._entry = stack.entry_of(self, open_spans.get())
            open_spans.set(entry)

    def _join(self, parent: Span, below: Entry) -> Entry:
        """Set path and depth under ``parent``; return the stack to stand on."""
        depth = parent.depth
        if depth < DEPTH_MAX:
            above = below[1]
            count = 0
            while above is not None:
                reference = above[0]
                ancestor = reference() if reference is not None else None
                if ancestor is None or not ancestor.is_open:
                    break
                count += 1
                above = above[1]
            if above is None and count == depth:
                path = f"{parent.path}/{self.name}"
                self.depth = depth + 1
            else:
                # A span further out has ended: only the open ones are in the path.
                lost: list[str] = []
                rebuilt, names = stack.remaining(below, lost)
                report_lost(lost, self._target_at_start)
                below = rebuilt or below
                path = "/".join([*names, self.name])
                self.depth = len(names)
            if len(path) <= PATH_CHARACTERS_MAX and parent.path is not OVERFLOW_PATH:
                self.path = path
                return below
        else:
            # Too deep to walk each time; still let go of what ended right below.
            lost = []
            above = stack.skip_ended(below[1], lost)
            report_lost(lost, self._target_at_start)
            if above is not below[1]:
                below = [below[0], above, below[2]]
            self.depth = depth + 1
        self.path = OVERFLOW_PATH
        warn_once(
            "path",
            f"The span {self.name[:80]!r} lies {self.depth} spans deep or has a path of more than "
            f"{PATH_CHARACTERS_MAX} characters (deepest {DEPTH_MAX}): it and its like are recorded "
            f"as {OVERFLOW_PATH!r}. Is a span opened and not ended in a loop?",
        )
        return below

    def _announce(self) -> None:
        if self._plugins:
            try:
                start_plugins(self._plugins, self)
            except BaseException:
                self.is_open = False
                raise
        if self._print_fn is not None:
            printing.say(self._print_fn, printing.start_line(self, self._print_level))

    def _enter_again(self) -> Span:
        if self._begun_by_hand:  # with et.start_span("a"): the with takes over its end
            self._begun_by_hand = False
            return self
        repeat = self.copy().__enter__()
        if self._repeats is None:
            self._repeats = []
        self._repeats.append(repeat)
        return repeat

    def _exit_rare(self, kind: type[BaseException] | None) -> None:
        if self._generation != stack.generation:
            if kind is None:
                raise stack.refuse_after_fork(f"The span {self.path!r}")
            return  # the exception that leaves the block says more than ours would
        self._newest_of_own().end(kind)

    def _newest_of_own(self) -> Span:
        """Return which go of this object ends now: the newest on the caller's own stack."""
        repeats = self._repeats or []
        entry = stack.open_spans.get()
        found = None
        while entry is not None and found is None:
            span = entry[0]() if entry[0] is not None else None
            if span is not None and span.is_open and (span is self or span in repeats):
                found = span
            entry = entry[1]
        if found is None:
            found = repeats[-1] if repeats else self
        if found is not self:
            with suppress_own(ValueError):  # another thread took it
                repeats.remove(found)
        return found

    def _finish(self, stopped_ns: int) -> None:
        entry = self._entry
        open_spans = stack.open_spans
        if entry is not None:
            entry[0] = None
            if open_spans.get() is entry:
                open_spans.set(entry[1])
        self._begun_by_hand = False
        self.duration_ms = (stopped_ns - self._started_ns) / 1e6
        if self._plugins:
            self.metrics = end_plugins(self._plugins, self)
        begun_in = self._target_at_start
        if (begun_in is None or not self._record(begun_in)) and (
            (target := self._target()) is None or target is begun_in or not self._record(target)
        ):
            self._count_outlived(begun_in)
        self._target_at_start = None
        if self._print_fn is not None:
            printing.say(self._print_fn, printing.end_line(self, self._print_level))

    def _record(self, target: SpanTarget) -> bool:
        """Hand the finished span to a run; False if that one has finished too."""
        try:
            if target is not self._target_at_start:  # begun before this run was opened
                self._offset = _offset_between(self._clock, target.clock)
            return record(target, self, self._offset + self._started_ns / 1e9)
        except BaseException as error:
            target.count_dropped("spans")
            if not isinstance(error, Exception) or is_from_signal(error):
                raise  # an interrupt; a fault of recording must not stop training
            warn_once(("record", type(error)), f"A span was not recorded: {shown(error)}")
            return True

    def _count_outlived(self, begun_in: SpanTarget | None) -> None:
        if begun_in is not None:
            begun_in.count_dropped("spans after finish")
            warn_once(
                "finished",
                f"The span {self.path!r} ended after its run had finished: it is dropped.",
            )


def _offset_between(own: Clock, other: Clock) -> float:
    """Return what the other clock's wall time is ahead of our monotonic time."""
    if own.monotonic_ns == other.monotonic_ns:
        return (
            other.offset
        )  # exact: two reads would be apart by however long we are stopped between
    return other.wall() - own.monotonic_ns() / 1e9


def _error_name(error: BaseException | type[BaseException] | str) -> str:
    if isinstance(error, str):
        return error
    return error.__name__ if isinstance(error, type) else type(error).__name__
