from __future__ import annotations

import json

from event_streams import delays_ms


def test_a_frame_is_as_late_as_its_newest_points_are_old() -> None:
    frame = {
        "type": "tracking",
        "series": [
            {"last_time": "1970-01-01T00:00:10.000000Z"},
            {"last_time": "1970-01-01T00:00:09.500000+00:00"},
        ],
    }
    assert delays_ms(b"data: " + json.dumps(frame).encode() + b"\n", 10.25) == [250.0, 750.0]


def test_what_is_no_frame_of_points_has_no_delay() -> None:
    status = b'data: {"type":"status"}\n'
    found = [delays_ms(line, 1.0) for line in (status, b": comment\n", b"id: 4\n", b"1a\r\n")]
    assert found == [[], [], [], []]
