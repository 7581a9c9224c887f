"""Series and curves through the API, against plain Python."""

from __future__ import annotations

import math
import uuid
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from mapi.tracking.compaction import compact_run

if TYPE_CHECKING:
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

NOW_US = 1_780_000_000_000_000
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def wire(value: float) -> Any:
    for word, number in WORDS.items():
        if repr(number) == repr(value):
            return word
    return value


async def pages(caller: Caller, path: str, **params: Any) -> list[dict[str, Any]]:
    found = []
    cursor: dict[str, str] = {}
    while True:
        page = await caller.get(path, params={**params, **cursor})
        found.append(page)
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def test_series_come_in_pages_each_once_and_in_order(caller: Caller) -> None:
    run = await caller.make_run()
    names = [
        ("a", {}),
        ("a", {"x": "1"}),
        ("a", {"x": "2"}),
        ("b", {"x": "1", "y": "é"}),
        ("c", {}),
    ]
    body = [{"key": key, "labels": labels, "step": 3, "value": 1.0} for key, labels in names[::-1]]
    await caller.post(f"/v1/runs/{run}/metrics", {"points": body})
    for limit in (1, 2, 5, 50):
        found = await pages(caller, f"/v1/runs/{run}/metrics", limit=limit)
        series = [(one["key"], one["labels"]) for page in found for one in page["series"]]
        assert series == names
        assert len(found) == -(-len(names) // limit)


async def test_series_are_chosen_by_keys_and_labels(caller: Caller) -> None:
    run = await caller.make_run()
    for key, labels in (("a", {}), ("a", {"x": "1"}), ("b", {"x": "1"}), ("c", {"x": "1"})):
        await caller.log(run, key, [1.0], labels=labels)
    found = await caller.get(
        f"/v1/runs/{run}/metrics", params=[("key", "a"), ("key", "b"), ("label.x", "1")]
    )
    assert [one["key"] for one in found["series"]] == ["a", "b"]
    assert found["series"][0]["last_value"] == 1.0


async def test_a_cursor_is_good_for_its_own_question_only(caller: Caller) -> None:
    run, other = await caller.make_run(), await caller.make_run()
    for one in (run, other):
        for key in ("a", "b"):
            await caller.log(one, key, [1.0])
    page = await caller.get(f"/v1/runs/{run}/metrics", params={"limit": 1})
    cursor = page["next_cursor"]
    for path, params in (
        (f"/v1/runs/{other}/metrics", {"cursor": cursor}),
        (f"/v1/runs/{run}/metrics", {"cursor": cursor, "key": "b"}),
        (f"/v1/runs/{run}/metrics", {"cursor": cursor[:-8] + "AAAAAAAA"}),
        (f"/v1/runs/{run}/metrics", {"cursor": "é"}),
        (f"/v1/runs/{run}/metrics", {"cursor": ""}),
    ):
        problem = await caller.get(path, params=params, status=422)
        assert problem["errors"][0]["pointer"] == "/query/cursor"


VALUES = [0.5, -0.0, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf, 0.1, 1.0]


async def test_points_are_those_that_were_logged_in_any_pages(caller: Caller) -> None:
    run = await caller.make_run()
    steps = [0, 1, 7, 8, 100, 2**40, 2**53 + 1, 2**62, 2**63 - 2, 2**63 - 1]
    await caller.log(
        run,
        "loss",
        [wire(one) for one in VALUES],
        steps=steps,
        times=[NOW_US + at for at in range(10)],
    )
    expected = [
        [step, NOW_US + at, wire(value)]
        for at, (step, value) in enumerate(zip(steps, VALUES, strict=True))
    ]
    for limit in (1, 3, 10, 100):
        found = await pages(caller, f"/v1/runs/{run}/metrics/points", key="loss", limit=limit)
        points = [one for page in found for one in page["points"]]
        assert [[repr(part) for part in one] for one in points] == [
            [repr(part) for part in one] for one in expected
        ]
        assert {page["points_total"] for page in found} == {10}
    some = await caller.get(
        f"/v1/runs/{run}/metrics/points", params={"key": "loss", "from": 1, "to": 8}
    )
    assert [one[0] for one in some["points"]] == [1, 7, 8]
    assert some["points_total"] == 3


async def test_both_ends_of_a_range_are_in_it(caller: Caller) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [float(at) for at in range(10)])
    await caller.log(run, "loss", [9.5], steps=[None], labels={"split": "val"})

    async def steps(first: int | None, last: int | None, **more: Any) -> list[int | None]:
        params = {"key": "loss", "from": first, "to": last, **more}
        given = {name: value for name, value in params.items() if value is not None}
        found = await pages(caller, f"/v1/runs/{run}/metrics/points", **given)
        return [one[0] for page in found for one in page["points"]]

    assert await steps(3, 5) == await steps(3, 5, limit=1) == [3, 4, 5]
    assert await steps(9, None) == [9]
    assert await steps(None, 0) == [0]
    assert await steps(7, 2**63 - 1) == [7, 8, 9]
    assert await steps(4, 3) == []
    assert await steps(None, -1) == []
    assert await steps(None, -1, **{"label.split": "val"}) == [None]
    problem = await caller.get(
        f"/v1/runs/{run}/metrics/points", params={"key": "loss", "from": 5, "to": 3}, status=422
    )
    assert problem["errors"][0] == {
        "pointer": "/query/to",
        "message": "3 is before from, 5: to is the last step, and included",
    }


def step_or_none(step: int | None) -> int | None:
    return None if step == -1 else step


def bucket_by_rule(points: list[tuple[int, float]]) -> dict[str, Any]:
    finite = [one for one in points if math.isfinite(one[1])]
    low = min(finite, key=lambda one: (one[1], one[0]), default=(None, None))
    high = min(finite, key=lambda one: (-one[1], one[0]), default=(None, None))
    return {
        "first_step": step_or_none(points[0][0]),
        "last_step": step_or_none(points[-1][0]),
        "first": wire(points[0][1]),
        "last": wire(points[-1][1]),
        "min": low[1],
        "min_step": step_or_none(low[0]),
        "max": high[1],
        "max_step": step_or_none(high[0]),
        "first_x": None,
        "last_x": None,
        "count": len(points),
        "nonfinite_count": len(points) - len(finite),
        "nan_count": sum(math.isnan(value) for _, value in points),
        "infinity_count": sum(value == math.inf for _, value in points),
    }


def mean_by_rule(points: list[tuple[int, float]]) -> float | None:
    finite = [Fraction(value) for _, value in points if math.isfinite(value)]
    is_summed = all(abs(one) < 10**290 for one in finite)
    return float(sum(finite) / len(finite)) if finite and is_summed else None


def check_bucket(bucket: dict[str, Any], points: list[tuple[int, float]]) -> None:
    mean = mean_by_rule(points)
    size = max((abs(value) for _, value in points if math.isfinite(value)), default=0.0)
    assert bucket["mean"] == (
        None if mean is None else pytest.approx(mean, rel=1e-12, abs=size * 1e-12)
    )
    rule = {**bucket_by_rule(points), "mean": bucket["mean"]}
    assert repr(bucket) == repr({name: rule[name] for name in bucket})


def in_bucket(step: int, bucket: dict[str, Any]) -> bool:
    first, last = (
        -1 if bucket[name] is None else bucket[name] for name in ("first_step", "last_step")
    )
    return bool(first <= step <= last)


SHAPES = {
    "dense": list(range(500)),
    "sparse": [at * at for at in range(500)],
    "far": [2**62 + at * 2**50 for at in range(500)],
    "with a scalar": [-1, *range(499)],
    "ends": [-1, *(at * (2**63 // 498) for at in range(498)), 2**63 - 1],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("buckets", [1, 2, 7, 100, 499])
async def test_buckets_keep_every_extreme(caller: Caller, shape: str, buckets: int) -> None:
    run = await caller.make_run()
    steps = SHAPES[shape]
    values = [VALUES[at * 7 % 10] if at % 3 else math.sin(at) for at in range(500)]
    rows = [
        {"key": "loss", "value": wire(value), **({"step": step} if step >= 0 else {})}
        for step, value in zip(steps, values, strict=True)
    ]
    await caller.post(f"/v1/runs/{run}/metrics", {"points": rows})
    params = {"key": "loss", "buckets": buckets}
    found = await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
    assert found["points"] is None
    assert found["points_total"] == 500
    assert len(found["buckets"]) <= buckets
    points = dict(zip(steps, values, strict=True))
    covered = 0
    again = await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
    assert found == again
    for one in found["buckets"]:
        inside = [step for step in points if in_bucket(step, one)]
        check_bucket(one, [(step, points[step]) for step in inside])
        covered += len(inside)
    assert covered == 500


GREATEST = 2**63 - 1
FAR = (-1, 0, 1, 2**31, 2**53 + 1, 2**62, GREATEST - 1, GREATEST)


@pytest.mark.parametrize("is_compacted", [False, True])
async def test_steps_at_the_ends_of_what_can_be_stored_are_put_into_buckets(
    caller: Caller, tenant: Tenant, database: Database, is_compacted: bool
) -> None:
    run = await caller.make_run()
    rows = [
        {"key": "loss", "value": float(at), **({"step": step} if step >= 0 else {})}
        for at, step in enumerate(FAR)
    ]
    await caller.post(f"/v1/runs/{run}/metrics", {"points": rows})
    if is_compacted:
        await caller.send("PATCH", f"/v1/runs/{run}", json={"status": "succeeded"})
        number = uuid.UUID(run.removeprefix("run_"))
        assert await compact_run(database, tenant.reach, number) == len(FAR) - 1
    path = f"/v1/runs/{run}/metrics/points"
    for first in (-1, 0, 1, 2**62, GREATEST - 1, GREATEST):
        for last in (-1, 0, 2**31, GREATEST - 1, GREATEST):
            if first > last:
                continue
            inside = {step: float(at) for at, step in enumerate(FAR) if first <= step <= last}
            for buckets in (1, 2, 3, 1_000):
                params = {"key": "loss", "from": first, "to": last, "buckets": buckets}
                found = await caller.get(path, params=params)
                if len(inside) <= buckets:
                    assert [one[2] for one in found["points"]] == [*inside.values()]
                    continue
                assert len(found["buckets"]) <= buckets
                assert found["buckets"][0]["first"] == min(inside.values())
                assert found["buckets"][-1]["last_step"] == step_or_none(max(inside))
                assert sum(one["count"] for one in found["buckets"]) == len(inside)
                assert found == await caller.get(path, params=params)
                over_time = await caller.get(path, params={**params, "x": "time"})
                assert over_time["points_total"] == len(inside)
                steps = {
                    one[name]
                    for one in (*found["buckets"], *over_time["buckets"])
                    for name in ("first_step", "last_step", "min_step", "max_step")
                }
                assert steps <= {step_or_none(step) for step in inside}


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize("far", [GREATEST, 2**62])
async def test_a_far_step_alone_in_its_bucket_has_its_own_value_at_both_ends(
    caller: Caller, tenant: Tenant, database: Database, is_compacted: bool, far: int
) -> None:
    run = await caller.make_run()
    for attempt in (1, 2):
        rows = [{"key": "loss", "value": 7.0 - at, "step": at} for at in range(3)]
        rows.append({"key": "loss", "value": float(attempt), "step": far})
        await caller.post(f"/v1/runs/{run}/metrics", {"points": rows, "attempt": attempt})
    if is_compacted:
        await caller.send("PATCH", f"/v1/runs/{run}", json={"status": "succeeded"})
        await compact_run(database, tenant.reach, uuid.UUID(run.removeprefix("run_")))
    params = {"key": "loss", "buckets": 2}
    found = await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
    last = found["buckets"][-1]
    assert (last["first_step"], last["last_step"]) == (far, far)
    assert (last["first"], last["last"], last["min"], last["max"]) == (2.0, 2.0, 2.0, 2.0)
    assert found["buckets"][0]["first"] == 7.0


async def test_points_come_whenever_they_fit_into_the_buckets(caller: Caller) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [float(one) for one in range(20)])
    found = await caller.get(
        f"/v1/runs/{run}/metrics/points", params={"key": "loss", "buckets": 20}
    )
    assert len(found["points"]) == found["points_total"] == 20
    assert found["buckets"] is None
    found = await caller.get(
        f"/v1/runs/{run}/metrics/points", params={"key": "loss", "buckets": 19}
    )
    assert found["points"] is None


async def test_a_curve_can_be_drawn_over_another_metric_and_over_time(caller: Caller) -> None:
    run = await caller.make_run(started="2026-05-28T20:26:40Z")  # NOW_US
    times = [NOW_US + at * 250_000 for at in range(6)]
    await caller.log(run, "loss", [5.0, 4.0, 3.0, 2.0, 1.0, 0.0], times=times)
    await caller.log(run, "epoch", [0.0, 0.0, "NaN", 1.0, 2.0], labels={"split": "val"})
    path = f"/v1/runs/{run}/metrics/points"
    exact = await caller.get(path, params={"key": "loss", "x": "epoch{split=val}"})
    assert exact["xs"] == [0.0, 0.0, "NaN", 1.0, 2.0, None]
    assert len(exact["points"]) == 6
    found = await caller.get(path, params={"key": "loss", "x": "epoch{split=val}", "buckets": 2})
    assert found["points_total"] == 6
    assert found["points_without_x"] == 2
    assert [
        (one["first_x"], one["last_x"], one["count"], one["min"], one["max"], one["mean"])
        for one in found["buckets"]
    ] == [(0.0, 0.0, 2, 4.0, 5.0, 4.5), (1.0, 2.0, 2, 1.0, 2.0, 1.5)]
    found = await caller.get(path, params={"key": "loss", "x": "run_time"})
    assert found["xs"] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    found = await caller.get(path, params={"key": "loss", "x": "time", "buckets": 3})
    assert [one["first_x"] for one in found["buckets"]] == [
        NOW_US / 1e6,
        NOW_US / 1e6 + 0.5,
        NOW_US / 1e6 + 1.0,
    ]


@pytest.mark.parametrize("buckets", [1, 7, 299])
async def test_buckets_over_another_metric_keep_every_extreme(
    caller: Caller, buckets: int
) -> None:
    run = await caller.make_run()
    values = [VALUES[at * 7 % 10] if at % 3 else math.sin(at) for at in range(300)]
    # It rises and falls, has many equal places, and none at some steps.
    places = [
        math.nan if at % 11 == 5 else float(round(40 * math.sin(at / 30))) for at in range(300)
    ]
    await caller.log(run, "loss", [wire(one) for one in values])
    await caller.log(run, "epoch", [wire(one) for one in places])
    params = {"key": "loss", "x": "epoch", "buckets": buckets}
    found = await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
    placed = sorted((place, step) for step, place in enumerate(places) if not math.isnan(place))
    assert found["points_total"] == 300
    assert found["points_without_x"] == 300 - len(placed)
    low, high = placed[0][0], placed[-1][0]
    expected: dict[int, list[tuple[float, int]]] = {}
    for place, step in placed:
        index = min(int((place - low) / (high - low) * buckets), buckets - 1)
        expected.setdefault(index, []).append((place, step))
    for one, inside in zip(found["buckets"], expected.values(), strict=True):
        steps = [step for _, step in inside]
        points = [(step, values[step]) for step in steps]
        rule = bucket_by_rule(points) | {
            "first_step": min(steps),
            "last_step": max(steps),
            "first_x": inside[0][0],
            "last_x": inside[-1][0],
        }
        mean = mean_by_rule(points)
        assert one["mean"] == (None if mean is None else pytest.approx(mean, rel=1e-9, abs=1e-9))
        rule["mean"] = one["mean"]
        assert one == {name: rule[name] for name in one}


WRONG = [
    ({}, "key"),
    ({"key": "Loss"}, "key"),
    ({"key": "loss", "buckets": 0}, "buckets"),
    ({"key": "loss", "buckets": 4_001}, "buckets"),
    ({"key": "loss", "buckets": "many"}, "buckets"),
    ({"key": "loss", "bucket": 5}, "bucket"),
    ({"key": "loss", "from": -2}, "from"),
    ({"key": "loss", "to": 2**63}, "to"),
    ({"key": "loss", "from": 10**30}, "from"),
    ({"key": "loss", "limit": 0}, "limit"),
    ({"key": "loss", "limit": 5, "buckets": 5}, "limit"),
    ({"key": "loss", "attempt": 0}, "attempt"),
    ({"key": "loss", "label.Split": "val"}, "label.Split"),
    ({"key": "loss", "label.split": ""}, "label.split"),
    ({"key": "loss", "x": "epoch{split"}, "x"),
    ({"key": "loss", "x": "epoch.min"}, "x"),
    ({"key": "loss", "x": "params.lr"}, "x"),
    ({"key": "loss", "cursor": "x"}, "cursor"),
    ({"key": "loss", "run": "x"}, "run"),
    ({"key": ["loss", "loss"]}, "key"),
    ({"key": "loss{split"}, "key"),
    ({"key": "loss{split=val}.min"}, "key"),
    ({"key": "loss{split=val}", "label.fold": "1"}, "key"),
]


async def test_a_series_can_be_named_as_the_search_writes_it(caller: Caller) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0, 2.0], labels={"split": "a, b", "fold": "3"})
    await caller.log(run, "loss", [3.0])
    address = f"/v1/runs/{run}/metrics/points"
    named = await caller.get(
        address, params={"key": "loss", "label.split": "a, b", "label.fold": "3"}
    )
    written = await caller.get(address, params={"key": 'loss{fold=3, split="a, b"}'})
    assert written == named
    assert [point[2] for point in written["points"]] == [1.0, 2.0]


@pytest.mark.parametrize(("params", "name"), WRONG, ids=str)
async def test_a_wrong_question_is_told_where_it_is_wrong(
    caller: Caller, params: dict[str, Any], name: str
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0])
    problem = await caller.get(f"/v1/runs/{run}/metrics/points", params=params, status=422)
    assert problem["code"] == "SCHEMA_INVALID"
    assert problem["errors"][0]["pointer"] == f"/query/{name}", problem


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"buckets": "1e9"},
            "/query/buckets: '1e9' is given, expected a whole number from 1 to 4000",
        ),
        ({"limit": ""}, "/query/limit: '' is given, expected a whole number from 1 to 10000"),
        (
            {"from": "x" * 100},
            f"/query/from: '{'x' * 80}' is given, expected a whole number from -1 to {2**63 - 1}",
        ),
        ({"key": None}, "/query/key: it is missing"),
    ],
    ids=str,
)
async def test_a_wrong_value_is_told_with_its_rule(
    caller: Caller, params: dict[str, Any], message: str
) -> None:
    run = await caller.make_run()
    sent = {name: value for name, value in ({"key": "loss"} | params).items() if value is not None}
    problem = await caller.get(f"/v1/runs/{run}/metrics/points", params=sent, status=422)
    assert problem["detail"] == message
    assert f"{problem['errors'][0]['pointer']}: {problem['errors'][0]['message']}" == message


async def test_a_mistyped_parameter_is_refused_with_the_right_one(caller: Caller) -> None:
    run = await caller.make_run()
    problem = await caller.get(f"/v1/runs/{run}/metrics", params={"curser": "a"}, status=422)
    assert "did you mean 'cursor'?" in problem["errors"][0]["message"]
    problem = await caller.get("/healthz", params={"deep": "1"}, status=422)
    assert "this route has none" in problem["errors"][0]["message"]


async def test_curves_of_other_tenants_do_not_exist(
    caller: Caller, stranger: Caller, viewer: Caller
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0])
    for path in (f"/v1/runs/{run}/metrics", f"/v1/runs/{run}/metrics/points?key=loss"):
        await viewer.get(path)
        foreign = await stranger.get(path, status=404)
        missing = await stranger.get(path.replace(run[-6:], "abcdef"), status=404)
        assert {**foreign, "request_id": ""} == {**missing, "request_id": ""}
    await caller.get(f"/v1/runs/{run}/metrics/points", params={"key": "acc"}, status=404)


async def test_a_curve_over_attempts_has_the_newest_value_of_each_step(caller: Caller) -> None:
    run = await caller.make_run()
    path = f"/v1/runs/{run}"
    written = {1: list(range(100)), 2: list(range(60, 90)), 3: [10, 95]}
    stops = {1: 60, 2: None, 3: None}
    await caller.post(f"{path}/attempts", {"number": 1})
    await caller.log(run, "loss", [1.0] * 100, attempt=1)
    await caller.post(f"{path}/attempts", {"number": 2, "from_step": 60})
    await caller.log(run, "loss", [2.0] * 30, start=60, attempt=2)
    await caller.post(f"{path}/attempts", {"number": 3})
    await caller.log(run, "loss", [3.0, 3.0], steps=[10, 95], attempt=3)
    expected: dict[int, float] = {}
    for attempt, steps in written.items():
        stop = stops[attempt]
        expected |= {step: float(attempt) for step in steps if stop is None or step < stop}
    points = f"{path}/metrics/points"
    found = await caller.get(points, params={"key": "loss"})
    assert [(one[0], one[2]) for one in found["points"]] == sorted(expected.items())
    assert found["points_total"] == len(expected)
    for attempt, steps in written.items():
        one = await caller.get(points, params={"key": "loss", "attempt": attempt})
        assert [point[0] for point in one["points"]] == steps
        assert {point[2] for point in one["points"]} == {float(attempt)}
    missing = await caller.get(points, params={"key": "loss", "attempt": 4}, status=404)
    assert missing["detail"] == "Attempt 4 has written nothing of this series."
    found = await caller.get(points, params={"key": "loss", "buckets": 7})
    assert found["points_total"] == len(expected)
    for bucket in found["buckets"]:
        inside = [
            (step, value) for step, value in sorted(expected.items()) if in_bucket(step, bucket)
        ]
        check_bucket(bucket, inside)


async def test_steps_at_the_ends_come_in_pages_and_in_groups(caller: Caller) -> None:
    run = await caller.make_run()
    rows = [
        {"key": "loss", "value": float(at), **({"step": step} if step >= 0 else {})}
        for at, step in enumerate(FAR)
    ]
    await caller.post(f"/v1/runs/{run}/metrics", {"points": rows})
    for limit in (1, 3, 7, 8):
        found = await pages(caller, f"/v1/runs/{run}/metrics/points", key="loss", limit=limit)
        assert [one[0] for page in found for one in page["points"]] == [None, *FAR[1:]]
    for first, last in ((-1, GREATEST), (GREATEST, GREATEST), (-1, -1)):
        params = {"y": "loss", "from": first, "to": last}
        (group,) = (await caller.get("/v1/run-groups", params=params))["groups"]
        assert [one["step"] for one in group["points"]] == [
            None if step < 0 else step for step in FAR if first <= step <= last
        ]


@pytest.mark.parametrize("places", [[-1.7e308, 1.7e308], [1.7e308, 1.79e308], [5e-324, 1e-323]])
async def test_an_axis_of_the_greatest_and_least_numbers_has_buckets(
    caller: Caller, places: list[float]
) -> None:
    run = await caller.make_run()
    low, high = places
    xs = [low, low / 2 + high / 2, high, low, high]
    await caller.log(run, "place", xs)
    await caller.log(run, "loss", [1.0, 2.0, 3.0, 4.0, 5.0])
    for buckets in (1, 2, 3, 4):
        params = {"key": "loss", "x": "place", "buckets": buckets}
        found = await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
        assert sum(one["count"] for one in found["buckets"]) == 5
        assert (found["buckets"][0]["first_x"], found["buckets"][-1]["last_x"]) == (low, high)
        assert found == await caller.get(f"/v1/runs/{run}/metrics/points", params=params)
