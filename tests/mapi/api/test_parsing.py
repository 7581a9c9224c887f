"""A search that is being typed: how it is read, what is wrong with it, and how it could go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.mapi.search.language import series_from_name
from tests.mapi.search.rows import POOL

from mapi.search import filter_text, parse_filter

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

    from mapi.search.nodes import Node

pytestmark = pytest.mark.anyio


async def parsed(caller: Caller, text: str, **more: Any) -> dict[str, Any]:
    sent = {"filter": text, "caret": len(text), **more}
    answer: dict[str, Any] = await caller.post("/v1/search/parse", sent, status=200)
    return answer


async def texts(caller: Caller, text: str, **more: Any) -> list[str]:
    found = await parsed(caller, text, **more)
    return [one["text"] for one in found["completion"]["candidates"]]


async def a_project(caller: Caller) -> None:
    for number, optimizer in enumerate(("adam", "adam", "sgd")):
        run = await caller.make_run(
            params={"opt": optimizer, "lr": (number + 1) / 10}, tags={"stage": "dev state"}
        )
        await caller.log(run, "loss", [1.0], labels={"split": "val"})


async def test_without_a_caret_a_wrong_text_is_refused_where_it_is_wrong(caller: Caller) -> None:
    sent = {"filter": "metrics.loss.avg < 1", "sort": "nam"}
    problem = await caller.post("/v1/search/parse", sent, status=422)
    first, second = problem["errors"]
    assert (first["pointer"], first["offset"], first["length"]) == ("/filter", 13, 3)
    assert "min" in first["expected"]
    assert second["pointer"] == "/sort"


async def test_with_a_caret_a_half_typed_text_is_answered_with_its_fault(caller: Caller) -> None:
    found = await parsed(caller, "name = a AND metrics.lo")
    (fault,) = found["faults"]
    assert (fault["pointer"], fault["offset"]) == ("/filter", 23)
    assert (found["tree"], found["canonical"]) == (None, "")
    assert found["completion"]["start"] == 21


async def test_a_caret_offers_what_the_project_has_and_no_other(
    caller: Caller, stranger: Caller
) -> None:
    await a_project(caller)
    assert await texts(caller, "metrics.") == ["loss{split=val}"]
    assert await texts(caller, "lo") == ["metrics.loss{split=val}"]
    assert await texts(caller, "metrics.loss{") == ["}", "split="]
    assert await texts(caller, "metrics.loss{split=") == ["val"]
    assert await texts(caller, "params.opt = ") == ["adam", "sgd"]
    assert await texts(caller, "params.lr = 0.") == ["0.1", "0.2", "0.3"]
    assert await texts(caller, "tags.stage = d") == ['"dev state"']
    for text in ("metrics.", "lo", "params.opt = ", "tags.stage = d", "user = "):
        assert await texts(stranger, text) == []


async def test_people_and_experiments_are_those_of_the_project(caller: Caller) -> None:
    made = await caller.post("/v1/experiments", {"name": "first try"}, status=201)
    run = await caller.make_run(experiment=made["id"])
    facts = await caller.get(f"/v1/runs/{run}")
    assert await texts(caller, "experiment = f") == ['"first try"']
    names = await texts(caller, "user = ")
    assert len(names) == 1
    assert facts["user"] in names[0]


async def test_a_limit_cuts_and_says_so(caller: Caller) -> None:
    await caller.make_run(params={f"p{number:02}": number for number in range(20)})
    found = (await parsed(caller, "params.p", limit=5))["completion"]
    assert [one["text"] for one in found["candidates"]] == [f"p{number:02}" for number in range(5)]
    assert found["is_complete"] is False
    found = (await parsed(caller, "params.p", limit=20))["completion"]
    assert (len(found["candidates"]), found["is_complete"]) == (20, True)


async def test_a_sort_and_columns_are_completed_by_their_own_grammar(caller: Caller) -> None:
    sent = {"sort": "-na", "caret": 3, "completing": "sort"}
    found = await caller.post("/v1/search/parse", sent, status=200)
    assert [one["text"] for one in found["completion"]["candidates"]] == ["name"]
    sent = {"columns": "metrics.loss AT ", "caret": 16, "completing": "columns"}
    found = await caller.post("/v1/search/parse", sent, status=200)
    assert [one["text"] for one in found["completion"]["candidates"]] == ["MIN", "MAX"]


async def test_an_order_is_told_key_by_key(caller: Caller) -> None:
    sent = {"sort": '-metrics.loss{a="x,y"},name'}
    found = await caller.post("/v1/search/parse", sent, status=200)
    assert found["sort"] == ['-metrics.loss{a="x,y"}', "name"]


async def test_the_conditions_of_a_filter_are_told_one_by_one(caller: Caller) -> None:
    found = await parsed(caller, "name = a and (status=failed OR user = b) AND NOT kind = fit")
    assert found["parts"] == [
        'name = "a"',
        '(status = failed OR user = "b")',
        "(NOT (kind = fit))",
    ]
    assert (await parsed(caller, "name = a OR user = b"))["parts"] == [
        '(name = "a" OR user = "b")'
    ]
    assert (await parsed(caller, " "))["parts"] == []


@given(tree=POOL.trees())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_the_conditions_of_a_filter_are_all_of_it(caller: Caller, tree: Node) -> None:
    found = await parsed(caller, filter_text(tree))
    joined = await parsed(caller, " AND ".join(found["parts"]))
    assert joined["parts"] == found["parts"]


@given(tree=POOL.trees())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_what_is_printed_is_read_as_the_same(caller: Caller, tree: Node) -> None:
    text = filter_text(tree)
    found = await parsed(caller, text)
    again = await parsed(caller, found["canonical"])
    assert again["tree"] == found["tree"]
    assert again["canonical"] == found["canonical"]
    assert parse_filter(text, series_from_name=series_from_name) == tree


@given(
    text=st.text(max_size=80),
    caret=st.integers(0, 100),
    kind=st.sampled_from(["filter", "sort", "columns"]),
)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_any_text_has_an_answer(caller: Caller, text: str, caret: int, kind: str) -> None:
    text = text.replace("\0", "")
    sent = {kind: text, "caret": caret, "completing": kind}
    found = await caller.post("/v1/search/parse", sent, status=200)
    completion = found["completion"]
    assert 0 <= completion["start"] <= completion["end"] <= len(text)
