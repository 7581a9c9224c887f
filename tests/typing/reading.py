"""Reading a run, as a type checker sees it; an ignored error is one that it has to find."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import pandas as pd
import polars as pl

import expr_tracker as et
from expr_tracker.history import HistoryStore, follow, list_streams, read_history, resolve_run_path

RUN = Path("runs/project/name")

# The form of the answer follows from output_type.
assert_type(et.history(), list[dict[str, Any]])
assert_type(et.history(-1, metrics="loss"), list[dict[str, Any]])
assert_type(et.history(output_type="records"), list[dict[str, Any]])
assert_type(et.history(None, output_type="pandas"), pd.DataFrame)
assert_type(et.history(10, output_type="df", run=RUN), pd.DataFrame)
assert_type(et.history(output_type="polars", stream="*"), pl.DataFrame)
assert_type(read_history(RUN), list[dict[str, Any]])
assert_type(read_history("runs/a/b", -1, output_type="pd"), pd.DataFrame)
assert_type(read_history(RUN, -1, output_type="pl", stream=["data", None]), pl.DataFrame)
# pyarrow has no types of its own.
assert_type(read_history(RUN, output_type="arrow"), Any)

# Where the form is known at run time only, so is the answer.
form: str = "polars"
assert_type(et.history(output_type=form), Any)

# Everything that the guide shows.
et.history(20, step_range=(100, None), include_open=False)
et.history(20, step_range=range(5), include_meta=False, fill_missing=True)
et.history(-1, metrics=["train/*"], dropna=True)
et.history(-1, metrics={"a", "b"}, attempt="all", rank="*")
et.history(-1, attempt=2, rank=[0, 1])

# What has no meaning is an error before the program runs.
et.history("50")  # type: ignore[call-overload]
et.history(10, "pandas")  # type: ignore[call-overload]
et.history(metric="loss")  # type: ignore[call-overload]
et.history(metrics=5)  # type: ignore[call-overload]
et.history(step_range=5)  # type: ignore[call-overload]
et.history(step_range=("0", "9"))  # type: ignore[arg-type]
et.history(attempt="newest")  # type: ignore[call-overload]
et.history(output_type=["pandas"])  # type: ignore[call-overload]
et.history(rank="all")  # type: ignore[arg-type]
read_history()  # type: ignore[call-overload]
read_history(b"runs/a/b")  # type: ignore[call-overload]
# The open row is in memory: a run on disk has none.
read_history(RUN, include_open=True)  # type: ignore[call-overload]
et.history()["loss"]  # type: ignore[call-overload]
_ = et.history(output_type="polars").iloc  # type: ignore[attr-defined]

assert_type(list_streams(RUN), list[str | None])
assert_type(resolve_run_path(RUN, "data"), Path)
assert_type(follow(RUN).poll(), list[dict[str, Any]])


def of_a_run(store: HistoryStore) -> None:
    """``run.history`` has the same forms."""
    assert_type(store.query(), list[dict[str, Any]])
    assert_type(store.query(-1, output_type="pandas", include_open=False), pd.DataFrame)
    assert_type(store.query(output_type="polars", metrics="loss"), pl.DataFrame)
    assert_type(store.series.points("loss"), tuple[tuple[int, float, float], ...])
    store.query(stream="data")  # type: ignore[call-overload]
    store.query(1, 2)  # type: ignore[call-overload]


def misspelled() -> None:
    """Names that a module loads when they are used are known all the same."""
    from expr_tracker.history import read_histroy  # type: ignore[attr-defined]

    read_histroy()
