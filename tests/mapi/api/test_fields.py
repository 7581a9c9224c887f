"""What completion is told: the names that occur in the project, and no other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

pytestmark = pytest.mark.anyio


async def test_fields_are_what_the_runs_of_the_project_have(
    caller: Caller, stranger: Caller
) -> None:
    for split in ("train", "val"):
        run = await caller.make_run(params={"lr": 0.1, "lr.decay": 1}, tags={"stage": "a"})
        await caller.log(run, "loss", [1.0], labels={"split": split})
        await caller.log(run, "loss", [1.0])
        await caller.log(run, "accuracy", [1.0])
    found = await caller.get("/v1/runs/fields")
    assert found["metrics"] == [
        {"key": "accuracy", "labels": {}},
        {"key": "loss", "labels": {"split": "train"}},
        {"key": "loss", "labels": {"split": "val"}},
        {"key": "loss", "labels": {}},
    ]
    assert found["label_values"] == {"split": ["train", "val"]}
    assert (found["params"], found["tags"]) == (["lr", "lr.decay"], ["stage"])
    assert found["is_complete"] is True
    nothing = await stranger.get("/v1/runs/fields")
    assert (nothing["metrics"], nothing["params"], nothing["tags"]) == ([], [], [])


async def test_a_prefix_and_a_limit_narrow_and_say_so(caller: Caller) -> None:
    run = await caller.make_run(params={f"p{number:03}": 1 for number in range(30)} | {"q": 1})
    for key in ("loss", "loss_ema", "lost", "accuracy"):
        await caller.log(run, key, [1.0])
    found = await caller.get("/v1/runs/fields", params={"prefix": "los"})
    assert [one["key"] for one in found["metrics"]] == ["loss", "loss_ema", "lost"]
    assert found["params"] == []
    found = await caller.get("/v1/runs/fields", params={"prefix": "p", "limit": 10})
    assert found["params"] == [f"p{number:03}" for number in range(10)]
    assert found["is_complete"] is False
    for prefix in ("%", "_", "é", "\\", "'"):
        found = await caller.get("/v1/runs/fields", params={"prefix": prefix})
        assert (found["metrics"], found["params"]) == ([], [])
    await caller.get("/v1/runs/fields", params={"prefix": "\x00"}, status=422)
    await caller.get("/v1/runs/fields", params={"limit": 0}, status=422)


async def test_fields_have_what_every_run_has_and_the_experiments(
    caller: Caller, stranger: Caller
) -> None:
    for name in ("study", "other", 'a "b"'):
        await caller.post("/v1/experiments", {"name": name}, status=201)
    await stranger.post("/v1/experiments", {"name": "theirs"}, status=201)
    found = await caller.get("/v1/runs/fields")
    assert found["experiments"] == ['a "b"', "other", "study"]
    assert {"id", "name", "status", "duration", "attempts"} <= set(found["attributes"])
    # All of them are words of the language.
    for name in found["attributes"]:
        await caller.get("/v1/runs", params={"filter": f"{name} IS MISSING", "sort": name})
    found = await caller.get("/v1/runs/fields", params={"prefix": "st"})
    assert (found["experiments"], found["attributes"]) == (["study"], ["status", "started"])
