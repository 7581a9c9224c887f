from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from expr_tracker.spans.lanes import Box, Lanes, Place

US = 1_000


def _places(*spans: tuple[str, int, int, int | None]) -> list[tuple[int, int, int]]:
    """Return (lane, start, stop) of spans (path, start, stop, depth), times in microseconds."""
    lanes = Lanes()
    placed = [
        lanes.place(Box(path, start=start * US, stop=stop * US, depth=depth))
        for path, start, stop, depth in spans
    ]
    return [(place.lane, place.start_ns // US, place.stop_ns // US) for place in placed]


def test_children_share_their_parents_lane() -> None:
    places = _places(
        ("s", 0, 100, 0), ("s/a", 10, 20, 1), ("s/a/b", 12, 15, 2), ("s/c", 20, 90, 1)
    )
    assert [lane for lane, _, _ in places] == [0, 0, 0, 0]


def test_unrelated_root_spans_never_share_time() -> None:
    places = _places(("s", 0, 100, 0), ("t", 10, 20, 0), ("u", 15, 30, 0), ("v", 25, 40, 0))
    assert [lane for lane, _, _ in places] == [0, 1, 2, 1]


def test_siblings_that_overlap_get_lanes_of_their_own() -> None:
    places = _places(
        ("s", 0, 100, 0), ("s/a", 10, 50, 1), ("s/b", 20, 60, 1), ("s/b/c", 25, 30, 2)
    )
    assert [lane for lane, _, _ in places] == [0, 0, 1, 1]


def test_of_two_that_cover_it_the_one_with_the_path_is_the_parent() -> None:
    places = _places(("s", 0, 100, 0), ("t", 0, 100, 0), ("t/a", 10, 20, 1))
    assert [lane for lane, _, _ in places] == [0, 1, 1]


def test_a_span_that_outlives_the_covering_one_is_not_its_child() -> None:
    assert [p[0] for p in _places(("s", 0, 50, 0), ("s/a", 10, 90, 1))] == [0, 1]


def test_spans_without_depth_nest_by_time() -> None:
    places = _places(("s", 0, 100, None), ("x", 10, 50, None), ("y", 40, 60, None))
    assert [lane for lane, _, _ in places] == [0, 0, 1]


def test_rounding_by_less_than_a_microsecond_is_clipped() -> None:
    lanes = Lanes()
    lanes.place(Box("s", start=0, stop=10_000, depth=0))
    child = lanes.place(Box("s/a", start=2_000, stop=10_240, depth=1))
    following = lanes.place(Box("t", start=9_760, stop=20_000, depth=0))
    assert child == Place(0, 2_000, 10_000)
    assert following == Place(0, 10_000, 20_000)


def test_a_child_that_begins_with_its_parent_is_drawn_inside() -> None:
    lanes = Lanes()
    lanes.place(Box("s", start=5_000, stop=10_000, depth=0))
    assert lanes.place(Box("s/a", start=5_000, stop=9_000, depth=1)) == Place(0, 5_001, 9_000)


_times = st.integers(0, 60_000)
_spans = st.lists(
    st.tuples(st.sampled_from("abc"), _times, _times, st.one_of(st.none(), st.integers(0, 3))),
    max_size=40,
)


@given(_spans)
@example([("a", 0, 448, None), ("a", 1, 449, None), ("a", 1, 449, None)])
@example([("c", 100, 549, 1), ("b", 230, 530, None), ("a", 201, 233, None), ("c", 207, 597, 0)])
def test_every_lane_is_a_valid_stack(spans: list[tuple[str, int, int, int | None]]) -> None:
    ordered = sorted(
        (
            (min(first, second), -max(first, second), -1 if depth is None else depth, path)
            for path, first, second, depth in spans
        ),
    )
    lanes = Lanes()
    placed: dict[int, list[tuple[int, int]]] = {}
    for start, backward_stop, known_depth, path in ordered:
        depth = None if known_depth < 0 else known_depth
        place = lanes.place(Box(path, start=start, stop=-backward_stop, depth=depth))
        assert start <= place.start_ns <= place.stop_ns
        assert place.start_ns <= start + 1_001
        assert abs(place.stop_ns + backward_stop) <= 1_001
        for other_start, other_stop in placed.get(place.lane, []):
            is_inside = other_start <= place.start_ns and place.stop_ns <= other_stop
            is_apart = place.start_ns >= other_stop or place.stop_ns <= other_start
            assert is_inside or is_apart
        placed.setdefault(place.lane, []).append((place.start_ns, place.stop_ns))
