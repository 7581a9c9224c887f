"""What a search says, as frozen values: fields, values, predicates and their combinations.

A tree is checked when it is built by the parser: a field meets only operators and values of its
type, so whoever reads a tree asks no such question again. Two trees are equal when they say the
same in the same shape; `mapi.search.printing` writes any of them as text that parses to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mapi.wire.enums import RunKind, RunStatus, SeriesStat

if TYPE_CHECKING:
    from mapi.series.names import Labels

__all__ = [
    "ATTRIBUTES",
    "EVERYTHING",
    "KINDS",
    "STATS",
    "STATUSES",
    "Ago",
    "And",
    "Attribute",
    "Column",
    "Compare",
    "Field",
    "IsMissing",
    "IsNan",
    "Match",
    "Metric",
    "MetricAt",
    "Node",
    "Not",
    "OneOf",
    "Operator",
    "Or",
    "Param",
    "Predicate",
    "Search",
    "SortKey",
    "Tag",
    "Value",
    "ValueType",
    "field_type",
    "levels",
    "moment",
    "predicate_count",
]

#: What a search may ask of a metric; the first where nothing is said.
STATS: Final = tuple(one.value for one in SeriesStat)
KINDS: Final = tuple(one.value for one in RunKind)
STATUSES: Final = tuple(one.value for one in RunStatus)

ValueType: TypeAlias = Literal["number", "param", "text", "kind", "status", "time"]
Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

#: Every attribute and what it is compared with. A duration is in seconds.
ATTRIBUTES: Final[dict[str, ValueType]] = {
    "id": "text",
    "name": "text",
    "note": "text",
    "status": "status",
    "kind": "kind",
    "experiment": "text",
    "user": "text",
    "created": "time",
    "started": "time",
    "finished": "time",
    "duration": "number",
    "parent": "text",
    "attempts": "number",
    "external_id": "text",
}

_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class Metric:
    """One statistic of one exact series."""

    key: str
    labels: Labels = ()
    stat: str = "last"


@dataclass(frozen=True, slots=True)
class MetricAt:
    """The value of a series at the step where another one has its extreme; a column only."""

    key: str
    labels: Labels
    extreme: Literal["min", "max"]
    of_key: str
    of_labels: Labels


@dataclass(frozen=True, slots=True)
class Param:
    """The param of a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Tag:
    """The tag of a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property that every run can have."""

    name: str


Field: TypeAlias = Metric | Param | Tag | Attribute
Column: TypeAlias = Field | MetricAt


@dataclass(frozen=True, slots=True)
class Ago:
    """A time before the search began."""

    count: int
    unit: str
    """One of ``s m h d w``."""

    @property
    def span(self) -> timedelta:
        """How long ago."""
        return timedelta(seconds=self.count * _UNIT_SECONDS[self.unit])


Value: TypeAlias = float | str | datetime | Ago


@dataclass(frozen=True, slots=True)
class Compare:
    """A field against one value."""

    field: Field
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Match:
    """A text against a pattern: ``*`` is any run of characters, ``?`` is one, case is no matter."""

    field: Field
    pattern: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field against a list: equal to one of it."""

    field: Field
    values: tuple[Value, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class IsMissing:
    """Whether the run lacks the field; never unknown."""

    field: Field
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNan:
    """Whether the last value of a series is NaN; unknown where there is no series."""

    field: Metric
    is_negated: bool = False


Predicate: TypeAlias = Compare | Match | OneOf | IsMissing | IsNan


@dataclass(frozen=True, slots=True)
class Not:
    """True where its operand is false."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """True where all of two or more operands are; without operands, everywhere."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where one of two or more operands is."""

    operands: tuple[Node, ...]


Node: TypeAlias = Predicate | Not | And | Or

#: The filter that says nothing.
EVERYTHING: Final = And(())


@dataclass(frozen=True, slots=True)
class SortKey:
    """One field to sort by."""

    field: Field
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """Which runs of a project, and in which order: what a cursor is bound to."""

    project_id: int
    now: datetime
    """When the first page was asked for; times like ``-7d`` count from here on every page."""
    filter: Node = EVERYTHING
    sort: tuple[SortKey, ...] = (SortKey(Attribute("created"), is_descending=True),)
    in_trash: bool = False
    """Runs in the trash instead of all others."""


def field_type(field: Field) -> ValueType:
    """Return what a field is compared with."""
    match field:
        case Metric():
            return "number"
        case Param():
            return "param"
        case Tag():
            return "text"
        case Attribute(name):
            return ATTRIBUTES[name]


def levels(node: Node) -> int:
    """Return how deep AND, OR and NOT are nested; a predicate alone has no level."""
    match node:
        case And(operands) | Or(operands):
            return 1 + max(map(levels, operands), default=-1)
        case Not(operand):
            return 1 + levels(operand)
        case _:
            return 0


def predicate_count(node: Node) -> int:
    """Return how many predicates a tree has."""
    match node:
        case And(operands) | Or(operands):
            return sum(map(predicate_count, operands))
        case Not(operand):
            return predicate_count(operand)
        case _:
            return 1


def moment(value: datetime | Ago, now: datetime) -> datetime:
    """Return the time that a value of a filter means in a search that began at ``now``."""
    return now - value.span if isinstance(value, Ago) else value
