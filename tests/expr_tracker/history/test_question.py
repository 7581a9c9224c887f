"""Questions without a meaning are refused with their rule; the others mean what they say."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker.errors import QueryError
from expr_tracker.history import read_history
from expr_tracker.history.question import Asked, Question, ask
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    (path / "metrics.jsonl").write_bytes(b"".join(map(encode_line, rows)))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"_step": i, "_time": float(i), "train/loss": i, "lr": 0.1} for i in range(60)
    ]
    return write(tmp_path, rows)


@pytest.mark.parametrize("n", ["5", True, 2.5, [1]])
def test_a_wrong_n_names_its_rule(run: Path, n: Any) -> None:
    with pytest.raises(QueryError, match="n is a number of steps"):
        read_history(run, n)
    with pytest.raises(TypeError):
        read_history(run, n)


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"metrics": 5}, "a glob"),
        ({"metrics": ["a", 1]}, "1 .int."),
        ({"metrics": {"a": 1}}, "a glob"),
        ({"step_range": 5}, "two steps"),
        ({"step_range": (1, 2, 3)}, "two steps"),
        ({"step_range": ("1", 2)}, "'1' is no step"),
        ({"output_type": "excel"}, "'pandas', 'polars' or 'arrow'"),
        ({"attempt": 0}, "a number from 1"),
        ({"attempt": 3}, "has attempt 1"),
        ({"stream": 5}, "stream=5"),
    ],
)
def test_a_question_without_meaning_names_its_rule(
    run: Path, keywords: dict[str, Any], text: str
) -> None:
    with pytest.raises(QueryError, match=text):
        read_history(run, **keywords)


def test_n_counts_steps_and_negative_is_all(run: Path) -> None:
    assert len(read_history(run)) == 50
    assert len(read_history(run, 3)) == 3
    assert read_history(run, 0) == []
    for everything in (-1, -7, None, 1000):
        assert len(read_history(run, everything)) == 60


def test_a_text_is_one_name_and_a_glob_many(run: Path) -> None:
    assert list(read_history(run, 1, metrics="lr")[0]) == ["_step", "_time", "lr"]
    assert list(read_history(run, 1, metrics="train/*")[0]) == ["_step", "_time", "train/loss"]
    assert list(read_history(run, 1, metrics=["lr", "t*"], include_meta=False)[0]) == [
        "lr",
        "train/loss",
    ]


def test_a_column_with_the_name_of_a_glob_is_that_column(tmp_path: Path) -> None:
    run = write(tmp_path, [{"_step": 0, "loss[0]": 1, "loss0": 2}])
    assert read_history(run, metrics="loss[0]") == [{"_step": 0, "loss[0]": 1}]


def test_columns_that_never_meet_make_a_union(tmp_path: Path) -> None:
    """Case A11: two keys that are never logged together."""
    rows: list[dict[str, Any]] = []
    for i in range(10):
        rows += [{"_step": 2 * i, "a": i}, {"_step": 2 * i + 1, "b": i}]
    run = write(tmp_path, [{**row, "_step": row["_step"] + 61010} for row in rows])
    assert len(read_history(run, -1, metrics=["a", "b"])) == 20
    assert len(read_history(run, -1, metrics=["b"])) == 20
    assert len(read_history(run, -1, metrics=["b"], dropna=True)) == 10
    assert len(read_history(run, -1, metrics=["b"], dropna=True, output_type="polars")) == 10
    filled = read_history(run, 2, metrics=["b", "c"], fill_missing=True)
    assert [(row["b"], row["c"]) for row in filled] == [(None, None), (9, None)]
    assert read_history(run, 1, fill_missing=True, include_meta=False) == [{"b": 9}]


def test_a_torn_line_and_a_damaged_one_cost_themselves_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Case A13: 7 bytes cut off the end, zeros behind, one byte flipped in the middle."""
    lines = [encode_line({"_step": i, "_time": 0.0, "loss": 1.5}) for i in range(1000)]
    content = b"".join(lines)
    path = tmp_path / "metrics.jsonl"

    def read() -> tuple[list[int], list[str]]:
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="expr_tracker"):
            return [row["_step"] for row in read_history(tmp_path, -1)], caplog.messages

    path.write_bytes(content[:-7])
    steps, warnings = read()
    assert steps == list(range(999))
    assert len(warnings) == 1
    assert f"torn last line of {len(lines[-1]) - 7} bytes" in warnings[0]
    path.write_bytes(content + b"\0" * 4096)
    steps, warnings = read()
    assert steps == list(range(1000))
    assert "4096 bytes" in warnings[0]
    flipped = bytearray(content)
    flipped[len(b"".join(lines[:500])) + 2] ^= 0x40
    path.write_bytes(bytes(flipped))
    steps, warnings = read()
    assert steps == [i for i in range(1000) if i != 500]
    assert len(warnings) == 1
    assert "line 501" in warnings[0]
    assert str(path) in warnings[0]


def test_rows_are_the_callers_own(tmp_path: Path) -> None:
    run = write(tmp_path, [{"_step": 0, "values": [1]}])
    read_history(run)[0]["values"].append(2)
    assert read_history(run)[0]["values"] == [1]


def test_the_functions_that_users_call_have_the_keywords_and_defaults_of_a_question() -> None:
    """`help` shows them, so they are spelled out; here they are held against the one spelling."""
    asked = inspect.signature(ask).parameters
    for front in (et.history, read_history):
        shown = inspect.signature(front).parameters
        for name, parameter in asked.items():
            assert shown[name].default == parameter.default, name
        extra = set(shown) - set(asked)
        assert extra <= {"run", "stream", "rank", "include_open"}
        assert all(shown[name].kind is inspect.Parameter.KEYWORD_ONLY for name in extra - {"run"})
    fields = {field.name: field.default for field in dataclasses.fields(Question)}
    meant = dataclasses.asdict(ask())
    assert meant == fields
    assert set(Asked.__annotations__) | {"n", "output_type"} == set(asked)
