"""Which backends were asked for, and which of them this version has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.backends.mapi import make_mapi
from expr_tracker.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from expr_tracker.backends.backend import Make

__all__ = ["Choice", "choose"]

#: What each is made by, from its arguments.
_KNOWN: Final[Mapping[str, Callable[[Mapping[str, Any]], Make]]] = {"mapi": make_mapi}
#: The local log, which always happens.
_LOCAL: Final = "jsonl"


@dataclass(frozen=True)
class Choice:
    """What a run is mirrored by."""

    makes: Mapping[str, Make] = field(default_factory=dict)
    """What makes each backend, by its name."""
    missing: tuple[str, ...] = ()
    """Names of backends that this version does not have."""


def choose(names: Iterable[str], arguments: Any) -> Choice:
    """Return the backends of these names, with their arguments; nothing is loaded or asked.

    Args:
        names: as given to ``init``; one that comes twice counts once.
        arguments: ``backend_kwargs``: a dict of arguments by backend. Those of backends that are not
            asked for are nobody's.

    Raises:
        OptionError: an argument breaks its rule.
    """
    wanted = [name for name in dict.fromkeys(names) if name != _LOCAL]
    given = arguments if isinstance(arguments, Mapping) else {}
    makes = {}
    for name in wanted:
        if name in _KNOWN:
            makes[name] = _KNOWN[name](_arguments_of(name, given.get(name)))
    return Choice(makes, tuple(name for name in wanted if name not in _KNOWN))


def _arguments_of(name: str, found: Any) -> Mapping[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        # Not shown: there may be a token in it.
        raise OptionError(
            f'backend_kwargs={{"{name}": ...}}: expected a dict of arguments by name. Leave "{name}" out '
            "to give none."
        )
    return found
