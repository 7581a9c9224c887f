"""Every route that takes a time, asked with offsets that the database does not take."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import inspect
from tests.mapi.walking import BODIES, address, routes

from mapi.api.description import BODY
from mapi.wire.instants import has_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litestar import Litestar
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

#: One moment of the past, and one of the future for what ends then.
_PAST = ("2026-11-28T08:00:00Z", "2026-11-29T00:00:00+16:00", "2026-11-27T08:01:00-23:59")
_FUTURE = ("2150-01-01T00:00:00Z", "2150-01-01T16:00:00+16:00", "2149-12-31T00:01:00-23:59")
_WHOLE = {
    "RunCreate": {},
    "RunPatch": {"status": "succeeded"},
    "TokenCreate": {"name": "a", "scopes": ["runs:read"]},
    **BODIES,
}


def time_paths(kind: inspect.Type, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where times stand in a type; "*" is any item of a list."""
    match kind:
        case inspect.DateTimeType():
            yield path
        case inspect.Metadata(type=inner):
            yield from time_paths(inner, path)
        case inspect.UnionType(types=several):
            for alternative in several:
                yield from time_paths(alternative, path)
        case inspect.ListType(item_type=inner):
            yield from time_paths(inner, (*path, "*"))
        case inspect.StructType(fields=fields):
            for one in fields:
                yield from time_paths(one.type, (*path, one.encode_name))
        case _:
            pass


def put(body: Any, path: tuple[str, ...], time: str) -> Any:
    changed = place = copy.deepcopy(body)
    for part in path[:-1]:
        place = place[0 if part == "*" else part]
    place[path[-1]] = time
    return changed


async def test_every_offset_of_a_time_is_taken_wherever_one_stands(
    app: Litestar, caller: Caller, tenant: Tenant
) -> None:
    seen = set()
    for method, path, handler in routes(app):
        kind = handler.opt.get(BODY)
        if kind is None or not has_part(kind, inspect.DateTimeType):
            continue
        if len(path) < max(map(len, handler.paths)):
            continue  # another spelling of the same
        for place in time_paths(inspect.type_info(kind)):
            seen.add((kind.__name__, *place))
            times = _FUTURE if place[-1] == "expires" else _PAST
            answers = []
            for time in times:
                where = address(path, tenant)
                if kind.__name__ == "AttemptEnd":
                    await caller.send("POST", where, json=BODIES["AttemptBody"])
                answer = await caller.client.request(
                    method,
                    where,
                    headers=caller.headers,
                    json=put(_WHOLE[kind.__name__], place, time),
                )
                answers.append(answer)
            assert answers[0].status_code < 500
            for answer in answers[1:]:
                assert answer.status_code == answers[0].status_code, (path, place, answer.text)
                first, again = (one.json().get(place[-1]) for one in (answers[0], answer))
                assert moment_of(again) == moment_of(first), (path, place)
    assert seen >= {
        ("RunCreate", "started"),
        ("AttemptBody", "started"),
        ("AttemptEnd", "finished"),
        ("LogAppend", "lines", "*", "time"),
        ("MetricsBody", "points", "*", "time"),
        ("MediaRecord", "time"),
        ("TokenCreate", "expires"),
    }


def moment_of(text: str | None) -> datetime | None:
    """Return the moment of a text; answers do not tell every time that they were sent."""
    return None if text is None else datetime.fromisoformat(text)


async def test_a_line_with_any_offset_reads_back_as_the_same_moment(caller: Caller) -> None:
    run = await caller.make_run()
    lines = [{"message": str(at), "time": time} for at, time in enumerate(_PAST)]
    await caller.post(f"/v1/runs/{run}/logs", {"lines": lines})
    found = (await caller.get(f"/v1/runs/{run}/logs"))["lines"]
    assert len(found) == len(_PAST)
    assert {datetime.fromisoformat(one["time"]) for one in found} == {
        datetime.fromisoformat(_PAST[0])
    }


async def test_a_filter_takes_every_offset(caller: Caller) -> None:
    run = await caller.make_run()
    for time in _PAST:
        found = await caller.get("/v1/runs", params={"filter": f"created > {time}"})
        assert [one["id"] for one in found["runs"]] == [run]
