"""Make a plain, redacted dict of whatever a program is configured with.

Accepted: ``None``, any mapping, dataclass instances, pydantic models, attrs instances,
``argparse.Namespace``, OmegaConf containers, absl ``FLAGS``, and objects with a ``to_dict`` that
gives a mapping (ml_collections, Hugging Face). They nest freely. A list, a text, a number or a
boolean is kept under the name ``value``, as `log` keeps it. None of these packages is ever
imported here: an object of theirs can only come from a program that did.

Nothing is flattened, so ``{"a": {"b": 2}, "a.b": 1}`` keeps both. Values are encoded one by one: a
function becomes its ``repr`` with a warning, and its neighbours stay what they are. So does an
object whose own code fails while it is looked at, a proxy outside of its context for example: a
value never keeps a run from being opened.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

from expr_tracker.capture.redaction import REDACTED, redact
from expr_tracker.errors import OptionError
from expr_tracker.interruption import is_from_signal
from expr_tracker.limits import all_elements
from expr_tracker.notices import counted, logger
from expr_tracker.row import RowEncoder, items_of, key_text
from expr_tracker.texts import cut, reason_of, text_of

__all__ = ["config_from"]


#: Deeper containers become their repr, as everywhere in rows; the redaction looks no deeper.
_DEPTH_MAX: Final = 64
#: The longest text of a value: a row may be 8 MiB, and a configuration is read by people.
_TEXT_CHARACTERS_MAX: Final = 8 * 1024 * 1024
#: More values than any configuration has; containers that share parts could unfold without end.
_VALUES_MAX: Final = 200_000
_CUT: Final = "[cut]"

_ACCEPTED: Final = (
    "a dict, a dataclass instance, a pydantic model, an argparse.Namespace, an OmegaConf or "
    "ml_collections config, absl FLAGS, or a JSON value"
)


def config_from(
    value: object,
    warn: Callable[[str, str], None] | None = None,
    *,
    argument: str = "config",
) -> dict[str, Any]:
    """Return ``value`` as a dict of plain values, secrets redacted.

    Args:
        value: the configuration, in one of the forms above.
        warn: called once with ``(key, text)`` for each value that degrades; logs by default.
        argument: what the caller's own caller knows it by, for the refusal.

    Raises:
        OptionError: ``value`` has none of these forms.
    """
    if value is None:
        return {}
    reader = _Reader(warn if warn is not None else _log_warning)
    plain = reader.read(value)
    if plain is None:
        shown = repr(redact(cut(text_of(str, value), 60)))
        raise OptionError(
            f"{argument}={shown} ({type(value).__name__}): expected {_ACCEPTED}. "
            f"Give a single value a name: {argument}={{'value': ...}}."
        )
    redacted: dict[str, Any] = redact(plain)
    return redacted


def _log_warning(key: str, text: str) -> None:
    logger.warning("config %r: %s", key, text)


class _Reader:
    """Walks a configuration; what is no container goes through the encoder of rows."""

    def __init__(self, warn: Callable[[str, str], None]) -> None:
        self._warn = warn
        self._encoder = RowEncoder(warn)
        #: The containers around the value being read, to tell a cycle.
        self._open: set[int] = set()
        self._values_left = _VALUES_MAX

    def read(self, value: object) -> dict[str, Any] | None:
        """Return a whole configuration, plain; ``None`` where it is no mapping."""
        value = self._without_omega(value)
        self._open.add(id(value))
        if issubclass(type(value), _NAMELESS):
            return self._members("", [("value", value)], depth=0)
        members = self._opened("", value)
        return None if members is None else self._members("", members, depth=0)

    def _without_omega(self, value: object) -> object:
        try:
            opened = _omega_container(value)
        except Exception as error:  # `_opened` meets it again, and says it
            if is_from_signal(error):
                raise
            return value
        return value if opened is None else opened

    def _members(self, path: str, members: _Members, *, depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, value in members:
            name = key_text(key)
            place = f"{path}.{name}" if path else name
            if name in plain:
                self._warn(place, "two keys have this text; the later value is kept")
            plain[name] = self._value(place, value, depth + 1)
        return plain

    def _opened(self, path: str, value: object) -> _Members | None:
        """Return a container's members as they are; ``None`` where it is none, or fails."""
        try:
            mapping = _mapping_from(value)
            return None if mapping is None else items_of(mapping)
        except Exception as error:  # any object may raise anything
            if is_from_signal(error):
                raise
            self._warn(path, f"cannot be opened: {reason_of(error)}")
            return None

    def _value(self, path: str, value: object, depth: int) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            if self._values_left == -1:
                self._warn(path, f"cut here: the limit is {_VALUES_MAX} values")
            return _CUT
        try:
            return self._read(path, value, depth)
        except Exception as error:  # any object may raise anything, when asked what it is too
            if is_from_signal(error):
                raise
            # The encoder of rows looks at it in other ways; where these fail too it says why.
            return self._encoded(path, value)

    def _read(self, path: str, value: object, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(path, value)
        if callable(getattr(value, "get_secret_value", None)):
            return REDACTED
        if type(value) in _PLAIN or depth >= _DEPTH_MAX or id(value) in self._open:
            return self._encoded(path, value)
        self._open.add(id(value))
        try:
            return self._container(path, value, depth)
        finally:
            self._open.discard(id(value))

    def _container(self, path: str, value: object, depth: int) -> Any:
        if isinstance(value, (list, tuple)):
            try:
                elements = all_elements(value)
            except Exception as error:  # of a class without an end, say; the encoder tells why
                if is_from_signal(error):
                    raise
                return self._encoded(path, value)
            return [self._value(f"{path}.{i}", v, depth + 1) for i, v in enumerate(elements)]
        # Arrays and frames have a to_dict too; the encoder knows them better.
        is_array = hasattr(value, "__array__") or hasattr(value, "__dataframe__")
        members = None if is_array else self._opened(path, value)
        if members is not None:
            return self._members(path, members, depth=depth)
        return self._encoded(path, value)

    def _encoded(self, path: str, value: object) -> Any:
        plain = self._encoder.value(path, value)
        return self._text(path, plain) if isinstance(plain, str) else plain

    def _text(self, path: str, text: str) -> str:
        text = str.__str__(text)  # of a subclass too, whatever its methods say
        if len(text) <= _TEXT_CHARACTERS_MAX:
            return text
        rest = len(text) - _TEXT_CHARACTERS_MAX
        self._warn(
            path, f"cut by {counted(rest, 'character')}; the limit is {_TEXT_CHARACTERS_MAX}"
        )
        return text[:_TEXT_CHARACTERS_MAX] + f"... [cut: {counted(rest, 'more character')}]"


_PLAIN: Final = frozenset({int, float, bool, type(None), bytes})
#: A configuration of one of these has no names; it is kept under the name ``value``.
_NAMELESS: Final = (list, tuple, str, int, float)
#: The members of a container, as a list: it may change, or fail, while it is walked.
_Members = list[tuple[Any, Any]]


def _mapping_from(value: object) -> Mapping[Any, Any] | None:  # noqa: PLR0911 - one line per form
    """Return the members of ``value``, one level; ``None`` if it is no mapping in any form."""
    if isinstance(value, type):
        return None
    omega = _omega_container(value)
    if omega is not None:
        return omega if isinstance(omega, Mapping) else None
    if isinstance(value, Mapping):
        return value
    if isinstance(value, (argparse.Namespace, SimpleNamespace)):
        return vars(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    attributes = getattr(value, "__attrs_attrs__", None)
    if attributes is not None:
        return {attribute.name: getattr(value, attribute.name) for attribute in attributes}
    return _mapping_from_method(value)


def _mapping_from_method(value: object) -> Mapping[Any, Any] | None:
    for name in ("flag_values_dict", "model_dump", "to_dict"):
        method = getattr(value, name, None)
        if not callable(method):
            continue
        try:
            # pydantic: its JSON form hides secrets and writes times and paths as text.
            members = method(mode="json") if name == "model_dump" else method()
        except Exception as error:
            if name != "model_dump" or is_from_signal(error):
                raise
            # A field without a JSON form must not cost the others.
            members = method()
        if isinstance(members, Mapping):
            return members
    return None


def _omega_container(value: object) -> object | None:
    """Return an OmegaConf container as plain dicts and lists, interpolations resolved."""
    omegaconf = sys.modules.get("omegaconf")
    if omegaconf is None or not hasattr(value, "_content"):
        return None
    to_container = omegaconf.OmegaConf.to_container
    try:
        return to_container(value, resolve=True)  # type: ignore[no-any-return]
    except Exception as error:  # a missing variable: the interpolation's text says as much
        if is_from_signal(error):
            raise
        return to_container(value, resolve=False)  # type: ignore[no-any-return]
