"""Cursors: only this installation writes them, for a day, and each is of one question."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.access.cursors import Cursors
from mapi.errors import InvalidError
from mapi.wire.runs import CURSOR_LENGTH_MAX

SECRET = b"a secret of the tests, 32 bytes."
QUESTION = {"route": "series", "run": "run_1", "labels": {"split": "val"}}
POSITION = {"key": "é", "step": 2**53 + 1, "value": math.inf, "none": None}
HOUR = 3_600


class Clock:
    """Seconds that the test turns."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()
CURSORS = Cursors(SECRET, clock=CLOCK)


def refused(text: str, question: dict[str, Any] | None = None, **more: Any) -> str:
    with pytest.raises(InvalidError) as caught:
        more.pop("by", CURSORS).read(text, QUESTION if question is None else question, **more)
    (fault,) = caught.value.faults
    assert fault.pointer == more.get("pointer", "/query/cursor")
    return fault.message


def test_a_position_comes_back_exactly() -> None:
    assert CURSORS.read(CURSORS.write(QUESTION, POSITION), QUESTION) == POSITION


def test_another_question_is_refused_whatever_differs() -> None:
    text = CURSORS.write(QUESTION, POSITION)
    for other in ({**QUESTION, "run": "run_2"}, {**QUESTION, "labels": {}}, {}):
        assert "another question" in refused(text, other)
    assert CURSORS.read(text, dict(reversed(QUESTION.items()))) == POSITION


def test_a_cursor_ends_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CURSORS.write(QUESTION, POSITION)
    monkeypatch.setattr(CLOCK, "now", CLOCK.now + 24 * HOUR)
    assert CURSORS.read(text, QUESTION) == POSITION
    monkeypatch.setattr(CLOCK, "now", CLOCK.now + 2)
    assert "24 hours" in refused(text)


def test_a_cursor_of_another_installation_is_refused() -> None:
    text = Cursors(SECRET[::-1], clock=CLOCK).write(QUESTION, POSITION)
    assert "no cursor of this server" in refused(text)


def test_no_changed_character_passes() -> None:
    text = CURSORS.write(QUESTION, POSITION)
    for place, character in enumerate(text[:-1]):  # the last may carry bits that decode to nothing
        other = "A" if character != "A" else "B"
        assert refused(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    "text", ["", "a", "====", "é", "a b", "\n", "A" * 100, "A" * (CURSOR_LENGTH_MAX + 1)]
)
def test_what_is_no_cursor_is_refused_and_no_traceback(text: str) -> None:
    assert "no cursor" in refused(text)


@given(st.text())
def test_no_text_is_a_traceback(text: str) -> None:
    assert refused(text)


def test_the_refusal_points_where_the_cursor_stood() -> None:
    assert refused("x", pointer="/cursor")


def test_the_longest_filter_that_nothing_compresses_fits() -> None:
    # Characters of four bytes without a pattern: as many as a filter may have.
    filter_ = "".join(chr(0x10000 + (at * 7_919) % 0xFFFF) for at in range(4_096))
    text = CURSORS.write(QUESTION, {"filter": filter_, "position": ["x" * 256] * 6})
    assert len(text) <= CURSOR_LENGTH_MAX
    assert CURSORS.read(text, QUESTION)["filter"] == filter_
