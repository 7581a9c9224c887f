"""The parameters of a query: which a route has, and that it is sent no others.

A parameter that is misspelt would else be passed over, and a search would answer more than was
asked for.
"""

from __future__ import annotations

import difflib
import inspect
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin

import msgspec
from litestar.connection import ASGIConnection
from litestar.params import ParameterKwarg
from msgspec import inspect as kinds

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import FAULTS_MAX, pointer

if TYPE_CHECKING:
    from litestar.handlers.base import BaseRouteHandler
    from litestar.types import Scope

__all__ = [
    "QUERY_PREFIXES",
    "QueryParameter",
    "query_parameters",
    "refuse_unknown_parameters",
    "rule_of",
]

#: The option of a route that reads parameters whose names users choose: how those begin.
QUERY_PREFIXES: Final = "query_prefixes"
#: What the framework itself passes to a route.
_RESERVED: Final = frozenset(
    {"request", "state", "scope", "headers", "cookies", "query", "body", "data", "socket"}
)


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """One parameter of a route."""

    argument: str
    """What the route's function calls it."""
    name: str
    kind: Any
    """Its type, with its limits."""
    is_required: bool
    default: Any
    description: str

    @property
    def is_list(self) -> bool:
        """Whether it may be given several times."""
        kind = get_args(self.kind)[0] if get_origin(self.kind) is Annotated else self.kind
        return any(get_origin(one) is list for one in (kind, *get_args(kind)))


@lru_cache(maxsize=1_024)
def query_parameters(handler: BaseRouteHandler) -> tuple[QueryParameter, ...]:
    """Return the parameters of a route's query, in the order of its signature."""
    passed = _RESERVED | set(handler.resolve_dependencies()) | _path_names(handler)
    return tuple(
        _parameter(name, parameter)
        for name, parameter in inspect.signature(handler.fn).parameters.items()
        if name not in passed
    )


def refuse_unknown_parameters(scope: Scope, handler: BaseRouteHandler) -> None:
    """Refuse a request with a parameter that its route does not have, or has one value of.

    Raises:
        InvalidError: there is one.
    """
    if not scope["query_string"]:
        return
    sent = ASGIConnection[Any, Any, Any, Any](scope).query_params
    known = {one.name: one for one in query_parameters(handler)}
    prefixes: tuple[str, ...] = tuple(handler.opt.get(QUERY_PREFIXES, ()))
    faults = []
    for name, count in Counter(one for one, _ in sent.multi_items()).items():
        at = pointer("query", name[:200])
        if name not in known and not name.startswith(prefixes or "\0"):
            expected = [*known, *(f"{one}<name>" for one in prefixes)]
            faults.append(Fault(at, _unknown(name, expected), expected=expected))
        elif count > 1 and not (name in known and known[name].is_list):
            faults.append(Fault(at, f"{name[:200]!r} is given {count} times; it has one value"))
    if faults:
        raise InvalidError(faults[:FAULTS_MAX])


def rule_of(parameter: QueryParameter) -> str:
    """Return what a parameter takes, in words that stand behind "expected"."""
    match _one_value(kinds.type_info(parameter.kind)):
        case kinds.IntType(ge=low, le=high) if low is not None and high is not None:
            rule = f"a whole number from {low} to {high}"
        case kinds.IntType():
            rule = "a whole number"
        case kinds.BoolType():
            rule = "true or false"
        case kinds.EnumType(cls=words):
            rule = f"one of {', '.join(str(one.value) for one in words)}"
        case kinds.LiteralType(values=values):
            rule = f"one of {', '.join(map(str, values))}"
        case kinds.StrType(max_length=most) if most is not None:
            rule = f"a text of at most {most} characters"
        case _:
            rule = "another value"
    return rule


def _one_value(kind: kinds.Type) -> kinds.Type:
    """Return the type of one value that is sent: without what it is described with, and no list."""
    match kind:
        case kinds.Metadata(type=inner) | kinds.ListType(item_type=inner):
            return _one_value(inner)
        case kinds.UnionType(types=types):
            return _one_value(next(one for one in types if not isinstance(one, kinds.NoneType)))
        case _:
            return kind


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no parameter {name[:200]!r} here: did you mean {near[0]!r}?"
    there_are = f"there are {', '.join(known)}" if known else "this route has none"
    return f"there is no parameter {name[:200]!r} here: {there_are}"


def _path_names(handler: BaseRouteHandler) -> set[str]:
    return {
        part.strip("{}").partition(":")[0]
        for path in handler.paths
        for part in path.split("/")
        if part.startswith("{")
    }


def _parameter(name: str, parameter: inspect.Parameter) -> QueryParameter:
    annotation, argument = parameter.annotation, name
    limits: dict[str, Any] = {}
    description = ""
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        for note in notes:
            if isinstance(note, ParameterKwarg):
                name = note.name or name
                description = note.description or ""
                limits = {
                    "ge": note.ge,
                    "le": note.le,
                    "gt": note.gt,
                    "lt": note.lt,
                    "min_length": note.min_length or note.min_items,
                    "max_length": note.max_length or note.max_items,
                    "pattern": note.pattern,
                }
    is_required = parameter.default is inspect.Parameter.empty
    return QueryParameter(
        argument,
        name,
        _limited(annotation, {key: value for key, value in limits.items() if value is not None}),
        is_required,
        None if is_required else parameter.default,
        description,
    )


def _limited(annotation: Any, limits: dict[str, Any]) -> Any:
    """Return the type with its limits; beside ``None`` they are of the other type."""
    others = [one for one in get_args(annotation) if one is not type(None)]
    if len(others) == 1 and type(None) in get_args(annotation):
        annotation = others[0]
    return Annotated[annotation, msgspec.Meta(**limits)] if limits else annotation
