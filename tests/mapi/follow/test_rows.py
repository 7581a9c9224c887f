"""Rows as points and lines: nothing lost, and the same wherever they are cut."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.follow.pieces import Piece, Pieces, halves
from mapi.follow.rows import is_point, points_of_rows
from mapi.follow.texts import line_of_row
from mapi.series.name_map import name_from_series

NOW = 1_800_000_000_000_000

values = st.one_of(
    st.floats(),
    st.integers(-5, 5),
    st.sampled_from([10**400, -(10**400), True, None, "text", [1, 2], {"a": math.nan}]),
)
names = st.sampled_from(
    ["loss", "train/loss", "f1-score", "x y", "", "time_ms/fwd", "Loss " * 50, "Loss " * 51]
)
rows = st.lists(
    st.fixed_dictionaries(
        {"_step": st.integers(-3, 8), "_time": st.floats(1.7e9, 1.71e9)},
    ).flatmap(lambda base: st.dictionaries(names, values, max_size=4).map(lambda of: base | of)),
    max_size=30,
)


def told(found: list[dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """Return what points of rows say, one after the other as corrections."""
    state: dict[tuple[str, int], Any] = {}
    for one in points_of_rows(found, now_us=NOW).series:
        labels = tuple(sorted(one.labels.items()))
        name = one.name or name_from_series(one.key or "", labels)
        for step, time, value in zip(one.steps or [], one.times or [], one.values, strict=True):
            assert step is not None
            assert (name, step) not in state
            state[name, step] = (float(value), time)
    return state


def corrected(states: list[dict[tuple[str, int], Any]]) -> dict[tuple[str, int], Any]:
    """Do what the platform does with corrections: another value replaces, with its time."""
    found: dict[tuple[str, int], Any] = {}
    for state in states:
        for place, (value, time) in state.items():
            before = found.get(place)
            if before is None or not is_same(before[0], value):
                found[place] = (value, time)
    return found


def is_same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@given(
    st.lists(st.integers(-(2**70), 2**70) | st.integers() | st.floats() | st.just(True)),
    st.booleans(),
)
def test_whole_numbers_that_no_float_is_are_counted(values: list[Any], is_again: bool) -> None:
    rows = [
        {"_step": 0 if is_again else step, "_time": 1.7e9, "loss": value}
        for step, value in enumerate(values)
    ]
    found = points_of_rows(rows, now_us=NOW)
    assert found.rounded == sum(
        type(value) is int and is_point(value) and int(float(value)) != value for value in values
    )


def comparable(state: dict[tuple[str, int], Any]) -> dict[tuple[str, int], Any]:
    return {place: (repr(abs(value)), value > 0, time) for place, (value, time) in state.items()}


@given(rows, st.integers(0, 30))
def test_where_rows_are_cut_changes_nothing(found: list[dict[str, Any]], cut: int) -> None:
    whole = corrected([told(found)])
    parts = corrected([told(found[:cut]), told(found[cut:])])
    assert comparable(whole) == comparable(parts)


@given(rows)
def test_each_number_is_a_point_or_counted_and_all_else_is_in_a_line(
    found: list[dict[str, Any]],
) -> None:
    points = points_of_rows(found, now_us=NOW)
    kept = {
        (name, row["_step"])
        for row in found
        for name, value in row.items()
        if name[:1] != "_" and is_point(value) and row["_step"] >= 0
    }
    assert set(told(found)) == kept
    below = [row for row in found if row["_step"] < 0]
    counted = sum(is_point(value) for row in below for value in row.values()) - 2 * len(below)
    assert points.negative == counted
    others = [{name: value for name, value in row.items() if not is_point(value)} for row in found]
    assert [text.values for text in points.texts] == [one for one in others if one]


@given(rows)
def test_rows_stay_as_they_are(found: list[dict[str, Any]]) -> None:
    before = repr(found)
    points_of_rows(found, now_us=NOW)
    assert repr(found) == before


@pytest.mark.parametrize("time", [0.0, -5.0, 1e18, math.inf, None, "now"])
def test_a_time_that_no_clock_shows_is_moved_and_counted_where_it_was_one(time: Any) -> None:
    row = {"_step": 1, "_time": time, "loss": 1.0}
    found = points_of_rows([row], now_us=NOW)
    assert found.moved_times == (type(time) is float and math.isfinite(time))
    (times,) = [one.times for one in found.series]
    assert times is not None
    assert 0 < times[0] <= NOW


def test_a_long_or_deep_value_becomes_as_much_text_as_there_is_room_for() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = {"a": deep}
    row = {"_step": 1, "_time": 1.7e9, "deep": deep, "nul": "a\0b", "long": "x" * 200_000}
    (text,) = points_of_rows([row], now_us=NOW).texts
    line, changes = line_of_row(text)
    assert line["fields"]["nul"] == "a\ufffdb"
    assert len(line["fields"]["long"]) < 60_000
    assert sorted(change.partition(" ")[0].rstrip(":") for change in changes) == ["cut", "kept"]


@given(
    st.lists(st.binary(max_size=40).filter(lambda one: b"\n" not in one), max_size=40),
    st.integers(1, 5),
)
def test_pieces_are_whole_lines_and_all_of_them(lines: list[bytes], items: int) -> None:
    # A piece is never below 4 KiB: each line stands for one that is longer.
    content = b"".join(line * 600 + b"\n" for line in lines)
    pieces, at, found = Pieces(items), 0, []
    while (
        piece := pieces.next(lambda start, stop: content[start:stop], at, len(content))
    ) is not None:
        assert piece.lines.endswith(b"\n")
        assert piece.lines == content[piece.start : piece.stop]
        found.append(piece.lines)
        at = piece.stop
    assert b"".join(found) == content


@given(st.lists(st.binary(max_size=9).filter(lambda one: b"\n" not in one), min_size=1))
def test_halves_are_whole_lines_until_there_is_one(lines: list[bytes]) -> None:
    content = b"".join(line + b"\n" for line in lines)
    parts = halves(Piece(7, content, b"before\n"))
    if len(lines) == 1:
        assert parts is None
        return
    assert parts is not None
    one, other = parts
    assert one.lines + other.lines == content
    assert one.lines.endswith(b"\n")
    assert (one.start, one.stop, other.stop) == (7, other.start, 7 + len(content))
