"""Bytes of a request into its struct; what is wrong becomes an `InvalidError` that points.

The decoder stops at the first fault, and its words say neither which other words were possible nor
a JSON pointer: both are found here from the struct's own description. What no struct may hold
(U+0000, half of a surrogate pair, deep nests) is refused for every body alike.
"""

import json
import math
import re
import time
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from mapi.errors import Fault, InvalidError
from mapi.wire.enums import ProblemCode
from mapi.wire.instants import NoInstantError, has_part, to_utc
from mapi.wire.times import TIME_EXAMPLE, time_instead_of

__all__ = [
    "BATCH_BYTES_MAX",
    "BODY_BYTES_MAX",
    "DEPTH_MAX",
    "FAULTS_MAX",
    "Answer",
    "Request",
    "decode",
    "pointer",
]

#: An ordinary request: the longest note, 5 000 params or a spec fit well.
BODY_BYTES_MAX: Final = 1 << 20
#: A batch of the log; counted after inflating.
BATCH_BYTES_MAX: Final = 8 << 20
#: How deep free JSON (the fields of a log line, a spec) may nest; PostgreSQL and every reader of
#: ours follow it by recursion.
DEPTH_MAX: Final = 32
#: An answer lists no more than this many faults.
FAULTS_MAX: Final = 20

_Body = TypeVar("_Body")
_AT: Final = re.compile(r"(.*?)(?: - at `\$?(.*)`)?", re.DOTALL)
#: What the decoder's path says of any value of a mapping, and of any key.
_IN_MAPPING: Final = re.compile(r"\[\.\.\.\]|^key` in `")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NO_BRACKETS: Final = re.compile(rb"[^{}\[\]]+")
_ONE_KIND: Final = bytes.maketrans(b"[]", b"{}")
_FIELD: Final = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)


class Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a client sends: an unknown field is a fault, since a typo must not pass in silence."""


class Answer(msgspec.Struct, kw_only=True):
    """What the server says: a client passes over fields that are newer than itself."""


def pointer(*parts: str | int) -> str:
    """Return a JSON pointer (RFC 6901) from the names and numbers on the way."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def decode(body: bytes, kind: type[_Body], *, bytes_max: int = BODY_BYTES_MAX) -> _Body:
    """Return the struct that the bytes hold, its times in UTC.

    Args:
        body: JSON in UTF-8.
        kind: a struct, or a type built of structs.
        bytes_max: the limit of the route.

    Raises:
        InvalidError: the body is too long or no JSON (its fault's code says so), or breaks a rule
            of the struct.
    """
    if len(body) > bytes_max:
        raise InvalidError(
            Fault(
                "",
                f"the body has {len(body)} bytes: at most {bytes_max}; send it in parts",
                code=ProblemCode.PAYLOAD_TOO_LARGE,
            )
        )
    described: Any = kind  # the types of `lru_cache` take no type variable
    try:
        found: _Body = _decoder(described).decode(body)
    except msgspec.ValidationError as error:
        raise InvalidError(_unreadable(body) or _fault_of(str(error), kind, body)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(_half_pair(body) or _no_json(str(error))) from None
    except RecursionError:
        raise InvalidError(Fault("", _too_deep())) from None
    if _has_free_part(described) and _is_too_deep(body):
        raise InvalidError(Fault("", _too_deep()))
    # A U+0000 can stand in JSON as an escape only, so this search misses none; what else it finds
    # is an escaped backslash before "u0000", which the walk tells apart.
    if b"\\u0000" in body:
        _refuse_zeros(body)
    try:
        to_utc(found)
    except NoInstantError as error:
        raise InvalidError(Fault(pointer(*error.path), str(error))) from None
    return found


def _refuse_zeros(body: bytes) -> None:
    for path, value in _walk(msgspec.json.decode(body)):
        if isinstance(value, str) and "\x00" in value:
            raise InvalidError(Fault(pointer(*path), "U+0000 cannot be stored; leave it out"))


def _is_too_deep(body: bytes) -> bool:
    """Return whether JSON that was read well nests deeper than allowed.

    Only its brackets are looked at, all written as one kind: each pass takes the innermost level
    away, at the speed of `bytes.replace` (8 MiB of log lines: 0.1 s; a walk would take seconds).
    """
    brackets = _NO_BRACKETS.sub(b"", _STRINGS.sub(b"", body)).translate(_ONE_KIND)
    for _ in range(DEPTH_MAX):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"")
    return bool(brackets)


def _too_deep() -> str:
    return f"the JSON nests too deep: at most {DEPTH_MAX} levels"


@lru_cache(maxsize=256)
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@lru_cache(maxsize=256)
def _has_free_part(kind: Hashable) -> bool:
    """Whether JSON of any shape may stand somewhere in the type."""
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return True
    return has_part(kind, inspect.AnyType)


def _walk(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yield every name and value of a JSON value with its path, without recursion."""
    rest: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while rest:
        path, value = rest.pop()
        yield path, value
        if isinstance(value, dict):
            for name, one in value.items():
                yield (*path, name), name
                rest.append(((*path, name), one))
        elif isinstance(value, list):
            rest.extend(((*path, at), one) for at, one in enumerate(value))


def _unreadable(body: bytes) -> Fault | None:
    """Return the fault of a body that is no JSON at all, whatever was found wrong before its end.

    So a broken body is told the same wherever it breaks.
    """
    try:
        body.decode()
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _half_pair(body) or _no_json(str(error))
    except RecursionError:  # it may be JSON; what was found before stands
        return None
    return None


def _no_json(said: str) -> Fault:
    return Fault(
        "",
        f"the body is no JSON in UTF-8: {said} (NaN and Infinity are written as strings)",
        code=ProblemCode.BODY_UNREADABLE,
    )


def _half_pair(body: bytes) -> Fault | None:
    """Return where half a surrogate pair stands: our decoder takes it for broken JSON."""
    if not _SURROGATE.search(body):
        return None
    try:
        # The standard library takes lone surrogates, so it can say where one stands.
        read = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for path, value in _walk(read):
        if isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value):
            return Fault(
                pointer(*(str(part).encode(errors="replace").decode() for part in path)),
                "half of a surrogate pair is no text; send the character whole",
            )
    return None


def _fault_of(said: str, kind: Any, body: bytes) -> Fault:
    """Return the fault that the decoder's message tells of."""
    match = _AT.fullmatch(said)
    assert match is not None
    message, path = match[1], _path_of(match[2] or "")
    is_in_mapping = _IN_MAPPING.search(match[2] or "") is not None
    if is_in_mapping and (found := _fault_in_mapping(kind, body, path)) is not None:
        return found
    expected: tuple[str, ...] = ()
    place = _type_at(inspect.type_info(kind), path)
    field = _FIELD.fullmatch(message)
    if field is not None:
        if field[1] == "contains unknown":
            expected = _field_names(place)
            message = f"there is no field {field[2]!r} here"
        else:
            message = f"the field {field[2]!r} is missing"
        path = [*path, field[2]]
    elif message.startswith("Invalid enum value"):
        expected = _words(place)
        message = f"{message.removeprefix('Invalid enum value ')} is not in the list"
    elif "datetime" in message:
        message = _no_time(message, path, body)
    else:
        message = message[0].lower() + message[1:].replace("`", "")
    if expected:
        message += f": expected {', '.join(expected)}"
    return Fault(pointer(*path), message, expected=expected)


def _fault_in_mapping(kind: Any, body: bytes, path: list[str | int]) -> Fault | None:
    """Return the first fault of a mapping; the decoder does not say at which of its keys it stands.

    Args:
        kind: of the body.
        body: with the fault.
        path: of the mapping.
    """
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return _beyond_numbers(body)
    for part in path:
        found, kind = found[part], _annotation_below(kind, part)
    parts = _parts_of_mapping(kind)
    if parts is None or not isinstance(found, dict):
        return None
    for key, value in found.items():
        for one, part in ((key, parts[0]), (value, parts[1])):
            try:
                msgspec.convert(one, part)
            except msgspec.ValidationError as error:
                fault = _fault_of(str(error), part, msgspec.json.encode(one))
                return replace(fault, pointer=pointer(*path, key) + fault.pointer)
    return None


def _beyond_numbers(body: bytes) -> Fault | None:
    """Return where a number stands that is greater than any float; our decoder takes none."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for path, value in _walk(read):
        if isinstance(value, float) and math.isinf(value):
            return Fault(pointer(*path), "number out of range")
    return None


def _alternatives(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, UnionType}:
        for one in get_args(annotation):
            yield from _alternatives(one)
    else:
        yield annotation


def _annotation_below(annotation: Any, part: str | int) -> Any:
    """Return the type of a field or an item, as it is written; ``None`` where there is none."""
    for one in _alternatives(annotation):
        if isinstance(part, int) and get_origin(one) is list:
            return get_args(one)[0]
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            names = dict(zip(one.__struct_encode_fields__, one.__struct_fields__, strict=True))
            if part in names:
                return get_type_hints(one, include_extras=True)[names[str(part)]]
    return None


def _parts_of_mapping(annotation: Any) -> tuple[Any, ...] | None:
    for one in _alternatives(annotation):
        if get_origin(one) is dict:
            return get_args(one)
    return None


def _no_time(said: str, path: list[str | int], body: bytes) -> str:
    """Return what is wrong with a time, with the unit that a number looks like."""
    if "timezone" in said:
        return f"a time says its zone: {TIME_EXAMPLE}"
    found = msgspec.json.decode(body)
    for part in path:
        try:
            found = found[part]
        except (
            LookupError,
            TypeError,
        ):  # behind the key of a mapping, which the decoder leaves out
            return f"this is no time: a text of RFC 3339 with its zone is, such as {TIME_EXAMPLE}"
    if isinstance(found, int) and not isinstance(found, bool):
        return time_instead_of(found, now_us=time.time_ns() // 1_000)
    if "`int" in said:
        rule = f"whole microseconds since 1970 UTC, or a text of RFC 3339: {TIME_EXAMPLE}"
    else:
        rule = f"a text of RFC 3339 with its zone: {TIME_EXAMPLE}"
    return f"{json.dumps(found)[:80]} is no time: expected {rule}"


def _path_of(text: str) -> list[str | int]:
    """Return the names and numbers of the decoder's path; it does not know a mapping's keys."""
    path: list[str | int] = []
    for match in _STEP.finditer(text):
        if match[3]:
            break
        path.append(match[1] or int(match[2]))
    return path


def _type_at(kind: inspect.Type, path: list[str | int]) -> inspect.Type | None:
    found: list[inspect.Type] = _members(kind)
    for part in path:
        below: list[inspect.Type] = []
        for one in found:
            if isinstance(one, inspect.StructType):
                below += [
                    member
                    for entry in one.fields
                    if entry.encode_name == part
                    for member in _members(entry.type)
                ]
            elif isinstance(one, inspect.ListType):
                below += _members(one.item_type)
        found = below
    told = [
        one
        for one in found
        if isinstance(one, inspect.StructType | inspect.EnumType | inspect.LiteralType)
    ]
    return told[0] if told else None


def _members(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _members(kind.type)
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _field_names(kind: inspect.Type | None) -> tuple[str, ...]:
    if not isinstance(kind, inspect.StructType):
        return ()
    return tuple(entry.encode_name for entry in kind.fields)


def _words(kind: inspect.Type | None) -> tuple[str, ...]:
    if isinstance(kind, inspect.EnumType):
        return tuple(str(one.value) for one in kind.cls)
    if isinstance(kind, inspect.LiteralType):
        return tuple(str(one) for one in kind.values)
    return ()
