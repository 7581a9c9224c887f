"""Windows of steps: together they are all points of a file, whatever the order of its rows."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from expr_tracker.history.location import producers_of
from expr_tracker.history.source import Source
from expr_tracker.store.index import StreamIndex
from mapi.follow.proof import windows
from mapi.follow.proof.windows import readings_of, windows_of
from mapi.follow.rows import points_of_rows

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOW = 1_800_000_000_000_000
rows = st.lists(
    st.fixed_dictionaries(
        {"_step": st.integers(-2, 400), "_time": st.floats(1.7e9, 1.71e9)},
        optional={"a": st.integers(0, 3), "x/b": st.floats(allow_nan=False)},
    ),
    max_size=120,
)
#: Before which rows an attempt begins, and at which step.
beginnings = st.dictionaries(st.integers(1, 119), st.none() | st.integers(0, 400), max_size=3)


def written(path: Path, found: list[dict[str, Any]], begins: dict[int, int | None]) -> None:
    """Write a metrics file by hand, padded so that several blocks and windows come of it."""
    path.mkdir(parents=True, exist_ok=True)
    lines = []
    number = 1
    for at, row in enumerate(found):
        if at in begins:
            number += 1
            marker: dict[str, Any] = {"_attempt": number, "_time": 1.7e9}
            if begins[at] is not None:
                marker["_from_step"] = begins[at]
            lines.append(marker)
        lines.append(row | {"_pad": "x" * 50})
    for sidecar in path.glob("*.meta.json"):
        sidecar.unlink()
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def shown_by_hand(
    found: list[dict[str, Any]], begins: dict[int, int | None]
) -> dict[tuple[Any, int], tuple[int, float]]:
    """Return what all attempts show together, attempt by attempt."""
    state: dict[tuple[Any, int], tuple[int, float]] = {}
    cuts = [0, *sorted(at for at in begins if at < len(found)), len(found)]
    for start, stop in pairwise(cuts):
        begin = begins.get(start)
        if start and begin is not None:
            state = {place: value for place, value in state.items() if place[1] < begin}
        for one in points_of_rows(found[start:stop], now_us=NOW).series:
            key = one.key, tuple(sorted(one.labels.items()))
            for step, time_us, value in zip(
                one.steps or [], one.times or [], one.values, strict=True
            ):
                assert step is not None
                state[key, step] = time_us, float(value)
    return state


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows, beginnings, st.integers(1, 4_000))
def test_windows_hold_every_point_once_and_cover_all_steps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: list[dict[str, Any]],
    begins: dict[int, int | None],
    size: int,
) -> None:
    monkeypatch.setattr(windows, "_WINDOW_BYTES", size)
    path = tmp_path / "p" / "r"
    written(path, found, begins)
    (producer,) = producers_of(path, "*")
    with Source.offline(producer) as source:
        assert source.file is not None
        source.index = StreamIndex(block_lines=8)
        source.index.scan(source.file)
        reading = readings_of(source.index.attempts, source.size)[0]
        got = list(windows_of(source, reading, now_us=NOW))
    assert (got[0].start, got[-1].stop) == (0, None)
    assert [one.stop for one in got[:-1]] == [one.start for one in got[1:]]
    points: dict[tuple[Any, int], tuple[int | None, float]] = {}
    for window in got:
        for series, column in window.columns.items():
            for step, time_us, value in zip(
                column.steps, column.times, column.values, strict=True
            ):
                assert window.start <= step
                assert window.stop is None or step < window.stop
                assert (series, step) not in points
                points[series, step] = time_us, value
    assert points == shown_by_hand(found, begins)
