from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.wire.metric_columns import SCALAR_STEP, MetricColumns, decode_metrics
from mapi.wire.metrics import POINTS_MAX
from mapi.wire.times import time_to_us
from mapi.wire.values import value_to_wire

NOW_US = time_to_us(datetime(2026, 11, 29, 12, tzinfo=UTC))
DAY_US = 86_400_000_000


def decoded(body: object) -> MetricColumns:
    return decode_metrics(json.dumps(body).encode(), now_us=NOW_US)


def refused(body: object) -> tuple[str, str]:
    with pytest.raises(InvalidError) as error:
        decoded(body)
    return error.value.faults[0].pointer, error.value.faults[0].message


def columns(**fields: Any) -> dict[str, Any]:
    return {"series": [{"key": "loss", **fields}]}


def row(**fields: Any) -> dict[str, Any]:
    return {"points": [{"key": "loss", "value": 1, **fields}]}


values = st.floats(width=64)
steps = st.none() | st.integers(0, 2**63 - 1)
times = st.none() | st.integers(NOW_US - 10**12, NOW_US + DAY_US)
points = st.lists(st.tuples(st.sampled_from(["a", "b"]), steps, times, values), max_size=30)


@given(points)
def test_rows_and_columns_say_the_same(
    logged: list[tuple[str, int | None, int | None, float]],
) -> None:
    rows = [
        {"key": key, "step": step, "time": time, "value": value_to_wire(value)}
        for key, step, time, value in logged
    ]
    each_alone = [
        {
            "key": key,
            "steps": [step],
            **({} if time is None else {"times": [time]}),
            "values": [value_to_wire(value)],
        }
        for key, step, time, value in logged
    ]
    one, other = decoded({"points": rows}), decoded({"series": each_alone})
    assert one.steps.tolist() == other.steps.tolist()
    assert one.steps.tolist() == [
        SCALAR_STEP if step is None else step for _, step, _, _ in logged
    ]
    assert one.times_us.tolist() == other.times_us.tolist()
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.values, np.array([value for *_, value in logged]))
    keys = [one.series[at].key for at in one.index]
    assert keys == [other.series[at].key for at in other.index] == [key for key, *_ in logged]


@given(st.integers(0, 2**63 - 1), values)
def test_steps_and_values_are_exact(step: int, value: float) -> None:
    batch = decoded(columns(steps=[step], values=[value_to_wire(value)]))
    assert batch.steps.tolist() == [step]
    found = batch.values.tolist()[0]
    assert found == value or (math.isnan(found) and math.isnan(value))
    assert math.copysign(1, found) == math.copysign(1, value) or math.isnan(value)


def test_a_series_in_rows_is_listed_once_whatever_the_order_of_its_labels() -> None:
    batch = decoded(
        {
            "points": [
                {"key": "a", "labels": {"x": "1", "y": "2"}, "value": 1},
                {"key": "a", "labels": {"y": "2", "x": "1"}, "value": 2},
            ]
        }
    )
    assert len(batch.series) == 1
    assert batch.index.tolist() == [0, 0]


def test_a_point_without_a_time_has_the_servers() -> None:
    assert decoded(row()).times_us.tolist() == [NOW_US]
    assert decoded(columns(values=[1, 2])).times_us.tolist() == [NOW_US, NOW_US]


def test_a_time_of_any_zone_is_the_same_moment() -> None:
    one = decoded(row(time="2026-11-29T12:00:00.000001+02:00"))
    other = decoded(row(time="2026-11-29T10:00:00.000001Z"))
    assert one.times_us.tolist() == other.times_us.tolist() == [NOW_US - 7_200_000_000 + 1]


def test_a_point_is_found_again_in_the_body() -> None:
    assert decoded({"points": [{"key": "a", "value": 1}] * 3}).pointer(2) == "/points/2"
    batch = decoded(
        {
            "series": [
                {"key": "a", "values": [1, 2]},
                {"key": "b", "values": []},
                {"key": "c", "values": [3]},
            ]
        }
    )
    assert [batch.pointer(at) for at in range(3)] == [
        "/series/0/values/0",
        "/series/0/values/1",
        "/series/2/values/0",
    ]


def test_a_body_without_points_is_an_empty_batch() -> None:
    assert len(decoded({"points": []})) == 0
    assert len(decoded({"series": []})) == 0
    assert len(decoded(columns(values=[]))) == 0


def test_who_sends_is_passed_on() -> None:
    batch = decoded(row() | {"writer": "w", "seq": 7, "stream": "data", "rank": 1, "attempt": 2})
    assert (batch.writer, batch.seq, batch.stream, batch.rank, batch.attempt) == (
        "w",
        7,
        "data",
        1,
        2,
    )


REFUSED: list[tuple[object, str, str]] = [
    ({}, "", "either points (rows) or series (columns)"),
    ({"points": [], "series": []}, "", "either points (rows) or series (columns)"),
    (row() | {"seq": 1}, "/writer", "given together"),
    (row() | {"writer": "w"}, "/seq", "given together"),
    (row(key=None), "/points/0/key", "either a key or a name"),
    (row(name="x"), "/points/0/key", "either a key or a name"),
    (
        row(value="nan"),
        "/points/0/value",
        "'nan' is not in the list: expected -Infinity, Infinity, NaN",
    ),
    (row(value=None), "/points/0/value", "got null"),
    (row(value=True), "/points/0/value", "got bool"),
    (row(step=-1), "/points/0/step", ">= 0"),
    (row(step=2**63), "/points/0/step", "<= 9223372036854775807"),
    (row(step=1.0), "/points/0/step", "got float"),
    (row(step="1"), "/points/0/step", "got str"),
    (row(labels={"a": 1}), "/points/0/labels/a", "got int"),
    (row(labels=[]), "/points/0/labels", "got array"),
    (row(steps=1), "/points/0/steps", "no field 'steps' here: expected key, name, labels, step"),
    (row(time="2026-11-29T12:00:00"), "/points/0/time", "says its zone"),
    (row(time="yesterday"), "/points/0/time", "RFC 3339"),
    (row(time=1_796_000_000), "/points/0/time", "looks like seconds"),
    (row(time=1_796_000_000_000), "/points/0/time", "looks like milliseconds"),
    (row(time=1_796_000_000_000_000_000), "/points/0/time", "looks like nanoseconds"),
    (row(time=10**30), "/points/0/time", "more than a day ahead"),
    (row(time=-(10**30)), "/points/0/time", "in 1970 or before"),
    (row(time=0), "/points/0/time", "in 1970 or before"),
    (row(time="1970-06-01T00:00:00Z"), "/points/0/time", "in 1970 or before"),
    (row(time=NOW_US + DAY_US + 1), "/points/0/time", "more than a day ahead"),
    (columns(values=[1, "x"]), "/series/0/values/1", "not in the list"),
    (columns(values=1), "/series/0/values", "expected array"),
    (columns(), "/series/0/values", "the field 'values' is missing"),
    (columns(values=[1, 2], steps=[1]), "/series/0/steps", "1 steps stand against 2 values"),
    (columns(values=[1, 2], times=[NOW_US] * 3), "/series/0/times", "3 times stand against 2"),
    (
        columns(values=[1, 2], times=[NOW_US, 1_796_000_000_000]),
        "/series/0/times/1",
        "milliseconds",
    ),
    (columns(values=[1], times=[10**30]), "/series/0/times/0", "more than a day ahead"),
    (columns(values=[1], times=[None]), "/series/0/times/0", "got null"),
    (columns(values=[1], steps=[-1]), "/series/0/steps/0", ">= 0"),
    (columns(values=[1] * (POINTS_MAX + 1)), "/series", "at most 50000"),
    ({"points": [{"key": "a", "value": 1}] * (POINTS_MAX + 1)}, "/points", "at most 50000"),
    (row(key="a" * 65), "/points/0/key", "length <= 64"),
    (row(labels={"a": "\x00"}), "/points/0/labels/a", "U+0000 cannot be stored"),
    (row() | {"rank": -1}, "/rank", ">= 0"),
    (row() | {"attempt": 0}, "/attempt", ">= 1"),
    (row() | {"writer": "", "seq": 1}, "/writer", "length >= 1"),
    ([], "", "expected object, got array"),
]


@pytest.mark.parametrize(
    ("body", "pointer", "message"),
    REFUSED,
    ids=[f"{at} {pointer} {message}" for at, (_, pointer, message) in enumerate(REFUSED)],
)
def test_what_is_wrong_is_told_with_its_place(body: object, pointer: str, message: str) -> None:
    found = refused(body)
    assert found[0] == pointer
    assert message in found[1]


def test_a_time_up_to_a_day_ahead_is_taken() -> None:
    assert decoded(row(time=NOW_US + DAY_US)).times_us.tolist() == [NOW_US + DAY_US]


def test_a_number_out_of_range_is_refused_rather_than_infinite() -> None:
    with pytest.raises(InvalidError, match="/points/0/value: number out of range"):
        decode_metrics(b'{"points":[{"key":"a","value":1e999}]}', now_us=NOW_US)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    with pytest.raises(InvalidError):
        decode_metrics(body, now_us=NOW_US)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=3),
        lambda below: (
            st.lists(below, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["key", "labels", "step", "steps", "time", "times", "value", "values"]
                ),
                below,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(["points", "series"]),
)
def test_no_json_breaks_the_decoder(value: Any, shape: str) -> None:
    try:
        decoded({shape: value})
    except InvalidError as error:
        assert all(fault.message for fault in error.faults)  # noqa: PT017


def test_the_first_twenty_wrong_times_are_told() -> None:
    with pytest.raises(InvalidError) as error:
        decoded(columns(values=[1] * 30, times=[1_796_000_000] * 30))
    assert [fault.pointer for fault in error.value.faults] == [
        f"/series/0/times/{at}" for at in range(20)
    ]
