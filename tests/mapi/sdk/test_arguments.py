"""What a call is given and does not take is told before there is a request, by a typed error."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mapi.sdk.asking import BOTH, TOKEN, ask
from tests.mapi.sdk.small_servers import problem, serving_script

import mapi
from mapi.sdk.arguments import query_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.sdk.small_servers import SmallServer

PARTS = (
    "runs", "experiments", "views", "tokens", "projects", "members", "limits", "audit", "search",
    "server",
)  # fmt: skip
#: What the methods need, by its name.
VALID: dict[str, Any] = {
    "run": "run_1",
    "experiment": "exp_1",
    "view": "view_1",
    "token": "abc",
    "item": "media_1",
    "key": "loss",
    "values": [1.0],
    "steps": [0],
    "value": 1.0,
    "metrics": {"loss": 1.0},
    "params": {"a": 1},
    "tags": {"a": "b"},
    "message": "m",
    "lines": [{"message": "m"}],
    "spans": [{"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}],
    "name": "n",
    "scopes": ["admin"],
    "user": "u",
    "role": "viewer",
    "changes": {"points": 5},
    "content": {"a": 1},
    "environment": {"a": 1},
    "config": {"a": 1},
    "reason": "r",
    "y": "loss",
    "number": 1,
    "status": "failed",
    "image": b"no image",
    "figure": None,
    "rows": [[1]],
    "columns": ["a"],
    "source": __file__,
}
#: What a program that has mistaken one thing for another hands over.
WRONG: list[Any] = [
    None, 3, -1, 1.5, True, float("nan"), b"x", "no such", "", "a\0b", "\ud800", "x" * 300, [], [3],
    ["x"], [None], {"a": 1}, {3: 4}, {"a": b"x"}, {1, 2}, range(3), object(), int, np.float64(0.5),
    np.arange(3), np.array(3),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[SmallServer]:
    with serving_script(problem(400, "X")) as found:
        yield found


def methods(part: str) -> list[str]:
    with mapi.Client("http://127.0.0.1:1", token=TOKEN) as client:
        found = getattr(client, part)
        # Streams go on for minutes where nobody answers well.
        endless = {"events", "changes"}
        return [
            name
            for name, _ in inspect.getmembers(found, inspect.ismethod)
            if not name.startswith("_") and name not in endless
        ]


@pytest.mark.parametrize(
    ("part", "method"), [(part, method) for part in PARTS for method in methods(part)]
)
def test_no_argument_ends_in_an_error_without_a_type(
    part: str, method: str, server: SmallServer, tmp_path: Any
) -> None:
    with mapi.Client(server.url, token=TOKEN, timeout_seconds=5, tries=1) as client:
        call = getattr(getattr(client, part), method)
        parameters = [
            one
            for one in inspect.signature(call).parameters.values()
            if one.kind is not one.VAR_KEYWORD
        ]
        needed = {
            one.name: VALID.get(one.name, str(tmp_path / "out"))
            for one in parameters
            if one.default is one.empty and one.kind is not one.VAR_POSITIONAL
        }
        for one in parameters:
            for wrong in WRONG:
                if one.name == "progress" and callable(wrong):
                    continue  # what can be called is called
                before = len(server.asked)
                if one.kind is one.VAR_POSITIONAL:
                    outcome = outcome_of(call, ("run_1", wrong), needed)
                else:
                    outcome = outcome_of(call, (), {**needed, one.name: wrong})
                what = (one.name, shown(wrong))
                # A path that is none of a file is the system's to tell.
                assert isinstance(outcome, mapi.MapiError | OSError | None), (what, outcome)
                if type(wrong) is object or wrong is int:
                    assert isinstance(outcome, mapi.InvalidError), (what, outcome)
                    assert len(server.asked) == before, what
                    assert outcome.faults[0].message, what


def outcome_of(call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    try:
        found = call(*args, **kwargs)
        if inspect.isgenerator(found):
            list(found)
    except Exception as error:  # noqa: BLE001 - it is what is looked at
        return error
    return None


REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str, str]] = [
    ("runs.curve", ("run_1", "loss"), {"stop": "5"}, "/stop", "'5' is no whole number from 1 on"),
    ("runs.curve", ("run_1", "loss"), {"start": -1}, "/start", "-1 is no whole number from 0 on"),
    ("runs.lines", ("run_1",), {"level": "warn"}, "/level", "debug, info, warning, error"),
    ("runs.lines", ("run_1",), {"text": 3}, "/text", "3 is no text"),
    ("runs.page", (), {"trashed": "no"}, "/trashed", "'no' is neither True nor False"),
    ("runs.page", (), {"sort": 3}, "/sort", "3 is no field"),
    ("runs.page", (), {"filter": ["a", 3]}, "/filter/1", "3 is no filter"),
    ("runs.log_columns", ("run_1", "loss"), {}, "/series", "is no list of series"),
    ("runs.log_columns", ("run_1", ["loss"]), {}, "/series/0", "is no mapping"),
    ("runs.log_columns", ("run_1", [{"key": "a"}]), {}, "/series/0/values", "missing"),
    ("runs.list", (), {"limit": "all"}, "/limit", "'all' is no whole number from 0 on"),
    ("runs.compare", ("run_1", "run_2"), {"keys": "loss"}, "/keys", "is no list of texts"),
    ("runs.create", (), {"spec": "fit.json"}, "/spec", "is no mapping"),
    ("runs.create", (), {"external_id": b"x"}, "/external_id", ".decode() it"),
    ("runs.delete", ("run_1",), {"if_match": 3}, "/if_match", "give the etag"),
    ("runs.get", ("run_1\n",), {}, "/run", "give its id"),
    ("runs.export", (3,), {}, "/target", "neither a path nor an open file"),
    ("runs.import_file", (3,), {}, "/source", "neither a path nor an open file"),
    ("runs.log_lines", ("run_1", ["text"]), {}, "/lines/0", "'text' is no mapping"),
    ("runs.log_lines", ("run_1", {"message": "m"}), {}, "/lines", "no list of mappings"),
    ("runs.log_line", ("run_1", "m"), {"fields": {"a": b"x"}}, "/lines/0/fields/a", "base64"),
    ("runs.log_series", ("run_1", "loss", b"\1\2"), {}, "/values", "is no list or array"),
    ("runs.log_series", ("run_1", "loss", 3), {}, "/values", "is no list or array"),
    ("experiments.list", (), {"archived": "yes"}, "/archived", "neither True nor False"),
    ("experiments.create", ("a",), {"if_exists": "update"}, "/if_exists", "fail, get"),
    ("tokens.create", ("a", "admin"), {}, "/scopes", "'admin' is no list of texts"),
    ("members.remove", (None,), {}, "/user", "None is no text"),
    ("limits.set", ("points",), {}, "/changes", "is no mapping"),
    ("views.create", ("a",), {"filter": 3}, "/filter", "3 is no filter"),
]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("path", "args", "more", "pointer", "words"),
    REFUSED,
    ids=[f"{at}-{one[0]}" for at, one in enumerate(REFUSED)],
)
def test_a_wrong_argument_is_told_with_its_name_its_value_and_what_is_taken(
    kind: str,
    path: str,
    args: tuple[Any, ...],
    more: dict[str, Any],
    pointer: str,
    words: str,
    server: SmallServer,
) -> None:
    before = len(server.asked)
    with pytest.raises(mapi.InvalidError) as caught:
        ask(kind, server.url, path, *args, **more)
    assert caught.value.faults[0].pointer == pointer
    assert words in caught.value.faults[0].message
    assert len(server.asked) == before


def test_parameters_are_written_as_the_interface_reads_them() -> None:
    assert query_of(from_=np.int64(3), limit=5, key=["a", "b"], archived=False, project=None) == [
        ("from", "3"),
        ("limit", "5"),
        ("key", "a"),
        ("key", "b"),
        ("archived", "false"),
    ]
    assert query_of(total=False, trashed=True) == [("trashed", "true")]
    assert query_of(curves=True) == []
    assert query_of(curves=False) == [("curves", "false")]
