"""Filters as Python expressions; what they become is text of the search language.

    from mapi import filters as f

    good = (f.metric("loss", split="val").min < 0.3) & (f.param("optimizer") == "adam")
    recent = f.attribute("created") >= timedelta(days=7)      # within the last seven days
    api.runs.list(filter=good & recent & ~f.tag("broken").is_missing())

``&``, ``|`` and ``~`` are AND, OR and NOT; Python binds them before comparisons, so a comparison
stands in brackets. A field is a column or a sort key as well: ``columns=[f.metric("loss").min]``.
What a field cannot be compared with is refused here, by the parser of the server itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Literal, NoReturn, TypeAlias

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import items_of, shown, text_of
from mapi.sdk.checks import checked_series
from mapi.search import field_text, filter_text, parse_filter
from mapi.search.nodes import (
    ATTRIBUTES,
    STATS,
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
    Tag,
    Value,
)
from mapi.series.name_map import series_from_name
from mapi.series.names import check_param, check_tag

__all__ = [
    "FieldOf",
    "Filter",
    "Listed",
    "MetricField",
    "Search",
    "attribute",
    "field_of",
    "filter_of",
    "joined_texts",
    "metric",
    "param",
    "tag",
    "texts_of",
]


class Filter:
    """A condition on runs; ``str()`` of it is the text that is sent."""

    def __init__(self, node: Node) -> None:
        text = filter_text(node)
        # The parser checks types and limits, and that the text says what the tree does.
        parsed = parse_filter(text, series_from_name=series_from_name, pointer="/filter")
        self._node = parsed
        self._text = text

    @property
    def node(self) -> Node:
        """The tree."""
        return self._node

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Filter {self._text}>"

    def __and__(self, other: Filter) -> Filter:
        if not isinstance(other, Filter):
            return NotImplemented
        return Filter(And((*_operands(self._node, And), *_operands(other._node, And))))

    def __or__(self, other: Filter) -> Filter:
        if not isinstance(other, Filter):
            return NotImplemented
        return Filter(Or((*_operands(self._node, Or), *_operands(other._node, Or))))

    def __invert__(self) -> Filter:
        return Filter(Not(self._node))

    def __bool__(self) -> NoReturn:
        # `a and b` would be b, `not a` would be False, and neither would say so.
        raise TypeError("a filter is neither true nor false: combine with &, | and ~, in brackets")


def _operands(node: Node, kind: type[And | Or]) -> tuple[Node, ...]:
    return node.operands if isinstance(node, kind) else (node,)


class FieldOf:
    """A field of runs: compare it, or use it as a column."""

    def __init__(self, field: Field) -> None:
        self._field = field

    def __str__(self) -> str:
        return field_text(self._field)

    def __repr__(self) -> str:
        return f"<Field {self}>"

    __hash__: ClassVar[None]  # type: ignore[assignment]  # its == makes a filter

    def __eq__(self, value: object) -> Filter:  # type: ignore[override]  # a filter, not a truth
        return self._compared("=", value)

    def __ne__(self, value: object) -> Filter:  # type: ignore[override]  # a filter, not a truth
        return self._compared("!=", value)

    def __lt__(self, value: object) -> Filter:
        return self._compared("<", value)

    def __le__(self, value: object) -> Filter:
        return self._compared("<=", value)

    def __gt__(self, value: object) -> Filter:
        return self._compared(">", value)

    def __ge__(self, value: object) -> Filter:
        return self._compared(">=", value)

    def __neg__(self) -> str:
        """Return the sort key with the largest first."""
        return f"-{self}"

    def matches(self, pattern: str) -> Filter:
        """Return: the text matches; ``*`` is any run of characters, ``?`` is one."""
        return Filter(Match(self._field, _text(pattern)))

    def one_of(self, *values: object) -> Filter:
        """Return: it is equal to one of these."""
        return Filter(OneOf(self._field, tuple(map(self._value, values))))

    def is_missing(self) -> Filter:
        """Return: the run lacks it."""
        return Filter(IsMissing(self._field))

    def _compared(self, operator: Operator, value: object) -> Filter:
        return Filter(Compare(self._field, operator, self._value(value)))

    def _value(self, value: object) -> Value:
        if isinstance(value, bool):
            # A param that was logged as True has the text "true".
            return "true" if value else "false"
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise InvalidError(
                    Fault("/filter", f"{value} has no zone: datetime.now(UTC), or .astimezone()")
                )
            return value
        if isinstance(value, timedelta):
            return _ago(value)
        if isinstance(value, str):
            return str(value)
        if hasattr(value, "__float__"):
            return float(value)
        raise InvalidError(
            Fault("/filter", f"{str(value)[:80]!r} is no number, text, datetime or timedelta")
        )


class MetricField(FieldOf):
    """One statistic of one exact series; by default its last value."""

    def __init__(self, field: Metric) -> None:
        super().__init__(field)
        self._metric = field

    def _stat(self, stat: str) -> MetricField:
        assert stat in STATS
        return MetricField(Metric(self._metric.key, self._metric.labels, stat))

    @property
    def last(self) -> MetricField:
        """The value at the highest step."""
        return self._stat("last")

    @property
    def min(self) -> MetricField:
        """The smallest finite value."""
        return self._stat("min")

    @property
    def max(self) -> MetricField:
        """The largest finite value."""
        return self._stat("max")

    @property
    def mean(self) -> MetricField:
        """The mean of the finite values."""
        return self._stat("mean")

    @property
    def count(self) -> MetricField:
        """How many points there are."""
        return self._stat("count")

    @property
    def nonfinite(self) -> MetricField:
        """How many of them are NaN or infinite."""
        return self._stat("nonfinite")

    @property
    def min_step(self) -> MetricField:
        """The step of the smallest value."""
        return self._stat("min_step")

    @property
    def max_step(self) -> MetricField:
        """The step of the largest value."""
        return self._stat("max_step")

    def is_nan(self) -> Filter:
        """Return: the last value is NaN."""
        return Filter(IsNan(self._metric))


def metric(key: str, labels: Mapping[str, str] | None = None, **more: str) -> MetricField:
    """Return a metric: exactly the series with this key and these labels.

    Args:
        key: of the metric.
        labels: by name.
        more: labels as arguments: ``metric("loss", split="val")``.

    Raises:
        InvalidError: the key or a label breaks its rule.
    """
    wanted = {**(labels or {}), **more}
    # What the platform itself writes can be asked for.
    own = {name: value for name, value in wanted.items() if name not in {"stream", "rank"}}
    checked_series(key, own)
    return MetricField(Metric(key, tuple(sorted(wanted.items()))))


def param(key: str) -> FieldOf:
    """Return a param: a number or a text.

    Raises:
        InvalidError: the key breaks its rule.
    """
    return FieldOf(Param(_key(key, check_param(key, ""))))


def tag(key: str) -> FieldOf:
    """Return a tag: a text.

    Raises:
        InvalidError: the key breaks its rule.
    """
    return FieldOf(Tag(_key(key, check_tag(key, "", platform=True))))


def attribute(
    name: Literal[
        "id", "name", "note", "status", "kind", "experiment", "user", "created", "started",
        "finished", "duration", "parent", "attempts", "external_id",
    ],
) -> FieldOf:  # fmt: skip
    """Return what every run can have: its status, its name, when it was made.

    Raises:
        InvalidError: runs have no such attribute.
    """
    if name not in ATTRIBUTES:
        words = tuple(ATTRIBUTES)
        raise InvalidError(
            Fault("/attribute", f"{name!r} is not in the list: {', '.join(words)}", expected=words)
        )
    return FieldOf(Attribute(name))


#: A search's texts: one, several that all hold, or what stands above.
Search: TypeAlias = str | Filter | Sequence[str | Filter] | None
#: Fields: a text with commas, one field, or several.
Listed: TypeAlias = str | FieldOf | Sequence[str | FieldOf] | None


def texts_of(found: Any, *, at: str = "/filter") -> list[str] | None:
    """Return the texts of a search.

    Raises:
        InvalidError: it is none.
    """
    if found is None:
        return None
    if isinstance(found, str | Filter):
        return [filter_of(found, at=at)]
    items = items_of(found)
    if items is None:
        raise InvalidError(Fault(at, f"{shown(found)} is no filter: a text, or mapi.filters"))
    return [filter_of(one, at=f"{at}/{i}") for i, one in enumerate(items)]


def filter_of(found: Any, *, at: str = "/filter") -> str:
    """Return the text of one filter.

    Raises:
        InvalidError: it is none.
    """
    if isinstance(found, str):
        return text_of(found, at=at)
    if not isinstance(found, Filter):
        raise InvalidError(Fault(at, f"{shown(found)} is no filter: a text, or mapi.filters"))
    return str(found)


def joined_texts(found: Any, *, at: str = "/fields") -> str | None:
    """Return fields as one text.

    Raises:
        InvalidError: one is no field.
    """
    if found is None:
        return None
    if isinstance(found, str | FieldOf):
        return field_of(found, at=at)
    items = items_of(found)
    if items is None:
        raise InvalidError(Fault(at, f"{shown(found)} is no field: a text, or mapi.filters"))
    return ",".join(field_of(one, at=f"{at}/{i}") for i, one in enumerate(items))


def field_of(found: Any, *, at: str) -> str:
    """Return the text of one field.

    Raises:
        InvalidError: it is none.
    """
    if isinstance(found, str):
        return text_of(found, at=at)
    if not isinstance(found, FieldOf):
        raise InvalidError(Fault(at, f"{shown(found)} is no field: a text, or mapi.filters"))
    return str(found)


_UNITS: Final = (("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def _ago(span: timedelta) -> Ago:
    seconds = span.total_seconds()
    if seconds < 0 or seconds != int(seconds):
        raise InvalidError(
            Fault("/filter", f"{span} ago is no time of a filter: whole seconds, 0 or more")
        )
    unit, size = next((unit, size) for unit, size in _UNITS if int(seconds) % size == 0)
    return Ago(int(seconds) // size, unit)


def _key(key: Any, wrong: str | None) -> str:
    if wrong is not None:
        raise InvalidError(Fault("/key", wrong))
    return str(key)


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise InvalidError(Fault("/filter", f"{str(text)[:80]!r} is no text"))
    return text
