"""Values as users log them, made plain; and the numbers that JSON cannot hold."""

from __future__ import annotations

import ipaddress
import math
import re
import sys
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import Any, NoReturn
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pydantic
import pytest

from expr_tracker.arrays import ELEMENTS_MAX
from expr_tracker.errors import StepError
from expr_tracker.row import (
    MediaValue,
    RowEncoder,
    key_text,
    step_from,
)


def numbered(cases: list[Any]) -> list[str]:
    """Return the ids of cases whose values look alike."""
    return [
        f"{i}-{type(case[0] if isinstance(case, tuple) else case).__name__}"
        for i, case in enumerate(cases)
    ]


class Encoding:
    """An encoder and what it warned of."""

    def __init__(self, media_directory: Path | None = None) -> None:
        self.warnings: list[tuple[str, str]] = []
        self.encoder = RowEncoder(
            lambda key, text: self.warnings.append((key, text)), media_directory
        )

    def value(self, value: object) -> Any:
        """Return ``value`` as it is stored under the name ``x``."""
        return self.encoder.row({"x": value})["x"]


def plain(value: object) -> Any:
    """Return ``value`` as it is stored; nothing may degrade."""
    encoding = Encoding()
    stored = encoding.value(value)
    assert encoding.warnings == []
    return stored


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2.5)


class Named(str, Enum):  # noqa: UP042 - a StrEnum has the str() that this one has not
    LOSS = "loss"


class Level(IntEnum):
    HIGH = 3


class TextName(str):
    __slots__ = ()


class WholeNumber(int):
    pass


class Ratio(float):
    pass


@dataclass
class Point:
    x: int
    y: list[float]


class Settings(pydantic.BaseModel):
    rate: float
    when: datetime
    path: Path


class Tensor:
    """What PyTorch offers, as far as the encoder looks: ``detach`` and ``tolist``."""

    def __init__(self, values: list[float]) -> None:
        self._values = values
        self.requires_grad = True

    def detach(self) -> Tensor:
        twin = Tensor(self._values)
        twin.requires_grad = False
        return twin

    def tolist(self) -> list[float]:
        if self.requires_grad:
            raise RuntimeError("call detach() first")
        return self._values


SAME: list[Any] = [
    None,
    True,
    False,
    0,
    -5,
    2**70,
    0.5,
    -0.0,
    "",
    "text",
    "日本 ✓",
    [],
    {},
    [1, [2.5, None]],
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_plain_values_are_stored_as_they_are(value: object) -> None:
    stored = plain(value)
    assert stored == value
    assert type(stored) is type(value)


CASES: list[tuple[object, object]] = [
    (np.float64(0.25), 0.25),
    (np.float32(0.1), 0.10000000149011612),
    (np.float16(0.5), 0.5),
    (np.int64(7), 7),
    (np.uint8(255), 255),
    (np.bool_(True), True),
    (np.str_("text"), "text"),
    (np.array(3.5), 3.5),
    (np.array([1, 2, 3]), [1, 2, 3]),
    (np.array([[1.5], [2.5]]), [[1.5], [2.5]]),
    (np.array([], dtype=float), []),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.datetime64("2024-01-02T03:04:05"), "2024-01-02T03:04:05"),
    (np.datetime64("NaT"), None),
    (Tensor([1.0, 2.0]), [1.0, 2.0]),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2.5]),
    (Level.HIGH, 3),
    (TextName("name"), "name"),
    (WholeNumber(4), 4),
    (Ratio(0.5), 0.5),
    (Point(1, [2.0]), {"x": 1, "y": [2.0]}),
    (
        Settings(rate=0.1, when=datetime(2024, 1, 2, tzinfo=UTC), path=Path("a/b")),
        {"rate": 0.1, "when": "2024-01-02T00:00:00Z", "path": "a/b"},
    ),
    (Path("a") / "b", str(Path("a") / "b")),
    (PurePosixPath("/x"), "/x"),
    (date(2024, 1, 2), "2024-01-02"),
    (time(3, 4, 5), "03:04:05"),
    (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05+00:00"),
    (timedelta(minutes=1, milliseconds=500), 60.5),
    (Decimal(10), 10),
    (Decimal("1E3"), 1000),
    (Decimal("2.50"), 2.5),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (ipaddress.ip_address("127.0.0.1"), "127.0.0.1"),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    (pydantic.AnyUrl("https://example.org/a"), "https://example.org/a"),
    ("é".encode(), "é"),
    (bytearray(b"ab"), "ab"),
    (memoryview(b"ab"), "ab"),
    ((1, 2), [1, 2]),
    ({3}, [3]),
    (frozenset({3}), [3]),
    (deque([1, 2]), [1, 2]),
    ((number * number for number in (1, 2, 3)), [1, 4, 9]),
    (iter([1, 2]), [1, 2]),
    (re.compile("a+"), "a+"),
    (pd.NA, None),
    (pd.NaT, None),
    (pd.Timestamp("2024-01-02"), "2024-01-02T00:00:00"),
    (pd.Series([1, 2]), [1, 2]),
    (pd.DataFrame({"a": [1, 2]}), {"a": [1, 2]}),
    (pl.Series([1, 2]), [1, 2]),
    (pl.DataFrame({"a": [1, 2]}), {"a": [1, 2]}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (MappingProxyType({"a": 1}), {"a": 1}),
    (SimpleNamespace(a=1, b="c"), {"a": 1, "b": "c"}),
]


@pytest.mark.parametrize(("value", "stored"), CASES, ids=numbered(CASES))
def test_a_foreign_value_is_stored_in_its_plain_form(value: object, stored: object) -> None:
    expected = {str(k): v for k, v in stored.items()} if isinstance(stored, dict) else stored
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "value", [float("nan"), np.float32("nan"), np.array(float("nan")), Decimal("NaN")], ids=repr
)
def test_a_nan_of_any_kind_is_a_float_nan(value: object) -> None:
    found = plain(value)
    assert type(found) is float
    assert math.isnan(found)


def test_a_generator_is_read_once_and_its_values_are_kept() -> None:
    source = (i for i in range(3))
    assert plain(source) == [0, 1, 2]
    assert list(source) == []


def test_a_stored_value_does_not_change_with_the_one_that_was_logged() -> None:
    inner = [1, 2]
    value = {"list": inner, "array": np.zeros(2)}
    stored = plain(value)
    inner.append(3)
    value["array"][0] = 9.0  # type: ignore[index]
    assert stored == {"list": [1, 2], "array": [0.0, 0.0]}


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Wordy:
    def __repr__(self) -> str:
        return "w" * 1000


def _cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


DEGRADED: list[tuple[object, str]] = [
    (1 + 2j, "(1+2j)"),
    (len, "<built-in function len>"),
    (object(), "<object object"),
    (int, "<class 'int'>"),
    (b"\xff", "b'\\xff'"),
    (Decimal("sNaN"), "Decimal('sNaN')"),
    (_cyclic(), "[[...]]"),
    (_deep(70), "[["),
    (_deep(5_000), "[[" if sys.version_info >= (3, 12) else "<unrepresentable list>"),
    (Broken(), "<unrepresentable Broken>"),
    (10**5_000, "an int of 16610 bits"),
    ([1, 10**5_000], "an int of 16610 bits"),
]


@pytest.mark.parametrize(("value", "text"), DEGRADED, ids=numbered(DEGRADED))
def test_what_has_no_plain_form_becomes_text_with_a_warning_and_spares_the_others(
    value: object, text: str
) -> None:
    encoding = Encoding()
    row = encoding.encoder.row({"before": 1.0, "bad": value, "after": 2.0})
    shown = row["bad"]
    assert (shown[1] if isinstance(shown, list) else shown).startswith(text)
    assert (row["before"], row["after"]) == (1.0, 2.0)
    assert [key for key, _ in encoding.warnings] == ["bad"]


def test_a_long_repr_is_cut() -> None:
    encoding = Encoding()
    assert encoding.value(Wordy()) == "w" * 512 + "..."


def test_an_array_beyond_the_limit_is_stored_as_statistics_with_a_warning() -> None:
    encoding = Encoding()
    stored = encoding.value(np.arange(ELEMENTS_MAX + 1, dtype=np.float64))
    assert stored["shape"] == [ELEMENTS_MAX + 1]
    assert (stored["min"], stored["max"]) == (0.0, float(ELEMENTS_MAX))
    assert "statistics" in encoding.warnings[0][1]


def test_a_list_beyond_the_limit_follows_the_rule_of_arrays() -> None:
    numbers = [float(i % 1000) for i in range(ELEMENTS_MAX + 1)]
    square = [numbers[:1000]] * 101
    for values, shape in ((numbers, [ELEMENTS_MAX + 1]), (square, [101, 1000])):
        of_list, of_array = Encoding(), Encoding()
        stored = of_list.encoder.row({"before": 1, "many": {"inside": values}})["many"]["inside"]
        expected = of_array.value(np.array(values))
        assert stored["shape"] == shape == expected["shape"]
        assert stored["dtype"] == "list"
        for name in ("min", "max", "mean", "std"):
            assert stored[name] == pytest.approx(expected[name])
        assert [(key, "statistics" in text) for key, text in of_list.warnings] == [("many", True)]


@pytest.mark.parametrize(
    "values",
    [
        [0.5] * ELEMENTS_MAX,
        ["text"] * (ELEMENTS_MAX + 1),
        [*[0.5] * ELEMENTS_MAX, None],
        [10**400] * (ELEMENTS_MAX + 1),
        [[0] * 400] * 300 + [[0]],
    ],
    ids=["within", "texts", "with a hole", "no floats", "ragged"],
)
def test_a_list_that_is_within_the_limit_or_no_rectangle_of_numbers_stays_whole(
    values: list[object],
) -> None:
    encoding = Encoding()
    assert encoding.value(values) == values
    assert encoding.warnings == []


def test_a_decimal_says_when_a_float_has_not_all_of_its_digits() -> None:
    encoding = Encoding()
    exact = {"a": Decimal("0.1"), "b": Decimal("2.50"), "c": Decimal(10**30), "d": Decimal("-0.0")}
    assert encoding.encoder.row(exact) == {"a": 0.1, "b": 2.5, "c": 10**30, "d": -0.0}
    assert encoding.warnings == []
    row = encoding.encoder.row(
        {"long": Decimal("0.12345678901234567890"), "inside": [Decimal("1E-400")]}
    )
    assert row == {"long": 0.12345678901234568, "inside": [0.0]}
    assert [key for key, _ in encoding.warnings] == ["long", "inside"]
    assert "0.12345678901234567890 has more digits" in encoding.warnings[0][1]


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (None, {}),
        ({}, {}),
        (5, {"value": 5}),
        ("text", {"value": "text"}),
        ([1, 2], {"value": [1, 2]}),
        (np.float32(0.5), {"value": 0.5}),
        (Point(1, []), {"x": 1, "y": []}),
        (
            {1: "a", None: "b", (1, 2): "c", 2.5: "d"},
            {"1": "a", "None": "b", "(1, 2)": "c", "2.5": "d"},
        ),
        ({"a": {1: {2: 3}}}, {"a": {"1": {"2": 3}}}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (SimpleNamespace(a=1), {"value": {"a": 1}}),
        (pl.DataFrame({"a": [1]}), {"value": {"a": [1]}}),
        (Named.LOSS, {"value": "loss"}),
        ({Named.LOSS: {Named.LOSS: 1}}, {"loss": {"loss": 1}}),
    ],
    ids=repr,
)
def test_a_call_s_data_becomes_a_row(data: object, row: dict[str, object]) -> None:
    assert Encoding().encoder.row(data) == row


def test_the_order_of_the_names_is_kept() -> None:
    assert list(Encoding().encoder.row({"b": 1, "a": np.float32(2), "c": "x"})) == ["b", "a", "c"]


def test_a_key_that_is_a_kind_of_text_becomes_exact_text() -> None:
    key = key_text(np.str_("loss"))
    assert type(key) is str
    assert key == "loss"


def test_a_member_of_a_text_enumeration_is_the_text_that_a_dict_knows_it_by() -> None:
    assert str(Named.LOSS) != "loss"
    assert type(key_text(Named.LOSS)) is str
    assert key_text(Named.LOSS) == "loss"
    assert hash(key_text(Named.LOSS)) == hash(Named.LOSS)


@pytest.mark.parametrize(
    "large", [np.zeros(200_000), [0.5] * 200_000], ids=lambda large: type(large).__name__
)
def test_a_large_array_alone_is_one_metric_with_its_statistics(large: Any) -> None:
    row = Encoding().encoder.row(large)
    assert list(row) == ["value"]
    assert row["value"]["shape"] == [200_000]


def test_a_model_of_pydantic_is_a_row() -> None:
    model = Settings(rate=0.5, when=datetime(2026, 1, 2, tzinfo=UTC), path=Path("x"))
    assert list(Encoding().encoder.row(model)) == ["rate", "when", "path"]


@pytest.mark.parametrize(
    ("data", "row", "dropped"),
    [
        ({1: 0.5, "1": 0.7}, {"1": 0.7}, ["1"]),
        ({"1": 0.7, 1: 0.5, "b": 1}, {"1": 0.5, "b": 1}, ["1"]),
        ({"a": {1: 1, "1": 2, None: 3}}, {"a": {"1": 2, "None": 3}}, ["a"]),
        ({"a": [MappingProxyType({1: 1, "1": 2})]}, {"a": [{"1": 2}]}, ["a"]),
        ({"a": pd.DataFrame({1: [1], "1": [2]})}, {"a": {"1": [2]}}, ["a"]),
        ({1: 1, 2: 2}, {"1": 1, "2": 2}, []),
    ],
    ids=repr,
)
def test_two_keys_with_one_text_are_told(
    data: object, row: dict[str, object], dropped: list[str]
) -> None:
    told: list[str] = []
    warned: list[str] = []
    encoder = RowEncoder(
        lambda key, _text: warned.append(key), drop=lambda key, _text: told.append(key)
    )
    assert encoder.row(data) == row
    assert told == dropped
    assert warned == []
    by_default = Encoding()
    by_default.encoder.row(data)
    assert [key for key, _ in by_default.warnings] == dropped


class _Picture(MediaValue):
    def reference(self, directory: Path) -> dict[str, Any]:
        (directory / "one").write_bytes(b"x")
        return {"_media": "one"}


def test_media_is_stored_as_its_reference(tmp_path: Path) -> None:
    encoding = Encoding(tmp_path)
    assert encoding.value([_Picture()]) == [{"_media": "one"}]
    assert encoding.encoder.row(_Picture()) == {"value": {"_media": "one"}}
    assert (tmp_path / "one").read_bytes() == b"x"


def test_media_without_a_folder_is_text_with_a_warning() -> None:
    encoding = Encoding()
    assert "_Picture" in encoding.value(_Picture())
    assert len(encoding.warnings) == 1


# -- steps -------------------------------------------------------------------------------------------


class _Index:
    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (0, 0),
        (-3, -3),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (True, 1),
        (False, 0),
        (3.0, 3),
        (-0.0, 0),
        (np.float64(4.0), 4),
        (np.float32(4.0), 4),
        (np.float16(-2.0), -2),
        (np.longdouble(9.0), 9),
        (Fraction(6, 2), 3),
        (np.int64(5), 5),
        (np.uint64(6), 6),
        (np.array(7), 7),
        (Level.HIGH, 3),
        (_Index(8), 8),
    ],
    ids=repr,
)
def test_a_whole_number_of_any_kind_is_a_step(value: object, step: int) -> None:
    found = step_from(value)
    assert found == step
    assert type(found) is int


class _BadIndex:
    def __index__(self) -> NoReturn:
        raise TypeError("only whole ones")


@pytest.mark.parametrize(
    "value",
    [
        3.7,
        float("nan"),
        float("inf"),
        1e300,
        2**63,
        -(2**63) - 1,
        "54",
        b"54",
        None,
        Decimal(3),
        Fraction(7, 2),
        np.float32(2.5),
        np.float32("nan"),
        np.float16("inf"),
        np.float32(2**63),
        [3],
        np.array([3]),
        np.array(3.5),
        np.uint64(2**63),
        1 + 0j,
        _BadIndex(),
    ],
    ids=repr,
)
def test_anything_else_is_refused_by_name_and_rule(value: object) -> None:
    with pytest.raises(StepError, match="step="):
        step_from(value)


def test_a_refused_step_is_a_type_error_as_callers_expect() -> None:
    assert issubclass(StepError, TypeError)


class Slotted:
    __slots__ = ("a",)


class Pairless:
    def __iter__(self) -> Any:
        return iter([1])


@pytest.mark.parametrize("value", [object(), Slotted(), Pairless(), range(3)], ids=repr)
def test_a_warning_speaks_of_the_value_and_not_of_how_it_was_opened(value: object) -> None:
    encoding = Encoding()
    assert encoding.value(value) == repr(value)
    ((_, text),) = encoding.warnings
    assert text == f"stored as its repr: {type(value).__name__} has no JSON form"


class Keyed:
    """Has keys and items, and no way to go through it."""

    __slots__ = ("members",)

    def __init__(self, **members: Any) -> None:
        self.members = members

    def keys(self) -> list[str]:
        return list(self.members)

    def __getitem__(self, name: str) -> Any:
        return self.members[name]

    __iter__ = None


class KeyedWithAttributes(Keyed):
    """The same, with attributes of its own beside."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self.hidden = "an attribute, not a member"


@pytest.mark.parametrize("kind", [Keyed, KeyedWithAttributes])
def test_an_object_with_keys_and_items_is_stored_as_a_dict(kind: type[Keyed]) -> None:
    encoding = Encoding()
    assert encoding.value(kind(a=1, b=[2.5, Keyed(c="x")])) == {"a": 1, "b": [2.5, {"c": "x"}]}
    assert encoding.warnings == []


def test_an_object_whose_keys_are_none_is_stored_as_its_attributes() -> None:
    class Piano:
        def __init__(self) -> None:
            self.maker = "B"

        def keys(self) -> int:
            return 88

        def __getitem__(self, key: int) -> int:
            return key

        __iter__ = None

    assert Encoding().value(Piano()) == {"maker": "B"}
