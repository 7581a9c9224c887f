r"""Names of other tools as series, and back: one reversible map, for everyone who has to translate.

Others allow any text as the name of a metric, a series has a key and labels. In this order:

1. A valid key stays: ``loss``.
2. A meter's reading of a span (``time_ms/fwd/attn``, ``gpu_percent/fwd``) is the meter's key with
   the span's path as label: ``time_ms{span="fwd/attn"}``.
3. A series as it is spelled here stays itself: ``loss{split=val}``; not if a label is reserved,
   or if it is spelled another way than `series_text` does, which could not be told on the way back.
4. A path whose last part is a key keeps the rest as label: ``x/y/loss`` is ``loss{scope="x/y"}``.
5. Anything else gets the nearest key and keeps the whole name as label, percent-encoded:
   ``f1-score`` is ``f1_score{raw="f1-score"}``.

A value of a label has at most 200 characters. Where ``span``, ``scope`` or ``raw`` would need more,
``raw`` is the first 120 characters of the encoded name, ``~`` and the SHA-256 of the name. Only the
beginning comes back from this one, so the full name (`full_name`) is kept beside the series, by its
``raw`` (`shortened_raw`), and `is_full_name` says that it is that one and no other.

The labels ``stream`` and ``rank`` say who wrote; they are no part of a name.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from mapi.series.names import (
    LABEL_VALUE_LENGTH_MAX,
    RESERVED_LABELS,
    Labels,
    canonical_labels,
    check_key,
    check_labels,
    nearest_key,
    series_text,
)
from mapi.wire.metrics import RANK_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "SPAN_METERS",
    "full_name",
    "has_shortened_name",
    "is_full_name",
    "name_from_series",
    "series_from_name",
    "shortened_raw",
    "with_writer",
    "without_writer",
    "writer_from_labels",
]

#: What the tracker and its plug-ins measure of each span, before the span's path.
SPAN_METERS: Final = frozenset(
    {
        "time_ms",
        "count",
        "cpu_time_ms",
        "cpu_percent",
        "gpu_percent",
        "gpu_mem_used_mb",
        "gpu_mem_peak_mb",
        "gpu_mem_delta_mb",
    }
)
#: Of a label; rank 0 has none.
_RANK: Final = re.compile(r"[1-9][0-9]{0,9}")
#: So many characters of a long name are kept to recognise it by; with ``~`` and the hash: 185.
_HEAD_LENGTH: Final = 120
_SHORTENED: Final = re.compile(r"[\s\S]{0,120}~[0-9a-f]{64}")
#: The empty name has no character to keep, and no other is encoded as a lone percent sign.
_NO_NAME: Final = "%"
_SERIES: Final = re.compile(r"([a-z][a-z0-9_]*)\{(.+)\}", re.DOTALL)
_LABEL: Final = re.compile(
    r'([a-z][a-z0-9_]*)=(?:([A-Za-z0-9_][A-Za-z0-9_./:@+-]*)|"((?:[^"\\]|\\["\\])*)")'
)
#: Left as they are in ``raw``, so that it can be read; ``~`` is not, it marks what was shortened.
_READABLE: Final = "/ :@+=,;!?()[]{}<>|&#$*'^"


def series_from_name(name: str) -> tuple[str, Labels]:
    """Return the key and the labels that stand for a name.

    Args:
        name: any text; half a surrogate pair is written as ``?`` is by UTF-8's replacement, so two
            names that differ in nothing else are one.
    """
    if check_key(name) is None:
        return name, ()
    return _from_meter(name) or _from_spelling(name) or _from_path(name) or _from_anything(name)


def name_from_series(key: str, labels: Labels, *, kept: str | None = None) -> str:
    """Return the name that a series stands for; the other way of `series_from_name`.

    Args:
        key: of the series.
        labels: of the series; those that say who wrote are no part of a name.
        kept: the `full_name` that is kept beside it, if any. Without it only the beginning and the hash
            of a long name (`has_shortened_name`) are known. Beside other labels it stands as ``raw``,
            longer than a label may be: it can be read, and is no name of the series.
    """
    given = {name: value for name, value in labels if name not in {"stream", "rank"}}
    if len(given) == 1:
        ((name, value),) = given.items()
        if name == "span" and key in SPAN_METERS:
            return f"{key}/{value}"
        if name == "scope":
            return f"{value}/{key}"
        if name == "raw":
            return _from_raw(value) if kept is None else kept
    if kept is not None and "raw" in given:
        given["raw"] = _encoded(kept)
    return series_text(key, canonical_labels(given))


def _from_raw(value: str) -> str:
    if _SHORTENED.fullmatch(value):
        return value
    return "" if value == _NO_NAME else unquote(value)


def has_shortened_name(labels: Labels) -> bool:
    """Return whether the series stands for a name that is too long to be kept in it."""
    return shortened_raw(labels) is not None


def shortened_raw(labels: Labels) -> str | None:
    """Return the label ``raw`` of a series whose name is too long for it; ``None`` of all others."""
    for name, value in labels:
        if name == "raw" and _SHORTENED.fullmatch(value):
            return value
    return None


def full_name(name: str, labels: Labels) -> str | None:
    """Return what is to be kept of a name beside its series: the name as the map has taken it.

    ``None``: the series has all of it, or it holds U+0000, which no database stores as text.

    Args:
        name: any text.
        labels: what `series_from_name` has made of it, and others.
    """
    if not has_shortened_name(labels) or "\0" in name:
        return None
    return name.encode(errors="replace").decode()


def is_full_name(name: str, key: str, labels: Labels) -> bool:
    """Return whether a series with a shortened name stands for this one."""
    of_key, of_labels = series_from_name(name)
    raw = shortened_raw(of_labels)
    return of_key == key and raw is not None and raw == shortened_raw(labels)


def with_writer(labels: Labels, *, stream: str, rank: int) -> Labels:
    """Return labels that say who wrote; the default stream and rank 0 go without saying."""
    who = {name: value for name, value in labels if name not in {"stream", "rank"}}
    if stream:
        who["stream"] = stream
    if rank:
        who["rank"] = str(rank)
    return canonical_labels(who)


def without_writer(labels: Mapping[str, str]) -> Labels:
    """Return the labels of a series but for those that say who wrote; what `with_writer` was given."""
    return canonical_labels(
        {name: value for name, value in labels.items() if name not in {"stream", "rank"}}
    )


def writer_from_labels(labels: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the stream and the rank that labels name; the other way of `with_writer`.

    ``None``: the label ``rank`` is none that it writes.
    """
    text = labels.get("rank")
    if text is None:
        return labels.get("stream", ""), 0
    if _RANK.fullmatch(text) is None or int(text) > RANK_MAX:
        return None
    return labels.get("stream", ""), int(text)


def _from_meter(name: str) -> tuple[str, Labels] | None:
    meter, slash, path = name.partition("/")
    if not slash or meter not in SPAN_METERS:
        return None
    return _labelled(meter, "span", path)


def _from_spelling(name: str) -> tuple[str, Labels] | None:
    match = _SERIES.fullmatch(name)
    if match is None:
        return None
    key, inner = match.groups()
    labels: dict[str, str] = {}
    at = 0
    while at < len(inner):
        if at:
            if inner[at] != ",":
                return None
            at += 1
        label = _LABEL.match(inner, at)
        if label is None or label[1] in labels or label[1] in RESERVED_LABELS:
            return None
        quoted = label[3]
        labels[label[1]] = label[2] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = label.end()
    found = canonical_labels(labels)
    if check_key(key) is not None or check_labels(labels) is not None:
        return None
    return (key, found) if series_text(key, found) == name else None


def _from_path(name: str) -> tuple[str, Labels] | None:
    scope, slash, key = name.rpartition("/")
    if not slash or check_key(key) is not None:
        return None
    return _labelled(key, "scope", scope)


def _labelled(key: str, label: str, value: str) -> tuple[str, Labels] | None:
    """Return the series, or ``None`` where the value is none that a label may have."""
    if check_labels({label: value}) is not None:
        return None
    return key, ((label, value),)


def _from_anything(name: str) -> tuple[str, Labels]:
    encoded = _encoded(name)
    if len(encoded) > LABEL_VALUE_LENGTH_MAX:
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()
        # An escape is cut off whole or stays whole.
        head = re.sub(r"%[0-9A-F]?\Z", "", encoded[:_HEAD_LENGTH])
        encoded = f"{head}~{digest}"
    return nearest_key(name), (("raw", encoded or _NO_NAME),)


def _encoded(name: str) -> str:
    return quote(name, safe=_READABLE, errors="replace").replace("~", "%7E")
