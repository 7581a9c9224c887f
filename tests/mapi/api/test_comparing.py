"""Runs side by side and in groups, against plain Python."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

pytestmark = pytest.mark.anyio


async def test_runs_stand_side_by_side_in_the_order_asked_for(caller: Caller) -> None:
    one = await caller.make_run(params={"lr": 0.1, "seed": 1}, tags={"stage": "a"}, name="one")
    two = await caller.make_run(params={"lr": 0.1, "opt": "sgd"}, tags={"stage": "b"}, name="two")
    await caller.log(one, "loss", [3.0, 2.0, "NaN"])
    await caller.log(two, "loss", [float(at) for at in range(500)])
    await caller.log(two, "acc", [1.0], labels={"split": "val"}, steps=[None])
    found = await caller.get("/v1/run-compare", params={"ids": f"{two},{one}"})
    assert [run["name"] for run in found["runs"]] == ["two", "one"]
    assert [(one["key"], one["texts"], one["is_different"]) for one in found["params"]] == [
        ("lr", ["0.1", "0.1"], False),
        ("opt", ["sgd", None], True),
        ("seed", [None, "1"], True),
    ]
    assert [one["texts"] for one in found["tags"]] == [["b", "a"]]
    accuracy, loss = found["series"]
    assert (accuracy["summaries"][1], accuracy["curves"]) == (None, [])
    assert [one["count"] for one in loss["summaries"]] == [500, 3]
    assert loss["curves"][0]["points"] is None
    assert loss["curves"][0]["points_total"] == 500
    assert [point[2] for point in loss["curves"][1]["points"]] == [3.0, 2.0, "NaN"]
    assert found["media"] == [[], []]
    some = await caller.get("/v1/run-compare", params={"ids": f"{two},{one}", "keys": "acc"})
    assert [one["key"] for one in some["series"]] == ["acc"]


async def test_a_comparison_is_sent_again_only_when_a_run_has_changed(caller: Caller) -> None:
    runs = [await caller.make_run() for _ in range(2)]
    params = {"ids": ",".join(runs)}
    etag = (await caller.send("GET", "/v1/run-compare", params=params)).headers["etag"]
    known = {"If-None-Match": etag}
    await caller.send("GET", "/v1/run-compare", params=params, headers=known, status=304)
    await caller.send("GET", "/v1/run-compare", params={**params, "buckets": 9}, headers=known)
    await caller.log(runs[0], "loss", [1.0])
    await caller.send("GET", "/v1/run-compare", params=params, headers=known)


async def test_without_curves_all_else_is_the_same(caller: Caller) -> None:
    runs = [await caller.make_run(params={"lr": at}) for at in range(2)]
    for run in runs:
        await caller.log(run, "loss", [float(at) for at in range(500)])
    params = {"ids": ",".join(runs)}
    whole = await caller.send("GET", "/v1/run-compare", params=params)
    assert all(curve["points_total"] == 500 for curve in whole.json()["series"][0]["curves"])
    bare = await caller.send("GET", "/v1/run-compare", params={**params, "curves": "false"})
    expected = whole.json()
    expected["series"][0]["curves"] = []
    assert bare.json() == expected
    assert bare.headers["etag"] != whole.headers["etag"]


async def test_two_to_ten_runs_of_the_tenant_are_compared(
    caller: Caller, stranger: Caller
) -> None:
    runs = [await caller.make_run() for _ in range(11)]
    await caller.get("/v1/run-compare", params={"ids": ",".join(runs[:10])})
    for ids in (runs[:1], runs, [runs[0], runs[0]], []):
        problem = await caller.get("/v1/run-compare", params={"ids": ",".join(ids)}, status=422)
        assert problem["errors"][0]["pointer"] == "/query/ids"
    foreign = await stranger.make_run()
    for other in (foreign, "run_none"):
        await caller.get("/v1/run-compare", params={"ids": f"{runs[0]},{other}"}, status=404)
    params = {"ids": f"{runs[0]},{runs[1]}", "keys": "Loss"}
    problem = await caller.get("/v1/run-compare", params=params, status=422)
    assert problem["errors"][0]["pointer"] == "/query/keys"


async def test_groups_say_what_their_members_come_to_at_true_steps(caller: Caller) -> None:
    curves: dict[str, list[tuple[str, dict[int, float]]]] = {}
    data = [
        ("0.1", {0: 1.0, 1: 2.0, 5: 3.0}),
        ("0.1", {0: 2.5, 5: math.nan, 9: -1.0}),
        ("0.1", {0: 1e-3, 1: math.inf}),
        ("1e-2", {0: 1.7e308, 1: -1.7e308}),
        ("1e-2", {0: 1.6e308, 1: 1.7e308}),
    ]
    for rate, points in data:
        run = await caller.make_run(params={"lr": rate}, tags={"of": "mine"})
        values: list[Any] = [
            value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity"}[repr(value)]
            for value in points.values()
        ]
        await caller.log(run, "loss", values, labels={"split": "val"}, steps=list(points))
        curves.setdefault(rate, []).append((run, points))
    without = await caller.make_run(params={"lr": "0.1"}, tags={"of": "mine"})
    await caller.make_run(params={"lr": "0.1"}, tags={"of": "others"})
    found = await caller.get(
        "/v1/run-groups",
        params={"y": "loss{split=val}", "by": "params.lr", "filter": "tags.of = mine"},
    )
    assert (found["runs_total"], found["runs_without"]) == (6, 1)
    assert [group["by"] for group in found["groups"]] == [
        {"params.lr": "1e-2"},
        {"params.lr": "0.1"},
    ]
    for group in found["groups"]:
        members = curves[group["by"]["params.lr"]]
        extra = {without} if group["by"]["params.lr"] == "0.1" else set()
        assert set(group["runs"]) == {run for run, _ in members} | extra
        steps = sorted(
            {step for _, points in members for step in points if math.isfinite(points[step])}
        )
        assert [point["step"] for point in group["points"]] == steps
        for point in group["points"]:
            values = [
                points[point["step"]]
                for _, points in members
                if math.isfinite(points.get(point["step"], math.nan))
            ]
            assert point["count"] == len(values)
            assert (point["min"], point["max"]) == (min(values), max(values))
            assert math.isclose(
                point["mean"], statistics.mean(values), rel_tol=1e-12, abs_tol=1e295
            )
            if len(values) == 1:
                assert point["std"] is None
            elif max(map(abs, values)) < 1e150:
                assert math.isclose(point["std"], statistics.stdev(values), rel_tol=1e-12)
    large = found["groups"][0]["points"]
    assert math.isclose(large[0]["std"], 0.1e308 / math.sqrt(2), rel_tol=1e-9)
    # The deviation of these two is above every number.
    assert large[1]["std"] is None


async def test_a_group_without_a_key_holds_all_runs(caller: Caller) -> None:
    for at in range(3):
        run = await caller.make_run()
        await caller.log(run, "loss", [float(at)])
    found = await caller.get("/v1/run-groups", params={"y": "loss"})
    (group,) = found["groups"]
    assert group["points"] == [
        {
            "step": 0,
            "count": 3,
            "nonfinite_count": 0,
            "mean": 1.0,
            "std": 1.0,
            "min": 0.0,
            "max": 2.0,
        }
    ]
    assert group["summary"] is None
    assert (await caller.get("/v1/run-groups", params={"y": "acc"}))["runs_without"] == 3


@pytest.mark.parametrize("large", [1.0, 1.7e308])
async def test_a_group_has_every_step_that_a_member_has(caller: Caller, large: float) -> None:
    for values in (["NaN", large, "NaN", "Infinity"], ["-Infinity", "NaN", 3.0, "NaN"]):
        run = await caller.make_run()
        await caller.log(run, "loss", values)
    (group,) = (await caller.get("/v1/run-groups", params={"y": "loss"}))["groups"]
    assert [(one["step"], one["count"], one["nonfinite_count"]) for one in group["points"]] == [
        (0, 0, 2),
        (1, 1, 1),
        (2, 1, 1),
        (3, 0, 2),
    ]
    statistics = [[one[name] for name in ("mean", "std", "min", "max")] for one in group["points"]]
    nothing = [None, None, None, None]
    assert statistics == [nothing, [large, None, large, large], [3.0, None, 3.0, 3.0], nothing]


@pytest.mark.parametrize("large", [1.0, 1e-200, 1.7e308])
async def test_groups_sum_up_what_the_summaries_of_their_members_say(
    caller: Caller, large: float
) -> None:
    data: list[tuple[str, list[Any]]] = [
        ("a", [3.0, large]),
        ("a", [4.0, -large / 2, "NaN"]),
        ("a", ["Infinity"]),
        ("b", [2.0]),
        ("b", []),
        ("c", ["NaN"]),
    ]
    for optimizer, values in data:
        run = await caller.make_run(params={"opt": optimizer})
        if values:
            await caller.log(run, "loss", values)
    query = {"y": "loss", "by": "params.opt", "stat": "min"}
    found = await caller.get("/v1/run-groups", params=query)
    low = min(large, 3.0)
    expected: dict[str, list[Any]] = {
        "a": [2, 0, (low - large / 2) / 2, statistics.stdev([low, -large / 2]), -large / 2, low],
        "b": [1, 0, 2.0, None, 2.0, 2.0],
        "c": [0, 0, None, None, None, None],
    }
    for group in found["groups"]:
        assert group["points"] == []
        told = group["summary"]
        assert told["step"] is None
        numbers = [
            told[name] for name in ("count", "nonfinite_count", "mean", "std", "min", "max")
        ]
        for number, right in zip(numbers, expected[group["by"]["params.opt"]], strict=True):
            assert number == (None if right is None else pytest.approx(right, rel=1e-12, abs=0))
    assert (found["runs_total"], found["runs_without"]) == (6, 3)
    found = await caller.get("/v1/run-groups", params={"y": "loss", "stat": "last"})
    (group,) = found["groups"]
    assert (group["by"], group["summary"]["count"], group["summary"]["nonfinite_count"]) == (
        {},
        2,
        3,
    )


WRONG = [
    ({"y": "loss", "stat": "best"}, "/query/stat"),
    ({}, "/query/y"),
    ({"y": "loss{"}, "/query/y"),
    ({"y": "params.lr"}, "/query/y"),
    ({"y": "loss", "by": "params"}, "/query/by"),
    ({"y": "loss", "by": "name,user,kind,status"}, "/query/by"),
    ({"y": "loss", "filter": "loss <"}, "/query/filter"),
    ({"y": "loss", "filter": ["name = a", "name ="]}, "/query/filter/1"),
    ({"y": "loss", "project": "none"}, "/query/project"),
    ({"y": "loss", "group": "x"}, "/query/group"),
]


@pytest.mark.parametrize(("params", "pointer"), WRONG, ids=str)
async def test_a_wrong_grouping_is_told_where(
    caller: Caller, params: dict[str, Any], pointer: str
) -> None:
    problem = await caller.get("/v1/run-groups", params=params, status=422)
    assert problem["errors"][0]["pointer"] == pointer
