"""Times of files: a finite number of seconds, or none; never an error, whatever stands there."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.cli import main
from expr_tracker.history import list_attempts, overviews, read_history
from expr_tracker.history.live import newest_points
from expr_tracker.history.location import producers_of
from expr_tracker.history.source import Source, beginning_of
from expr_tracker.store.markers import read_marker
from expr_tracker.store.rescue_file import time_of
from expr_tracker.store.seconds import seconds_in, seconds_or_text_in

if TYPE_CHECKING:
    from pathlib import Path

#: No float holds it, and JSON does.
HUGE = 10**400

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([HUGE, -HUGE, 2**1024, 1e308]),
        st.floats(),
        st.text(max_size=9),
        st.datetimes().map(str),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(anything)
def test_a_value_is_a_finite_number_of_seconds_or_none(value: Any) -> None:
    found = seconds_in(value)
    assert found is None or (type(found) is float and math.isfinite(found))
    if type(value) is float and math.isfinite(value):
        assert found == value
    told = seconds_or_text_in(value)
    assert told == found or isinstance(value, str)


@pytest.mark.parametrize("value", [HUGE, -HUGE, math.nan, math.inf, True, None, "5", [5], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert seconds_in(value) is None


def test_texts_of_older_programs_are_read_and_those_that_no_calendar_has_are_none() -> None:
    assert seconds_or_text_in("1970-01-01T00:01:00+00:00") == 60.0
    for text in ("", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "soon"):
        found = seconds_or_text_in(text)
        assert found is None or math.isfinite(found)


@given(st.dictionaries(st.sampled_from(
    ["_attempt", "_attempt_end", "_from_step", "_time", "_pid", "_status", "_clock_back", "created",
     "start", "dur_ms"]), anything))  # fmt: skip
def test_no_member_of_a_line_is_an_error(row: dict[str, Any]) -> None:
    read_marker(row)
    time_of(row)
    beginning_of(row)


@pytest.mark.parametrize("time", [HUGE, -HUGE, 1e308, math.inf, math.nan, "x", None, True])
def test_every_reader_goes_on_behind_a_time_that_is_none(tmp_path: Path, time: Any) -> None:
    run = tmp_path / "p" / "r"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"id": "r", "created": time, "project": "p"}))
    rows = [
        {"_step": 0, "_time": time, "loss": 1.0},
        {"_attempt": 2, "_from_step": None, "_time": time, "_pid": HUGE, "_clock_back": time},
        {"_step": 1, "_time": time, "loss": 2.0},
        {"_attempt_end": 2, "_status": "succeeded", "_time": time},
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    span = {"_step": 0, "name": "a", "start": time, "dur_ms": time, "depth": 0, "track": 0}
    (run / "spans.jsonl").write_text(json.dumps(span) + "\n")
    (overview,) = overviews(tmp_path, ["loss"])
    assert (overview.status, overview.rows, overview.values) == ("succeeded", 2, {"loss": 2.0})
    assert [row["loss"] for row in read_history(run, -1)] == [1.0, 2.0]
    assert len(list_attempts(run)) == 2
    (producer,) = producers_of(run, "*")
    with Source.offline(producer) as source:
        assert [value for _, _, value in newest_points(source, "loss", 2)] == [1.0, 2.0]
    for words in (
        ["ls", tmp_path], ["ls", tmp_path, "--format", "json"], ["ls", tmp_path, "--sort", "started"],
        ["history", run], ["history", run, "--format", "csv"], ["history", run, "--format", "json"],
        ["history", run, "--attempts"],
        ["verify", run], ["export", run, tmp_path / "out.csv"], ["trace", run, tmp_path / "t.json"],
    ):  # fmt: skip
        done = CliRunner().invoke(main, [*map(str, words)])
        assert done.exception is None or isinstance(done.exception, SystemExit), (words, done)
        assert "Traceback" not in done.output
