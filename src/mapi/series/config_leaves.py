r"""A config as params and back: each leaf of the nest becomes one, its path the key.

The names on the way are joined with dots. A dot inside a name is written ``\.``, a backslash
``\\``, and an empty name ``\e``, so that every path has one key and every key one path:
``{"a": {"b": 2}, "a.b": 1}`` becomes ``a.b`` and ``a\.b``.

A text stays as it is, every other value becomes its JSON: ``true``, ``null``, ``0.1``,
``[1, 2]``; what JSON lacks is ``inf``, ``-inf`` and ``nan``. A list is one leaf, and so is an empty
nest. The way back gives the paths exactly and each leaf as its text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import pointer

__all__ = ["CONFIG_DEPTH_MAX", "config_from_leaves", "leaves_from_config", "param_text"]

#: As deep as a request's JSON may nest.
CONFIG_DEPTH_MAX: Final = 32
_EMPTY: Final = "\\e"


def leaves_from_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the params of a config, in its order.

    Raises:
        InvalidError: it nests deeper than `CONFIG_DEPTH_MAX`, a name in it is no text, or a value
            is none that JSON could hold.
    """
    return {".".join(map(_escaped, path)): _leaf(path, leaf) for path, leaf in _leaves(config)}


def config_from_leaves(leaves: Mapping[str, str]) -> dict[str, Any]:
    """Return the nest that params came from; each leaf is its text.

    An empty nest comes back as the text ``{}``.

    Raises:
        InvalidError: a param is both a leaf and a way to others.
    """
    config: dict[str, Any] = {}
    for key, text in leaves.items():
        *way, last = _names(key)
        nest: Any = config
        for name in way:
            nest = nest.setdefault(name, {})
            if not isinstance(nest, dict):
                raise InvalidError(Fault(pointer(key), _is_both(key)))
        if last in nest:
            raise InvalidError(Fault(pointer(key), _is_both(key)))
        nest[last] = text
    return config


def param_text(value: object) -> str:
    """Return the text of a param's value.

    Raises:
        ValueError: no JSON could hold it.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    try:
        return json.dumps(value, ensure_ascii=False, default=_refused)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _refused(value: object) -> object:
    raise TypeError(f"a {type(value).__name__} is no JSON; write it as a text")


def _leaf(path: tuple[str, ...], value: object) -> str:
    try:
        return param_text(value)
    except ValueError as error:
        raise InvalidError(Fault(pointer(*path), str(error))) from None


def _leaves(config: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    # Taken from the end, so what is put there last comes first: the order of the config.
    rest: list[tuple[tuple[str, ...], Any]] = [((), config)]
    while rest:
        path, value = rest.pop()
        if not isinstance(value, Mapping) or (not value and path):
            yield path, dict(value) if isinstance(value, Mapping) else value
            continue
        if len(path) == CONFIG_DEPTH_MAX:
            message = f"the config nests too deep: at most {CONFIG_DEPTH_MAX} levels"
            raise InvalidError(Fault(pointer(*path), message))
        for name in reversed(value):
            if not isinstance(name, str):
                message = f"a name in a config is a text, not {name!r}"
                raise InvalidError(Fault(pointer(*path), message))
            rest.append(((*path, name), value[name]))


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.") or _EMPTY


def _names(key: str) -> list[str]:
    """Return the names of a key's path; a key that no config has is read as plainly as it can."""
    names, name = [], ""
    characters = iter(key)
    for character in characters:
        if character == ".":
            names.append(name)
            name = ""
        elif character == "\\":
            escaped = next(characters, "\\")
            name += "" if escaped == "e" else escaped
        else:
            name += character
    return [*names, name]


def _is_both(key: str) -> str:
    return f"{key!r} stands beside a param that begins with it: one config cannot hold both"
