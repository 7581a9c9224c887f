"""From the arguments of ``init`` to an open run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from expr_tracker.capture.configuration import config_from
from expr_tracker.notices import Notices
from expr_tracker.options import backends_from_environment, make_options
from expr_tracker.row import RowEncoder
from expr_tracker.run.place import resolve_place
from expr_tracker.run.run import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

__all__ = ["open_run"]


def open_run(  # noqa: PLR0913 - what `init` takes
    project: str,
    name: str | None,
    *,
    root: str | os.PathLike[str] | None,
    run_dir: str | os.PathLike[str] | None,
    about: dict[str, Any],
    config: Any,
    backends: Any,
    alerts: tuple[Any, Any],
    options: Mapping[str, Any],
) -> Run:
    """Check every argument, then open the run; nothing is created before all are right."""
    notices = Notices()
    checked = make_options(options)
    place = resolve_place(project, name, root=root, run_dir=run_dir, notices=notices)
    _say_what_is_not_there(backends, alerts, notices)

    def warn(key: str, text: str) -> None:
        notices.count("degraded", f"values of config {key}")
        notices.once(("config", key), f"config {key!r} is {text}")

    plain = RowEncoder(warn).row(
        {key: value for key, value in about.items() if value not in (None, [])}
    )
    return Run(
        place,
        checked,
        config=config_from(config, warn),
        about={"project": place.project, "name": place.name, "time": time.time(), **plain},
        notices=notices,
    )


def _say_what_is_not_there(backends: Any, alerts: tuple[Any, Any], notices: Notices) -> None:
    """Warn of mirrors and rules that were asked for: this version writes the local log only."""
    wanted = backends_from_environment() if backends is None else backends
    listed: Iterable[Any] = (
        (wanted,) if isinstance(wanted, str) or not _is_iterable(wanted) else wanted
    )
    names = [item if isinstance(item, str) else type(item).__name__ for item in listed]
    missing = [name for name in names if name != "jsonl"]
    if missing:
        notices.say(
            f"backends {', '.join(missing)}: this version has no mirrors; the run is logged to its "
            "directory only."
        )
    if any(alerts):
        notices.say(
            "alert rules: this version does not evaluate them; the run is logged all the same."
        )


def _is_iterable(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))
