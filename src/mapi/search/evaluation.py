"""The language on rows in memory: the twin of the statements for the database.

A row is a mapping with the attributes by name (``created`` and the like are aware datetimes,
``experiment`` is ``{"id", "name"}``; what is missing is absent, ``None`` or an empty text), and

* ``heartbeat``: the last sign of life;
* ``metrics``: ``{(key, labels): {stat: number}}``, labels sorted as in the tree, -1 where an extreme
  stands at no step;
* ``params``: ``{key: {"text": text, "number": number or None}}``;
* ``tags``: ``{key: text}``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cmp_to_key
from typing import Any, Final, TypeAlias

from mapi.search.identity import EXPERIMENT_PREFIX, canonical_id
from mapi.search.nodes import (
    Ago,
    And,
    Attribute,
    Compare,
    Field,
    IsMissing,
    IsNan,
    Match,
    Metric,
    Node,
    Not,
    OneOf,
    Or,
    Param,
    Predicate,
    SortKey,
    Tag,
    moment,
)

__all__ = ["Row", "Truth", "evaluate", "in_order"]

Row: TypeAlias = Mapping[str, Any]
#: ``None`` is UNKNOWN.
Truth: TypeAlias = bool | None

_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Where a point without a step stands.
_NO_STEP: Final = -1
#: As far as the order of the database looks into a text.
_ORDERED_LENGTH: Final = 256


def evaluate(node: Node, row: Row, now: datetime) -> Truth:
    """Return whether a filter is true, false or unknown (``None``) for a row.

    Args:
        node: the filter.
        row: a run; see the module.
        now: what times such as ``-7d`` count from.
    """
    match node:
        case Not(operand):
            return _negated(evaluate(operand, row, now))
        case And(operands):
            return _all([evaluate(one, row, now) for one in operands])
        case Or(operands):
            return _negated(_all([_negated(evaluate(one, row, now)) for one in operands]))
        case _:
            return _predicate(node, row, now)


def _negated(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _all(truths: Sequence[Truth]) -> Truth:
    if any(one is False for one in truths):
        return False
    return None if any(one is None for one in truths) else True


def _predicate(predicate: Predicate, row: Row, now: datetime) -> Truth:
    match predicate:
        case Compare():
            return _compare(predicate, row, now)
        case OneOf(field, values, is_negated):
            truths = [_compare(Compare(field, "!=", one), row, now) for one in values]
            is_none = _all(truths)
            return is_none if is_negated else _negated(is_none)
        case Match(field, pattern, is_negated):
            text = _text(field, row, now)
            return None if text is None else _matches(text, pattern) is not is_negated
        case IsMissing(field, is_negated):
            return (_present(field, row, now) is None) is not is_negated
        case IsNan(field, is_negated):
            found = _number(field, row, now)
            return None if found is None else math.isnan(found) is not is_negated


def _compare(comparison: Compare, row: Row, now: datetime) -> Truth:
    field, sign, value = comparison.field, comparison.operator, comparison.value
    found: Any = None
    other: Any = value
    if isinstance(value, str):
        if field == Attribute("experiment"):
            return _is_experiment(row, sign, value)
        found = _text(field, row, now)
    elif isinstance(value, datetime | Ago):
        found, other = _present(field, row, now), moment(value, now)
    else:
        found = _number(field, row, now)
        if found is not None and math.isnan(found):
            return None
    return None if found is None else _COMPARE[sign](found, other)


def _is_experiment(row: Row, sign: str, value: str) -> Truth:
    experiment = row.get("experiment")
    if not experiment:
        return None
    is_it = value == experiment["name"] or (
        canonical_id(value, EXPERIMENT_PREFIX) == experiment["id"]
    )
    return is_it is (sign == "=")


def _present(field: Field, row: Row, now: datetime) -> Any:
    """Return the value of a field, or ``None`` where it is missing."""
    match field:
        case Metric(key, labels, stat):
            found = row.get("metrics", {}).get((key, labels), {}).get(stat)
            return None if stat in {"min_step", "max_step"} and found == _NO_STEP else found
        case Param(key):
            return row.get("params", {}).get(key, {}).get("text")
        case Tag(key):
            return row.get("tags", {}).get(key)
        case Attribute(name):
            return _attribute(name, row, now)


def _attribute(name: str, row: Row, now: datetime) -> Any:
    found = row.get(name)
    match name:
        case "experiment":
            return found["name"] if found else None
        case "duration":
            started, end = row.get("started"), _end(row, now)
            return None if started is None or end is None else (end - started).total_seconds()
        case "attempts":
            return found or 1
        case _:
            return None if found == "" else found


def _end(row: Row, now: datetime) -> datetime | None:
    """Return up to when a run has lasted: of one that goes on now, of a lost one its last sign."""
    finished: datetime | None = row.get("finished")
    if finished is not None:
        return finished
    if row.get("status") == "lost":
        heartbeat: datetime | None = row.get("heartbeat")
        return heartbeat
    return None if row.get("status") in {"succeeded", "failed", "cancelled"} else now


def _text(field: Field, row: Row, now: datetime) -> str | None:
    found = _present(field, row, now)
    assert found is None or isinstance(found, str)
    return found


def _number(field: Field, row: Row, now: datetime) -> float | None:
    if isinstance(field, Param):
        found = row.get("params", {}).get(field.key, {}).get("number")
    else:
        found = _present(field, row, now)
    # As the database does: a whole number beyond 2^53 is the nearest float.
    return None if found is None else float(found)


def _folded(text: str) -> str:
    """Return a text in lower case, character by character, as PostgreSQL does."""
    return "".join(low if len(low := one.lower()) == 1 else one for one in text)


def _matches(text: str, pattern: str) -> bool:
    """Say whether a pattern fits a whole text; in time proportional to both lengths multiplied."""
    text, pattern = _folded(text), _folded(pattern)
    at = place = 0
    star, resume = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, resume = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in {"?", text[at]}:
            at, place = at + 1, place + 1
        elif star >= 0:
            # The last star takes one character more.
            resume += 1
            at, place = resume, star + 1
        else:
            return False
    return not pattern[place:].strip("*")


# -- order ----------------------------------------------------------------------------------------


def in_order(rows: Sequence[Row], sort: Sequence[SortKey], now: datetime) -> list[Row]:
    """Return rows in the order of a search: total, with NaN and what is missing last.

    Args:
        rows: runs; see the module.
        sort: the keys of the order.
        now: of the search.
    """
    ends = [SortKey(Attribute(name), is_descending=True) for name in ("created", "id")]

    def compared(one: Row, other: Row) -> int:
        for key in (*sort, *ends):
            pairs = zip(_ranks(key.field, one, now), _ranks(key.field, other, now), strict=True)
            for left, right in pairs:
                if left == right:
                    continue
                if left is None or right is None:
                    return 1 if left is None else -1
                return (1 if left > right else -1) * (-1 if key.is_descending else 1)
        return 0

    return sorted(rows, key=cmp_to_key(compared))


def _ranks(field: Field, row: Row, now: datetime) -> tuple[Any, ...]:
    if isinstance(field, Param):
        number, text = _number(field, row, now), _text(field, row, now)
        return number, None if number is not None or text is None else text[:_ORDERED_LENGTH]
    found = _present(field, row, now)
    if isinstance(found, float) and math.isnan(found):
        return (None,)
    return (found[:_ORDERED_LENGTH] if isinstance(found, str) else found,)
