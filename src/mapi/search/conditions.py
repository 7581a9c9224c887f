"""Filters as conditions on ``runs``: true exactly where the filter is TRUE.

A filter has three values, and only TRUE is asked for. So a tree is not translated operator by
operator: NOT is pushed down to the predicates (De Morgan holds for three values too), and each
predicate is asked either where it is TRUE or where it is FALSE. Both are questions for rows that
exist, so a missing value answers neither, as it should, and every conjunct is a semi-join that an
index can lead. PostgreSQL orders NaN above infinity and calls it equal to itself; whatever could
meet one excludes it by ``< 'NaN'``, which is a range of the same index.
"""

# The words of a statement are ours, and what users say travels as parameters.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from mapi.search.identity import EXPERIMENT_PREFIX, RUN_PREFIX, uuid_from_text
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
    Operator,
    Or,
    Param,
    Predicate,
    Tag,
    Value,
    moment,
)
from mapi.search.statement import (
    Parameters,
    metric_expression,
    param_rows,
    series_rows,
    tag_rows,
)

if TYPE_CHECKING:
    import uuid

__all__ = ["ATTRIBUTE_EXPRESSIONS", "INDEXED_LENGTH", "condition_of"]

#: The indexes over texts hold so many characters: `run_params_text`, `run_tags_text`.
INDEXED_LENGTH: Final = 256

_COMPLEMENTS: Final[dict[Operator, Operator]] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_NAN: Final = "'NaN'::float8"

#: An empty text is what a run has that was given none.
ATTRIBUTE_EXPRESSIONS: Final = {
    "id": "runs.id",
    "name": "nullif(runs.name, '')",
    "note": "nullif(runs.note, '')",
    "status": "runs.status",
    "kind": "runs.kind",
    "experiment": "runs.experiment_id",
    "user": "nullif(runs.user_name, '')",
    "created": "runs.created",
    "started": "runs.started",
    "finished": "runs.finished",
    # Of one that goes on up to now; of a lost one to its last sign of life.
    "duration": (
        "extract(epoch from coalesce(runs.finished, case when runs.status = 'lost'"
        " then runs.heartbeat when runs.status not in ('succeeded', 'failed', 'cancelled')"
        " then %(now)s::timestamptz end) - runs.started)::float8"
    ),
    "parent": "runs.parent_id",
    # The first is registered only where a second one is.
    "attempts": (
        "coalesce((select max(attempts.attempt) from run_attempts as attempts where"
        " attempts.tenant_id = mapi.current_tenant() and attempts.run_id = runs.id), 1)"
    ),
    # Whole, or the index of what is unique in a project would be of no use.
    "external_id": "runs.external_id",
}

#: From the expression of a value to a condition on it.
_Condition: TypeAlias = Callable[[str], str]


def condition_of(node: Node, parameters: Parameters, now: datetime) -> str:
    """Return the condition that holds for the runs for which a filter is TRUE.

    Args:
        node: the filter.
        parameters: takes the values.
        now: what times such as ``-7d`` count from.
    """
    return _Conditions(parameters, now).where(node, wanted=True)


class _Conditions:
    def __init__(self, parameters: Parameters, now: datetime) -> None:
        self._parameters = parameters
        self._now = now

    def where(self, node: Node, *, wanted: bool) -> str:
        """Return the condition for the runs for which a node is TRUE, or FALSE."""
        match node:
            case Not(operand):
                return self.where(operand, wanted=not wanted)
            case And(operands) | Or(operands):
                is_all = isinstance(node, And) is wanted
                parts = [self.where(one, wanted=wanted) for one in operands]
                if not parts:
                    return "true" if is_all else "false"
                return "(" + (" and " if is_all else " or ").join(parts) + ")"
            case _:
                return self._predicate(node, wanted=wanted)

    def _predicate(self, predicate: Predicate, *, wanted: bool) -> str:
        match predicate:
            case Compare(field, operator, value):
                sign = operator if wanted else _COMPLEMENTS[operator]
                if sign in {"=", "!="}:
                    return self._equality(field, [value], is_negated=sign == "!=")
                return self._order(field, sign, value)
            case OneOf(field, values, is_negated):
                return self._equality(field, values, is_negated=is_negated is wanted)
            case Match(field, pattern, is_negated):
                return self._match(field, pattern, is_negated=is_negated is wanted)
            case IsMissing(field, is_negated):
                return self._missing(field, is_negated=is_negated is wanted)
            case IsNan(field, is_negated):
                sign = "<" if is_negated is wanted else "="
                return self._rows(field, lambda expression: f"{expression} {sign} {_NAN}")

    def _rows(self, field: Field, condition: _Condition, *, text: bool = False) -> str:
        """Return that the run has the field, and that its value meets a condition."""
        parameters = self._parameters
        match field:
            case Metric(key, labels):
                rows = series_rows(parameters, "summary", (key, labels))
                value = condition(metric_expression(field, "summary"))
                return _exists("run_metric_summary", "summary", f"{rows} and {value}")
            case Param(key):
                rows = param_rows(parameters, "params", key)
                value = condition("params.text" if text else "params.number")
                return _exists("run_params", "params", f"{rows} and {value}")
            case Tag(key):
                rows = tag_rows(parameters, "tags", key)
                return _exists("run_tags", "tags", f"{rows} and {condition('tags.text')}")
            case Attribute(name):
                return condition(ATTRIBUTE_EXPRESSIONS[name])

    def _order(self, field: Field, sign: Operator, value: Value) -> str:
        assert not isinstance(value, str)
        if isinstance(value, datetime | Ago):
            time = self._parameters.add(moment(value, self._now), "timestamptz")
            return self._rows(field, lambda expression: f"{expression} {sign} {time}")
        number = self._parameters.add(value, "float8")
        # NaN would be the greatest of all.
        guard = f" and {{0}} < {_NAN}" if sign in {">", ">="} else ""
        return self._rows(
            field, lambda expression: f"{expression} {sign} {number}" + guard.format(expression)
        )

    def _equality(self, field: Field, values: Sequence[Value], *, is_negated: bool) -> str:
        """Return that the value is one of several, or none of them."""
        if isinstance(field, Attribute) and field.name in {"id", "parent"}:
            return self._identity(field, values, is_negated=is_negated)
        if field == Attribute("experiment"):
            return self._experiment(values, is_negated=is_negated)
        times = [moment(one, self._now) for one in values if isinstance(one, datetime | Ago)]
        numbers = [one for one in values if isinstance(one, float)]
        texts = [one for one in values if isinstance(one, str)]
        if times:
            return self._rows(field, self._member(times, "timestamptz", is_negated=is_negated))
        if not isinstance(field, Param):
            if numbers:
                return self._rows(field, self._member(numbers, "float8", is_negated=is_negated))
            return self._rows(field, self._text_member(field, texts, is_negated=is_negated))
        parts = []
        if numbers:
            parts.append(self._rows(field, self._member(numbers, "float8", is_negated=is_negated)))
        if texts:
            of_text = self._text_member(field, texts, is_negated=is_negated)
            parts.append(self._rows(field, of_text, text=True))
        return "(" + (" and " if is_negated else " or ").join(parts) + ")"

    def _member(self, values: Sequence[object], cast: str, *, is_negated: bool) -> _Condition:
        if len(values) == 1:
            given = self._parameters.add(values[0], cast)
            sign = "<>" if is_negated else "="
        else:
            given = f"({self._parameters.add(list(values), f'{cast}[]')})"
            sign, given = ("<>", f"all {given}") if is_negated else ("=", f"any {given}")
        if cast == "float8" and is_negated:
            return lambda expression: f"{expression} {sign} {given} and {expression} < {_NAN}"
        return lambda expression: f"{expression} {sign} {given}"

    def _text_member(self, field: Field, texts: Sequence[str], *, is_negated: bool) -> _Condition:
        whole = self._member(texts, "text", is_negated=is_negated)
        if is_negated or isinstance(field, Attribute):
            return whole
        # What the index holds decides nearly always; the whole text is compared in the row.
        heads = [text[:INDEXED_LENGTH] for text in texts]
        head = self._member(heads, "text", is_negated=False)
        return lambda expression: (
            f"{head(f'left({expression}, {INDEXED_LENGTH})')} and {whole(expression)}"
        )

    def _identity(self, field: Field, values: Sequence[Value], *, is_negated: bool) -> str:
        # A text that is no identifier is one that no run has.
        known = [found for found in (_uuid(one, RUN_PREFIX) for one in values) if found]
        if not known:
            return self._missing(field, is_negated=True) if is_negated else "false"
        return self._rows(field, self._member(known, "uuid", is_negated=is_negated))

    def _experiment(self, values: Sequence[Value], *, is_negated: bool) -> str:
        names = [one for one in values if isinstance(one, str)]
        known = [found for found in (_uuid(one, EXPERIMENT_PREFIX) for one in values) if found]
        meant = f"experiments.name = any ({self._parameters.add(names, 'text[]')})"
        if known:
            meant += f" or experiments.id = any ({self._parameters.add(known, 'uuid[]')})"
        return self._in_experiments(meant, is_negated=is_negated)

    def _in_experiments(self, meant: str, *, is_negated: bool) -> str:
        # Of an empty list "all" is true even for null, so a missing experiment is kept out first.
        sign = "is not null and runs.experiment_id <> all" if is_negated else "= any"
        return (
            f"runs.experiment_id {sign} (array(select experiments.id from experiments where"
            " experiments.tenant_id = mapi.current_tenant()"
            f" and experiments.project_id = %(project)s and ({meant})))"
        )

    def _match(self, field: Field, pattern: str, *, is_negated: bool) -> str:
        like = self._parameters.add(_like_pattern(pattern), "text")
        if field == Attribute("experiment"):
            return self._in_experiments(f"experiments.name ilike {like}", is_negated=is_negated)
        sign = "not ilike" if is_negated else "ilike"
        is_id = isinstance(field, Attribute) and field.name in {"id", "parent"}
        before, after = (f"('{RUN_PREFIX}' || ", "::text)") if is_id else ("", "")
        return self._rows(
            field, lambda expression: f"{before}{expression}{after} {sign} {like}", text=True
        )

    def _missing(self, field: Field, *, is_negated: bool) -> str:
        if isinstance(field, Attribute):
            state = "is not null" if is_negated else "is null"
            return f"{ATTRIBUTE_EXPRESSIONS[field.name]} {state}"
        rows = self._rows(field, lambda expression: f"{expression} is not null", text=True)
        return rows if is_negated else f"not {rows}"


def _exists(table: str, alias: str, condition: str) -> str:
    return (
        f"exists (select from {table} as {alias} where {alias}.run_id = runs.id and {condition})"
    )


def _uuid(value: Value, prefix: str) -> uuid.UUID | None:
    return uuid_from_text(value, prefix) if isinstance(value, str) else None


def _like_pattern(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")
