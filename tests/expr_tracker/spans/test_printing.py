from __future__ import annotations

import re
from typing import Any

import pytest


def _without_times(lines: list[str]) -> list[str]:
    lines = [re.sub(r"\d\d:\d\d:\d\d", "TIME", line) for line in lines]
    return [re.sub(r"\d+\.\d{3}ms", "MS", line) for line in lines]


def test_lines_are_indented_from_the_span_that_began_to_print(room: Any) -> None:
    lines: list[str] = []

    def fail() -> None:
        with (
            room.span("quiet"),
            room.span("step", print_fn=lines.append),
            room.span("forward", plugins=[lambda _: {"loss": 0.5}]),
        ):
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - raised right above
        fail()
    assert _without_times(lines) == [
        "-> step  TIME",
        "  -> forward  TIME",
        "  <- forward  TIME  MS  loss=0.5  !ValueError",
        "<- step  TIME  MS  !ValueError",
    ]


def test_a_childs_own_function_takes_over_its_subtree(room: Any) -> None:
    outer: list[str] = []
    inner: list[str] = []
    own = room.span("b", print_fn=inner.append)
    with room.span("a", print_fn=outer.append), own, room.span("c"):
        pass
    assert [line.strip()[:4] for line in outer] == ["-> a", "<- a"]
    assert [line[:6] for line in inner] == ["-> b  ", "  -> c", "  <- c", "<- b  "]


def test_a_runs_function_is_the_default_and_works_without_one(room: Any, run: Any) -> None:
    lines: list[str] = []
    run.print_fn = lines.append
    with room.span("a"):
        pass
    room.run = None
    with room.span("b", print_fn=lines.append):
        pass
    assert [line[:4] for line in lines] == ["-> a", "<- a", "-> b", "<- b"]


def test_a_failing_function_is_named_once_and_stops_nothing(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: str) -> None:
        raise OSError("broken pipe")

    for _ in range(3):
        with room.span("a", print_fn=fail):
            pass
    assert len(run.lines) == 3
    assert caplog.text.count("broken pipe") == 1
