"""The grammar of filters: a parser by recursive descent, one function a rule.

``filter = or ;``
``or = and , { "OR" , and } ;``
``and = not , { "AND" , not } ;``
``not = "NOT" , not | "(" , or , ")" | predicate ;``

NOT binds before AND, AND before OR. The first fault ends it, with its place in code points and
with what could have stood there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from mapi.search.comparisons import read_value
from mapi.search.fields import SeriesFromName, note_fields, read_field, refuse_blank_in_metric
from mapi.search.nodes import (
    EVERYTHING,
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
    Predicate,
    Value,
    field_type,
    levels,
)
from mapi.search.source import Expectation, Source, fault

__all__ = ["LEVELS_MAX", "LIST_LENGTH_MAX", "PREDICATES_MAX", "FilterParser"]

#: Each predicate is a look-up for every run that the others leave.
PREDICATES_MAX: Final = 50
#: Deeper than anybody reads, and far from the depth that the interpreter allows.
LEVELS_MAX: Final = 10
LIST_LENGTH_MAX: Final = 100

#: Longer signs first.
_COMPARISONS: Final[tuple[Operator, ...]] = ("<=", ">=", "!=", "=", "<", ">")
_ORDERED: Final[tuple[Operator, ...]] = ("=", "!=", "<", "<=", ">", ">=")
_EQUAL: Final[tuple[Operator, ...]] = ("=", "!=")
#: Of other languages; they begin with one of ours.
_FOREIGN_SIGNS: Final = ("==", "<>", "=<", "=>")

_Reader: TypeAlias = Callable[[], Node]


class FilterParser:
    """Parses one text.

    Args:
        source: the text.
        series_from_name: the name map.
    """

    def __init__(self, source: Source, series_from_name: SeriesFromName) -> None:
        self._source = source
        self._series_from_name = series_from_name
        self._predicates = 0
        self._brackets = 0
        self._negations = 0

    def read(self) -> Node:
        """Read the whole text.

        ``filter = or ;`` A text without anything is the filter that lets every run through.

        Raises:
            InvalidError: at the first thing that is wrong.
        """
        self._source.skip_blanks()
        if self._source.is_at_end:
            self._source.miss(Expectation("NOT"), Expectation("("))
            note_fields(self._source)
            return EVERYTHING
        node = self._or()
        self._source.skip_blanks()
        if not self._source.is_at_end:
            self._refuse_rest()
        self._source.miss(Expectation("the end", "end"))
        return node

    def _refuse_rest(self) -> None:
        self._source.miss(Expectation("the end", "end"))
        if self._source.peek() == ")":
            raise fault("this ')' closes nothing", (self._source.at, 1), ("AND", "OR", "the end"))
        self._source.fail_here("AND, OR or the end")

    def _or(self) -> Node:
        """Read ``or = and , { "OR" , and } ;``."""
        return self._joined("OR", self._and, Or)

    def _and(self) -> Node:
        """Read ``and = not , { "AND" , not } ;``."""
        return self._joined("AND", self._not, And)

    def _joined(self, keyword: str, read: _Reader, kind: type[And | Or]) -> Node:
        operands = [read()]
        first = None
        while True:
            self._source.skip_blanks()
            at = self._source.at
            if not self._source.take_keyword(keyword):
                break
            first = at if first is None else first
            operands.append(read())
        if first is None:
            return operands[0]
        return self._checked(kind(tuple(operands)), first, len(keyword))

    def _not(self) -> Node:
        """Read ``not = "NOT" , not | "(" , or , ")" | predicate ;``."""
        source = self._source
        source.skip_blanks()
        at = source.at
        if source.take_keyword("NOT"):
            self._negations += 1
            self._check_open(self._negations, at, 3)
            operand = self._not()
            self._negations -= 1
            return self._checked(Not(operand), at, 3)
        if not source.take("("):
            return self._predicate()
        self._brackets += 1
        self._check_open(self._brackets, at, 1)
        # What is inside a bracket counts its own negations.
        negations, self._negations = self._negations, 0
        node = self._or()
        self._negations = negations
        source.skip_blanks()
        if not source.take(")"):
            source.fail_here("AND, OR or ')'")
        self._brackets -= 1
        return node

    def _check_open(self, count: int, at: int, length: int) -> None:
        if count > LEVELS_MAX:
            raise fault(f"more than {LEVELS_MAX} levels are open here", (at, length))

    def _checked(self, node: Node, at: int, length: int) -> Node:
        if levels(node) > LEVELS_MAX:
            raise fault(f"AND, OR and NOT are nested more than {LEVELS_MAX} deep", (at, length))
        return node

    def _predicate(self) -> Predicate:
        """Read a predicate.

        ``predicate = field , compare , value | field , ( "~" | "!~" ) , text
        | field , [ "NOT" ] , "IN" , "(" , value , { "," , value } , ")"
        | field , "IS" , [ "NOT" ] , ( "MISSING" | "NAN" ) ;``
        """
        source = self._source
        source.skip_blanks()
        start = source.at
        field = read_field(source, self._series_from_name)
        self._predicates += 1
        if self._predicates > PREDICATES_MAX:
            raise fault(
                f"a filter has at most {PREDICATES_MAX} predicates", (start, source.at - start)
            )
        if isinstance(field, Metric):
            refuse_blank_in_metric(source)
        return self._condition(field)

    def _condition(self, field: Field) -> Predicate:
        source = self._source
        kind = field_type(field)
        operators = _ORDERED if kind in {"number", "param", "time"} else _EQUAL
        has_patterns = kind in {"text", "param"}
        source.skip_blanks()
        at = source.at
        found = next((sign for sign in _COMPARISONS if source.text.startswith(sign, at)), None)
        is_foreign = source.text.startswith(_FOREIGN_SIGNS, at)
        if found in operators and not is_foreign:
            source.at += len(found)
            return self._comparison(field, found)
        is_negated = source.text.startswith("!~", at)
        if has_patterns and (is_negated or source.peek() == "~"):
            source.at += 2 if is_negated else 1
            return Match(field, self._pattern(field), is_negated)
        signs = [*operators, *(("~", "!~") if has_patterns else ())]
        source.miss(*(Expectation(sign) for sign in signs))
        return self._worded(field)

    def _comparison(self, field: Field, operator: Operator) -> Compare:
        value_type = field_type(field)
        if value_type == "param" and operator not in _EQUAL:
            # Texts have no order here: "10" before "9" is what nobody means.
            value_type = "number"
        return Compare(field, operator, read_value(self._source, field, value_type))

    def _pattern(self, field: Field) -> str:
        value = read_value(self._source, field, "pattern")
        assert isinstance(value, str)
        return value

    def _worded(self, field: Field) -> Predicate:
        """Read what begins with IN, NOT IN or IS, or say what could stand here."""
        source = self._source
        at = source.at
        if source.take_keyword("IN"):
            return OneOf(field, self._list(field))
        if source.take_keyword("NOT"):
            if source.take_keyword("IN"):
                return OneOf(field, self._list(field), is_negated=True)
            source.fail_here("IN")
        if source.take_keyword("IS"):
            return self._state(field)
        return self._refuse_operator(field, at)

    def _refuse_operator(self, field: Field, at: int) -> NoReturn:
        source = self._source
        source.at = at
        expected = tuple(one.text for one in source.expectations())
        for sign, message in (
            ("==", "equality is written '='"),
            ("<>", "inequality is written '!='"),
            ("=<", "at most is written '<='"),
            ("=>", "at least is written '>='"),
            ("!~", "patterns are for texts"),
            ("~", "patterns are for texts"),
            *((sign, f"{_what(field)} has no order") for sign in _COMPARISONS),
        ):
            if source.text.startswith(sign, at):
                raise fault(f"{sign!r}: {message}", (at, len(sign)), expected)
        source.fail_here("an operator")

    def _list(self, field: Field) -> tuple[Value, ...]:
        """Read ``"(" , value , { "," , value } , ")"``."""
        source = self._source
        source.skip_blanks()
        opening = source.at
        if not source.take("("):
            source.fail_here("'('")
        values = [read_value(source, field, field_type(field))]
        while True:
            source.skip_blanks()
            if source.take(")"):
                return tuple(values)
            if not source.take(","):
                source.fail_here("',' or ')'")
            if len(values) == LIST_LENGTH_MAX:
                raise fault(
                    f"a list has at most {LIST_LENGTH_MAX} values", (opening, source.at - opening)
                )
            values.append(read_value(source, field, field_type(field)))

    def _state(self, field: Field) -> Predicate:
        """Read ``[ "NOT" ] , ( "MISSING" | "NAN" )``."""
        source = self._source
        is_negated = source.take_keyword("NOT")
        if source.take_keyword("MISSING"):
            return IsMissing(field, is_negated)
        at = source.at
        if isinstance(field, Metric) and field.stat == "last":
            if source.take_keyword("NAN"):
                return IsNan(field, is_negated)
        elif source.peek_word().upper() == "NAN":
            raise fault(
                f"IS NAN asks for the last value of a metric, not for {_what(field)}",
                (at, 3),
                ("MISSING",),
            )
        return source.fail_here("MISSING")


def _what(field: Field) -> str:
    match field:
        case Metric(_, _, stat):
            return f"its {stat}"
        case Attribute(name):
            return name
        case _:
            return f"a {type(field).__name__.lower()}"
