"""Points on their way: batches within limits, in order, and nothing lost or made twice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapi
from mapi.sdk.calls import COMPRESSED_BYTES_MIN, with_body
from mapi.sdk.points import BATCH_POINTS, PointBuffer
from mapi.wire.decoding import BATCH_BYTES_MAX
from mapi.wire.metric_columns import decode_metrics

NOW = 1_793_534_400_000_000

_logged = st.lists(
    st.tuples(
        st.sampled_from(["loss", "acc", "lr"]),
        st.sampled_from([None, {"split": "val"}, {"split": "train"}]),
        st.none() | st.integers(0, 2**63 - 1),
        st.floats(),
    ),
    max_size=40,
)


@given(_logged, st.integers(0, 3))
def test_what_is_taken_reads_on_the_server_as_it_was_logged(
    logged: list[tuple[str, dict[str, str] | None, int | None, float]], fails: int
) -> None:
    buffer = PointBuffer()
    for key, labels, step, value in logged:
        buffer.add({key: value}, step=step, labels=labels, time=NOW)
    found: dict[Any, list[Any]] = {}
    while (batch := buffer.take()) is not None:
        if fails:
            fails -= 1
            continue
        read = decode_metrics(batch.body(), now_us=NOW)
        for at in range(len(read)):
            sent = read.series[int(read.index[at])]
            name = (sent.key, tuple(sorted(sent.labels.items())))
            found.setdefault(name, []).append((int(read.steps[at]), float(read.values[at])))
        buffer.done(batch)
    expected: dict[Any, list[Any]] = {}
    for key, labels, step, value in logged:
        name = (key, tuple(sorted((labels or {}).items())))
        expected.setdefault(name, []).append((-1 if step is None else step, value))
    assert repr(found) == repr({name: expected[name] for name in found})
    assert len(found) == len(expected)
    assert len(buffer) == 0


def test_a_batch_has_no_more_points_than_one_request_may() -> None:
    buffer = PointBuffer()
    for step in range(12_000):
        buffer.add({"loss": step, "acc": step}, step=step)
    sizes = [len(batch) for batch in buffer.batches()]
    assert sizes == [BATCH_POINTS, BATCH_POINTS, 4_000]


def test_a_batch_of_many_labelled_series_stays_below_what_the_server_reads() -> None:
    buffer = PointBuffer()
    for series in range(4_000):
        labels = {f"label_{at}": f"{series:05}" + "é" * 195 for at in range(8)}
        buffer.add({"loss": 1}, step=0, labels=labels)
    bodies = [batch.body() for batch in buffer.batches()]
    assert len(bodies) > 1
    assert all(len(body) < BATCH_BYTES_MAX for body in bodies)
    assert sum(len(json.loads(body)["series"]) for body in bodies) == 4_000


def test_a_batch_that_did_not_arrive_stands_before_what_came_since() -> None:
    """The first value of a step stays: the order is the truth."""
    buffer = PointBuffer()
    buffer.add({"loss": 1}, step=5)
    batch = buffer.take()
    assert batch is not None
    buffer.add({"loss": 2}, step=5)
    assert len(buffer) == 2
    values = [json.loads(one.body())["series"][0]["values"] for one in buffer.batches()]
    assert values == [[1.0], [2.0]]
    assert len(buffer) == 0


def test_what_is_done_twice_takes_nothing_else_away() -> None:
    buffer = PointBuffer()
    buffer.add({"loss": 1}, step=0)
    batch = buffer.take()
    assert batch is not None
    buffer.done(batch, refused=1)
    buffer.add({"loss": 2}, step=1)
    buffer.done(batch, refused=1)
    assert (len(buffer), buffer.refused) == (1, 1)


def test_none_of_several_values_is_kept_where_one_is_wrong() -> None:
    buffer = PointBuffer()
    with pytest.raises(mapi.InvalidError, match="no number"):
        buffer.add({"loss": 1, "acc": "x"}, step=0)
    assert len(buffer) == 0


def test_what_comes_while_a_million_points_wait_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mapi.sdk.points.PENDING_POINTS_MAX", 3)
    buffer = PointBuffer()
    for step in range(5):
        buffer.add({"loss": 1}, step=step)
    assert (len(buffer), buffer.dropped) == (3, 2)


def test_a_body_is_compressed_where_it_is_large() -> None:
    large = bytes(np.zeros(COMPRESSED_BYTES_MIN, dtype=np.uint8))
    body, headers = with_body(large)
    assert len(body) < len(large) / 10
    assert headers["Content-Encoding"] in {"zstd", "gzip"}
    assert with_body(large[1:]) == (large[1:], {"Content-Type": "application/json"})
    assert with_body(large, content_type="image/png")[0] == large
