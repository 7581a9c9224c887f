"""Points through the API: budgets, writers, attempts, corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.mapi.callers import RunCaller, caller_of
from tests.mapi.tenants_access import set_limits

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


def columns(key: str, steps: range | list[int], value: float = 1.0, **labels: str) -> Any:
    return {
        "key": key,
        "labels": labels,
        "steps": list(steps),
        "values": [value + step for step in steps],
    }


def rows(tenant: Tenant, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        return connection.execute(statement, [tenant.id]).fetchall()


def warnings(tenant: Tenant) -> list[tuple[Any, ...]]:
    return rows(
        tenant,
        "select code, message, fields -> 'counts' from mapi.run_events"
        " where tenant_id = %s and type = 'warning'",
    )


def figures(answer: Any) -> tuple[int, int, int, int]:
    names = ("accepted", "duplicates", "conflicts", "rejected")
    return tuple(answer[name] for name in names)


async def stored(call: RunCaller, key: str, **query: Any) -> dict[Any, float]:
    curve = await call("GET", "/metrics/points", key=key, **query)
    return {step: value for step, _, value in curve["points"]}


async def test_a_spent_budget_keeps_what_fits_and_answers_with_the_figures(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, points=10)
    async with caller_of(database, tenant) as call:
        body = {"series": [columns("loss", range(12))]}
        problem = await call("POST", "/metrics", body, status=429)
        assert problem["code"] == "QUOTA_EXCEEDED"
        assert problem["retryable"] is False
        assert "retry-after" not in call.answered
        assert figures(problem) == (10, 0, 0, 2)
        assert [one["pointer"] for one in problem["errors"]] == [
            "/series/0/values/10",
            "/series/0/values/11",
        ]
        assert {one["code"] for one in problem["errors"]} == {"points"}
        assert sorted(await stored(call, "loss")) == list(range(10))


async def test_a_replay_at_a_full_budget_costs_nothing(database: Database, tenant: Tenant) -> None:
    set_limits(tenant, points=10)
    async with caller_of(database, tenant) as call:
        body = {"series": [columns("loss", range(10))]}
        await call("POST", "/metrics", body)
        assert figures(await call("POST", "/metrics", body)) == (0, 10, 0, 0)
        more = {"series": [columns("loss", range(5, 11))]}
        assert figures(await call("POST", "/metrics", more, status=429)) == (0, 5, 0, 1)
        newer = {"points": [{"key": "loss", "step": 3, "value": 99}]}
        assert figures(await call("POST", "/metrics", newer)) == (0, 1, 1, 0)


async def test_what_is_dropped_is_told_in_one_warning_that_grows(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, points_per_series=2, series=2, tags=0)
    async with caller_of(database, tenant) as call:
        body = {"series": [columns("a", range(3)), columns("b", range(1)), columns("c", range(4))]}
        problem = await call("POST", "/metrics", body, status=429)
        assert figures(problem) == (3, 0, 0, 5)
        ((code, first, counts),) = warnings(tenant)
        assert code == "TRACKING_BUDGET"
        assert first == problem["detail"]
        assert counts == {"points_per_series": 1, "series": 4}
        await call("POST", "/metrics", {"series": [columns("a", [7, 8])]}, status=429)
        problem = await call("PUT", "/tags", {"tags": {"k": "v"}}, status=429)
        # Whoever asked is told of this call, and not of what the run met first.
        assert problem["detail"].startswith(
            "The run has spent its budget tags (0). Not kept: 1 by tags."
        )
        ((_, message, counts),) = warnings(tenant)
        assert counts == {"points_per_series": 3, "series": 4, "tags": 1}
        assert message.startswith("The run has spent its budget points_per_series (2).")
        assert (await call("GET", ""))["dropped"] == counts


async def test_points_fit_in_the_order_of_the_call(database: Database, tenant: Tenant) -> None:
    set_limits(tenant, points=3)
    async with caller_of(database, tenant) as call:
        points = [
            {"key": key, "step": step, "value": step}
            for key, step in (("b", 9), ("a", 5), ("b", 1), ("a", 0), ("b", 9))
        ]
        problem = await call("POST", "/metrics", {"points": points}, status=429)
        assert figures(problem) == (3, 1, 0, 1)
        assert [one["pointer"] for one in problem["errors"]] == ["/points/3"]
        assert sorted(await stored(call, "b")) == [1, 9]


async def test_a_repeat_of_what_was_not_kept_was_not_kept_either(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, points=1)
    async with caller_of(database, tenant) as call:
        points = [{"key": "a", "step": step, "value": at} for at, step in enumerate((0, 1, 1))]
        problem = await call("POST", "/metrics", {"points": points}, status=429)
        assert figures(problem) == (1, 0, 0, 2)
        assert warnings(tenant)[0][2] == {"points": 2}


async def test_a_full_series_takes_newer_scalars_and_other_attempts_have_room_of_their_own(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, points_per_series=1, series=1)
    async with caller_of(database, tenant) as call:
        for value in (1, 2):
            answer = await call("POST", "/metrics", {"points": [{"key": "f1", "value": value}]})
            assert figures(answer) == (1, 0, 0, 0)
        again = {"attempt": 2, "points": [{"key": "f1", "step": 0, "value": 3}]}
        assert figures(await call("POST", "/metrics", again)) == (1, 0, 0, 0)
        other = {"points": [{"key": "f2", "value": 3}]}
        assert figures(await call("POST", "/metrics", other, status=429)) == (0, 0, 0, 1)
        assert (
            rows(tenant, "select key from mapi.run_series where tenant_id = %s and key = 'f2'")
            == []
        )


async def test_the_limits_of_tenant_project_and_run_go_before_the_defaults(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            for statement, limits in (
                ("update mapi.tenants set limits = %s where id = %s", {"points": 1, "series": 1}),
                (
                    "update mapi.projects set limits = %s where tenant_id = %s",
                    {"points": 2, "series": None},
                ),
                ("update mapi.runs set limits = %s where tenant_id = %s", {"points": 3}),
            ):
                connection.execute(statement, [Jsonb(limits), tenant.id])
        body = {"series": [columns("a", range(4)), columns("b", range(1))]}
        problem = await call("POST", "/metrics", body, status=429)
        assert figures(problem) == (3, 0, 0, 2)
        assert {one["code"] for one in problem["errors"]} == {"points", "series"}


async def test_a_sequence_number_guards_scalars_and_never_stepped_points(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:

        async def send(seq: int, value: float, step: int) -> Any:
            return await call(
                "POST",
                "/metrics",
                {
                    "writer": "w",
                    "seq": seq,
                    "points": [
                        {"key": "f1", "value": value},
                        {"key": "loss", "step": step, "value": value},
                    ],
                },
            )

        assert (await send(5, 1.0, 0))["accepted_seq"] == 5
        answer = await send(5, 2.0, 1)
        assert figures(answer) == (1, 1, 0, 0)
        assert answer["accepted_seq"] == 5
        assert (await send(3, 3.0, 2))["accepted_seq"] == 5
        assert await stored(call, "f1") == {None: 1.0}
        assert sorted(await stored(call, "loss")) == [0, 1, 2]
        assert (await send(6, 4.0, 3))["accepted_seq"] == 6
        assert await stored(call, "f1") == {None: 4.0}
        assert await call("GET", "/writers") == {"writers": [{"writer": "w", "seq": 6}]}


async def test_a_taken_sequence_number_advances_over_what_a_budget_dropped(
    database: Database, tenant: Tenant
) -> None:
    set_limits(tenant, points=0)
    async with caller_of(database, tenant) as call:
        body = {"writer": "w", "seq": 8, "points": [{"key": "a", "value": 1}]}
        problem = await call("POST", "/metrics", body, status=429)
        assert problem["accepted_seq"] == 8
        assert (await call("GET", "/writers"))["writers"] == [{"writer": "w", "seq": 8}]
        assert figures(await call("POST", "/metrics", body)) == (0, 1, 0, 0)


async def test_a_rewound_attempt_takes_the_place_of_what_was_before(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/metrics", {"series": [columns("loss", range(6))]})
        data = {"stream": "data", "series": [columns("loss", range(6))]}
        await call("POST", "/metrics", data)
        body = {"number": 2, "from_step": 3}
        made = await call("POST", "/attempts", body)
        assert await call("POST", "/attempts", body) == made
        assert await stored(call, "loss") == {0: 1, 1: 2, 2: 3}
        assert len(await stored(call, "loss", **{"label.stream": "data"})) == 6
        # By default the newest attempt of the stream and rank writes.
        await call("POST", "/metrics", {"series": [columns("loss", [3, 4], value=100)]})
        assert await stored(call, "loss") == {0: 1, 1: 2, 2: 3, 3: 103, 4: 104}
        assert len(await stored(call, "loss", attempt=1)) == 6
        await call("POST", "/metrics", {**data, "series": [columns("loss", [6])]})
        problem = await call("POST", "/attempts", {"number": 2, "from_step": 4}, status=409)
        assert problem["code"] == "STATE_CONFLICT"


async def test_attempts_end_and_are_listed(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/attempts", {"number": 1, "rank": 1})
        await call("POST", "/attempts", {"number": 2, "rank": 1, "from_step": 0})
        end = {"number": 1, "rank": 1, "status": "failed", "finished": "2026-11-01T00:00:00Z"}
        assert (await call("PATCH", "/attempts", end))["status"] == "failed"
        found = (await call("GET", "/attempts"))["attempts"]
        assert [
            (one["rank"], one["number"], one["from_step"], one["status"]) for one in found
        ] == [
            (1, 1, None, "failed"),
            (1, 2, 0, None),
        ]
        await call("PATCH", "/attempts", {"number": 3, "status": "failed"}, status=404)
        problem = await call("PATCH", "/attempts", {**end, "status": "running"}, status=422)
        assert problem["errors"][0]["expected"] == ["cancelled", "failed", "lost", "succeeded"]
        late = {"number": 3, "started": "2999-01-01T00:00:00Z"}
        await call("POST", "/attempts", late, status=422)


async def test_points_logged_again_are_corrected_and_audited_once(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/metrics", {"series": [columns("loss", range(4))]})
        body = {"series": [columns("loss", [2, 3, 4], value=50), columns("acc", range(2))]}
        answer = await call("POST", "/metrics/corrections", body)
        assert figures(answer) == (5, 0, 0, 0)
        assert await stored(call, "loss") == {0: 1, 1: 2, 2: 52, 3: 53, 4: 54}
        assert figures(await call("POST", "/metrics/corrections", body)) == (0, 5, 0, 0)
        audit = "select principal, action, fields from mapi.audit where tenant_id = %s"
        ((principal, action, fields),) = rows(tenant, audit)
        assert (principal, action) == ("test", "point.correct")
        assert (fields["points"], fields["series"]) == (2, ["loss"])
        summary = "select max_value, count from mapi.run_metric_summary where tenant_id = %s"
        assert (54.0, 5) in rows(tenant, summary)


async def test_what_a_runner_signed_is_not_corrected(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant) as call:
        await call("POST", "/metrics", {"series": [columns("loss", range(2))]})
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute(
                "update mapi.run_series set source = 'runner' where tenant_id = %s", [tenant.id]
            )
        body = {"series": [columns("loss", range(2), value=50)]}
        assert figures(await call("POST", "/metrics/corrections", body)) == (0, 2, 2, 0)
        assert await stored(call, "loss") == {0: 1, 1: 2}


async def test_an_admin_deletes_points_series_and_params_with_an_entry_in_the_audit(
    database: Database, tenant: Tenant
) -> None:
    async with caller_of(database, tenant) as writer:
        body = {"series": [columns("loss", range(6), split="val"), columns("acc", range(3))]}
        await writer("POST", "/metrics", body)
        await writer("POST", "/params", {"params": {"lr": 0.1}})
        range_of = {"key": "loss", "labels": {"split": "val"}, "from_step": 1, "to_step": 3}
        problem = await writer(
            "POST", "/corrections", {"reason": "no right", **range_of}, status=403
        )
        assert problem["code"] == "FORBIDDEN"
        async with caller_of(database, tenant, scope="admin", run=writer.run) as admin:
            wanted: list[dict[str, Any]] = [range_of, {"key": "acc"}, {"param": "lr"}]
            for number, what in enumerate(wanted):
                answer = await admin("POST", "/corrections", {"reason": f"{number}", **what})
                assert answer == {"rows": (3, 3, 1)[number], "freed_bytes": 0}
            await admin("POST", "/corrections", {"reason": "r", "key": "acc"}, status=404)
            await admin("POST", "/corrections", {"reason": "r", "param": "lr"}, status=404)
            await admin("POST", "/corrections", {"reason": "r", "media": "x"}, status=404)
            broken: list[dict[str, Any]] = [
                {},
                {"key": "a", "param": "b"},
                {"param": "b", "from_step": 1},
            ]
            for wrong in broken:
                await admin("POST", "/corrections", {"reason": "r", **wrong}, status=422)
        assert await stored(writer, "loss", **{"label.split": "val"}) == {0: 1, 4: 5, 5: 6}
        await writer("GET", "/metrics/points", key="acc", status=404)
        await writer("POST", "/params", {"params": {"lr": 0.2}})
    counters = "select point_count, series_count from mapi.runs where tenant_id = %s"
    assert rows(tenant, counters) == [(3, 1)]
    audit = "select fields ->> 'reason' from mapi.audit where tenant_id = %s order by id"
    assert rows(tenant, audit) == [("0",), ("1",), ("2",)]


async def test_an_admin_deletes_a_media_item(database: Database, tenant: Tenant) -> None:
    async with caller_of(database, tenant, scope="admin") as admin:
        run_id = admin.run.removeprefix("run_")
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute(
                "insert into mapi.run_media (tenant_id, id, run_id, key, labels, labels_hash,"
                " step, format, size_bytes, sha256, object_key, source)"
                " values (%s, %s, %s, 'k', '{}', 0, 0, 'png', 7, 'x', 'o', 'api')",
                [tenant.id, run_id, run_id],
            )
            connection.execute(
                "update mapi.runs set media_count = 1, media_bytes = 7 where tenant_id = %s",
                [tenant.id],
            )
        body = {"reason": "shows a person", "media": f"media_{run_id}"}
        assert (await admin("POST", "/corrections", body))["rows"] == 1
    assert rows(tenant, "select id from mapi.run_media where tenant_id = %s") == []
    counters = "select media_count, media_bytes from mapi.runs where tenant_id = %s"
    assert rows(tenant, counters) == [(0, 0)]
