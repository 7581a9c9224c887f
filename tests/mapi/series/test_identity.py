from __future__ import annotations

import json
from typing import Any

import pytest

from mapi.errors import InvalidError
from mapi.series.identity import IdentifiedBatch, identify
from mapi.wire.metric_columns import decode_metrics

NOW_US = 1_796_000_000_000_000


def identified(body: dict[str, Any]) -> IdentifiedBatch:
    return identify(decode_metrics(json.dumps(body).encode(), now_us=NOW_US))


def refused(body: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidError) as error:
        identified(body)
    return [(fault.pointer, fault.message) for fault in error.value.faults]


def test_a_key_and_a_name_that_mean_one_series_are_one() -> None:
    batch = identified(
        {
            "series": [
                {"key": "loss", "labels": {"scope": "eval"}, "values": [1]},
                {"key": "acc", "values": [1]},
                {"name": "eval/loss", "values": [1, 2]},
            ]
        }
    )
    assert batch.series == [("loss", (("scope", "eval"),)), ("acc", ())]
    assert batch.index.tolist() == [0, 1, 0, 0]


def test_who_wrote_joins_the_labels() -> None:
    batch = identified(
        {"points": [{"name": "eval/loss", "value": 1}], "stream": "data", "rank": 2}
    )
    assert batch.series == [("loss", (("rank", "2"), ("scope", "eval"), ("stream", "data")))]


def test_labels_beside_a_name_join_those_of_the_name() -> None:
    batch = identified({"points": [{"name": "eval/loss", "labels": {"fold": "1"}, "value": 1}]})
    assert batch.series == [("loss", (("fold", "1"), ("scope", "eval")))]


def test_a_name_too_long_for_a_label_is_given_back_in_full() -> None:
    name = "Loss of " + "x" * 300
    batch = identified({"points": [{"key": "a", "value": 1}, {"name": name, "value": 1}]})
    assert batch.full_names == {1: name}


def test_what_is_wrong_is_told_with_its_place_in_the_body() -> None:
    faults = refused(
        {
            "points": [
                {"key": "loss", "value": 1},
                {"key": "F1-score", "value": 1},
                {"key": "loss", "labels": {"ok": "1", "a/b": "2"}, "value": 1},
                {"key": "loss", "labels": {"stream": "x"}, "value": 1},
                {"key": "loss", "labels": {f"l{at}": "x" for at in range(9)}, "value": 1},
                {"name": "eval/loss", "labels": {"scope": "other"}, "value": 1},
            ]
        }
    )
    assert [pointer for pointer, _ in faults] == [
        "/points/1/key",
        "/points/2/labels/a~1b",
        "/points/3/labels/stream",
        "/points/4/labels",
        "/points/5/labels/scope",
    ]
    assert "the nearest is f1_score" in faults[0][1]


def test_a_name_with_labels_has_no_more_than_eight_with_them() -> None:
    labels = {f"l{at}": "x" for at in range(8)}
    ((pointer, message),) = refused(
        {"points": [{"name": "loss{a=b}", "labels": labels, "value": 1}]}
    )
    assert (pointer, message) == ("/points/0/labels", "9 labels are too many: at most 8")


def test_a_wrong_stream_is_told_once() -> None:
    assert refused({"points": [{"key": "a", "value": 1}], "stream": "a\n"})[0][0] == "/stream"


def test_the_first_twenty_faults_are_told() -> None:
    points = [{"key": f"K{at}", "value": 1} for at in range(30)]
    assert len(refused({"points": points})) == 20
