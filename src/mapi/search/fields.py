"""The grammar of fields: metrics with labels, params, tags and attributes.

White space is free inside the braces of labels and nowhere else in a field.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeAlias

from mapi.errors import InvalidError
from mapi.search.literals import is_bare, is_number, quoted, read_string
from mapi.search.nodes import ATTRIBUTES, STATS, Attribute, Field, Metric, Param, Tag
from mapi.search.source import KEYWORDS, Expectation, Source, fault
from mapi.series.names import (
    PARAM_KEY_LENGTH_MAX,
    TAG_KEY_LENGTH_MAX,
    Labels,
    canonical_labels,
    check_key,
    check_label_count,
    check_labels,
    series_text,
)

__all__ = [
    "FAMILIES",
    "SeriesFromName",
    "note_fields",
    "read_field",
    "read_series",
    "refuse_blank_in_metric",
]

#: The name map: a foreign name to the series that it is stored as.
SeriesFromName: TypeAlias = Callable[[str], tuple[str, Labels]]

#: How families are spelled; the plural is canonical.
FAMILIES: Final = {
    "metrics": "metrics",
    "metric": "metrics",
    "params": "params",
    "param": "params",
    "tags": "tags",
    "tag": "tags",
}
_FIELDS: Final = tuple(Expectation(text) for text in ("metrics.", "params.", "tags.", *ATTRIBUTES))
_LABEL_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_LABEL_VALUES: Final = ("a word", "a number", "a text in quotes")


def read_field(source: Source, series_from_name: SeriesFromName) -> Field:
    """Read a field after white space.

    ``field = metric | param | tag | attribute ;``

    Raises:
        InvalidError: there is none.
    """
    source.skip_blanks()
    start, word = source.at, source.peek_word()
    head, dot, _ = word.partition(".")
    family = FAMILIES.get(head)
    if family is not None and dot:
        source.at += len(head) + 1
        if family == "metrics":
            return _read_metric(source, series_from_name)
        return _read_keyed(source, family)
    if word in ATTRIBUTES:
        source.at += len(word)
        return Attribute(word)
    note_fields(source)
    if family is not None:
        source.at = start + len(head)
        source.miss(Expectation("."))
        source.fail_here(f"'.' and a key after {head}")
    return _refuse_field(source, word)


def note_fields(source: Source) -> None:
    """Note that a field could begin here."""
    source.miss(*_FIELDS)


def _refuse_field(source: Source, word: str) -> NoReturn:
    expected = tuple(one.text for one in source.expectations())
    place = (source.at, len(word))
    if not word or word.upper() in KEYWORDS or not word[0].isalpha():
        source.fail_here("a field")
    if source.text.startswith("(", source.at + len(word)):
        raise fault(f"there is no function {word!r}; a filter has none yet", place, expected)
    near = difflib.get_close_matches(word.partition(".")[0], [*ATTRIBUTES, *FAMILIES], n=1)
    own = f"; a metric is metrics.{word[:40]}, a param params.{word[:40]}"
    advice = f"; did you mean {near[0]}?" if near else own
    raise fault(f"unknown field {word!r}{advice}", place, expected)


def _read_keyed(source: Source, family: str) -> Param | Tag:
    """Read the key of a param or a tag.

    ``param = ( "params" | "param" ) , "." , ( path | string ) ;``
    ``tag = ( "tags" | "tag" ) , "." , ( path | string ) ;``
    """
    start = source.at
    if source.peek() in {'"', "'"}:
        key = read_string(source)
    else:
        key = source.peek_word()
        source.at += len(key)
        if not key:
            source.miss(
                Expectation("a key", family[:-1]), Expectation("a text in quotes", family[:-1])
            )
            source.fail_here("a key")
    longest = PARAM_KEY_LENGTH_MAX if family == "params" else TAG_KEY_LENGTH_MAX
    if not 1 <= len(key) <= longest:
        raise fault(
            f"a key of {family} has 1 to {longest} characters, not {len(key)}",
            (start, source.at - start),
            ("a key",),
        )
    return Param(key) if family == "params" else Tag(key)


def _read_metric(source: Source, series_from_name: SeriesFromName) -> Metric:
    """Read what follows ``metrics.``.

    ``metric = ( "metrics" | "metric" ) , "." , ( mkey | string ) , [ labels ] , [ "." , stat ] ;``
    """
    key, labels = read_series(source, series_from_name)
    if source.peek() != ".":
        source.miss(Expectation("."))
        return Metric(key, labels)
    source.at += 1
    stat = source.peek_word()
    source.miss(*(Expectation(one) for one in STATS))
    if stat not in STATS:
        if not stat:
            source.fail_here("a suffix")
        raise fault(f"unknown suffix {stat!r}", (source.at, len(stat)), STATS)
    source.at += len(stat)
    return Metric(key, labels, stat)


def read_series(source: Source, series_from_name: SeriesFromName) -> tuple[str, Labels]:
    """Read a key, or a foreign name in quotes, and labels.

    ``( mkey | string ) , [ labels ]``
    """
    start = source.at
    own: Labels = ()
    if source.peek() in {'"', "'"}:
        name = read_string(source)
        key, own = _mapped(name, (start, source.at - start), series_from_name)
    else:
        key = _read_key(source)
    source.miss(Expectation("{"))
    if source.peek() != "{":
        return key, own
    opening = source.at
    labels = dict(own)
    _read_labels(source, key, labels)
    wrong = check_label_count(labels)
    if wrong is not None:
        raise fault(wrong, (opening, source.at - opening))
    return key, canonical_labels(labels)


def _mapped(
    name: str, place: tuple[int, int], series_from_name: SeriesFromName
) -> tuple[str, Labels]:
    if not name:
        raise fault("a metric has a name", place, ("a key", "a name in quotes"))
    try:
        return series_from_name(name)
    except (ValueError, InvalidError) as error:
        raise fault(f"{name[:40]!r} is no name of a metric: {error}", place) from error


def _read_key(source: Source) -> str:
    """Read ``mkey = lower , { lower | digit | "_" } ;``, 1 to 64 characters."""
    word = source.peek_word()
    key = word.partition(".")[0]
    if check_key(key) is None:
        source.at += len(key)
        return key
    source.miss(Expectation("a key", "metric"), Expectation("a name in quotes", "metric"))
    if not word:
        source.fail_here("the key of a metric")
    name, dot, stat = word.rpartition(".")
    if not (dot and name and stat in STATS):
        name, dot, stat = word, "", ""
    raise fault(
        f"{name[:40]!r} is no key of a metric (1 to 64 of a-z, 0-9 and _, the first a letter); "
        "a foreign name stands in quotes",
        (source.at, len(word)),
        (f"metrics.{quoted(name)}{dot}{stat}",),
    )


def _read_labels(source: Source, key: str, labels: dict[str, str]) -> None:
    """Read labels into ``labels``.

    ``labels = "{" , [ label , { "," , label } ] , "}" ;``
    """
    source.at += 1
    source.skip_blanks()
    if source.take("}"):
        return
    while True:
        _read_label(source, key, labels)
        source.skip_blanks()
        if source.take("}"):
            return
        if not source.take(","):
            source.fail_here("',' or '}'")


def _read_label(source: Source, key: str, labels: dict[str, str]) -> None:
    """Read ``label = name , "=" , ( bare | number | string ) ;``."""
    source.skip_blanks()
    start = source.at
    series = series_text(key, canonical_labels(labels))
    name = source.take_pattern(_LABEL_NAME)
    if not name or source.peek_word():
        source.at = start
        source.miss(Expectation("a label", "label", series))
        source.fail_here("the name of a label (a-z, 0-9 and _)")
    if name in labels:
        raise fault(f"the label {name} is given twice", (start, len(name)))
    source.skip_blanks()
    if not source.take("="):
        source.fail_here("'='")
    source.skip_blanks()
    value_at = source.at
    labels[name] = _read_label_value(source, f"{series} {name}")
    wrong = check_labels({name: labels[name]}, reserved=True)
    if wrong is not None:
        is_name = check_key(name) is not None
        raise fault(wrong, (start, len(name)) if is_name else (value_at, source.at - value_at))


def _read_label_value(source: Source, of: str) -> str:
    if source.peek() in {'"', "'"}:
        return read_string(source)
    word = source.peek_word()
    if is_bare(word) or is_number(word):
        source.at += len(word)
        return word
    source.miss(*(Expectation(text, "label value", of) for text in _LABEL_VALUES))
    if source.peek() == "*":
        raise fault(
            "'*' has no meaning in labels yet: a filter names one exact series",
            (source.at, 1),
            _LABEL_VALUES,
        )
    if word.upper() in KEYWORDS:
        raise fault(
            f"{word} is a keyword; as the value of a label it stands in quotes",
            (source.at, len(word)),
            (quoted(word),),
        )
    return source.fail_here("the value of a label")


def refuse_blank_in_metric(source: Source) -> None:
    """Pass over white space after a metric, and refuse labels or a suffix behind it.

    Raises:
        InvalidError: they stand there; it says where the white space is.
    """
    start = source.at
    source.skip_blanks()
    if source.at > start and source.peek() in {"{", "."}:
        raise fault(
            f"no space before {source.peek()!r}: a metric, its labels and its suffix are one word",
            (start, source.at - start),
        )
