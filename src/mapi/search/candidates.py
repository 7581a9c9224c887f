"""What could stand at a caret, told with the names of one project: completion with something to offer.

`lookup_of` says what has to be known of the project, and `candidates_of` tells them once it is known.
Each is written so that it parses: keys, labels and values are quoted where they have to be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mapi.search.fields import read_field, read_series
from mapi.search.literals import is_bare, is_number, quoted
from mapi.search.nodes import ATTRIBUTES, Attribute, Field, Param, Tag, field_type
from mapi.search.printing import field_text
from mapi.search.source import Source
from mapi.series.name_map import name_from_series, series_from_name
from mapi.series.names import check_key, series_text
from mapi.wire.enums import CandidateKind
from mapi.wire.parsing import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mapi.search.completion import Completion
    from mapi.search.source import Expectation
    from mapi.series.names import Labels
    from mapi.wire.runs import RunFields

__all__ = ["Lookup", "candidates_of", "expected_of", "lookup_of"]

#: How the family of a key is begun.
_FAMILIES: Final = {
    CandidateKind.METRIC: "metrics.",
    CandidateKind.PARAM: "params.",
    CandidateKind.TAG: "tags.",
}
#: Attributes whose values the project knows; the others' are a list of the grammar, or anything.
_LISTED: Final = (Attribute("experiment"), Attribute("user"))
_OPEN_NAMES: Final = frozenset({"metric", "param", "tag", "label", "label value"})


@dataclass(frozen=True, slots=True)
class Lookup:
    """What has to be known of a project."""

    prefix: str | None = None
    """How the keys of its fields begin; ``None`` where no fields are asked for."""
    values_of: Field | None = None
    """Whose values are."""
    value_prefix: str = field(default="")
    """How those begin."""


def lookup_of(completion: Completion) -> Lookup:
    """Return what has to be known before the candidates of a place can be told."""
    for one in completion.options:
        found = _lookup_of_option(one, completion.prefix)
        if found is not None:
            return found
    # A key is found without its family too, once there is a letter of it.
    if completion.begins_field and completion.prefix:
        return Lookup(prefix=_key_prefix(completion.prefix))
    return Lookup()


def _lookup_of_option(option: Expectation, prefix: str) -> Lookup | None:
    match option.kind:
        case "metric":
            return Lookup(prefix=_key_prefix(prefix))
        case "param" | "tag":
            return Lookup(prefix=prefix)
        case "label":
            return Lookup(prefix=_series(option.of)[0])
        case "label value":
            return Lookup(prefix=_series(option.of.rpartition(" ")[0])[0])
        case "value":
            of = _field(option.of)
            is_listed = isinstance(of, Param | Tag) or of in _LISTED
            return Lookup(values_of=of, value_prefix=prefix) if is_listed else None
        case _:
            return None


def _key_prefix(prefix: str) -> str:
    """Return how the key begins of what is meant; of a foreign name that is not known yet."""
    return prefix if check_key(prefix) is None else ""


def candidates_of(
    completion: Completion, fields: RunFields | None, values: Iterable[str]
) -> list[Candidate]:
    """Return what could stand at the place, the likeliest first, each once.

    Args:
        completion: the place.
        fields: what `Lookup.prefix` asked for.
        values: what `Lookup.values_of` asked for.
    """
    found: list[Candidate] = []
    known = _Known(completion, fields, values)
    for one in completion.options:
        found += known.candidates(one)
    if completion.begins_field and completion.prefix and fields is not None:
        found += _of_families(completion.prefix, fields)
    return list({one.text: one for one in found}.values())


def expected_of(completion: Completion) -> list[str]:
    """Return what else could stand at the place, in words, each once."""
    described = (one.text for one in completion.options if _is_described(one))
    return list(dict.fromkeys(described))


def _is_described(option: Expectation) -> bool:
    return option.kind == "value" or option.kind in _OPEN_NAMES


@dataclass(frozen=True, slots=True)
class _Known:
    """A place, and what the project has to say about it."""

    completion: Completion
    fields: RunFields | None
    values: Iterable[str]

    def candidates(self, option: Expectation) -> list[Candidate]:
        """Return what an option stands for."""
        if option.kind == "literal":
            kind = _literal_kind(option.text, self.completion)
            return [Candidate(text=option.text, kind=kind)]
        if option.kind == "value":
            texts = [_value(option.of, value) for value in self.values]
            return [Candidate(text=text, kind=CandidateKind.VALUE) for text in texts]
        return [] if self.fields is None else self._names(option, self.fields)

    def _names(self, option: Expectation, fields: RunFields) -> list[Candidate]:
        prefix = self.completion.prefix
        match option.kind:
            case "metric":
                kind, texts = CandidateKind.METRIC, _metrics(prefix, fields)
            case "label":
                kind = CandidateKind.LABEL
                texts = [f"{name}=" for name in _label_names(option.of, prefix, fields)]
            case "label value":
                kind = CandidateKind.VALUE
                texts = [_word(value) for value in _label_values(option.of, prefix, fields)]
            case "param" | "tag":
                return list(_keyed(option.kind, fields))
            case _:
                return []
        return [Candidate(text=text, kind=kind) for text in texts]


def _literal_kind(text: str, completion: Completion) -> CandidateKind:
    if not text[0].isalpha():
        return CandidateKind.SIGN
    is_field = completion.begins_field and (text in ATTRIBUTES or text.endswith("."))
    return CandidateKind.FIELD if is_field else CandidateKind.WORD


def _of_families(prefix: str, fields: RunFields) -> Iterator[Candidate]:
    for text in _metrics(prefix, fields):
        yield Candidate(text=f"metrics.{text}", kind=CandidateKind.METRIC)
    for kind in ("param", "tag"):
        for one in _keyed(kind, fields):
            if one.text.startswith((prefix, f'"{prefix}')):
                yield Candidate(text=_FAMILIES[one.kind] + one.text, kind=one.kind)


def _metrics(prefix: str, fields: RunFields) -> list[str]:
    """Return the series whose key, or whose name as it was logged, begins with a prefix."""
    found = []
    for one in fields.metrics:
        labels = tuple(sorted(one.labels.items()))
        if one.key.startswith(prefix) or name_from_series(one.key, labels).startswith(prefix):
            found.append((one.key, len(labels), series_text(one.key, labels)))
    return [text for _, _, text in sorted(found)]


def _keyed(kind: str, fields: RunFields) -> Iterator[Candidate]:
    keys = fields.params if kind == "param" else fields.tags
    for key in keys:
        if key:
            text = field_text(Param(key) if kind == "param" else Tag(key))
            yield Candidate(text=text.partition(".")[2], kind=CandidateKind(kind))


def _alike(of: str, fields: RunFields) -> list[dict[str, str]]:
    """Return the labels of every series that a text may still become."""
    key, labels = _series(of)
    own = dict(labels)
    return [
        one.labels
        for one in fields.metrics
        if one.key == key and own.items() <= one.labels.items()
    ]


def _label_names(of: str, prefix: str, fields: RunFields) -> list[str]:
    given = {name for name, _ in _series(of)[1]}
    found = {name for labels in _alike(of, fields) for name in labels}
    return sorted(name for name in found - given if name.startswith(prefix))


def _label_values(of: str, prefix: str, fields: RunFields) -> list[str]:
    series, _, name = of.rpartition(" ")
    found = {labels[name] for labels in _alike(series, fields) if name in labels}
    return sorted(value for value in found if value.startswith(prefix))


def _series(text: str) -> tuple[str, Labels]:
    return read_series(Source(text), series_from_name)


def _field(text: str) -> Field:
    return read_field(Source(text), series_from_name)


def _value(of: str, value: str) -> str:
    """Return a value as it is written: a param's number without quotes, which finds its spellings."""
    if is_number(value) and field_type(_field(of)) == "param":
        return value
    return _word(value)


def _word(value: str) -> str:
    return value if is_bare(value) or is_number(value) else quoted(value)
