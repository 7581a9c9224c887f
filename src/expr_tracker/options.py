"""Every tunable of a run in one frozen value, and the only reader of the environment.

`Options` is made once by ``init`` and handed to the rooms; nothing is looked up again on the way of
a value. A setting has two sources at most: the argument, then the environment.
"""

from __future__ import annotations

import difflib
import math
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypedDict

from expr_tracker.errors import OptionError, StepError, UnknownOptionError
from expr_tracker.row import step_from
from expr_tracker.texts import cut, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Durability",
    "OptionKeywords",
    "Options",
    "StepPolicy",
    "backends_from_environment",
    "environment",
    "make_options",
    "rank_from_environment",
    "root_from_environment",
    "stream_in_use_from_environment",
]

StepPolicy = Literal["allow", "monotonic", "strict"]
Durability = Literal["process", "buffered", "fsync"]

_MIB = 1024 * 1024
#: Of what is counted: beyond it, queues and slices refuse the number.
_COUNT_MAX = 2**63 - 1
#: Of what is waited for: thirty years. Beyond three hundred, locks and threads refuse the number.
_SECONDS_MAX = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How one run records, writes and reads; every field is a keyword of ``init``.

    Counts and bytes go up to 2**63 - 1, seconds up to 10**9.
    """

    stream: str | None = None
    """The producer that this process is within the run; ``None`` is the default producer."""
    rank_aware: bool = True
    """Whether a rank above 0 writes files of its own."""
    resume_step: int | None = None
    """Begin a new attempt at this step; earlier attempts' rows from there on are superseded."""

    step_policy: StepPolicy = "allow"
    """What a step below the newest one means: stored, dropped and counted, or an error."""

    durability: Durability | None = None
    """``"process"`` (the default) survives ``kill -9``, ``"fsync"`` power loss, ``"buffered"``
    neither. Left out, a slow file system switches to buffering by itself."""
    buffer_size: int | None = 50
    """Buffered, by choice or on a slow file system: rows that are written together at the latest, by
    the call that logs the last of them; ``None`` leaves them to the thread."""
    buffer_interval: float | None = 1.0
    """Buffered: a row that comes this long (seconds) after the one before is written at once."""
    max_buffer_seconds: float | None = 5.0
    """Buffered: the longest a row waits for the file, in seconds."""
    max_pending_records: int | None = 100_000
    """Rows kept in memory while the file cannot be written; beyond it the oldest are dropped.
    While it can, nothing is: the call that reaches the limit writes what waits."""
    max_pending_bytes: int | None = 64 * _MIB
    """The same limit in bytes. A single row that is larger is written at once, or stays as the only
    one that waits: what is too large to store is for ``max_record_bytes`` to say."""
    max_record_bytes: int | None = 8 * _MIB
    """The longest line; a longer row is refused and counted."""
    max_file_bytes: int | None = None
    """Rotation: the live file's size at which it is set aside as a numbered part; off by default.
    Whoever reads the run is told when a part is gone."""

    cache_bytes: int | None = 0
    """Kept for programs that set it: the file is the cache, nothing else is held."""
    cache_rows: int | None = 0
    """Kept for programs that set it, as ``cache_bytes``."""
    alert_window: int = 4096
    """The most points that ``run.history.series.points`` returns for a metric."""

    spans: bool = True
    """Whether finished spans are written to the span file."""
    span_metrics: bool = True
    """Whether finished spans become metrics of the open row."""
    span_count: bool = False
    """Whether ``count/<path>`` joins ``time_ms/<path>``."""
    span_async_write: bool = True
    """Kept for programs that set it: a span's line costs one write, made at once."""
    span_print_fn: Callable[[str], object] | None = None
    """Receives a line at the start and the end of every span."""
    span_plugins: tuple[Any, ...] = ()
    """Plugins that every span inherits."""

    print_to_screen: bool = False
    """Whether committed rows are printed."""
    print_handle: Callable[[str], object] = print
    """What prints them."""

    capture: bool = True
    """Whether git state, arguments, packages and host are written to ``environment.json``."""
    capture_console: bool = False
    """Whether standard output and error are kept in the run directory too."""
    system_metrics: bool = False
    """Whether CPU, memory, disk, network and GPU are recorded as the stream ``system``."""
    system_interval: float = 10.0
    """Seconds between two rows of the stream ``system``."""

    finish_timeout: float = 10.0
    """The longest that ``finish`` and the exit hook may take, in seconds."""
    alert_on_rank: int | None = 0
    """The rank that alerts; ``None`` is all. Without effect: this version evaluates no rules."""
    backend_on_rank: int | None = 0
    """The rank that feeds backends, with the streams that it writes itself; ``None`` is all."""


class OptionKeywords(TypedDict, total=False):
    """The keywords of ``init`` beside those of its signature, for type checkers and editors.

    What each means stands in `Options`; ``print_to_screen`` is in the signature.
    """

    stream: str | None
    rank_aware: bool
    resume_step: SupportsIndex | None
    step_policy: StepPolicy
    durability: Durability | None
    buffer_size: int | None
    buffer_interval: float | None
    max_buffer_seconds: float | None
    max_pending_records: int | None
    max_pending_bytes: int | None
    max_record_bytes: int | None
    max_file_bytes: int | None
    cache_bytes: int | None
    cache_rows: int | None
    alert_window: int
    spans: bool
    span_metrics: bool
    span_count: bool
    span_async_write: bool
    span_print_fn: Callable[[str], object] | None
    span_plugins: Any
    print_handle: Callable[[str], object]
    capture: bool
    capture_console: bool
    system_metrics: bool
    system_interval: float
    finish_timeout: float
    alert_on_rank: int | None
    backend_on_rank: int | None


_CHOICES: Mapping[str, tuple[object, ...]] = {
    "step_policy": ("allow", "monotonic", "strict"),
    "durability": (None, "process", "buffered", "fsync"),
}
_POSITIVE_OR_NONE = frozenset(
    {
        "buffer_size",
        "max_pending_records",
        "max_pending_bytes",
        "max_record_bytes",
        "max_file_bytes",
    }
)
_COUNTS_OR_NONE = frozenset({"cache_bytes", "cache_rows", "alert_on_rank", "backend_on_rank"})
_SECONDS_OR_NONE = frozenset({"buffer_interval", "max_buffer_seconds"})
_SECONDS = frozenset({"finish_timeout", "system_interval"})
_SWITCHES = frozenset(
    {
        "rank_aware",
        "spans",
        "span_metrics",
        "span_count",
        "span_async_write",
        "print_to_screen",
        "capture",
        "capture_console",
        "system_metrics",
    }
)


def make_options(values: Mapping[str, Any]) -> Options:
    """Check ``values`` and return them as `Options`.

    Raises:
        UnknownOptionError: a name is not an option; the nearest one is offered.
        OptionError: a value breaks its option's rule.
    """
    known = [field.name for field in fields(Options)]
    for name in values:
        if name not in known:
            raise UnknownOptionError(_unknown(name, known))
    for name, value in values.items():
        _check(name, value)
    checked = {**values, "span_plugins": _as_tuple(values.get("span_plugins"))}
    if values.get("resume_step") is not None:
        checked["resume_step"] = step_from(values["resume_step"])
    for name in _SWITCHES & checked.keys():
        checked[name] = bool(checked[name])
    return Options(**checked)


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"Unknown option {shown(name)}.{hint} Options are: {', '.join(sorted(known))}."


def _as_tuple(plugins: object) -> tuple[Any, ...]:
    if plugins is None:
        return ()
    if isinstance(plugins, (list, tuple)):
        return tuple(plugins)
    return (plugins,)


def _check(name: str, value: Any) -> None:  # noqa: C901, PLR0912 - one branch per kind of rule
    def refuse(rule: str) -> OptionError:
        return OptionError(f"Option {name}={shown(value)}: expected {rule}.")

    is_int = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _COUNT_MAX
    is_number = is_int or (isinstance(value, float) and math.isfinite(value))
    is_number = is_number and abs(value) <= _SECONDS_MAX
    if name in _CHOICES:
        # What is no text is not asked: an array answers for each of its elements.
        if not isinstance(value, (str, type(None))) or value not in _CHOICES[name]:
            raise refuse("one of " + ", ".join(repr(choice) for choice in _CHOICES[name]))
    elif name in _POSITIVE_OR_NONE:
        if value is not None and not (is_int and value > 0):
            raise refuse(f"a whole number above 0, at most {_COUNT_MAX}, or None for no limit")
    elif name in _COUNTS_OR_NONE:
        if value is not None and not (is_int and value >= 0):
            raise refuse(f"a whole number from 0, at most {_COUNT_MAX}, or None")
    elif name == "alert_window":
        if not (is_int and value > 0):
            raise refuse(f"a whole number above 0, at most {_COUNT_MAX}")
    elif name in _SECONDS_OR_NONE:
        if value is not None and not (is_number and value >= 0):
            raise refuse(f"seconds from 0, at most {_SECONDS_MAX}, or None for off")
    elif name in _SECONDS:
        if not (is_number and value > 0):
            raise refuse(f"seconds above 0, at most {_SECONDS_MAX}")
    elif name in _SWITCHES:
        if not _is_switch(value):
            raise refuse("True or False")
    elif name == "print_handle":
        if not callable(value):
            raise refuse("a function that takes one text")
    elif name == "span_print_fn":
        if value is not None and not callable(value):
            raise refuse("a function that takes one text, or None")
    elif name == "span_plugins":
        if not all(_is_plugin(plugin) for plugin in _as_tuple(value)):
            raise refuse(
                "a plugin or a list of plugins, each a function of the span or an object with "
                "end(span) and maybe start(span)"
            )
    elif name == "resume_step" and value is not None and not _is_step(value):
        raise refuse("a whole number of 64 bits, the step to continue at")


def _is_switch(value: Any) -> bool:
    """Say whether it is True or False, 1 or 0, in Python or in NumPy; 1.0 and "yes" are neither."""
    if isinstance(value, (bool, int)):
        return value in {0, 1}
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    is_scalar = kind in {"b", "i", "u"} and getattr(value, "ndim", None) == 0
    return is_scalar and int(value) in {0, 1}


def _is_plugin(value: Any) -> bool:
    return callable(value) or callable(getattr(value, "end", None))


def _is_step(value: Any) -> bool:
    try:
        step_from(value)
    except StepError:
        return False
    return True


#: In this order: the launcher's own words first, then the schedulers'.
_RANK_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


#: More processes than any job has; a name of a file holds as many digits many times over.
_RANK_DIGITS_MAX = 9


def rank_from_environment(warn: Callable[[str], object] | None = None) -> int:
    """Return this process's rank: the first launcher variable that holds a number, else 0.

    Args:
        warn: called with a text for each variable that is passed over although it holds something.
            It is no error: the launcher set it, not the program, and a job must not end for it.
    """
    passed_over: list[tuple[str, str]] = []
    rank, source = 0, "no other variable says its rank"
    for variable in _RANK_VARIABLES:
        text = os.environ.get(variable, "").strip()
        if text.isascii() and text.isdigit() and len(text) <= _RANK_DIGITS_MAX:
            rank, source = int(text), f"{variable} says so"
            break
        if text:
            passed_over.append((variable, text))
    for variable, text in passed_over:
        if warn is None:
            break
        warn(
            f"{variable}={cut(text, 40)!r}: expected a whole number from 0, of at most "
            f"{_RANK_DIGITS_MAX} digits. It is passed over and this process is rank {rank} "
            f"({source}). Set it to the process's rank, or unset it."
        )
    return rank


def root_from_environment() -> str | None:
    """Return ``ET_DIR``, the root of all runs, or ``None`` where it is unset or empty."""
    return os.environ.get("ET_DIR") or None


def backends_from_environment() -> tuple[str, ...]:
    """Return the backends that ``ET_BACKENDS`` names, separated by commas."""
    names = os.environ.get("ET_BACKENDS", "").split(",")
    return tuple(name.strip() for name in names if name.strip())


def stream_in_use_from_environment() -> Literal["refuse", "new"]:
    """Return what to do when the stream has a live writer: ``ET_STREAM_IN_USE``.

    Raises:
        OptionError: the variable holds neither ``refuse`` nor ``new``.
    """
    text = os.environ.get("ET_STREAM_IN_USE", "") or "refuse"
    if text == "refuse":
        return "refuse"
    if text == "new":
        return "new"
    raise OptionError(f"ET_STREAM_IN_USE={text!r}: expected 'refuse' or 'new'.")


def environment() -> Mapping[str, str]:
    """Return a copy of the environment, for the capture that picks a few launcher variables."""
    return dict(os.environ)
