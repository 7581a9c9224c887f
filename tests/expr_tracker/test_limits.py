"""Values without an end, and those that no line has room for."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import expr_tracker as et
from expr_tracker.arrays import ELEMENTS_MAX
from expr_tracker.errors import OptionError
from expr_tracker.limits import TooLargeError, first_elements
from expr_tracker.row import RowEncoder
from expr_tracker.store.lines import encode_line

#: A failing test must end: what is endless ends far beyond the limit, with a word about it.
_FAR = 20 * ELEMENTS_MAX


def endless(make: Any = int) -> Iterator[Any]:
    """Yield what ``make`` makes of 0, 1, ... for much longer than anyone may listen."""
    yield from map(make, range(_FAR))
    raise AssertionError("read to its end")


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        return endless()


class EndlessSet(set[int]):
    def __iter__(self) -> Iterator[int]:
        return endless()


class EndlessDeque(deque[int]):
    def __iter__(self) -> Iterator[int]:
        return endless()


class EndlessMapping(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return 1

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[str]:
        return endless(str)


class EndlessPairs:
    def __iter__(self) -> Iterator[tuple[int, int]]:
        return endless(lambda i: (i, i))


class EndlessKeys:
    def keys(self) -> Iterator[str]:
        return endless(str)

    def __getitem__(self, key: str) -> int:
        return 1


@pytest.mark.parametrize(
    "value",
    [
        itertools.count(),
        endless(),
        {"inside": [endless()]},
        EndlessList([1, 2]),
        [EndlessList([1])],
        EndlessSet({1}),
        EndlessDeque([1]),
        EndlessMapping(),
        EndlessPairs(),
        EndlessKeys(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_an_end_becomes_text_and_spares_the_others(value: object) -> None:
    warnings: list[tuple[str, str]] = []
    encoder = RowEncoder(lambda key, text: warnings.append((key, text)))
    row = encoder.row({"before": 1, "endless": value, "after": 2})
    assert (row["before"], row["after"]) == (1, 2)
    assert isinstance(row["endless"], str)
    assert [key for key, _ in warnings] == ["endless"]


class EndlessItems(dict[str, int]):
    def items(self) -> Any:
        return endless(lambda i: (str(i), i))


def test_a_dict_has_its_own_members_whatever_its_items_are() -> None:
    encoder = RowEncoder(lambda key, text: None)
    assert encoder.row(EndlessItems(a=1)) == {"a": 1}
    assert encoder.row({"inside": EndlessItems(a=1)}) == {"inside": {"a": 1}}


def test_rows_of_an_endless_subclass_end_where_their_length_says() -> None:
    rows = [EndlessList([1, 2])] * ELEMENTS_MAX
    stored = RowEncoder(lambda key, text: None).row({"x": rows})["x"]
    assert stored["shape"] == [ELEMENTS_MAX, 2]


def test_an_iterator_within_the_limit_is_stored_whole() -> None:
    encoder = RowEncoder(lambda key, text: pytest.fail(text))
    assert encoder.row({"x": iter(range(ELEMENTS_MAX))}) == {"x": list(range(ELEMENTS_MAX))}


def test_no_more_than_one_element_beyond_the_limit_is_taken() -> None:
    source = iter(range(10))
    with pytest.raises(ValueError, match="more than 3 elements"):
        first_elements(source, 3)
    assert list(source) == list(range(4, 10))


def test_a_table_of_rows_or_columns_without_an_end_is_refused() -> None:
    for columns, data in (
        (["a"], ([i] for i in endless())),
        (["a"], [endless()]),
        (None, {"a": endless(), "b": endless()}),
    ):
        with pytest.raises(ValueError, match="table"):
            et.Table(columns=columns, data=data)


def test_a_configuration_without_an_end_keeps_no_run_from_opening() -> None:
    config = {"endless": EndlessList([1]), "steps": endless(), "rate": 0.5}
    with et.init(project="p", name="n", dir="runs", capture=False, config=config) as run:
        assert run.config["rate"] == 0.5
        assert isinstance(run.config["steps"], str)
        assert isinstance(run.config["endless"], str)


def test_tags_without_an_end_are_refused() -> None:
    with pytest.raises(OptionError, match=r"tags=.*may have no end"):
        et.init(project="p", name="n", dir="runs", tags=endless(str))  # type: ignore[arg-type]


class Counted:
    """A value that counts how often it was made plain."""

    def __init__(self) -> None:
        self.times = 0

    def tolist(self) -> int:
        self.times += 1
        return 1


@pytest.mark.parametrize("width", [1, 50])
def test_what_no_line_has_room_for_is_given_up_before_its_values_are_looked_at(width: int) -> None:
    value = Counted()
    encoder = RowEncoder(lambda key, text: None, bytes_max=100_000)
    names = [f"{i:0{width}}" for i in range(2_000 if width == 50 else 20_000)]
    for large in (dict.fromkeys(names, value), {"x": dict.fromkeys(names, value)}):
        with pytest.raises(TooLargeError):
            encoder.row(large)
    with pytest.raises(TooLargeError):
        encoder.row({"x": [value] * 60_000})
    assert value.times == 0


def test_texts_are_added_up_over_the_values_of_a_row() -> None:
    encoder = RowEncoder(lambda key, text: None, bytes_max=1_000)
    texts = {f"t{i}": ["x" * 99] for i in range(9)}
    assert encoder.row(texts) == texts
    with pytest.raises(TooLargeError):
        encoder.row({**texts, "more": ["x" * 200]})


def test_a_single_value_that_has_no_room_is_its_type_and_a_warning() -> None:
    warnings: list[str] = []
    encoder = RowEncoder(lambda key, text: warnings.append(text), bytes_max=1_000)
    assert encoder.value("x", ["text"] * 1_000) == "<list, too large>"
    assert "max_record_bytes" in warnings[0]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _VALUES))
def test_no_row_is_given_up_that_a_line_has_room_for(row: dict[str, Any]) -> None:
    size = len(encode_line(RowEncoder(lambda key, text: None).row(row)))
    encoder = RowEncoder(lambda key, text: None, bytes_max=size)
    assert len(encode_line(encoder.row(row))) == size
