"""From the arguments of ``init`` to an open run.

What a training loop may call for the first time is loaded here, with the run: spans, the live history
and media, 40 ms of processor time. Later there may be no descriptor left to load it with, and a loop must
not fail because of that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.arrays import ELEMENTS_MAX
from expr_tracker.backends import Choice, choose
from expr_tracker.capture.configuration import config_from
from expr_tracker.capture.redaction import redact
from expr_tracker.errors import OptionError
from expr_tracker.interruption import is_from_signal
from expr_tracker.limits import first_elements
from expr_tracker.media import Figure, Image, Table  # noqa: F401 - loaded with the run: see above
from expr_tracker.notices import Notices
from expr_tracker.options import Options, backends_from_environment, make_options
from expr_tracker.row import RowEncoder, key_text
from expr_tracker.run.place import resolve_place
from expr_tracker.run.run import Run
from expr_tracker.spans import span_class
from expr_tracker.texts import shown, type_name

if TYPE_CHECKING:
    import os

    from expr_tracker.clock import Clock

__all__ = ["open_run"]

#: What the rooms call of a clock, beside its ``offset``.
_CLOCK_CALLS: Final = ("wall", "monotonic", "monotonic_ns", "resync", "hold")
#: What mirrors understand by ``resume``.
_RESUME_WORDS: Final = ("allow", "must", "never", "auto", True, False, None)


def open_run(  # noqa: PLR0913 - what `init` takes
    project: str,
    name: str | None,
    *,
    root: str | os.PathLike[str] | None,
    run_dir: str | os.PathLike[str] | None,
    about: dict[str, Any],
    config: Any,
    backends: Any,
    backend_kwargs: Any,
    alerts: tuple[Any, Any],
    resume: Any,
    options: Mapping[str, Any],
    dropped_before: int = 0,
    clock: Clock | None = None,
) -> Run:
    """Check every argument, then open the run; nothing is created before all are right.

    ``dropped_before`` calls had no run yet in this forked child; they are losses of this one.
    """
    notices = Notices()
    span_class.get()  # the first span loads nothing: see above
    if dropped_before:
        notices.count("dropped", "calls in this forked child before init", dropped_before)
    checked = make_options({**_options_of_jsonl(backend_kwargs), **options})
    about = {**about, "tags": _tag_list(about.get("tags"))}
    place = resolve_place(project, name, root=root, run_dir=run_dir, notices=notices)
    choice = choose(_backend_names(backends), backend_kwargs)
    _say_what_is_not_there(choice, alerts, options=checked, notices=notices)
    _say_if_unknown(resume, notices)

    def warn(key: str, text: str) -> None:
        notices.count("degraded", f"values of config {key}")
        notices.once(("config", key), f"config {key!r} is {text}")

    plain = RowEncoder(warn).row({key: value for key, value in about.items() if value is not None})
    return Run(
        place,
        checked,
        config=None if config is None else config_from(config, warn),
        about={
            "project": place.project,
            "name": place.name,
            "time": time.time(),
            **{key: _without_secrets(value) for key, value in plain.items()},
        },
        notices=notices,
        clock=None if clock is None else _clock_from(clock),
        backends=choice,
    )


def _clock_from(clock: Any) -> Clock:
    """Return the clock that was given, if it is one."""
    missing = [name for name in _CLOCK_CALLS if not callable(getattr(clock, name, None))]
    if not isinstance(getattr(clock, "offset", None), (int, float)):
        missing.append("offset")
    if missing:
        raise OptionError(
            f"clock={shown(clock)} ({type_name(clock)}): expected a clock as expr_tracker.testing."
            f"ManualClock() is one, or None; it has no {', '.join(missing)}."
        )
    given: Clock = clock
    return given


def _options_of_jsonl(backend_kwargs: Any) -> Mapping[str, Any]:
    """Return the options of the run among the arguments by mirror; those of others are theirs."""
    if backend_kwargs is None:
        return {}
    if not isinstance(backend_kwargs, Mapping):
        raise OptionError(
            f"backend_kwargs={shown(backend_kwargs)}: expected a dict of arguments by backend, such as "
            '{"jsonl": {"buffer_size": 100}}.'
        )
    options = backend_kwargs.get("jsonl", {})
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise OptionError(
            f'backend_kwargs={{"jsonl": {shown(options)}}}: expected a dict of options by name. Leave '
            '"jsonl" out to change none.'
        )
    return options


def _tag_list(tags: Any) -> list[str] | None:
    if tags is None:
        return None
    if isinstance(tags, str):
        return [tags]
    if not isinstance(tags, Iterable) or isinstance(tags, (bytes, bytearray, Mapping)):
        raise OptionError(f"tags={shown(tags)}: expected a text or a list of texts.")
    return [key_text(tag) for tag in _first_tags(tags)]


def _first_tags(tags: Iterable[Any]) -> list[Any]:
    try:
        return first_elements(tags, ELEMENTS_MAX)
    except ValueError as error:
        if is_from_signal(error):
            raise
        raise OptionError(f"tags={shown(tags)}: {error}. Pass a list of texts.") from None


def _without_secrets(value: Any) -> Any:
    """Return what describes the run without secrets."""
    # Tags one by one: a list of texts would be read as the arguments of a program.
    return [redact(item) for item in value] if isinstance(value, list) else redact(value)


def _backend_names(backends: Any) -> list[str]:
    wanted = backends_from_environment() if backends is None else backends
    listed: Iterable[Any] = (
        (wanted,) if isinstance(wanted, str) or not _is_iterable(wanted) else wanted
    )
    return [item if isinstance(item, str) else type(item).__name__ for item in listed]


def _say_what_is_not_there(
    choice: Choice, alerts: tuple[Any, Any], *, options: Options, notices: Notices
) -> None:
    """Warn of backends and rules that were asked for, and that this version does not have."""
    if choice.missing:
        where = ", ".join(["its directory", *choice.makes])
        notices.say(
            f"backends {', '.join(choice.missing)}: this version has no such backends, but mapi; the run "
            f"goes to {where} only."
        )
    if any(alerts):
        notices.say(
            "alert rules: this version does not evaluate them; the run is logged all the same."
        )
    elif options.alert_on_rank != 0:
        notices.say(
            f"alert_on_rank={options.alert_on_rank}: this version does not evaluate alert rules; the "
            "run is logged all the same."
        )


def _say_if_unknown(resume: Any, notices: Notices) -> None:
    """Warn of a word that no mirror knows; it changes nothing here, so it is no error."""
    # By type too: 1 == True, and an array's comparison has no truth value.
    if not isinstance(resume, (str, bool, type(None))) or resume not in _RESUME_WORDS:
        known = ", ".join(repr(word) for word in _RESUME_WORDS)
        notices.say(
            f"resume={redact(str(resume)[:60])!r} is not known; expected one of {known}. A local run "
            "is always continued; to go back, give resume_step."
        )


def _is_iterable(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))
