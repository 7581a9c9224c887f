"""A dict and its spelling with slashes are one series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

import expr_tracker as et
from expr_tracker.errors import QueryError
from expr_tracker.history import read_history
from expr_tracker.history.names import check_logged
from expr_tracker.history.nested import heads_of, reached, ways_to

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

trees = st.recursive(
    st.integers(0, 9),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=8,
)


def leaves(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= leaves(inner, f"{name}/{key}")
    return found


@given(st.dictionaries(st.sampled_from("xyz"), trees, max_size=3))
def test_every_leaf_is_reached_by_its_path(row: Row) -> None:
    for name, value in row.items():
        for path, leaf in leaves(value, name).items():
            if path != name:
                assert reached(row, ways_to(path, row)) == leaf
    assert reached(row, ways_to("x/absent", row)) is UNSET


def test_a_name_is_cut_at_every_slash() -> None:
    assert heads_of("a/b/c") == [("a", "b/c"), ("a/b", "c")]
    assert heads_of("a") == []


@pytest.fixture
def run(tmp_path: Path) -> Path:
    et.init("p", "r", dir=tmp_path, capture=False)
    et.log({"train": {"loss": 1.0, "deep": {"lr": 0.1}}})
    et.log({"train/loss": 0.5})
    et.log({"train": {"loss": 9.0}, "train/loss": 0.25})
    et.log({"train": "a text", "acc": 1})
    et.finish()
    return tmp_path / "p" / "r"


def test_both_spellings_are_read_as_one_series_and_the_flat_one_wins(run: Path) -> None:
    rows = read_history(run, -1, metrics="train/loss", dropna=True, include_meta=False)
    assert rows == [{"train/loss": 1.0}, {"train/loss": 0.5}, {"train/loss": 0.25}]
    for n in (-1, 4):
        frame = read_history(run, n, metrics=["train/loss", "train/deep/lr"], output_type="polars")
        assert frame.columns == ["_step", "_time", "train/loss", "train/deep/lr"]
        assert frame["train/loss"].to_list() == [1.0, 0.5, 0.25, None]
        assert frame["train/deep/lr"].to_list() == [0.1, None, None, None]


def test_what_was_logged_stays_as_it_was_logged(run: Path) -> None:
    rows = read_history(run, -1, include_meta=False)
    assert rows[0] == {"train": {"loss": 1.0, "deep": {"lr": 0.1}}}
    assert rows[2] == {"train": {"loss": 9.0}, "train/loss": 0.25}
    assert read_history(run, 4, metrics="train", include_meta=False)[0] == rows[0]


def test_a_glob_names_the_members_unless_it_names_the_metric(run: Path) -> None:
    for n in (-1, 4):
        rows = read_history(run, n, metrics="train/*", include_meta=False)
        frame = read_history(run, n, metrics="train/*", include_meta=False, output_type="pl")
        assert list(rows[0]) == frame.columns == ["train/loss", "train/deep/lr"]
        whole = read_history(run, n, metrics="*", output_type="polars", include_meta=False)
        assert whole.columns == ["train", "train/loss", "acc"]


def test_a_path_is_known_to_the_command_that_looks_for_names(run: Path) -> None:
    check_logged(run, ["train/loss", "train/deep/lr"])
    with pytest.raises(QueryError, match="train/los"):
        check_logged(run, ["train/los"])
