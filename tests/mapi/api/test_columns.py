"""The points of many series in one answer, against those of each series by itself."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.pruning import prune

from mapi.tracking import columns
from mapi.tracking.compaction import compact_run

if TYPE_CHECKING:
    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

NOW_US = 1_780_000_000_000_000
WRITERS = [("", 0), ("", 3), ("data", 0)]


def number_of(run: str) -> uuid.UUID:
    return uuid.UUID(run.removeprefix("run_"))


async def make_rich(caller: Caller) -> str:
    """Make a run of three writers, with several attempts that took steps of each other's place."""
    run = await caller.make_run()
    for stream, rank in WRITERS:
        who: dict[str, Any] = {"stream": stream, "rank": rank}
        for attempt, begin in ((1, None), (2, 60), (3, 80)):
            await caller.post(
                f"/v1/runs/{run}/attempts", {"number": attempt, "from_step": begin, **who}
            )
            steps = list(range(begin or 0, 100, attempt))
            for key, labels in (("loss", {}), ("loss", {"split": "val"}), ("acc", {"fold": "é"})):
                await caller.log(
                    run, key, [step + attempt / 10 for step in steps], steps=steps,
                    times=[NOW_US + step for step in steps], labels=labels, attempt=attempt, **who,
                )  # fmt: skip
        await caller.log(run, "gone", [1.0], steps=[70], attempt=1, **who)
        await caller.log(run, "best", ["NaN"], steps=[None], **who)
        await caller.log(run, "wild", ["Infinity", 0.5, "-Infinity", "NaN"], start=98, **who)
        await caller.log(run, "far", [1e300, -0.0], steps=[0, 2**63 - 1], **who)
    return run


async def read(caller: Caller, run: str, **query: Any) -> list[dict[str, Any]]:
    """Return the pages of a question."""
    pages: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await caller.send(
            "GET", f"/v1/runs/{run}/metrics/columns", params={**query, **cursor}
        )
        page = answer.json()
        pages.append(page)
        assert ("link" in answer.headers) is (page["next_cursor"] is not None)
        if page["next_cursor"] is None:
            return pages
        cursor = {"cursor": page["next_cursor"]}


Points = dict[tuple[str, str], list[list[Any]]]


def joined(pages: list[dict[str, Any]]) -> Points:
    """Return the points of each series, which must come in one go."""
    found: Points = {}
    last = None
    for page in pages:
        for one in page["series"]:
            series = one["key"], str(sorted(one["labels"].items()))
            assert series == last or series not in found
            last = series
            rows = zip(one["steps"], one["times"], one["values"], strict=True)
            found.setdefault(series, []).extend(map(list, rows))
    return found


async def one_by_one(caller: Caller, run: str, **query: Any) -> Points:
    """Return what the route of one curve answers, for each series that the run has."""
    path = f"/v1/runs/{run}/metrics"
    listed = await caller.get(path, params={"limit": 500})
    found: Points = {}
    for one in listed["series"]:
        asked = {
            "key": one["key"],
            **{f"label.{name}": text for name, text in one["labels"].items()},
        }
        curve = await caller.client.get(
            f"{path}/points", params={**asked, **query}, headers=caller.headers
        )
        if curve.status_code == 200 and curve.json()["points"]:
            found[one["key"], str(sorted(one["labels"].items()))] = curve.json()["points"]
    return found


@pytest.mark.parametrize("is_compacted", [False, True])
async def test_all_series_come_as_each_comes_by_itself(
    caller: Caller, tenant: Tenant, database: Database, is_compacted: bool
) -> None:
    run = await make_rich(caller)
    if is_compacted:
        await caller.send("PATCH", f"/v1/runs/{run}", json={"status": "succeeded"})
        await compact_run(database, tenant.reach, number_of(run))
    whole = await one_by_one(caller, run)
    assert len(whole) == 18
    for limit in (7, 100, 20_000):
        pages = await read(caller, run, limit=limit)
        assert repr(dict(sorted(joined(pages).items()))) == repr(dict(sorted(whole.items())))
        sizes = [sum(len(one["steps"]) for one in page["series"]) for page in pages]
        assert set(sizes[:-1]) <= {limit}
    for stretch in ({"from": 55, "to": 85}, {"from": 0, "to": 0}, {"to": -1}, {"from": 2**62}):
        some = await one_by_one(caller, run, **stretch)
        assert some
        for limit in (1, 20_000):
            found = joined(await read(caller, run, limit=limit, **stretch))
            assert repr(dict(sorted(found.items()))) == repr(dict(sorted(some.items())))
    assert joined(await read(caller, run, **{"from": 101, "to": 100})) == {}


async def test_one_attempt_is_shown_whole(caller: Caller) -> None:
    run = await make_rich(caller)
    for attempt in (1, 2, 3):
        expected = await one_by_one(caller, run, attempt=attempt)
        found = joined(await read(caller, run, attempt=attempt, limit=37))
        # Of what newer attempts took back altogether no series is listed.
        back = {series: points for series, points in found.items() if series[0] == "gone"}
        assert len(back) == (3 if attempt == 1 else 0)
        left = {series: points for series, points in found.items() if series not in back}
        assert left == expected
    assert joined(await read(caller, run, attempt=4)) == {}


async def test_series_are_chosen_by_key_labels_stream_and_rank(caller: Caller) -> None:
    run = await make_rich(caller)

    async def chosen(**query: Any) -> set[tuple[str, str]]:
        return set(joined(await read(caller, run, limit=30, **query)))

    everything = await chosen()
    assert len({key for key, _ in everything}) == 5
    assert await chosen(key=["acc", "best"]) == {
        one for one in everything if one[0] in {"acc", "best"}
    }
    assert await chosen(key="loss", **{"label.split": "val"}) == {
        one for one in everything if "split" in one[1]
    }
    by_writer = [
        await chosen(stream=stream, rank=rank) for stream, rank in [*WRITERS, ("data", 3)]
    ]
    assert [len(one) for one in by_writer] == [6, 6, 6, 0]
    assert set.union(*by_writer) == everything
    assert len(await chosen(stream="")) == 12
    assert len(await chosen(rank=0)) == 12
    assert await chosen(stream="nobody") == await chosen(stream="a\"b' or 1=1") == set()
    assert await chosen(**{"label.fold": "é"}, stream="data") == {
        ("acc", str([("fold", "é"), ("stream", "data")]))
    }


async def test_a_page_ends_behind_very_many_series_without_points(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_SERIES_MAX", 3)
    run = await caller.make_run()
    for at in range(10):
        await caller.log(run, f"k{at}", [1.0], steps=[100 if at == 9 else 0])
    pages = await read(caller, run, **{"from": 50})
    assert [len(page["series"]) for page in pages] == [0, 0, 0, 1]
    assert len(joined(await read(caller, run, limit=2))) == 10
    assert [len(page["series"]) for page in await read(caller, run, limit=3)] == [3, 3, 3, 1]


@pytest.mark.parametrize("limit", [3, 4])
async def test_a_series_that_is_taken_away_between_two_pages_moves_no_other(
    caller: Caller, limit: int
) -> None:
    run = await caller.make_run()
    for key in ("a", "b", "c"):
        await caller.log(run, key, [0.0, 1.0, 2.0])
    path = f"/v1/runs/{run}/metrics/columns"
    page = await caller.get(path, params={"limit": limit})
    assert sum(len(one["steps"]) for one in page["series"]) == limit
    await caller.post(f"/v1/runs/{run}/corrections", {"reason": "wrong", "key": "b"})
    rest = await caller.get(path, params={"limit": limit, "cursor": page["next_cursor"]})
    assert [(one["key"], one["steps"]) for one in rest["series"]] == [("c", [0, 1, 2])]


async def test_what_retention_has_deleted_is_told(
    caller: Caller, tenant: Tenant, database: Database
) -> None:
    run = await make_rich(caller)
    await prune(database, tenant, number_of(run))
    await caller.log(run, "loss", [7.0], steps=[500], attempt=3)
    for query in ({}, {"attempt": 1}, {"from": 99}, {"from": 100, "to": 600}):
        for limit in (1, 20_000):
            told = {}
            for page in await read(caller, run, limit=limit, **query):
                for one in page["series"]:
                    labels = {f"label.{name}": text for name, text in one["labels"].items()}
                    curve = await caller.get(
                        f"/v1/runs/{run}/metrics/points",
                        params={"key": one["key"], **labels, **query},
                    )
                    assert one["pruned"] == curve["pruned"]
                    assert one["pruned"] is not None or one["steps"]
                    told[one["key"], str(labels)] = one["pruned"]
            assert sum(one is not None for one in told.values()) > 0, query


async def test_a_cursor_is_good_for_its_own_question_only(caller: Caller) -> None:
    run, other = await make_rich(caller), await make_rich(caller)
    path = f"/v1/runs/{run}/metrics/columns"
    cursor = (await caller.get(path, params={"limit": 10}))["next_cursor"]
    await caller.get(path, params={"limit": 500, "cursor": cursor})
    for address, more in (
        (f"/v1/runs/{other}/metrics/columns", {}),
        (path, {"key": "loss"}),
        (path, {"label.split": "val"}),
        (path, {"stream": ""}),
        (path, {"rank": 0}),
        (path, {"from": 0}),
        (path, {"to": 5}),
        (path, {"attempt": 1}),
        (f"/v1/runs/{run}/metrics", {}),
        (path, {"cursor": f"{cursor[:-8]}AAAAAAAA"}),
        (path, {"cursor": ""}),
    ):
        problem = await caller.get(address, params={"cursor": cursor, **more}, status=422)
        assert problem["errors"][0]["pointer"] == "/query/cursor"


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"from": -2}, "from"),
        ({"from": 2**63}, "from"),
        ({"to": "x"}, "to"),
        ({"from": 5, "to": 3}, "to"),
        ({"limit": 0}, "limit"),
        ({"limit": 20_001}, "limit"),
        ({"limit": ""}, "limit"),
        ({"attempt": 0}, "attempt"),
        ({"attempt": 2**31}, "attempt"),
        ({"rank": -1}, "rank"),
        ({"rank": 2**31}, "rank"),
        ({"rank": "0; drop table runs"}, "rank"),
        ({"stream": "x" * 201}, "stream"),
        ({"stream": ["a", "b"]}, "stream"),
        ({"key": "Loss"}, "key/0"),
        ({"key": ["loss", "a b"]}, "key/1"),
        ({"key": ["loss"] * 101}, "key"),
        ({"label.Split": "val"}, "label.Split"),
        ({"label.split": ""}, "label.split"),
        ({"buckets": 5}, "buckets"),
        ({"cursor": "é"}, "cursor"),
    ],
    ids=str,
)
async def test_a_wrong_question_is_told_where_it_is_wrong(
    caller: Caller, params: dict[str, Any], name: str
) -> None:
    run = await caller.make_run()
    problem = await caller.get(f"/v1/runs/{run}/metrics/columns", params=params, status=422)
    assert problem["code"] == "SCHEMA_INVALID"
    assert problem["errors"][0]["pointer"] == f"/query/{name}", problem


async def test_a_question_with_what_no_text_of_the_platform_holds_is_refused(
    caller: Caller,
) -> None:
    run = await caller.make_run()
    for params in ({"stream": "a\0b"}, {"key": "a\0"}, {"label.split": "\0"}):
        await caller.get(f"/v1/runs/{run}/metrics/columns", params=params, status=422)


async def test_points_of_other_tenants_do_not_exist(
    caller: Caller, stranger: Caller, viewer: Caller
) -> None:
    run = await caller.make_run()
    await caller.log(run, "loss", [1.0])
    path = f"/v1/runs/{run}/metrics/columns"
    (series,) = (await viewer.get(path))["series"]
    assert (series["steps"], series["values"]) == ([0], [1.0])
    foreign = await stranger.get(path, status=404)
    missing = await stranger.get(path.replace(run[-6:], "abcdef"), status=404)
    assert {**foreign, "request_id": ""} == {**missing, "request_id": ""}
