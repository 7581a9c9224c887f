"""A question to the history, checked once: how many steps, which range, columns and form.

Everything that has no meaning is refused here, with the rule that it broke; the rooms behind rely
on a `Question` that makes sense.

The keywords are spelled once, as `Asked`, and checked once, in `ask`. The functions that users call
(``et.history``, `read_history`) repeat their names and defaults, for `help` shows those; a test holds
them against `ask`.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from expr_tracker.errors import QueryError, QuestionTypeError
from expr_tracker.metric_names import metric_names
from expr_tracker.ranges import STEP_MAX, index_of, steps_from
from expr_tracker.row import META_NAMES
from expr_tracker.texts import shown, type_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from expr_tracker.ranges import StepRange
    from expr_tracker.store.producers import RankChoice, StreamChoice

__all__ = [
    "ArrowOutput",
    "Asked",
    "AskedHere",
    "AskedOfRun",
    "AttemptChoice",
    "MetricChoice",
    "Output",
    "PandasOutput",
    "PolarsOutput",
    "Question",
    "RowsOutput",
    "ask",
    "is_glob",
    "select_names",
]

Output = Literal["dict", "pandas", "polars", "arrow"]

#: What ``output_type`` may be for each of them; in any letter case, which types cannot say.
RowsOutput = Literal["dict", "dicts", "records", "list"] | None
PandasOutput = Literal["pandas", "pd", "dataframe", "df"]
PolarsOutput = Literal["polars", "pl"]
ArrowOutput = Literal["arrow", "pyarrow"]

_OUTPUTS: Final[dict[str, Output]] = {
    "dict": "dict",
    "dicts": "dict",
    "records": "dict",
    "list": "dict",
    "pandas": "pandas",
    "pd": "pandas",
    "dataframe": "pandas",
    "df": "pandas",
    "polars": "polars",
    "pl": "polars",
    "arrow": "arrow",
    "pyarrow": "arrow",
}


MetricChoice: TypeAlias = "str | list[str] | tuple[str, ...] | set[str] | frozenset[str] | None"
AttemptChoice: TypeAlias = "int | Literal['all'] | None"


class Asked(TypedDict, total=False):
    """What is asked of a stream, beside ``n`` and ``output_type``; `ask` has the defaults."""

    metrics: MetricChoice
    step_range: StepRange
    include_meta: bool
    fill_missing: bool
    dropna: bool
    attempt: AttemptChoice


class AskedOfRun(Asked, total=False):
    """What is asked of a run on disk: of which of its streams and ranks, too."""

    stream: StreamChoice
    rank: RankChoice


class AskedHere(AskedOfRun, total=False):
    """What ``et.history`` is asked: of this process's run, or of one on disk."""

    include_open: bool
    run: str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of one or more streams."""

    n: int | None = 50
    """How many steps at most; ``None`` is all of them."""
    output: Output = "dict"
    metrics: tuple[str, ...] | None = None
    """Names and globs, in the order wanted; ``None`` is every metric."""
    low: int | None = None
    """The lowest step wanted."""
    high: int | None = None
    """The step before which to stop."""
    include_meta: bool = True
    fill_missing: bool = False
    dropna: bool = False
    attempt: int | Literal["all"] | None = None
    """``None`` is the default reading: one value per step, superseded lines left out."""

    @property
    def has_range(self) -> bool:
        """Whether steps are limited by number."""
        return self.low is not None or self.high is not None

    @property
    def is_empty(self) -> bool:
        """Whether no row can answer it."""
        reversed_range = self.low is not None and self.high is not None and self.low >= self.high
        return self.n == 0 or reversed_range


def ask(  # noqa: PLR0913 - the keywords of `history`
    n: object = 50,
    *,
    output_type: object = "dict",
    metrics: object = None,
    step_range: object = None,
    include_meta: bool = True,
    fill_missing: bool = False,
    dropna: bool = False,
    attempt: object = None,
) -> Question:
    """Return the question that these keywords of ``history`` mean.

    Raises:
        QueryError: one of them has no meaning; the message names it, its rule and a way out.
    """
    low, high = steps_from(step_range)
    return Question(
        n=_count(n),
        output=_output(output_type),
        metrics=None if metrics is None else metric_names(metrics),
        low=low,
        high=high,
        include_meta=include_meta,
        fill_missing=fill_missing,
        dropna=dropna,
        attempt=_attempt(attempt),
    )


def _count(n: object) -> int | None:
    if n is None:
        return None
    number = None if isinstance(n, (bool, str)) else index_of(n)
    if number is None:
        raise QuestionTypeError(
            f"n={shown(n)} ({type_name(n)}): n is a number of steps; pass an int, or -1 for all."
        )
    # A file has not as many lines as a step can count: more are all.
    return number if 0 <= number <= STEP_MAX else None


def _output(output_type: object) -> Output:
    if output_type is None:
        return "dict"
    found = _OUTPUTS.get(output_type.lower()) if isinstance(output_type, str) else None
    if found is None:
        raise QueryError(
            f"output_type={shown(output_type)}: expected 'dict', 'pandas', 'polars' or 'arrow'."
        )
    return found


def _attempt(attempt: object) -> int | Literal["all"] | None:
    if attempt is None:
        return None
    if isinstance(attempt, str) and attempt == "all":
        return "all"
    if isinstance(attempt, int) and not isinstance(attempt, bool) and attempt >= 1:
        return attempt
    raise QueryError(f"attempt={shown(attempt)}: expected a number from 1, 'all', or None.")


def is_glob(name: str) -> bool:
    """Say whether a selected name may stand for several metrics."""
    return any(sign in name for sign in "*?[")


def select_names(wanted: Iterable[str], existing: Iterable[str]) -> list[str]:
    """Return the names that a selection means, in its order.

    A name with ``*``, ``?`` or ``[`` is a glob unless a metric has exactly that name; it stands
    for the metrics that match, in the order they were first logged. Other names stay, whether
    they exist or not.
    """
    columns = list(existing)
    known = set(columns)
    names: dict[str, None] = {}
    for name in wanted:
        if is_glob(name) and name not in known:
            names.update(
                (column, None)
                for column in columns
                if column not in META_NAMES and fnmatch.fnmatchcase(column, name)
            )
        else:
            names[name] = None
    return list(names)
