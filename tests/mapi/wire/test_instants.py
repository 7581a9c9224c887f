"""Times that come with offsets which the database would not take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import InvalidError
from mapi.wire.decoding import decode
from mapi.wire.exchange import ExportLine
from mapi.wire.instants import has_part
from mapi.wire.metrics import MetricsBody
from mapi.wire.notes import LogAppend, ParamsBody
from mapi.wire.runs import RunCreate

#: RFC 3339 has offsets of 23 hours and 59 minutes at most.
zones = st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=zones)  # noqa: DTZ001
RECORD = {
    "type": "log",
    "run": "run_3c4f5a6e-1d2b-4c3d-8e9f-0a1b2c3d4e5f",
    "message": "a",
    "level": "info",
    "fields": None,
    "source": "api",
    "stream": "metrics",
    "rank": 0,
}


@given(time=times)
def test_a_time_is_the_same_moment_in_utc(time: datetime) -> None:
    text = time.isoformat()
    run = decode(msgspec.json.encode({"started": text}), RunCreate).started
    lines = decode(
        msgspec.json.encode({"lines": [{"message": "a"}, {"message": "b", "time": text}]}),
        LogAppend,
    ).lines
    points = decode(
        msgspec.json.encode({"points": [{"key": "a", "value": 1, "time": text}]}), MetricsBody
    ).points
    assert points is not None
    kind: Any = ExportLine
    record = decode(msgspec.json.encode({**RECORD, "time": text}), kind)
    assert lines[0].time is None
    for found in (run, lines[1].time, points[0].time, record.time):
        assert isinstance(found, datetime)
        assert found == time
        assert found.tzinfo is UTC


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-16:00"])
def test_a_time_that_utc_does_not_have_is_told_with_its_place(text: str) -> None:
    with pytest.raises(InvalidError, match="years 1 to 9999") as error:
        decode(
            msgspec.json.encode({"lines": [{"message": "a"}, {"message": "b", "time": text}]}),
            LogAppend,
        )
    assert error.value.faults[0].pointer == "/lines/1/time"


def test_a_part_of_a_struct_is_found_at_any_depth() -> None:
    assert has_part(LogAppend, msgspec.inspect.DateTimeType)
    assert not has_part(ParamsBody, msgspec.inspect.DateTimeType)
