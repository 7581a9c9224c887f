"""Files of an import, line by line, and what goes out and comes in again."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.mapi.callers import Caller

__all__ = [
    "TIME",
    "bring_in",
    "experiment_line",
    "exported",
    "file_of",
    "make_study",
    "run_line",
    "span_line",
    "view_line",
]

TIME = "2026-11-01T00:00:00Z"


async def exported(caller: Caller, path: str = "/v1/export/runs", **params: Any) -> list[Any]:
    answer = await caller.send("GET", path, params=params)
    return [json.loads(line) for line in answer.content.splitlines()]


async def bring_in(caller: Caller, lines: list[Any], *, status: int = 200, query: str = "") -> Any:
    body = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    headers = {"Content-Type": "application/jsonl"}
    path = f"/v1/import{query}"
    answer = await caller.send("POST", path, content=body, status=status, headers=headers)
    return answer.json()


def file_of(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    whole = [{"type": "export", "version": 1}, *lines]
    return [*whole, {"type": "end", "lines": len(whole)}]


def run_line(run: str | None = None, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("reason", "parent", "experiment", "external_id", "started", "finished", "spec")
    )
    return {
        "type": "run",
        "run": run or f"run_{uuid.uuid4()}",
        "kind": "external",
        "status": "failed",
        "name": "",
        "note": "",
        "user": "x",
        "created": TIME,
        **empty,
        **more,
    }


def experiment_line(**more: Any) -> dict[str, Any]:
    return {
        "type": "experiment",
        "experiment": f"exp_{uuid.uuid4()}",
        "name": "study",
        "description": "",
        "archived": None,
        "created": TIME,
        **more,
    }


def view_line(**more: Any) -> dict[str, Any]:
    return {
        "type": "view",
        "view": f"view_{uuid.uuid4()}",
        "name": "mine",
        "filter": "",
        "sort": "",
        "columns": "",
        "experiment": None,
        "created": TIME,
        **more,
    }


def span_line(run: str, **more: Any) -> dict[str, Any]:
    numbers = {"start_ns": 1_790 * 10**15, "duration_ns": 1, "depth": 0, "track": 0, "rank": 0}
    about = {"name": "fwd", "stream": "", "step": None, "fields": None}
    return {"type": "span", "run": run, **numbers, **about, **more}


async def make_study(caller: Caller) -> dict[str, str]:
    """Make two experiments, one archived, views in and outside of them, and three runs."""
    ids = {}
    for name, about in (("study", "# Why\n\nbecause"), ("old", "")):
        sent = {"name": name, "description": about}
        found = await caller.post("/v1/experiments", sent, status=201)
        ids[name] = found["id"]
    for name, experiment in (("best", "study"), ("all", None)):
        found = await caller.post(
            "/v1/saved-views",
            {
                "name": name,
                "filter": 'metrics.loss{split=val} < 0.3 AND tags."a b" = x',
                "sort": "-created",
                "columns": "name,params.lr",
                "experiment": experiment,
            },
            status=201,
        )
        ids[name] = found["id"]
    ids["in study"] = await caller.make_run(name="in study", experiment="study")
    ids["in old"] = await caller.make_run(name="in old", experiment="old")
    ids["alone"] = await caller.make_run(name="alone")
    await caller.post(f"/v1/experiments/{ids['old']}/archive", {})
    return ids
