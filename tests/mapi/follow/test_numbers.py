"""Numbers of places in files: they rise, and say whether a file is the one that was delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mapi.follow.numbers import ENDED, MARKED_BYTES, fits, number_at, number_of, offset_of
from mapi.follow.pieces import Pieces, halves

if TYPE_CHECKING:
    from collections.abc import Callable

lines = st.lists(st.binary(max_size=40).filter(lambda one: b"\n" not in one), min_size=1)
contents = st.tuples(lines, st.sampled_from([1, 2, 99, 300])).map(
    lambda one: b"".join(line + b"\n" for line in one[0]) * one[1]
)


def reading(content: bytes) -> Callable[[int, int], bytes]:
    return lambda start, stop: content[start:stop]


@given(contents, st.data())
def test_numbers_rise_with_their_offsets_and_lead_back_to_them(
    content: bytes, data: st.DataObject
) -> None:
    places = [0, *(at + 1 for at, one in enumerate(content) if one == 10)]
    numbers = [number_at(reading(content), place) for place in places]
    assert numbers == sorted(set(numbers))
    assert [offset_of(number) for number in numbers] == places
    place = data.draw(st.sampled_from(places))
    number = number_at(reading(content), place)
    assert fits(reading(content), number, size=len(content))
    if place:
        assert not fits(reading(content[: place - 1]), number, size=place - 1)


def test_numbers_of_all_but_the_largest_files_are_whole_for_every_reader_of_json() -> None:
    assert number_of(2**37 - 1, b"x" * MARKED_BYTES) < 2**53
    assert number_of(2**47 - 1, b"x" * MARKED_BYTES) < ENDED
    assert (offset_of(-1), number_at(reading(b"x"), 0)) == (0, 0)
    assert fits(reading(b""), -1, size=0)


def test_one_line_more_one_less_or_another_is_another_file() -> None:
    lines = [b'{"_step": %d, "_time": 1.7, "loss": 0.5}\n' % step for step in range(100, 400)]
    content = b"".join(lines)
    number = number_at(reading(content), len(content))
    others = [
        b"".join(lines[:-1]),
        b"".join(lines[1:]),
        b"".join([*lines[:-1], lines[0]]),
        b"".join([*lines[:-40], lines[0], *lines[-39:]]),
        b"".join([*lines[:-1], lines[0], lines[0]]),
        b"".join(reversed(lines)),
        b"",
    ]
    assert not any(fits(reading(one), number, size=len(one)) for one in others)
    assert fits(reading(content + b"more\n"), number, size=len(content) + 5)


@given(contents)
def test_a_piece_of_lines_and_its_halves_know_the_number_of_their_end(content: bytes) -> None:
    pieces, at = Pieces(1), 0
    while (piece := pieces.next(reading(content), at, len(content))) is not None:
        assert piece.number == number_at(reading(content), piece.stop)
        for part in halves(piece) or ():
            assert part.number == number_at(reading(content), part.stop)
        at = piece.stop
