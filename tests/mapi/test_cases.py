"""Inputs that broke other trackers, as their users reported them, over the HTTP API."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.mapi.callers import Caller, make_caller
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import set_limits

from mapi.api.app import build_app
from mapi.sdk.checks import checked_params

if TYPE_CHECKING:
    import httpx
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

GREATEST = 1.7976931348623157e308


@pytest.fixture
def caller(database: Database, tenant: Tenant) -> Caller:
    return make_caller(build_app(database, version="0", objects=temporary_objects()), tenant)


def strict(answer: httpx.Response) -> Any:
    """Return a body, which must be JSON as its standard has it."""

    def refuse(constant: str) -> NoReturn:
        pytest.fail(f"{constant} is no JSON")

    return json.loads(answer.text, parse_constant=refuse)


async def found(caller: Caller, **query: Any) -> list[str]:
    """Return the names of the runs that a search finds, in its order."""
    return [run["name"] for run in (await caller.get("/v1/runs", params=query))["runs"]]


async def test_values_that_are_no_numbers_come_back_as_they_were_logged(caller: Caller) -> None:
    values = [1.0, "NaN", "Infinity", "-Infinity", GREATEST, 0.5]
    run = await caller.make_run(name="mine", params={"lr": "NaN"})
    await caller.log(run, "loss", values)

    answer = await caller.send("GET", f"/v1/runs/{run}/metrics/points", params={"key": "loss"})
    assert [value for _, _, value in strict(answer)["points"]] == values
    (summary,) = strict(await caller.send("GET", f"/v1/runs/{run}/metrics"))["series"]
    assert (summary["min_value"], summary["max_value"], summary["nonfinite_count"]) == (
        0.5,
        GREATEST,
        3,
    )
    assert math.isfinite(summary["mean"])
    for path in (
        f"/v1/runs/{run}",
        f"/v1/runs/{run}/params",
        "/v1/runs?sort=metrics.loss&columns=metrics.loss,metrics.loss.mean",
        "/v1/runs?sort=-metrics.loss",
        f"/v1/runs/{run}/metrics/points?key=loss&buckets=2",
    ):
        strict(await caller.send("GET", path))
    exported = await caller.send("GET", f"/v1/runs/{run}/export", params={"format": "csv"})
    rows = csv.DictReader(io.StringIO(exported.text))
    assert [float(row["value"]) for row in rows if row["key"] == "loss"] == pytest.approx(
        [1.0, math.nan, math.inf, -math.inf, GREATEST, 0.5], nan_ok=True
    )


async def test_params_of_every_awkward_kind_come_back_byte_for_byte(caller: Caller) -> None:
    params = {
        "cmd": "x" * 780,
        "two": "a\nb\r\nc",
        "uni": "日本 ✓",
        "a.b": "2",
        "a\\.b": "1",
        "empty": "",
        "big": "y" * 60_000,
    }
    # What is no text is kept as its JSON.
    others = {
        "n": 3,
        "t": [1, 2.5, "\n", None],
        "nest": {"b": {"日本": [True, {}]}},
        "yes": True,
        "none": None,
        "tiny": 1e-300,
    }
    texts = params | {key: json.dumps(value, ensure_ascii=False) for key, value in others.items()}
    run = await caller.make_run(params=params | others)
    again = await caller.post(f"/v1/runs/{run}/params", {"params": texts | others})
    assert (again["accepted"], again["duplicates"]) == (0, len(texts))
    answered = (await caller.get(f"/v1/runs/{run}/params"))["params"]
    assert {key: param["text"] for key, param in answered.items()} == texts
    # The client keeps the same.
    assert checked_params(params | others) == texts

    huge = await caller.send(
        "POST", f"/v1/runs/{run}/params", status=413, json={"params": {"huge": "z" * (10 << 20)}}
    )
    assert "MiB" in huge.json()["detail"]
    longer = await caller.send(
        "POST", f"/v1/runs/{run}/params", status=422, json={"params": {"longer": "z" * 70_000}}
    )
    (fault,) = longer.json()["errors"]
    assert fault["pointer"] == "/params/longer"
    assert "65" in fault["message"]


async def test_the_same_point_again_and_again_is_one_point(caller: Caller) -> None:
    run = await caller.make_run()
    point = {"key": "m", "value": 0.0, "step": 0, "time": 1_660_667_587_965_000}
    for points in ([point], [point, point], [point]):
        await caller.post(f"/v1/runs/{run}/metrics", {"points": points})
    (summary,) = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    assert (summary["count"], summary["last_value"]) == (1, 0.0)

    other = await caller.post(f"/v1/runs/{run}/metrics", {"points": [{**point, "value": 1.0}]})
    assert (other["accepted"], other["duplicates"], other["conflicts"]) == (0, 1, 1)
    (summary,) = (await caller.get(f"/v1/runs/{run}/metrics"))["series"]
    assert summary["last_value"] == 0.0


async def test_a_batch_is_taken_whole_or_refused_with_the_limit(caller: Caller) -> None:
    run = await caller.make_run()
    points = [{"key": f"m{at}", "step": 0, "value": float(at)} for at in range(900)]
    assert (await caller.post(f"/v1/runs/{run}/metrics", {"points": points}))["accepted"] == 900
    names: list[str] = []
    query: dict[str, Any] = {"limit": 500}
    while True:
        page = await caller.get(f"/v1/runs/{run}/metrics", params=query)
        names += [one["key"] for one in page["series"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert sorted(names) == sorted(f"m{at}" for at in range(900))

    for count in (50_001, 1_000_000):
        body = {"series": [{"key": "n", "steps": list(range(count)), "values": [0] * count}]}
        answer = await caller.client.post(
            f"/v1/runs/{run}/metrics", json=body, headers=caller.headers
        )
        assert answer.status_code in {413, 422}
        assert any(limit in answer.text for limit in ("50000", "8 MiB")), answer.text
    assert len((await caller.get(f"/v1/runs/{run}/metrics?key=n"))["series"]) == 0


AWKWARD = {
    "f1-score": 2.5,
    "avg model score": 0.7,
    "cat.dog": 3.0,
    "hidden/weights": -1.0,
    "MAP@k": 0.4,
    'we`ird"name': 1.0,
}


@pytest.mark.parametrize(
    "text",
    [
        'metrics."f1-score" > 2',
        'metrics."avg model score" = 0.7',
        'metrics."cat.dog" >= 3',
        'metrics."hidden/weights" < -0.5',
        'metrics."MAP@k" < 1',
        'metrics."we`ird\\"name" = 1',
        'params.model = "randomforest"',
        'params.note = "team\'s run"',
        'params."xprun.name" = "o-1"',
        'params.xprun.name = "o-1"',
        'params.words ~ "*and*"',
    ],
)
async def test_a_filter_finds_awkward_names_and_values(caller: Caller, text: str) -> None:
    params = {
        "model": "randomforest",
        "note": "team's run",
        "xprun.name": "o-1",
        "words": "x and y",
    }
    mine, _ = (
        await caller.make_run(name="mine", params=params),
        await caller.make_run(name="other"),
    )
    points = [{"name": name, "step": 0, "value": value} for name, value in AWKWARD.items()]
    await caller.post(f"/v1/runs/{mine}/metrics", {"points": points})
    assert await found(caller, filter=text) == ["mine"]


async def test_a_name_that_needs_quotes_is_told_with_them(caller: Caller) -> None:
    answer = await caller.get("/v1/runs", params={"filter": "metrics.f1-score > 2"}, status=422)
    (fault,) = answer["errors"]
    assert fault["offset"] > 0
    assert fault["expected"] == ['metrics."f1-score"']


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('tags.env != "prod"', {"dev"}),
        ('NOT (tags.env = "prod")', {"dev"}),
        ("tags.env IS MISSING", {"none"}),
        ("NOT tags.env IS MISSING", {"prod", "dev"}),
        ("metrics.auc IS MISSING", {"prod", "none"}),
        ('tags.env = "prod" OR tags.env IS MISSING', {"prod", "none"}),
    ],
)
async def test_what_is_missing_matches_nothing_but_the_question_for_it(
    caller: Caller, text: str, names: set[str]
) -> None:
    for name, tags in (("prod", {"env": "prod"}), ("dev", {"env": "dev"}), ("none", {})):
        run = await caller.make_run(name=name, tags=tags)
        if name == "dev":
            await caller.log(run, "auc", [0.5])
    assert set(await found(caller, filter=text)) == names


async def test_a_sort_loses_no_run_and_tells_of_a_name_that_nobody_has(caller: Caller) -> None:
    for name, values in (("high", [0.9]), ("low", [0.1]), ("nan", ["NaN"]), ("none", [])):
        run = await caller.make_run(name=name)
        if values:
            await caller.log(run, "acc", values)
    for sort, first in (("-metrics.acc", ["high", "low"]), ("metrics.acc", ["low", "high"])):
        names = await found(caller, sort=sort)
        assert names[:2] == first
        assert set(names[2:]) == {"nan", "none"}
        one = await caller.get("/v1/runs", params={"sort": sort, "limit": 3})
        two = await caller.get("/v1/runs", params={"cursor": one["next_cursor"], "limit": 3})
        assert [run["name"] for run in one["runs"] + two["runs"]] == names
        assert (len(one["runs"]), two["next_cursor"]) == (3, None)


async def test_one_spike_in_many_points_is_seen(caller: Caller, tenant: Tenant) -> None:
    size, spike = 100_000, 15_641
    set_limits(tenant, points_per_series=size)
    run = await caller.make_run()
    for start in range(0, size, 50_000):
        values = [1_000.0 if step == spike else 0.0 for step in range(start, start + 50_000)]
        await caller.log(run, "m", values, start=start)
    path = f"/v1/runs/{run}/metrics/points?key=m"
    one, two = [await caller.send("GET", f"{path}&buckets=500") for _ in range(2)]
    assert one.content == two.content
    curve = one.json()
    assert curve["points_total"] == size
    buckets = curve["buckets"]
    assert [one["max_step"] for one in buckets if one["max"] == 1_000.0] == [spike]
    assert (buckets[0]["first_step"], buckets[-1]["last_step"]) == (0, size - 1)
    zoom = (await caller.get(f"{path}&from=15600&to=15700&buckets=500"))["points"]
    assert [step for step, _, _ in zoom] == list(range(15_600, 15_701))
    assert zoom[spike - 15_600][2] == 1_000.0


async def test_the_best_value_can_be_sorted_filtered_and_shown(caller: Caller) -> None:
    for name, acc, loss in (
        ("x", [0.1, 0.9, 0.4], [3, 1, 2]),
        ("y", [0.5, 0.6, 0.7], [2, 2, "NaN"]),
    ):
        run = await caller.make_run(name=name)
        await caller.log(run, "acc", acc)
        await caller.log(run, "loss", loss)
    assert await found(caller, sort="-metrics.acc.max") == ["x", "y"]
    assert await found(caller, filter="metrics.acc.max >= 0.8") == ["x"]
    body = await caller.get(
        "/v1/runs",
        params={"sort": "name", "columns": "metrics.loss.min,metrics.acc AT MIN metrics.loss"},
    )
    assert [run["values"] for run in body["runs"]] == [[1, 0.9], [2, 0.5]]


#: Names that lead out of where they are put, as they arrive in an address.
LEAVING = [
    "../../etc/passwd",
    "%2e%2e%2fx",
    "..%252fx",
    "/etc/passwd",
    "a/../../b",
    "a\\..\\..\\b",
    "C:\\x",
    "a%00.png",
    ".",
    "",
    "x" * 5_000,
    "ok/../ok2",
]


@pytest.mark.parametrize("name", LEAVING)
async def test_no_name_leads_out_of_the_store_or_to_another_object(
    caller: Caller, name: str
) -> None:
    run = await caller.make_run()
    for method, path in (
        ("GET", f"/v1/runs/{run}/media/{name}/content"),
        ("DELETE", f"/v1/runs/{run}/media/{name}"),
        ("GET", f"/v1/uploads/{name}"),
        ("PUT", f"/v1/uploads/{name}"),
        ("POST", f"/v1/uploads/{name}"),
        ("GET", f"/v1/runs/{name}/params"),
        ("GET", f"/v1/runs/{run}/export?path={name}"),
    ):
        answer = await caller.client.request(method, path, headers=caller.headers)
        assert 400 <= answer.status_code < 500, f"{method} {path}: {answer.status_code}"
        assert "root:" not in answer.text
    for body in (
        {"key": name, "format": "png", "size": 10, "sha256": "0" * 64},
        {"key": "a", "format": name, "size": 10, "sha256": "0" * 64},
        {"key": "a", "format": "png", "size": 10, "sha256": name},
    ):
        answer = await caller.client.post(
            f"/v1/runs/{run}/media/uploads", json=body, headers=caller.headers
        )
        assert answer.status_code == 422, answer.text


async def test_sixteen_clients_that_make_one_experiment_share_it(caller: Caller) -> None:
    for turn in range(5):
        name = f"sweep {turn}"

        async def work(number: int, name: str = name) -> tuple[str, str]:
            made = await caller.client.post(
                "/v1/experiments?if_exists=get", json={"name": name}, headers=caller.headers
            )
            assert made.status_code in {200, 201}, made.text
            experiment = made.json()["id"]
            run = await caller.make_run(name=str(number), experiment=experiment)
            await caller.log(run, "m", [number])
            return experiment, run

        answers = await asyncio.gather(*(work(number) for number in range(16)))
        assert len({experiment for experiment, _ in answers}) == 1
        members = await found(caller, filter=f'experiment = "{name}"', limit=500)
        assert sorted(members) == sorted(str(number) for number in range(16))
    assert await found(caller, filter="experiment IS MISSING") == []
