"""The kinds of values that options take, each refused in one line that names its rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from expr_tracker.cli.failure import Failure
from expr_tracker.ranges import STEP_MAX, STEP_MIN

__all__ = [
    "RUN_COLUMNS",
    "Attempt",
    "Count",
    "Rank",
    "Ranks",
    "RunPath",
    "StepRange",
    "TimeRange",
    "check_choice_within",
    "given_options",
    "metric_choice",
    "stream_choice",
]

if TYPE_CHECKING:
    _OneLine = click.ParamType[Any]
else:
    # click >= 8.2 types its parameters; older ones cannot be subscripted.
    _OneLine = click.ParamType

#: The columns that every list of runs has, by which it may be sorted.
RUN_COLUMNS: Final = ("project", "name", "status", "streams", "rows", "last_step", "started")
#: Steps of 64 bits have 19 digits.
_STEP_RANGE: Final = re.compile(r"\s*(-?[0-9]{1,19})?\s*:\s*(-?[0-9]{1,19})?\s*", re.ASCII)
_SECONDS: Final = r"([0-9]{1,19}(?:\.[0-9]{0,20})?)?"
_TIME_RANGE: Final = re.compile(rf"\s*{_SECONDS}\s*:\s*{_SECONDS}\s*", re.ASCII)


#: Why a range of the command line is empty; from a program that is an answer without rows.
_RULE: Final = "the first has to be below the second, which is left out."


class StepRange(_OneLine):
    """Two steps with a colon between them, either of which may be left out."""

    name = "a:b"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int | None]:
        """Return the two steps."""
        del param, ctx
        match = _STEP_RANGE.fullmatch(value)
        if match is None:
            raise Failure(
                f"--step-range {value!r}: expected two steps of 64 bits, at most 19 digits each: "
                "100:200, 100: or :200."
            )
        low, high = (int(step) if step else None for step in match.groups())
        for step in (low, high):
            if step is not None and not STEP_MIN <= step <= STEP_MAX:
                raise Failure(
                    f"--step-range {value!r}: {step} is no step; steps lie between -2**63 and "
                    "2**63 - 1."
                )
        if low is not None and high is not None and low >= high:
            raise Failure(f"--step-range {value!r}: no step is in it; {_RULE}")
        return low, high


class TimeRange(_OneLine):
    """Two times in Unix seconds with a colon between them, either of which may be left out."""

    name = "a:b"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float | None, float | None]:
        """Return the two times."""
        del param, ctx
        match = _TIME_RANGE.fullmatch(value)
        if match is None:
            raise Failure(
                f"--time-range {value!r}: expected two times in Unix seconds: "
                "1764400000:1764400600.5, 1764400000: or :1764400600."
            )
        low, high = (float(seconds) if seconds else None for seconds in match.groups())
        if low is not None and high is not None and low >= high:
            raise Failure(f"--time-range {value!r}: no time is in it; {_RULE}")
        return low, high


class Count(_OneLine):
    """How many steps: a number from 1, or -1 for all."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        del param, ctx
        text = str(value)
        if text == "-1":
            return -1
        count = _whole(text)
        if count is None or count < 1:
            raise Failure(
                f"-n {text}: expected a number of steps from 1, or -1 for all; at most 2**63 - 1."
            )
        return count


class Attempt(_OneLine):
    """One attempt, or all of them."""

    name = "k|all"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Literal["all"]:
        """Return the number, or ``all``."""
        del param, ctx
        if value == "all":
            return "all"
        number = _whole(value)
        if number is None or number < 1:
            raise Failure(f"--attempt {value!r}: expected an attempt's number from 1, or all.")
        return number


class Rank(_OneLine):
    """The rank of one process."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        del param, ctx
        text = str(value)
        rank = _whole(text)
        if rank is None:
            raise Failure(f"--rank {text}: expected a whole number from 0 to {STEP_MAX}.")
        return rank


class Ranks(_OneLine):
    """Ranks as the functions that read runs take them: one, several with commas, or all."""

    name = "a,b"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | list[int] | Literal["*"]:
        """Return the number, the numbers, or ``*``."""
        del param, ctx
        text = str(value)
        if text.strip() == "*":
            return "*"
        ranks = [_whole(number) for number in _comma_list(text)]
        known = [rank for rank in ranks if rank is not None]
        if not known or len(known) < len(ranks):
            raise Failure(
                f"--rank {text}: expected a whole number from 0 to {STEP_MAX}, several with commas, "
                "or '*' for all."
            )
        return known[0] if len(known) == 1 else known


class RunPath(_OneLine):
    """A run's directory or one of its files; no path at all would be the working directory."""

    name = "path"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path."""
        del ctx
        if isinstance(value, str) and not value.strip():
            what = "RUN" if param is None or param.name is None else param.name.upper()
            raise Failure(f"{what} {value!r} is empty: pass a path; '.' is the working directory.")
        return Path(value)


def _whole(text: str) -> int | None:
    """Return a number of digits only, as far as 64 bits go; ``None`` for any other text."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    number = int(text)
    return number if number <= STEP_MAX else None


def _comma_list(text: str) -> list[str]:
    """Return the names in a list with commas; the spaces around them are no part of a name."""
    return [name.strip() for name in text.split(",") if name.strip()]


def given_options() -> set[str]:
    """Return the options that the command line has, whatever their values, as they are spelled."""
    ctx = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return {
        param.opts[-1]
        for param in ctx.command.params
        if ctx.get_parameter_source(param.name) is not default
    }


def check_choice_within(run: Path) -> None:
    """Refuse a stream or rank where RUN is one file, of one stream and rank: they would do nothing.

    Raises:
        UsageError: one of them is given.
    """
    for option in sorted(given_options() & {"--stream", "--rank"}):
        if run.is_file():
            raise click.UsageError(
                f"{option} chooses among the files of a run's directory, and {run} is one file: pass "
                "the directory, or leave the option out."
            )


def metric_choice(text: str | None) -> list[str]:
    """Return the metrics that ``--metrics`` names; none where it is left out.

    Raises:
        Failure: it names none.
    """
    names = _comma_list(text or "")
    if text is not None and not names:
        raise Failure(
            f"--metrics {text!r} names no metric. Name some, as in loss,lr; or leave it out."
        )
    return names


def stream_choice(text: str | None) -> str | list[str | None] | None:
    """Return the streams that ``--stream`` means, as `read_history` takes them.

    ``default`` is the default producer, ``*`` is all, and a comma goes between several.

    Raises:
        Failure: it names none.
    """
    from expr_tracker.history import stream_named

    if text is None or text.strip() == "*":
        return None if text is None else "*"
    names = [stream_named(name) for name in _comma_list(text)]
    if not names:
        raise Failure(f"--stream {text!r} names no stream; leave it out, or pass '*' for all.")
    return names[0] if len(names) == 1 else names
