"""Params, tags, log lines, spans and documents through the API."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.callers import caller_of
from tests.mapi.tenants_access import set_limits

from mapi.api.tags import key_from_path

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


def warned(tenant: Tenant) -> dict[str, int]:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        ((counts,),) = connection.execute(
            "select fields -> 'counts' from mapi.run_events where tenant_id = %s", [tenant.id]
        ).fetchall()
    return dict(counts)


async def test_a_param_is_written_once(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant) as call:
        params = {"lr": 1e-3, "name": "x", "deep": None, "on": True, "hex": "0x10"}
        assert (await call("POST", "/params", {"params": params}))["accepted"] == 5
        again = await call("POST", "/params", {"params": {"lr": "0.001", "new": 1}})
        assert (again["accepted"], again["duplicates"]) == (1, 1)
        body = {"params": {"lr": 2, "other": 1, "name": "y"}}
        problem = await call("POST", "/params", body, status=409)
        assert problem["code"] == "PARAM_CONFLICT"
        assert [one["pointer"] for one in problem["errors"]] == ["/params/lr", "/params/name"]
        found = (await call("GET", "/params"))["params"]
        assert {key: (one["text"], one["number"]) for key, one in found.items()} == {
            "lr": ("0.001", 0.001),
            "name": ("x", None),
            "deep": ("null", None),
            "on": ("true", None),
            "hex": ("0x10", None),
            "new": ("1", 1.0),
        }
        assert found["lr"]["source"] == "api"


async def test_a_param_is_a_number_to_readers_where_it_is_one_to_searches(
    database: Database, tenant: Tenant
) -> None:
    texts = {"up": "inf", "down": "-inf", "none": "nan", "word": "Infinity", "huge": "1e999"}
    async with caller_of(database, tenant) as call:
        await call("POST", "/params", {"params": texts})
        found = (await call("GET", "/params"))["params"]
        assert {key: one["number"] for key, one in found.items()} == {
            "up": "Infinity",
            "down": "-Infinity",
            "none": None,
            "word": None,
            "huge": None,
        }
        for key in texts:
            query = {"filter": f"params.{key} > 1e300 OR params.{key} < -1e300"}
            runs = (await call.get("/v1/runs", params=query))["runs"]
            assert bool(runs) == (found[key]["number"] is not None), key


async def test_params_over_the_budget_are_dropped_and_equal_ones_cost_nothing(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, params=2)
    async with caller_of(database, tenant) as call:
        problem = await call("POST", "/params", {"params": {"b": 1, "a": 2, "c": 3}}, status=429)
        assert (problem["accepted"], problem["rejected"]) == (2, 1)
        assert [one["pointer"] for one in problem["errors"]] == ["/params/c"]
        await call("POST", "/params", {"params": {"b": 1, "a": 2}})
        assert warned(tenant) == {"params": 1}


async def test_long_params_come_in_pages(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant) as call:
        for start in range(0, 150, 50):
            params = {f"p{at:03}": "é" * 32_768 for at in range(start, start + 50)}
            await call("POST", "/params", {"params": params})
        found: list[str] = []
        after: str | None = ""
        pages = 0
        while after is not None:
            page = await call("GET", "/params", after=after)
            found += page["params"]
            after = page["next_after"]
            pages += 1
        assert found == [f"p{at:03}" for at in range(150)]
        assert pages > 1
        too_long = {"params": {"p": "é" * 32_769}}
        await call("POST", "/params", too_long, status=422)


async def test_the_last_value_of_a_tag_stays_and_the_platforms_are_refused(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, tags=3)
    async with caller_of(database, tenant) as call:
        await call("PUT", "/tags", {"tags": {"a": "1", "b/c d": "2", "/": ""}})
        problem = await call("PUT", "/tags", {"tags": {"a": "3", "z": "no"}}, status=429)
        assert (problem["accepted"], problem["rejected"]) == (1, 1)
        assert (await call("GET", "/tags"))["tags"] == {"a": "3", "b/c d": "2", "/": ""}
        await call("DELETE", "/tags/b%2Fc%20d", status=204)
        await call("DELETE", "/tags/%2F", status=204)
        await call("DELETE", "/tags/b%2Fc%20d", status=404)
        assert (await call("GET", "/tags"))["tags"] == {"a": "3"}
        for tags in ({"mapi.x": "1"}, {"": "1"}, {"k": "v" * 5_001}):
            await call("PUT", "/tags", {"tags": tags}, status=422)
        await call("DELETE", "/tags/mapi.x", status=422)
        await call("DELETE", "/tags/%FF", status=422)


@given(st.text(min_size=1))
def test_a_key_in_a_path_is_read_as_it_was_written(key: str) -> None:
    from urllib.parse import quote

    try:
        path = f"/v1/runs/run_1/tags/{quote(key, safe='')}"
    except UnicodeEncodeError:  # half of a surrogate pair has no bytes
        return
    assert key_from_path(path.encode()) == key


async def test_a_line_without_a_time_has_that_of_its_arrival(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        before = datetime.now(UTC)
        for _ in range(3):
            await call("POST", "/logs", {"lines": [{"message": "now"}]})
        lines = (await call("GET", "/logs"))["lines"]
        times = [datetime.fromisoformat(line["time"]) for line in lines]
        after = datetime.now(UTC)
        assert [before, *times, after] == sorted([before, *times, after])


async def test_log_lines_are_read_newest_first_or_followed(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        levels = ("debug", "info", "warning", "error")
        lines = [
            {"message": f"Line {at}", "level": levels[at % 4], "fields": {"at": at}}
            for at in range(8)
        ]
        body = {"lines": lines, "stream": "data", "rank": 1}
        assert (await call("POST", "/logs", body))["accepted"] == 8

        async def messages(**query: Any) -> list[str]:
            page = await call("GET", "/logs", **query)
            return [line["message"] for line in page["lines"]]

        assert await messages(limit=2) == ["Line 6", "Line 7"]
        assert await messages(level="warning") == ["Line 2", "Line 3", "Line 6", "Line 7"]
        assert await messages(q="lINE 5") == ["Line 5"]
        assert await messages(q="%") == []
        page = await call("GET", "/logs", limit=3, after=0)
        assert [line["message"] for line in page["lines"]] == ["Line 0", "Line 1", "Line 2"]
        first = page["lines"][0]
        assert (first["fields"], first["stream"], first["rank"]) == ({"at": 0}, "data", 1)
        assert await messages(after=page["next_after"], limit=1) == ["Line 3"]
        whole = (await call("GET", "/logs"))["lines"]
        assert await messages(before=whole[5]["id"], limit=2) == ["Line 3", "Line 4"]
        assert await messages(before=whole[6]["id"], level="warning") == ["Line 2", "Line 3"]
        assert await messages(before=whole[0]["id"]) == []
        both = await call("GET", "/logs", after=1, before=2, status=422)
        assert both["errors"][0]["pointer"] == "/query/before"
        last = (await call("GET", "/logs"))["next_after"]
        assert await call("GET", "/logs", after=last) == {
            "lines": [],
            "next_after": last,
            "pruned_count": 0,
        }


async def test_lines_that_were_taken_before_are_duplicates(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:

        async def send(seq: int, *messages: str) -> Any:
            lines = [{"message": one} for one in messages]
            answer = await call("POST", "/logs", {"writer": "w", "seq": seq, "lines": lines})
            return answer["accepted"], answer["duplicates"], answer["accepted_seq"]

        assert await send(0, "a", "b") == (2, 0, 1)
        assert await send(1, "b", "c", "d") == (2, 1, 3)
        assert await send(0, "a", "b") == (0, 2, 3)
        assert await send(9) == (0, 0, 3)
        page = await call("GET", "/logs")
        assert [line["message"] for line in page["lines"]] == ["a", "b", "c", "d"]


async def test_log_budgets_count_lines_and_bytes(database: Database, tenant: Tenant) -> None:
    set_limits(tenant, log_lines=3, log_bytes=10)
    async with caller_of(database, tenant) as call:
        lines = [{"message": one} for one in ("ééé", "12345", "6", "7", "8")]
        problem = await call("POST", "/logs", {"lines": lines}, status=429)
        assert (problem["accepted"], problem["rejected"]) == (3, 2)
        assert [(one["pointer"], one["code"]) for one in problem["errors"]] == [
            ("/lines/1", "log_bytes"),
            ("/lines/4", "log_lines"),
        ]
        assert warned(tenant) == {"log_bytes": 1, "log_lines": 1}
        budgets = (await call("GET", "/budgets"))["budgets"]
        assert budgets["log_lines"] == {"used": 3, "limit": 3, "dropped": 1}
        assert budgets["log_bytes"] == {"used": 8, "limit": 10, "dropped": 1}
        assert budgets["points_per_series"] == {"used": None, "limit": 10_000, "dropped": 0}
        await call("PUT", "/tags", {"tags": {"a": "1", "b": "2"}})
        await call("POST", "/params", {"params": {"lr": 0.1}})
        budgets = (await call("GET", "/budgets"))["budgets"]
        assert (budgets["tags"]["used"], budgets["params"]["used"]) == (2, 1)


async def test_spans_are_kept_to_their_budget_and_read_by_start(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, spans=4)
    async with caller_of(database, tenant) as call:
        spans: list[dict[str, Any]] = [
            {
                "name": f"s{at}",
                "start_ns": 1_790_000_000_000_000_000 - at // 2,
                "duration_ns": at,
                "step": at or None,
            }
            for at in range(5)
        ]
        spans[1]["fields"] = {"deep": [1, {"x": None}]}
        body = {"spans": spans, "writer": "w", "seq": 0}
        problem = await call("POST", "/spans", body, status=429)
        assert (problem["accepted"], problem["rejected"], problem["accepted_seq"]) == (4, 1, 4)
        assert (await call("POST", "/spans", body))["duplicates"] == 5
        page = await call("GET", "/spans", limit=3)
        assert [one["name"] for one in page["spans"]] == ["s2", "s3", "s0"]
        rest = await call("GET", "/spans", limit=3, cursor=page["next_cursor"])
        assert [one["name"] for one in rest["spans"]] == ["s1"]
        assert rest["next_cursor"] is None
        assert rest["spans"][0]["fields"] == {"deep": [1, {"x": None}]}
        assert page["spans"][2]["step"] is None
        assert (await call("GET", "/spans", stream="data"))["spans"] == []
        for cursor in ("x", "1.2.3", "-1.0", "9" * 19 + ".1", "²." + "1"):
            await call("GET", "/spans", cursor=cursor, status=422)


async def test_a_document_is_replaced_and_comes_back_as_it_was(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        content = {"big": 2**70, "float": 0.1, "text": "é🙂", "list": [None, True, {}]}
        await call("GET", "/config", status=404)
        await call("PUT", "/config", {"content": {"old": 1}}, status=204)
        await call("PUT", "/config", {"content": content}, status=204)
        at = {"content": {"r": 1}, "stream": "data", "rank": 1}
        await call("PUT", "/config", at, status=204)
        await call("PUT", "/environment", {"content": {"python": "3"}}, status=204)
        assert (await call("GET", "/config"))["content"] == content
        assert (await call("GET", "/config", stream="data", rank=1))["content"] == {"r": 1}
        assert (await call("GET", "/environment"))["content"] == {"python": "3"}
        places = [
            (one["name"], one["stream"], one["rank"])
            for one in (await call("GET", "/documents"))["documents"]
        ]
        assert places == [("config", "", 0), ("config", "data", 1), ("environment", "", 0)]
        mebibyte = {"content": {"k": "x" * ((1 << 20) - 8)}}
        await call("PUT", "/config", mebibyte, status=204)
        mebibyte["content"]["k"] += "x"
        problem = await call("PUT", "/config", mebibyte, status=422)
        assert problem["errors"][0]["pointer"] == "/content"


#: What some database, decoder or printer chokes on; none of it may be a failure of ours.
HOSTILE = [
    ("POST", "/logs", '{"lines": [{"message": "m", "fields": {"x": 1e999}}]}'),
    ("POST", "/logs", '{"lines": [{"message": "m", "fields": {"x": %s}}]}' % ("9" * 5_000)),
    ("POST", "/logs", '{"lines": [{"message": "m", "fields": {"x": "\\u0000"}}]}'),
    ("POST", "/logs", '{"lines": [{"message": "m", "fields": {"\\ud800": 1}}]}'),
    ("POST", "/logs", '{"lines": [{"message": "%s"}]}' % ("é" * 8_193)),
    ("POST", "/logs", '{"lines": [{"message": "m", "time": "0001-01-01T00:00:00+14:00"}]}'),
    ("POST", "/logs", '{"lines": [{"message": "m", "time": "9999-12-31T23:59:59-14:00"}]}'),
    ("POST", "/logs", '{"lines": [], "writer": "w"}'),
    ("POST", "/logs", '{"lines": [], "stream": "a\\nb"}'),
    ("POST", "/logs", '{"lines": [{"message": "m", "fields": {"x": "%s"}}]}' % ("x" * 65_536)),
    ("POST", "/spans", '{"spans": [{"name": "", "start_ns": 0, "duration_ns": 0}]}'),
    ("POST", "/spans", '{"spans": [{"name": "n", "start_ns": -1, "duration_ns": 0}]}'),
    ("POST", "/params", '{"params": {"k": 1e999}}'),
    ("POST", "/params", '{"params": {"": 1}}'),
    ("POST", "/params", '{"params": {"k": ["\\ud800"]}}'),
    ("POST", "/params", '{"params": {"k": [1e999]}}'),
    ("POST", "/params", '{"params": {"k": ' + "[" * 40 + "]" * 40 + "}}"),
    ("POST", "/params", '{"params": {"k": ["' + "x" * 66_000 + '"]}}'),
    ("PUT", "/config", '{"content": {"x": -1e999}}'),
    ("PUT", "/config", '{"content": ' + '{"x":' * 40 + "1" + "}" * 41),
    ("POST", "/attempts", '{"number": 0}'),
    ("POST", "/attempts", '{"number": 1, "started": "0001-01-01T00:00:00+14:00"}'),
    ("POST", "/metrics", '{"points": [{"key": "a", "value": 1}], "writer": "", "seq": 1}'),
    ("POST", "/metrics", '{"points": [{"key": "a", "value": 1}], "writer": "w"}'),
    ("POST", "/metrics/corrections", '{"points": [{"key": "A", "value": 1}]}'),
]


@pytest.mark.parametrize(("method", "path", "body"), HOSTILE)
async def test_what_cannot_be_kept_is_refused_with_a_pointer(
    database: Database, tenant: Tenant, method: str, path: str, body: str
) -> None:
    async with caller_of(database, tenant) as call:
        problem = await call.raw(method, path, body.encode())
        assert problem["status"] in {400, 422}, problem
        assert problem["errors"]


UNITS = [
    (1_790_000_000, "looks like seconds"),
    (1_790_000_000_000, "looks like milliseconds"),
    (1_790_000_000_000_000_000, "looks like nanoseconds"),
    ("1970-01-21T17:13:20Z", "looks like milliseconds that were read as microseconds"),
    ("2999-01-01T00:00:00Z", "more than a day ahead"),
    ("1970-01-01T00:00:00Z", "in 1970 or before"),
    ("2026-11-01T00:00:00", "says its zone"),
    ("yesterday", '"yesterday" is no time'),
    (1.5, "1.5 is no time"),
    (True, "true is no time"),
]


@pytest.mark.parametrize(("sent", "message"), UNITS, ids=str)
async def test_a_time_in_another_unit_is_told_wherever_one_is_taken(
    database: Database, tenant: Tenant, sent: Any, message: str
) -> None:
    async with caller_of(database, tenant) as call:
        for method, path, at, body in (
            ("POST", "/metrics", "/points/0/time", {"points": [{"key": "a", "value": 1}]}),
            ("POST", "/logs", "/lines/0/time", {"lines": [{"message": "m"}]}),
            ("POST", "/attempts", "/started", {"number": 2}),
            ("PATCH", "", "/finished", {"status": "failed"}),
        ):
            *way, name = at.removeprefix("/").split("/")
            place: Any = body
            for part in way:
                place = place[int(part) if part.isdigit() else part]
            place[name] = sent
            problem = await call(method, path, body, status=422)
            (fault,) = problem["errors"]
            assert fault["pointer"] == at
            # A point takes any whole number of microseconds; the others take none.
            assert message in fault["message"], fault
        about = {"started": sent}
        answer = await call.send("POST", "/v1/runs", json=about, status=422)
        assert message in answer.json()["errors"][0]["message"]


async def test_the_start_of_a_span_is_nanoseconds(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant) as call:
        for start_ns, unit in (
            (1_790_000_000, "seconds"),
            (1_790_000_000_000, "milliseconds"),
            (1_790_000_000_000_000, "microseconds"),
        ):
            good = {"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}
            spans = [good, {**good, "start_ns": start_ns}]
            problem = await call("POST", "/spans", {"spans": spans}, status=422)
            (fault,) = problem["errors"]
            assert fault["pointer"] == "/spans/1/start_ns"
            assert f"looks like {unit}" in fault["message"]
            assert "would be 1790000000000000000" in fault["message"]
        assert (await call("GET", "/spans"))["spans"] == []


async def test_huge_whole_numbers_are_refused_or_come_back_as_they_were(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        number = int("9" * 4_000)
        lines = [{"message": "m", "fields": {"x": number}}]
        await call("POST", "/logs", {"lines": lines})
        page = await call("GET", "/logs")
        assert json.dumps(page["lines"][0]["fields"]["x"]) == json.dumps(number)


async def test_a_reader_may_not_write_and_others_see_nothing(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    writes = [
        ("POST", "/metrics", {"points": [{"key": "a", "value": 1}]}),
        ("POST", "/metrics/corrections", {"points": [{"key": "a", "value": 1}]}),
        ("POST", "/params", {"params": {"a": 1}}),
        ("PUT", "/tags", {"tags": {"a": "1"}}),
        ("DELETE", "/tags/a", None),
        ("POST", "/logs", {"lines": [{"message": "m"}]}),
        ("POST", "/spans", {"spans": []}),
        ("PUT", "/config", {"content": {}}),
        ("POST", "/attempts", {"number": 1}),
        ("PATCH", "/attempts", {"number": 1, "status": "failed"}),
    ]
    reads = ["/params", "/tags", "/logs", "/spans", "/config", "/documents", "/attempts"]
    reads += ["/writers"]
    async with caller_of(database, tenant, scope="runs:read") as reader:
        for method, path, body in writes:
            await reader(method, path, body, status=403)
        async with caller_of(database, other_tenant, run=reader.run) as stranger:
            for method, path, body in writes:
                await stranger(method, path, body, status=404)
            for path in reads:
                await stranger("GET", path, status=404)
