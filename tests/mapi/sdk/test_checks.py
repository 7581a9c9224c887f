"""What breaks a rule is refused before any request, in the words of the server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.sdk.asking import BOTH, ask
from tests.mapi.sdk.small_servers import says, serving_script

import mapi
from mapi.sdk.checks import checked_step, checked_time, checked_value, plain
from mapi.series.names import check_key, check_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.sdk.small_servers import SmallServer


@pytest.fixture(scope="module")
def server() -> Iterator[SmallServer]:
    with serving_script(says(500)) as found:
        yield found


REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str, str]] = [
    ("log_metric", ("train/loss", 1), {}, "/key", "nearest is train_loss"),
    ("log_metric", ("loss", "much"), {}, "/loss", "no number"),
    ("log_metric", ("loss", None), {}, "/loss", "no number"),
    ("log_metric", ("loss", [1.0]), {}, "/loss", "no number"),
    ("log_metric", ("loss", True), {}, "/loss", "log 1 or 0"),
    ("log_metric", ("loss", np.bool_(False)), {}, "/loss", "log 1 or 0"),
    ("log_series", ("loss", np.array([True])), {}, "/values/0", "log 1 or 0"),
    ("log_metric", ("loss", 10**400), {}, "/loss", "float64"),
    ("log_metric", ("loss", 1), {"step": -1}, "/step", "0 to 2^63 - 1"),
    ("log_metric", ("loss", 1), {"step": 2**63}, "/step", "0 to 2^63 - 1"),
    ("log_metric", ("loss", 1), {"step": 1.5}, "/step", "whole number"),
    ("log_metric", ("loss", 1), {"step": float("inf")}, "/step", "whole number"),
    ("log_metric", ("loss", 1), {"step": float("nan")}, "/step", "whole number"),
    ("log_metric", ("loss", 1), {"step": 2.0**63}, "/step", "0 to 2^63 - 1"),
    ("log_metric", ("loss", 1), {"step": True}, "/step", "whole number"),
    ("log_metric", ("loss", 1), {"labels": {"Split": "val"}}, "/labels", "name of a label"),
    ("log_metric", ("loss", 1), {"labels": {"split": ""}}, "/labels", "1 to 200"),
    ("log_metric", ("loss", 1), {"labels": {"split": 3}}, "/labels", "is a text"),
    ("log_metric", ("loss", 1), {"labels": {"rank": "1"}}, "/labels", "platform only"),
    ("log_metric", ("loss", 1), {"labels": {f"l{i}": "x" for i in range(9)}}, "/labels", "many"),
    ("log_metric", ("loss", 1), {"time": 1_790_000_000}, "/time", "looks like seconds"),
    ("log_metric", ("loss", 1), {"time": 1.5}, "/time", "whole microseconds"),
    ("log_metric", ("loss", 1), {"time": datetime(2026, 1, 1)}, "/time", "no zone"),  # noqa: DTZ001
    ("log_metric", ("loss", 1), {"time": datetime(2099, 1, 1, tzinfo=UTC)}, "/time", "ahead"),
    ("log_series", ("loss", [1, 2]), {"steps": [1]}, "/steps", "one for each"),
    ("log_series", ("loss", [1, "x"]), {}, "/values/1", "no number"),
    ("log_params", ({"": 1},), {}, "/params/", "1 to 250"),
    ("log_params", ({"a": "x" * 70_000},), {}, "/params/a", "65536"),
    ("log_params", ({"a": object()},), {}, "/params/a", "no JSON"),
    ("log_params", ("lr",), {}, "/params", "a mapping"),
    ("set_tags", ({"mapi.x": "y"},), {}, "/tags/mapi.x", "platform only"),
    ("set_tags", ({"a": 3},), {}, "/tags/a", "is a text"),
    ("set_tags", ({"a": "\0"},), {}, "/tags/a", "U+0000"),
    ("log_line", ("x" * 20_000,), {}, "/lines/0/message", "16384"),
    ("log_line", ("x",), {"level": "loud"}, "/lines/0/level", "debug, info"),
    ("log_image", ("img", b"GIF89a"), {}, "/image", "a GIF, which is not kept"),
    ("log_image", ("img", b'{"columns":["a"],"data":[]}'), {}, "/image", "log_table keeps"),
    ("log_image", ("Img", b""), {}, "/key", "is no key"),
    ("log_figure", ("fig", 3), {}, "/figure", "expected a figure"),
    ("log_table", ("tab", [[1], [1, 2]]), {"columns": ["a"]}, "/table", "row"),
    ("log_table", ("tab", [[0]] * 10_001), {"columns": ["a"]}, "/table", "rows"),
    ("update", (), {"name": "x" * 201}, "/name", "0 to 200"),
    ("update", (), {"note": "x" * 20_001}, "/note", "0 to 20000"),
    ("update", (), {"status": "great"}, "/status", "queued"),
    ("points", ("Loss",), {}, "/key", "is no key"),
    ("metrics", (), {"labels": {"A": "b"}}, "/labels", "name of a label"),
]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("method", "args", "more", "pointer", "words"),
    REFUSED,
    ids=[f"{at}-{one[0]}" for at, one in enumerate(REFUSED)],
)
def test_a_wrong_value_is_refused_before_any_request(
    kind: str,
    method: str,
    args: tuple[Any, ...],
    more: dict[str, Any],
    pointer: str,
    words: str,
    server: SmallServer,
) -> None:
    with pytest.raises(mapi.InvalidError) as caught:
        ask(kind, server.url, f"runs.{method}", "run_1", *args, **more)
    assert caught.value.faults[0].pointer == pointer
    assert words in caught.value.faults[0].message
    assert not server.asked


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("path", "args", "more", "pointer"),
    [
        ("runs.create", (), {"name": "x" * 201}, "/name"),
        ("runs.create", (), {"params": {"": 1}}, "/params/"),
        ("runs.create", (), {"external_id": ""}, "/external_id"),
        ("runs.create", (), {"experiment": 3}, "/experiment"),
        ("runs.get", ("",), {}, "/run"),
        ("runs.page", (), {"limit": 501}, "/limit"),
        ("experiments.create", ("",), {}, "/name"),
        ("views.create", ("x" * 201,), {}, "/name"),
        ("tokens.create", ("t", ["everything"]), {}, "/scopes/0"),
        ("runs.export", ("nowhere",), {"format": "xlsx"}, "/format"),
    ],
)
def test_other_calls_refuse_as_well(
    kind: str,
    path: str,
    args: tuple[Any, ...],
    more: dict[str, Any],
    pointer: str,
    server: SmallServer,
) -> None:
    with pytest.raises(mapi.InvalidError) as caught:
        ask(kind, server.url, path, *args, **more)
    assert caught.value.faults[0].pointer == pointer
    assert not server.asked


@given(st.text(max_size=70), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_the_client_takes_a_series_exactly_when_the_rules_of_the_server_do(
    key: str, labels: dict[str, str]
) -> None:
    run = _Buffer()
    is_right = check_key(key) is None and check_labels(labels) is None
    try:
        run.add({key: 1.0}, labels=labels)
    except mapi.InvalidError:
        assert not is_right
    else:
        assert is_right


def _Buffer() -> Any:  # noqa: N802 - stands for the class
    from mapi.sdk.points import PointBuffer

    return PointBuffer()


def test_numbers_of_numpy_are_numbers() -> None:
    assert checked_step(np.int32(7)) == 7
    for whole in (7.0, np.float64(7), np.float32(7)):
        assert checked_step(whole) == 7
        assert type(checked_step(whole)) is int
    assert checked_value(np.float32(0.5)) == 0.5
    assert checked_value(np.array(3)) == 3.0
    assert plain({"a": np.float64(2), "b": (np.int64(3),)}) == {"a": 2.0, "b": [3]}


def test_what_json_has_no_number_for_is_a_word() -> None:
    found = plain([float("nan"), float("inf"), -float("inf"), np.float32("nan")])
    assert found == ["NaN", "Infinity", "-Infinity", "NaN"]


def test_a_time_is_exact_to_the_microsecond() -> None:
    time = datetime(2026, 11, 1, 12, 0, 0, 123_457, tzinfo=UTC)
    assert checked_time(time) == 1_793_534_400_123_457
