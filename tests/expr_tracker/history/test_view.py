"""What of a stream is shown under its attempts, piece by piece and no further than asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.history.view import View
from expr_tracker.store.index import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 100


@st.composite
def histories(draw: st.DrawFn) -> list[Attempt]:
    """Return attempts in file order; some begin at one place, numbers may repeat."""
    offsets = sorted(draw(st.lists(st.integers(0, SIZE), min_size=1, max_size=6)))
    steps = st.none() | st.integers(0, 9)
    return [
        Attempt(draw(st.integers(1, 3)), draw(steps), offset) if i else Attempt(1, None, offset)
        for i, offset in enumerate(offsets)
    ]


def places(attempts: list[Attempt], attempt: Any) -> Iterator[tuple[int, int, int | None]]:
    """Yield each place of the file that is shown, its attempt's number and where it is cut."""
    for place in range(SIZE):
        begun = [i for i, each in enumerate(attempts) if each.offset <= place or not i]
        at = begun[-1]
        later = [each.from_step for each in attempts[at + 1 :] if each.from_step is not None]
        if attempt in (None, "all", attempts[at].number):
            cut = min(later, default=None) if attempt is None else None
            yield place, attempts[at].number, cut


@given(histories(), st.sampled_from([None, "all", 1]), st.data())
def test_each_place_between_two_offsets_is_shown_once_under_its_attempt(
    attempts: list[Attempt], attempt: Any, data: st.DataObject
) -> None:
    view, expected = View(attempts, attempt), list(places(attempts, attempt))
    for _ in range(3):
        start = data.draw(st.integers(0, SIZE))
        stop = data.draw(st.integers(start, SIZE))
        forward = list(view.stretches(start, stop))
        assert [
            (place, each.number, each.cut)
            for each in forward
            for place in range(each.start, each.stop)
        ] == [of for of in expected if start <= of[0] < stop]
        assert list(view.stretches_backward(start, stop)) == forward[::-1]


class Watched(list[Attempt]):
    """A list that counts how often somebody takes an element."""

    taken = 0

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        self.taken += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[Attempt]:
        for each in super().__iter__():
            self.taken += 1
            yield each


def test_the_end_of_a_stream_of_many_attempts_is_read_without_looking_at_all_of_them() -> None:
    attempts = Watched(Attempt(number + 1, number, 10 * number) for number in range(10_000))
    view = View(attempts, None)
    backward = view.stretches_backward(0, 100_000)
    newest = [next(backward) for _ in range(5)]
    assert [each.number for each in newest] == [10_000, 9_999, 9_998, 9_997, 9_996]
    assert [each.cut for each in newest] == [None, 9_999, 9_998, 9_997, 9_996]
    assert len(list(view.stretches(99_900, 100_000))) == 10
    assert attempts.taken < 20
