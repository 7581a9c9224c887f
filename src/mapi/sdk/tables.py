"""Runs as they are found, and as the rows of a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from msgspec import field

from mapi.wire.decoding import Answer
from mapi.wire.runs import RunRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.filters import Listed, Search

__all__ = ["Asked", "FoundPage", "FoundRun", "pandas_frame", "polars_frame"]

#: What every run has, in front of the columns that were asked for.
_ATTRIBUTES = ("id", "name", "status", "kind", "user", "created", "started", "finished")


class Asked(TypedDict, total=False):
    """What a search asks for."""

    filter: Search
    """Which runs; without it all."""
    sort: Listed
    """In which order; by default the newest first."""
    columns: Listed
    """What comes with each."""
    view: Named | None
    """A saved view, whose filter holds too."""
    limit: int | None
    """At most so many."""
    trashed: bool
    """The runs in the trash, in place of the others."""


class FoundRun(RunRow, kw_only=True, dict=True):
    """A run that a search found; as JSON it is what the server said of it."""

    @property
    def columns(self) -> list[str]:
        """What its ``values`` are, in canonical spelling."""
        found: list[str] = self.__dict__.get("_columns", [])
        return found

    @property
    def named(self) -> dict[str, Any]:
        """The values by their columns, such as ``found.named["metrics.loss.min"]``."""
        return dict(zip(self.columns, self.values, strict=True))


class FoundPage(Answer, kw_only=True):
    """One page of a search."""

    runs: list[FoundRun]
    """In the order of the sort; each knows its columns."""
    columns: list[str]
    """In their canonical spelling."""
    filter_canonical: str
    """The filter, fully bracketed."""
    next_cursor: str | None = None
    """For the next page; `None` at the end."""
    total: int | None = None
    """How many match, where that was asked for."""
    warnings: list[str] = field(default_factory=list)
    """Of names that no run of the project has."""

    def __post_init__(self) -> None:
        for run in self.runs:
            run.__dict__["_columns"] = self.columns


def _columns_of(runs: Sequence[FoundRun]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {
        name: [_plain(getattr(run, name)) for run in runs] for name in _ATTRIBUTES
    }
    for at, column in enumerate(runs[0].columns if runs else ()):
        name = column if column not in found else f"{column} (column)"
        values = [run.values[at] for run in runs]
        found[name] = _numbers(values) if column.startswith("metrics.") else values
    return found


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _numbers(values: list[Any]) -> list[float | None]:
    # "NaN" and the infinities are words on the wire.
    return [None if value is None else float(value) for value in values]


def _missing(library: str, error: ModuleNotFoundError) -> ImportError:
    from expr_tracker.extras import install_command  # noqa: PLC0415 - for who lacks it

    return ImportError(f"to_{library} needs {error.name}: {install_command(library)}")


def pandas_frame(runs: Sequence[FoundRun]) -> Any:
    """Return runs as a pandas data frame, one a row; metrics are float64, missing is NaN."""
    try:
        import pandas as pd  # noqa: PLC0415 - an extra, or heavy
    except ModuleNotFoundError as error:
        raise _missing("pandas", error) from None

    columns = _columns_of(runs)
    frame = pd.DataFrame(columns)
    for name in columns:
        if name in {"created", "started", "finished"}:
            frame[name] = pd.to_datetime(frame[name], utc=True)
        elif name.startswith("metrics."):
            frame[name] = frame[name].astype("float64")
    return frame


def polars_frame(runs: Sequence[FoundRun]) -> Any:
    """Return runs as a polars data frame, one a row; a missing value is null."""
    try:
        import polars as pl  # noqa: PLC0415 - an extra, or heavy
    except ModuleNotFoundError as error:
        raise _missing("polars", error) from None

    series = []
    for name, values in _columns_of(runs).items():
        if name in {"created", "started", "finished"}:
            series.append(pl.Series(name, values, dtype=pl.Datetime("us", time_zone="UTC")))
        elif name.startswith("metrics."):
            series.append(pl.Series(name, values, dtype=pl.Float64))
        else:
            # A param is a number in one run and a text in another.
            texts = [value if isinstance(value, str | None) else str(value) for value in values]
            is_mixed = any(isinstance(value, str) for value in values)
            series.append(pl.Series(name, texts if is_mixed else values, strict=False))
    return pl.DataFrame(series)
