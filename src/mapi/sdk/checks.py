"""What is sent is checked before it is: by the rules and the decoders of the server itself.

So a wrong key is told at once, in the same words, and costs no request.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import shown, whole_or_none
from mapi.sdk.calls import Producer, encoded
from mapi.series.config_leaves import param_text
from mapi.series.names import (
    Labels,
    canonical_labels,
    check_key,
    check_labels,
    check_name,
    check_note,
    check_param,
    check_stream,
    check_tag,
)
from mapi.wire.decoding import BODY_BYTES_MAX, DEPTH_MAX, FAULTS_MAX, decode, pointer
from mapi.wire.metrics import ATTEMPT_MAX, RANK_MAX, STEP_MAX
from mapi.wire.times import check_time_us, time_from_us, time_to_us

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Time",
    "checked",
    "checked_labels",
    "checked_params",
    "checked_producer",
    "checked_series",
    "checked_step",
    "checked_tags",
    "checked_text",
    "checked_time",
    "checked_value",
    "given",
    "now_us",
    "plain",
    "raise_any",
    "refuse_bytes",
    "time_text",
]

#: A time with its zone, or whole microseconds since 1970 UTC.
Time: TypeAlias = datetime | int
_Body = TypeVar("_Body")


def now_us() -> int:
    """Return the time in whole microseconds since 1970 UTC."""
    return clock.time_ns() // 1_000


def checked_series(
    key: object, labels: Mapping[str, str] | None, *, at: str = ""
) -> tuple[str, Labels]:
    """Return the key and the labels of a series.

    Raises:
        InvalidError: one of them breaks its rule.
    """
    faults = []
    if (wrong := check_key(key)) is not None:
        faults.append(Fault(f"{at}/key", wrong))
    if labels is not None and (wrong := check_labels(labels)) is not None:
        faults.append(Fault(f"{at}/labels", wrong))
    if faults:
        raise InvalidError(faults)
    assert isinstance(key, str)
    return key, canonical_labels(labels) if labels else ()


def checked_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return labels that are asked for; those of the platform may be as well.

    Raises:
        InvalidError: one breaks its rule.
    """
    if labels is not None and (wrong := check_labels(labels, reserved=True)) is not None:
        raise InvalidError(Fault("/labels", wrong))
    return dict(labels or {})


def checked_step(step: object, *, at: str = "/step") -> int | None:
    """Return a step, or ``None`` of a scalar.

    Raises:
        InvalidError: it is no whole number from 0 to 2^63 - 1.
    """
    if step is None:
        return None
    found = step if type(step) is int else _step_number(step)
    if found is None:
        raise InvalidError(
            Fault(at, f"{shown(step)} is no step: a whole number, or None for a scalar")
        )
    if not 0 <= found <= STEP_MAX:
        raise InvalidError(Fault(at, f"{found} is no step: 0 to 2^63 - 1"))
    return found


def checked_producer(producer: object) -> Producer:
    """Return who writes; `None` is the default stream, its rank 0 and the newest attempt.

    Raises:
        InvalidError: the stream, the rank or the attempt breaks its rule.
    """
    if producer is None:
        return Producer()
    if not isinstance(producer, Producer):
        raise InvalidError(
            Fault("/producer", f"{shown(producer)} is no mapi.Producer(stream=..., rank=...)")
        )
    faults = []
    if (wrong := check_stream(producer.stream)) is not None:
        faults.append(Fault("/stream", wrong))
    rank = whole_or_none(producer.rank)
    if rank is None or not 0 <= rank <= RANK_MAX:
        faults.append(Fault("/rank", f"{shown(producer.rank)} is no rank: 0 to 2^31 - 1"))
    attempt = 1 if producer.attempt is None else whole_or_none(producer.attempt)
    if attempt is None or not 1 <= attempt <= ATTEMPT_MAX:
        faults.append(Fault("/attempt", f"{shown(producer.attempt)} is no attempt: 1 to 2^31 - 1"))
    raise_any(faults)
    assert rank is not None
    return Producer(producer.stream, rank, None if producer.attempt is None else attempt)


def checked_value(value: object, *, at: str = "/value") -> float:
    """Return the value of a point; a number of NumPy or a tensor with one number is one.

    Raises:
        InvalidError: it is no number; true and false are none, as in JSON and in a run on disk.
    """
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) in {"bool", "torch.bool"}:
        raise InvalidError(Fault(at, f"{shown(value)} is no number: log 1 or 0, or a param"))
    # Texts and bytes have no number of their own; `float` would read them.
    number: Any = None if isinstance(value, str | bytes | bytearray) else value
    try:
        return float(number)
    except OverflowError:
        raise InvalidError(Fault(at, f"{shown(value)} is beyond the largest float64")) from None
    except (TypeError, ValueError, RuntimeError):
        raise InvalidError(Fault(at, f"{shown(value)} is no number")) from None


def checked_time(time: object, *, at: str = "/time", now: int | None = None) -> int:
    """Return a time in microseconds since 1970 UTC; ``None`` is now.

    Raises:
        InvalidError: it has no zone, another unit, or is out of range.
    """
    now = now_us() if now is None else now
    if time is None:
        return now
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise InvalidError(
                Fault(at, f"{time} has no zone: datetime.now(UTC), or .astimezone()")
            )
        found = time_to_us(time)
    else:
        number = whole_or_none(time)
        if number is None:
            raise InvalidError(
                Fault(
                    at,
                    f"{shown(time)} is no time: a datetime with its zone, or whole microseconds "
                    "since 1970 UTC",
                )
            )
        found = number
    wrong = check_time_us(found, now_us=now)
    if wrong is not None:
        raise InvalidError(Fault(at, wrong))
    return found


def time_text(time: object, *, at: str = "/time") -> datetime | None:
    """Return a time as the structs have it.

    Raises:
        InvalidError: it is none.
    """
    if time is None or isinstance(time, datetime):
        if time is not None and time.tzinfo is None:
            checked_time(time, at=at)
        return time
    return time_from_us(checked_time(time, at=at))


def checked_params(params: Mapping[str, Any]) -> dict[str, str]:
    """Return params as the texts that are kept.

    Raises:
        InvalidError: a key or a value breaks its rule.
    """
    return _checked_texts(params, "params", _param)


def checked_tags(tags: Mapping[str, Any]) -> dict[str, str]:
    """Return tags.

    Raises:
        InvalidError: a key or a value breaks its rule.
    """
    return _checked_texts(tags, "tags", lambda key, value: (value, check_tag(key, value)))


def _param(key: object, value: object) -> tuple[Any, str | None]:
    try:
        text = param_text(plain(value))
    except ValueError as error:
        return value, str(error)
    return text, check_param(key, text)


def _checked_texts(found: object, name: str, check: Any) -> dict[str, str]:
    if not isinstance(found, Mapping):
        raise InvalidError(Fault(f"/{name}", f"{name} are a mapping, not {shown(found)}"))
    texts: dict[str, str] = {}
    faults: list[Fault] = []
    for key, value in found.items():
        texts[key], wrong = check(key, value)
        if wrong is not None:
            faults.append(Fault(pointer(name, str(key)), wrong))
    raise_any(faults)
    return texts


def checked_text(*, name: object = None, note: object = None) -> None:
    """Refuse a name or a note that breaks its rule.

    Raises:
        InvalidError: one does.
    """
    found = (("/name", name, check_name), ("/note", note, check_note))
    raise_any(
        Fault(at, wrong)
        for at, text, check in found
        if text is not None and (wrong := check(text)) is not None
    )


def raise_any(faults: Iterable[Fault]) -> None:
    """Raise the first faults, if there are any.

    Raises:
        InvalidError: there are.
    """
    found = list(faults)
    if found:
        raise InvalidError(found[:FAULTS_MAX])


def checked(body: Any, kind: type[_Body], *, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """Return a body as JSON that the server's own decoder takes.

    Args:
        body: a struct, or builtins.
        kind: the struct of the route.
        bytes_max: the limit of the route.

    Raises:
        InvalidError: with the faults that the server would answer.
    """
    refuse_bytes(body)
    text = encoded(body)
    decode(text, kind, bytes_max=bytes_max)
    return text


def refuse_bytes(body: Any) -> None:
    """Refuse bytes in a body: the encoder would write them in base64, which nobody asked for.

    Raises:
        InvalidError: there are some; it says where.
    """
    rest: list[tuple[tuple[str | int, ...], Any]] = [((), body)]
    while rest:
        path, value = rest.pop()
        below: Any = ()
        if isinstance(value, Mapping):
            below = value.items()
        elif isinstance(value, list | tuple):
            below = enumerate(value)
        elif isinstance(value, bytes | bytearray | memoryview):
            message = f"{shown(value)} is no text: .decode() it, or write it in base64"
            raise InvalidError(Fault(pointer(*path), message))
        # Deeper than any body may be: the decoder tells.
        if len(path) <= DEPTH_MAX:
            rest.extend(((*path, name), one) for name, one in below)


def given(**values: Any) -> dict[str, Any]:
    """Return the members that are not `None`: what is not said has the server's default."""
    return {name: value for name, value in values.items() if value is not None}


def plain(value: Any, *, depth: int = 0) -> Any:
    """Return free JSON with the words for numbers that it lacks: else they would become null.

    Numbers of NumPy become numbers.

    Raises:
        InvalidError: it nests too deep.
    """
    if depth > DEPTH_MAX:
        raise InvalidError(Fault("", f"this nests too deep: at most {DEPTH_MAX} levels"))
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _word(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one, depth=depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth=depth + 1) for one in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return plain(value.item(), depth=depth + 1)
    return value


def _step_number(value: Any) -> int | None:
    """Return what `whole_or_none` does, and 3 of 3.0: what divides, or reads a table, has floats."""
    is_integer = getattr(value, "is_integer", None)
    if isinstance(value, bool) or is_integer is None or not is_integer():
        return whole_or_none(value)
    return int(value)


def _word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
