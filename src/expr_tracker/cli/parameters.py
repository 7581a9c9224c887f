"""The kinds of values that options take, each refused in one line that names its rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from expr_tracker.cli.failure import Failure

__all__ = ["Attempt", "Count", "Rank", "StepRange"]

if TYPE_CHECKING:
    _OneLine = click.ParamType[Any]
else:
    # click >= 8.2 types its parameters; older ones cannot be subscripted.
    _OneLine = click.ParamType

#: Steps of 64 bits have 19 digits.
_STEP_RANGE: Final = re.compile(r"(-?[0-9]{1,19})?:(-?[0-9]{1,19})?")


class StepRange(_OneLine):
    """Two steps with a colon between them, either of which may be left out."""

    name = "a:b"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int | None]:
        """Return the two steps."""
        del param, ctx
        match = _STEP_RANGE.fullmatch(value.strip())
        if match is None:
            raise Failure(f"--step-range {value!r}: expected two steps: 100:200, 100: or :200.")
        low, high = (int(step) if step else None for step in match.groups())
        if low is not None and high is not None and low >= high:
            raise Failure(
                f"--step-range {value!r}: no step is in it; the first has to be below the second, "
                "which is left out."
            )
        return low, high


class Count(_OneLine):
    """How many steps: a number from 1, or -1 for all."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        del param, ctx
        text = str(value)
        if text != "-1" and not (text.isascii() and text.isdigit() and 0 < len(text) < 20):
            raise Failure(f"-n {text}: expected a number of steps from 1, or -1 for all.")
        if int(text) == 0:
            raise Failure("-n 0: expected a number of steps from 1, or -1 for all.")
        return int(text)


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
        if not (value.isascii() and value.isdigit() and int(value) >= 1):
            raise Failure(f"--attempt {value!r}: expected an attempt's number from 1, or all.")
        return int(value)


class Rank(_OneLine):
    """The rank of a process."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        del param, ctx
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise Failure(f"--rank {text}: expected a whole number from 0.")
        return int(text)
