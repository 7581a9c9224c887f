"""A range means the same wherever it is asked for, or is refused there with its rule."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.cli import main
from expr_tracker.errors import QueryError
from expr_tracker.history import read_history
from expr_tracker.ranges import steps_from, times_from
from expr_tracker.trace import build_trace, summarize

if TYPE_CHECKING:
    from pathlib import Path


class _Index:
    """A whole number of some library."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


class _Several:
    """An array of several elements, which has the method and not the number."""

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [{"_step": step, "_time": 1000.0 + step, "a": step} for step in range(10)]
    spans = [
        {
            "_step": step,
            "name": "s",
            "depth": 0,
            "track": 1,
            "start": 1000.0 + step,
            "dur_ms": 500.0,
        }
        for step in range(10)
    ]
    for name, lines in (("metrics.jsonl", rows), ("spans.jsonl", spans)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _in_the_history(run: Path, step_range: Any) -> list[int]:
    return [row["_step"] for row in read_history(run, -1, step_range=step_range)]


def _in_the_trace(run: Path, step_range: Any) -> list[int]:
    events = build_trace(run, step_range=step_range)["traceEvents"]
    return [event["args"]["step"] for event in events if event["ph"] == "X"]


@pytest.mark.parametrize(
    ("step_range", "steps"),
    [
        (None, range(10)),
        ((3, 5), [3, 4]),
        ([3, 5], [3, 4]),
        (range(3, 5), [3, 4]),
        (range(3, 8), [3, 4, 5, 6, 7]),
        (range(5, 3), []),
        ((8, math.inf), [8, 9]),
        ((-math.inf, 2), [0, 1]),
        ((8.0, None), [8, 9]),
        ((_Index(8), None), [8, 9]),
        ((5, 3), []),
        ((None, None), range(10)),
    ],
)
def test_history_trace_and_summary_take_the_same_steps(
    run: Path, step_range: Any, steps: Any
) -> None:
    assert _in_the_history(run, step_range) == list(steps)
    assert _in_the_trace(run, step_range) == list(steps)
    (summed,) = summarize(run, step_range=step_range)
    assert sum(time.count for time in summed.paths) == len(list(steps))


@pytest.mark.parametrize(
    "step_range",
    [
        5, (1, 2, 3), ("1", 2), "12", (1.5, 3), (math.nan, 1), (math.inf, None), (None, -math.inf),
        (True, None), range(0, 8, 2), (_Several(), None), {1, 2},
    ],
)  # fmt: skip
def test_history_trace_and_summary_refuse_the_same_ranges(run: Path, step_range: Any) -> None:
    for ask in (_in_the_history, _in_the_trace, lambda r, s: summarize(r, step_range=s)):
        with pytest.raises(QueryError, match="step_range="):
            ask(run, step_range)
        with pytest.raises(TypeError):
            ask(run, step_range)


@pytest.mark.parametrize("text", ["3:5", " 3 : 5 ", ":2", "8:", ":", "-4:2"])
def test_history_and_trace_take_the_same_texts(run: Path, tmp_path: Path, text: str) -> None:
    shown = _et("history", run, "-n", -1, "--step-range", text, "--format", "json")
    _et("trace", run, "-o", tmp_path / "out.json", "--step-range", text)
    events = json.loads((tmp_path / "out.json").read_bytes())["traceEvents"]
    spans = [event["args"]["step"] for event in events if event["ph"] == "X"]
    assert spans == [row["_step"] for row in json.loads(shown)] != []


@pytest.mark.parametrize(
    "text", ["1_0:2_0", "5", "1:2:3", "x:1", "1.5:2", "\u0663:\u0665", "1e3:", "5:5"]
)
def test_history_and_trace_refuse_the_same_texts_with_the_same_line(run: Path, text: str) -> None:
    lines = []
    for command in ("history", "trace"):
        result = CliRunner().invoke(main, [command, str(run), "--step-range", text])
        assert result.exit_code == 2
        lines.append(result.stderr)
    assert lines[0] == lines[1]
    assert lines[0].startswith("Error: --step-range")


def _et(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@given(st.none() | st.integers(), st.none() | st.integers())
def test_two_whole_numbers_are_their_own_limits(low: int | None, high: int | None) -> None:
    assert steps_from((low, high)) == times_from((low, high)) == (low, high)


def test_an_infinity_of_seconds_is_no_limit_either() -> None:
    assert times_from((-math.inf, 5.5)) == (None, 5.5)
    assert times_from((5.5, math.inf)) == (5.5, None)
    assert times_from(None) == times_from((None, None)) == (None, None)
