"""What a value becomes on its way through the recorder."""

from __future__ import annotations

import math
import sys
import threading
import tracemalloc
import warnings
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from expr_tracker.record import values as values_module
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.record.conftest import Desk, FileDesk


# -- values -------------------------------------------------------------------------------------------


class Sized(IntEnum):
    SMALL = 2


class Half(float):
    pass


class Unaddable:
    """A value whose addition fails with an error of its own."""

    __slots__ = ()

    def __radd__(self, other: object) -> float:
        raise LookupError("no sums here")

    def __repr__(self) -> str:
        return "<unaddable>"


class Summing:
    """An object that adds up like a number and is none."""

    __slots__ = ()

    def __radd__(self, other: object) -> float:
        return 1.0

    def __repr__(self) -> str:
        return "<summing>"


VALUES: dict[str, tuple[object, object]] = {
    "int": (1, 1),
    "bool": (True, True),
    "float": (0.5, 0.5),
    "long int": (2**70, 2**70),
    "float64": (np.float64(0.25), 0.25),
    "float32": (np.float32(0.5), 0.5),
    "int64": (np.int64(3), 3),
    "enum": (Sized.SMALL, 2),
    "kind of float": (Half(0.5), 0.5),
    "decimal": (Decimal("2.5"), 2.5),
    "fraction": (Fraction(1, 2), "Fraction(1, 2)"),
    "text": ("text", "text"),
    "none": (None, None),
    "list": ([1, 2], [1, 2]),
    "dict": ({"x": 1}, {"x": 1}),
    "array": (np.array([1.5]), [1.5]),
    "adds up": (Summing(), "<summing>"),
    "does not add up": (Unaddable(), "<unaddable>"),
    "infinity": (math.inf, math.inf),
    "complex": (1 + 2j, "(1+2j)"),
    "endless int": (10**5000, "an int of 16610 bits"),
    "endless negative int": (-(10**5000), "an int of 16610 bits"),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("how", ["known name", "new name", "with a step", "beside numbers"])
def test_a_value_is_stored_alike_on_every_way_through_the_recorder(
    new_file_desk: type[FileDesk], tmp_path: Path, kind: str, how: str
) -> None:
    value, stored = VALUES[kind]
    desk = new_file_desk(tmp_path)
    if how != "new name":
        desk.log({"x": 1.0, "y": 2.0})
    data = {"x": value, "y": 1.5} if how == "beside numbers" else {"x": value}
    if how == "with a step":
        desk.log(data, step=1, commit=True)
    else:
        desk.log(data)
    desk.log({"x": 3.0})
    rows = list(whole_rows(desk.path))
    assert rows[-2]["x"] == stored
    assert type(rows[-2]["x"]) is type(stored)
    assert rows[-1]["x"] == 3.0
    assert [row["_step"] for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_never_take_the_way_of_finite_ones(
    new_file_desk: type[FileDesk], tmp_path: Path, value: float
) -> None:
    desk = new_file_desk(tmp_path)
    for _ in range(2):
        desk.log({"a": value, "b": -value, "c": 1.0})
        desk.log({"a": value}, step=desk.recorder.step, commit=True)
    for row in whole_rows(desk.path):
        assert repr(row["a"]) == repr(value)
    text = desk.path.read_text()
    assert '"a":null' in text
    assert text.count("_nonfinite") == 4


def test_a_list_that_the_user_changes_later_does_not_change_the_row(new_desk: type[Desk]) -> None:
    desk = new_desk()
    values = [1, 2]
    data = {"a": values}
    desk.log(data, step=1)
    values.append(3)
    data["b"] = [4]
    desk.recorder.commit_open()
    assert desk.rows == [(1, {"a": [1, 2]})]


def test_a_dict_of_numbers_that_the_user_changes_later_does_not_change_the_row(
    new_desk: type[Desk],
) -> None:
    desk = new_desk()
    data = {"a": 1.0}
    desk.log(data)
    desk.log(data, step=1)
    data["a"] = 9.0
    assert desk.recorder.open_row() == {"_step": 1, "_time": 100.0, "a": 1.0}


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (5, {"value": 5}),
        ([1], {"value": [1]}),
        ("t", {"value": "t"}),
        (None, {}),
        (np.float32(2), {"value": 2.0}),
    ],
    ids=repr,
)
def test_data_that_is_no_dict_is_stored_under_value(
    new_desk: type[Desk], data: object, values: dict[str, Any]
) -> None:
    desk = new_desk()
    desk.log(data)
    assert desk.rows == [(0, values)]


@pytest.mark.parametrize(
    "name",
    [
        "_step",
        "_time",
        "_nonfinite",
        "_attempt",
        "_attempt_end",
        "_clock_back",
        "_from_step",
        "_status",
        "_stream",
        "_rank",
        "_pid",
    ],
)
def test_a_reserved_name_is_ignored_counted_and_said_once(
    new_desk: type[Desk], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = new_desk()
    for _ in range(3):
        desk.log({name: 99, "a": 1})
    assert desk.rows == [(0, {"a": 1}), (1, {"a": 1}), (2, {"a": 1})]
    assert desk.notices.counts("refused") == {f"values under the reserved name {name}": 3}
    assert len(caplog.messages) == 1


def test_a_dict_that_another_thread_adds_to_meanwhile_raises_nowhere(new_desk: type[Desk]) -> None:
    desk = new_desk()
    data: dict[str, Any] = {f"m{number}": float(number) for number in range(50)}
    is_done = threading.Event()

    def change() -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            data[f"x{number % 1000}"] = "text" if number % 2 else 1.0
            data.pop(f"x{(number - 20) % 1000}", None)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(600):
            desk.log(data)
    finally:
        is_done.set()
        thread.join()
        sys.setswitchinterval(before)
    assert desk.steps == list(range(600))


def test_no_arithmetic_is_done_on_the_users_objects(new_desk: type[Desk]) -> None:
    desk = new_desk()
    calls: list[object] = []

    class Adding:
        __slots__ = ()

        def __radd__(self, other: object) -> float:
            calls.append(other)
            return 1.0

    columns, rows = np.zeros((1, 3000)), np.zeros((3000, 1))
    for _ in range(2):  # unknown names, then known ones
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            desk.log({"rows": rows, "columns": columns})
            desk.log({"a": np.float16(60_000), "b": np.float16(60_000), "c": Adding()})
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 << 20, "added up, the two arrays take 72 MB"
    assert calls == []


class RaisingClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class RaisingFloat(float):
    def __float__(self) -> float:
        raise ArithmeticError("no float")

    def __repr__(self) -> str:
        raise ArithmeticError("no repr")


class RaisingKey:
    def __str__(self) -> str:
        raise LookupError("no text")

    __repr__ = __str__


class RaisingItems(dict[str, Any]):
    def items(self) -> Any:
        raise LookupError("no items")


class RaisingError(Exception):
    def __str__(self) -> str:
        raise LookupError("no text of the error either")


class RaisingValue:
    def tolist(self) -> Any:
        raise RaisingError

    def __repr__(self) -> str:
        raise RaisingError


def test_no_object_can_raise_out_of_log_or_harm_another_value(new_desk: type[Desk]) -> None:
    desk = new_desk()
    for value in (RaisingClass(), RaisingFloat(1.5), {RaisingKey(): 1.0}, RaisingValue()):
        desk.log({"n": 1.0, "bad": value})
    desk.log({"n": 1.0, RaisingKey(): 2.0})
    desk.log(RaisingItems(n=1.0, t="x"))
    desk.log({"n": 1.0, "inner": RaisingItems(m=2.0)})
    desk.log(RaisingClass())
    values = [row for _, row in desk.rows]
    assert [row["n"] for row in values[:-1]] == [1.0] * 7
    assert "RaisingClass" in values[0]["bad"]
    assert values[1]["bad"] == "<unrepresentable RaisingFloat>"
    assert values[2]["bad"] == {"<unrepresentable RaisingKey>": 1.0}
    assert values[3]["bad"] == "<unrepresentable RaisingValue>"
    assert values[4] == {"n": 1.0, "<unrepresentable RaisingKey>": 2.0}
    assert values[5] == {"n": 1.0, "t": "x"}
    assert values[6]["inner"] == {"m": 2.0}
    assert list(values[7]) == ["value"]


def test_other_names_with_an_underscore_are_stored(new_desk: type[Desk]) -> None:
    desk = new_desk()
    desk.log({"_x": 1.0, "_sa_state": 2.0, "": 3.0, " ": 4.0, "a\nb": 5.0, "x" * 10_000: 6.0})
    assert desk.rows[0][1] == {
        "_x": 1.0,
        "_sa_state": 2.0,
        "": 3.0,
        " ": 4.0,
        "a\nb": 5.0,
        "x" * 10_000: 6.0,
    }


def test_names_beyond_the_limit_are_stored_all_the_same(
    new_desk: type[Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_module, "_KNOWN_NAMES_MAX", 5)
    desk = new_desk()
    for number in range(10):
        desk.log({f"m{number}": number})
        desk.log({f"m{number}": number})
    assert desk.rows == [(i, {f"m{i // 2}": i // 2}) for i in range(20)]


def test_a_refused_row_reaches_no_sink_and_spares_the_next_one(new_desk: type[Desk]) -> None:
    desk = new_desk()
    heard: list[int] = []
    desk.recorder.add_sink(lambda row: heard.append(row["_step"]))
    desk.log({"a": 1.0})
    desk.memory.refuses = True
    desk.log({"a": 2.0})
    desk.log({"a": 2.5}, step=7, commit=True)
    desk.memory.refuses = False
    desk.log({"a": 3.0})
    assert desk.rows == [(0, {"a": 1.0}), (8, {"a": 3.0})]
    assert heard == [0, 8]
    assert desk.recorder.latest["a"] == 3.0
    assert desk.recorder.open_row() is None


def test_a_row_that_no_line_has_room_for_is_refused_and_its_step_is_used(
    new_desk: type[Desk],
) -> None:
    desk = new_desk(max_record_bytes=50_000)
    large = {f"m{i}": "x" for i in range(20_000)}
    desk.log({"a": 1})
    desk.log(large)
    desk.log({"b": 2})
    desk.log({"c": 3}, step=7, commit=False)
    desk.log(large, step=7, commit=True)
    desk.log(large, step=9)
    desk.log({"d": 4})
    desk.recorder.commit_open()
    assert desk.rows == [(0, {"a": 1}), (2, {"b": 2}), (7, {"c": 3}), (10, {"d": 4})]
    assert desk.notices.counts("refused") == {"rows over max_record_bytes": 3}
    assert desk.notices.total("rows", "refused") == 3
