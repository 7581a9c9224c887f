"""A line that is nested too deep is one that no reader reads, and every reader says so."""

from __future__ import annotations

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import export, follow, read_history, verify
from expr_tracker.store.lines import DEPTH_MAX, decode_line, may_be_too_deep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def nested(step: int, depth: int, opening: str = "[", closing: str = "]") -> bytes:
    """Return a line of containers in containers, its own object counted."""
    inner = opening * (depth - 1) + "1" + closing * (depth - 1)
    return f'{{"_step":{step},"x":{inner}}}\n'.encode()


def written(path: Path, deep: bytes) -> Path:
    path.write_bytes(nested(0, 2) + deep + nested(9, 3))
    return path


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [DEPTH_MAX, DEPTH_MAX + 1, 450, 900, 990])
def test_a_line_that_is_read_can_be_written_again_in_every_form(
    tmp_path: Path, depth: int, brackets: tuple[str, str]
) -> None:
    path = written(tmp_path / "metrics.jsonl", nested(5, depth, *brackets))
    steps = [0, 5, 9] if depth <= DEPTH_MAX else [0, 9]
    for output in ("dict", "arrow", "polars", "pandas"):
        found: Any = read_history(path, -1, output_type=output)
        if output == "dict":
            assert [row["_step"] for row in found] == steps
        elif output == "arrow":
            assert found.column("_step").to_pylist() == steps
        else:
            assert list(found["_step"]) == steps
    for ending in ("jsonl", "csv", "parquet", "arrow"):
        assert export(path, tmp_path / f"out.{ending}").rows == len(steps)
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["_step"] for line in lines] == steps
    assert [row["_step"] for row in follow(path).poll()] == steps
    (stream,) = verify(path).streams
    assert stream.unreadable_lines == ([] if depth <= DEPTH_MAX else [2])
    assert stream.rows == len(steps)


def test_the_warning_names_the_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    export(written(tmp_path / "metrics.jsonl", nested(5, 900)), tmp_path / "out.csv")
    assert "1 damaged line was skipped, the first is line 2" in caplog.text


def test_brackets_within_texts_and_side_by_side_are_no_depth() -> None:
    text = '{"_step":1,"x":"' + "[" * 900 + '"}'
    wide = '{"_step":1,"x":[' + ",".join(["[1]"] * 900) + "]}"
    for line in (text.encode(), wide.encode()):
        assert decode_line(line) is not None
        assert may_be_too_deep(line + b"\n", 1), "it is looked at"
    assert not may_be_too_deep(b'{"_step":1,"x":[1]}\n' * 100, 100)
    assert not may_be_too_deep(b'{"_step":1,"x":[{}]}\n' * 5000, 5000)


def near_the_limit(ask: Callable[[], Any]) -> list[Any]:
    """Return what ``ask`` answers at every depth of the stack that it may run out at."""

    def deeper(depth: int) -> Any:
        return deeper(depth - 1) if depth else ask()

    answers = []
    room = sys.getrecursionlimit() - len(inspect.stack())
    for depth in range(room - 120, room):
        try:
            answers.append(deeper(depth))
        except RecursionError:
            answers.append(RecursionError)
    return answers


def test_a_reader_whose_stack_is_nearly_used_up_takes_no_sound_line_for_damaged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(nested(step, 20) for step in range(20)))
    for ask in (
        lambda: len(read_history(path, -1)),
        lambda: 20 - len(verify(path).streams[0].unreadable_lines),
        lambda: len(follow(path).poll()),
    ):
        answers = near_the_limit(ask)
        assert set(answers) == {20, RecursionError}
        assert answers[0] == 20


def test_a_line_beyond_the_limit_is_unreadable_wherever_the_stack_is() -> None:
    deep = nested(5, 5000).rstrip()
    assert decode_line(deep) is None
    in_text = b'{"_step":1,"x":"' + b'[\\"' * 900 + b'"' + b',"y":' + b"[" * 100
    assert decode_line(in_text) is None, "it is cut, not deep"
    assert set(near_the_limit(lambda: decode_line(nested(5, 20)) is not None)) == {
        True,
        RecursionError,
    }
