"""What a POST takes an import takes: every field at its limits, out and in again."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import inspect
from tests.mapi.importing import bring_in, exported

from mapi.wire.experiments import ExperimentCreate, ViewCreate
from mapi.wire.metrics import MetricsBody
from mapi.wire.notes import Document, LogAppend, ParamsBody, SpanAppend, TagsBody
from mapi.wire.runs import AttemptBody, AttemptEnd, RunCreate, RunPatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.callers import Caller

pytestmark = pytest.mark.anyio

#: A character of two code units, a quote, a backslash, a line break and what JSON escapes to six bytes.
_AWKWARD = "\U0001f600\"\\\n\u0001\u2028'"
_ODD_OFFSET = "2026-11-28T00:00:00.000001-23:59"
_FIRST_TIME = "2001-01-01T00:00:00Z"


def _deep(levels: int) -> Any:
    found: Any = 0
    for _ in range(levels):
        found = {"": [found]}
    return found


#: JSON of any shape, under some key.
_FREE: tuple[dict[str, Any], ...] = (
    {},
    {"": "", _AWKWARD: _AWKWARD, "a.b": None, "a": {"b": True}},
    {"numbers": [0, -0.0, 5e-324, -1.7976931348623157e308, 2**64, -(10**300), 0.1]},
    {"nest": _deep(13)},
    {"long": "\u0001" * 2_000},
)


@dataclass(frozen=True)
class _Route:
    """Something that is written into a run, or beside it."""

    kind: Any
    method: str
    path: str
    least: dict[str, Any]
    """The smallest body."""


_ROUTES = (
    _Route(RunCreate, "POST", "/v1/runs", {}),
    _Route(RunPatch, "PATCH", "/v1/runs/{run}", {"status": "failed"}),
    _Route(
        MetricsBody,
        "POST",
        "/v1/runs/{run}/metrics",
        {"points": [{"key": "a", "value": 1, "step": 3}]},
    ),
    _Route(
        MetricsBody,
        "POST",
        "/v1/runs/{run}/metrics",
        {"series": [{"key": "a", "values": [1], "steps": [3]}]},
    ),
    _Route(AttemptBody, "POST", "/v1/runs/{run}/attempts", {"number": 1}),
    _Route(AttemptEnd, "PATCH", "/v1/runs/{run}/attempts", {"number": 1, "status": "failed"}),
    _Route(ParamsBody, "POST", "/v1/runs/{run}/params", {"params": {"a": "b"}}),
    _Route(TagsBody, "PUT", "/v1/runs/{run}/tags", {"tags": {"a": "b"}}),
    _Route(LogAppend, "POST", "/v1/runs/{run}/logs", {"lines": [{"message": "a"}]}),
    _Route(
        SpanAppend,
        "POST",
        "/v1/runs/{run}/spans",
        {"spans": [{"name": "a", "start_ns": 1_790 * 10**15, "duration_ns": 1}]},
    ),
    _Route(Document, "PUT", "/v1/runs/{run}/config", {"content": {}}),
    _Route(Document, "PUT", "/v1/runs/{run}/environment", {"content": {}}),
    _Route(ExperimentCreate, "POST", "/v1/experiments", {"name": "{new}"}),
    _Route(ViewCreate, "POST", "/v1/saved-views", {"name": "{new}"}),
)
#: Fields that name what is there already, or that say how a request is to be taken.
_ELSEWHERE = {"project", "parent", "experiment", "spec", "kind", "writer", "seq"}


def extremes(kind: inspect.Type, name: str) -> Iterator[Any]:  # noqa: C901, PLR0912 - by type
    """Yield the values at the limits of a type."""
    match kind:
        case inspect.Metadata(type=inner):
            yield from extremes(inner, name)
        case inspect.UnionType(types=several):
            for one in several:
                yield from extremes(one, name)
        case inspect.NoneType():
            yield None
        case inspect.BoolType():
            yield from (True, False)
        case inspect.IntType(ge=low, le=high):
            if name == "start_ns":
                low, high = 978_307_200 * 10**9, 1_790 * 10**15
            yield from (one for one in (low, high) if one is not None)
            if low is None or high is None:
                yield 978_307_200_000_000
        case inspect.FloatType():
            yield from (0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1, 1e290)
        case inspect.StrType(min_length=low, max_length=high):
            yield "a" * (low or 0)
            long = high or 1_000
            yield from ("b" * long, "\U0001f600" * long, (_AWKWARD * long)[:long], " \u202e")
        case inspect.LiteralType(values=words):
            yield from words
        case inspect.EnumType(cls=words):
            yield from (one.value for one in words)
        case inspect.DateTimeType():
            yield from (_ODD_OFFSET, _FIRST_TIME, "2026-11-29T23:59:59.999999Z")
        case inspect.DictType(value_type=value):
            if isinstance(value, inspect.AnyType):
                yield from _FREE
                return
            yield {}
            longest = {"labels": 64, "params": 250, "tags": 250}[name]
            for one in extremes(value, name):
                yield {"k": one}
            for key in ("d" * longest, "\U0001f600" * longest, (_AWKWARD * 64)[:longest]):
                yield {key: "e"}
            for length in (200, 5_000, 65_536):
                yield {"f": "\U0001f600" * (length // 4)}
            reserved = {"scope": "a", "span": "b", "raw": "c", "summary": "d"}
            yield reserved
            yield {**reserved, **{f"l{at}": "g" * 200 for at in range(8)}}
        case inspect.ListType(item_type=item):
            for one in extremes(item, name):
                yield [one]
        case _:
            raise AssertionError(kind)


def bodies(kind: inspect.Type, least: Any) -> Iterator[tuple[str, Any]]:
    """Yield bodies with one field at a limit each, and which field that is."""
    assert isinstance(kind, inspect.StructType)
    for field in kind.fields:
        name = field.encode_name
        below = _struct_below(field.type)
        if below is not None:
            if isinstance(least.get(name), list):
                for path, body in bodies(below, least[name][0]):
                    yield f"{name}/{path}", {**least, name: [body]}
            continue
        if name in _ELSEWHERE:
            continue
        for value in extremes(field.type, name):
            yield name, {**copy.deepcopy(least), name: value}


def _struct_below(kind: inspect.Type) -> inspect.StructType | None:
    match kind:
        case inspect.StructType():
            return kind
        case inspect.Metadata(type=inner) | inspect.ListType(item_type=inner):
            return _struct_below(inner)
        case inspect.UnionType(types=several):
            return next((one for one in map(_struct_below, several) if one is not None), None)
        case _:
            return None


async def fill(caller: Caller) -> set[str]:
    """Write each field at each of its limits; return the fields of which none was taken."""
    seen: dict[str, int] = {}
    for at, route in enumerate(_ROUTES):
        for of_route, (field, body) in enumerate(
            bodies(inspect.type_info(route.kind), route.least)
        ):
            if body.get("name") == "{new}":
                body["name"] = f"new {at} {of_route}"
            path = route.path
            if "{run}" in path:
                path = path.replace("{run}", await caller.make_run(started=_FIRST_TIME))
            if route.kind is AttemptEnd:
                begun = {name: body[name] for name in ("stream", "rank", "number") if name in body}
                await caller.client.post(path, headers=caller.headers, json=begun)
            answer = await caller.client.request(
                route.method, path, headers=caller.headers, json=body
            )
            assert answer.status_code < 500, (field, body, answer.text)
            name = f"{route.kind.__name__}/{field}"
            seen[name] = seen.get(name, 0) + (answer.status_code < 300)
    for spec in _FREE:
        await caller.make_run(kind="fit", spec=spec)
    for name in ("e" * 200, "\U0001f601" * 200):
        await caller.post("/v1/experiments", {"name": name}, status=201)
        await caller.make_run(experiment=name)
        await caller.post("/v1/saved-views", {"name": name, "experiment": name}, status=201)
    return {name for name, count in seen.items() if not count}


async def test_every_field_at_its_limits_comes_back_from_an_export(
    caller: Caller, stranger: Caller
) -> None:
    assert await fill(caller) == set()
    lines = await exported(caller)
    answer = await bring_in(stranger, lines)
    assert answer["warnings"] == []
    assert await exported(stranger) == lines
