"""What the tests of this room share: a name map to stand in, and strategies for whole trees."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import quote

from hypothesis import strategies as st

from mapi.search.nodes import (
    ATTRIBUTES,
    KINDS,
    STATS,
    STATUSES,
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
    ValueType,
    field_type,
)
from mapi.series.names import check_key

if TYPE_CHECKING:
    from mapi.series.names import Labels

NOW: Final = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ORDERED: Final = get_args(Operator)


def series_from_name(name: str) -> tuple[str, Labels]:
    """Stand in for the name map, as far as these tests need one."""
    if check_key(name) is None:
        return name, ()
    scope, _, base = name.rpartition("/")
    if scope and check_key(base) is None:
        return base, (("scope", scope),)
    key = "".join(one if one.isalnum() else "_" for one in name.lower()) or "x"
    return f"x{key}"[:64], (("raw", quote(name, safe="")[:200]),)


class Universe:
    """The fields and values that trees are made of: few, so that rows meet them.

    Args:
        texts: what params, tags, names and the like are, and are compared with.
        numbers: the same for numbers.
        ids: of runs.
        experiments: names and ids.
    """

    def __init__(
        self,
        texts: st.SearchStrategy[str],
        numbers: st.SearchStrategy[float],
        ids: st.SearchStrategy[str],
        experiments: st.SearchStrategy[str],
    ) -> None:
        self._texts = texts
        self._numbers = numbers
        self._ids = ids
        self._experiments = experiments
        # Made once each, as those of rows are.
        self._predicates: dict[Field, st.SearchStrategy[Node]] = {}

    def fields(self, stats: tuple[str, ...] = STATS) -> st.SearchStrategy[Field]:
        return st.one_of(
            st.builds(
                Metric, st.sampled_from(KEYS), st.sampled_from(LABELS), st.sampled_from(stats)
            ),
            st.builds(Param, st.sampled_from(PATHS)),
            st.builds(Tag, st.sampled_from(PATHS)),
            st.builds(Attribute, st.sampled_from(list(ATTRIBUTES))),
        )

    def values(self, field: Field) -> st.SearchStrategy[Any]:
        if field in {Attribute("id"), Attribute("parent")}:
            return self._ids
        if field == Attribute("experiment"):
            return self._experiments
        by_type: dict[ValueType, st.SearchStrategy[Any]] = {
            "number": self._numbers,
            "param": self._numbers | self._texts,
            "kind": st.sampled_from(KINDS),
            "status": st.sampled_from(STATUSES),
            "time": TIMES,
            "text": self._texts,
        }
        return by_type[field_type(field)]

    def predicates(self) -> st.SearchStrategy[Node]:
        return self.fields().flatmap(self._predicates_of)

    def _predicates_of(self, field: Field) -> st.SearchStrategy[Node]:
        if field not in self._predicates:
            self._predicates[field] = self._new_predicates_of(field)
        return self._predicates[field]

    def _new_predicates_of(self, field: Field) -> st.SearchStrategy[Node]:
        values = self.values(field)
        kind = field_type(field)
        found: list[st.SearchStrategy[Node]] = [
            st.builds(Compare, st.just(field), st.sampled_from(["=", "!="]), values),
            st.builds(
                OneOf,
                st.just(field),
                st.lists(values, min_size=1, max_size=3).map(tuple),
                st.booleans(),
            ),
            st.builds(IsMissing, st.just(field), st.booleans()),
        ]
        if kind in {"number", "param", "time"}:
            ordered = TIMES if kind == "time" else self._numbers
            found.append(st.builds(Compare, st.just(field), st.sampled_from(ORDERED), ordered))
        if kind in {"text", "param"}:
            found.append(st.builds(Match, st.just(field), patterns(self._texts), st.booleans()))
        if isinstance(field, Metric) and field.stat == "last":
            found.append(st.builds(IsNan, st.just(field), st.booleans()))
        return st.one_of(found)

    def trees(self) -> st.SearchStrategy[Node]:
        return st.recursive(
            self.predicates(),
            lambda inner: st.one_of(
                st.builds(Not, inner),
                st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
                st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            ),
            max_leaves=8,
        )


KEYS: Final = ("loss", "acc")
LABELS: Final[tuple[Labels, ...]] = ((), (("split", "val"),), (("fold", "3"), ("split", "val")))
PATHS: Final = ("lr", "fit.draws", "owner team", "and")
TIMES: Final = st.one_of(
    st.sampled_from([NOW + timedelta(days=number) for number in (-8, -7, -1, 0)]),
    st.builds(Ago, st.sampled_from([1, 7, 8]), st.sampled_from(["s", "d", "w"])),
)


def patterns(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Patterns that fit some of the texts: parts of them are covered."""
    return st.builds(
        lambda text, cuts: "".join(
            cut if cut is not None else character
            for character, cut in zip(text, (*cuts, *[None] * len(text)), strict=False)
        ),
        texts,
        st.lists(st.sampled_from([None, "*", "?", "**"]), max_size=6),
    )
