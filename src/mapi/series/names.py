"""What keys, labels, params, tags, names and notes may be: one validator for every writer.

The client checks with it before a request, the server again. Nothing here reads or writes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = [
    "KEY_LENGTH_MAX",
    "LABELS_MAX",
    "LABEL_VALUE_LENGTH_MAX",
    "NAME_LENGTH_MAX",
    "NOTE_LENGTH_MAX",
    "PARAM_BYTES_MAX",
    "PARAM_KEY_LENGTH_MAX",
    "RESERVED_LABELS",
    "TAG_KEY_LENGTH_MAX",
    "TAG_LENGTH_MAX",
    "Labels",
    "canonical_labels",
    "check_key",
    "check_label_count",
    "check_labels",
    "check_name",
    "check_note",
    "check_param",
    "check_tag",
    "labels_hash",
    "series_text",
]

#: One key and one set of labels make a series; sorted by name.
Labels = tuple[tuple[str, str], ...]

KEY_LENGTH_MAX: Final = 64
LABELS_MAX: Final = 8
LABEL_VALUE_LENGTH_MAX: Final = 200
NAME_LENGTH_MAX: Final = 200
NOTE_LENGTH_MAX: Final = 20_000
PARAM_KEY_LENGTH_MAX: Final = 250
PARAM_BYTES_MAX: Final = 65_536
TAG_KEY_LENGTH_MAX: Final = 250
TAG_LENGTH_MAX: Final = 5_000
#: Written by the platform's own clients for what a name was before; they are not counted.
RESERVED_LABELS: Final = frozenset({"scope", "span", "raw", "stream", "rank", "summary"})

_KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_SHOWN: Final = 80


def check_key(key: object) -> str | None:
    """Return what is wrong with a metric's key, or ``None``."""
    if not isinstance(key, str):
        return f"a key is a text, not {_shown(key)}"
    if _KEY.fullmatch(key):
        return None
    return (
        f"{_shown(key)} is no key: 1 to {KEY_LENGTH_MAX} of a-z, 0-9 and _, the first a letter "
        "(what qualifies it goes into labels: loss with split=val)"
    )


def check_labels(labels: object, *, reserved: bool = False) -> str | None:
    """Return what is wrong with the labels of a series, or ``None``.

    Args:
        labels: names and values.
        reserved: the caller may write the labels of `RESERVED_LABELS`.
    """
    if not isinstance(labels, Mapping):
        return f"labels are an object of texts, not {_shown(labels)}"
    for name, value in labels.items():
        wrong = _check_label(name, value, reserved=reserved)
        if wrong is not None:
            return wrong
    return check_label_count(labels)


def check_label_count(labels: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the number of labels, or ``None``."""
    own = [name for name in labels if name not in RESERVED_LABELS]
    if len(own) > LABELS_MAX:
        return f"{len(own)} labels are too many: at most {LABELS_MAX}"
    return None


def _check_label(name: object, value: object, *, reserved: bool) -> str | None:
    if not isinstance(name, str) or not _KEY.fullmatch(name):
        return (
            f"{_shown(name)} is no name of a label: 1 to {KEY_LENGTH_MAX} of a-z, 0-9 and _, the "
            "first a letter"
        )
    if name in {"stream", "rank"} and not reserved:
        return f"the label {name} is written by the platform only; take another name"
    if not isinstance(value, str):
        return f"the value of the label {name} is a text, not {_shown(value)}"
    # A foreign name is kept whole in `raw`, percent-encoded.
    longest = LABEL_VALUE_LENGTH_MAX
    if not 1 <= len(value) <= longest:
        return f"the value of the label {name} has {len(value)} characters: 1 to {longest}"
    if _CONTROL.search(value):
        return f"the value of the label {name} has control characters: {_shown(value)}"
    return None


def canonical_labels(labels: Mapping[str, str]) -> Labels:
    """Return checked labels in the one order that all compare in."""
    return tuple(sorted(labels.items()))


def labels_hash(labels: Labels) -> int:
    """Return the number that stands for a set of labels in indexes: 64 bits, signed."""
    text = "\x00".join(f"{name}\x01{value}" for name, value in labels)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def series_text(key: str, labels: Labels) -> str:
    """Return a series as the search language spells it."""
    if not labels:
        return key
    return key + "{" + ",".join(f"{name}={_quoted(value)}" for name, value in labels) + "}"


_BARE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@+-]*")
_KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "IN", "IS", "MISSING", "NAN"})


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value) and value.upper() not in _KEYWORDS:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_param(key: object, text: object) -> str | None:
    """Return what is wrong with a param, or ``None``."""
    wrong = _check_text("the key of a param", key, low=1, high=PARAM_KEY_LENGTH_MAX)
    if wrong is not None:
        return wrong
    if not isinstance(text, str):
        return f"the value of a param is a text, not {_shown(text)}"
    size = len(text.encode(errors="surrogatepass"))
    if size > PARAM_BYTES_MAX:
        return f"the value has {size} bytes of UTF-8: at most {PARAM_BYTES_MAX}"
    return _check_storable("the value", text)


def check_tag(key: object, text: object, *, platform: bool = False) -> str | None:
    """Return what is wrong with a tag, or ``None``.

    Args:
        key: its key.
        text: its value.
        platform: the caller may write keys that begin with ``mapi.``.
    """
    wrong = _check_text("the key of a tag", key, low=1, high=TAG_KEY_LENGTH_MAX)
    if wrong is not None:
        return wrong
    assert isinstance(key, str)
    if key.startswith("mapi.") and not platform:
        return f"{_shown(key)}: keys that begin with mapi. are written by the platform only"
    return _check_text("the value of a tag", text, low=0, high=TAG_LENGTH_MAX)


def check_name(name: object) -> str | None:
    """Return what is wrong with the display name of a run, or ``None``."""
    return _check_text("a name", name, low=0, high=NAME_LENGTH_MAX)


def check_note(note: object) -> str | None:
    """Return what is wrong with a note, or ``None``."""
    return _check_text("a note", note, low=0, high=NOTE_LENGTH_MAX)


def _check_text(what: str, text: object, *, low: int, high: int) -> str | None:
    if not isinstance(text, str):
        return f"{what} is a text, not {_shown(text)}"
    if not low <= len(text) <= high:
        return f"{what} has {len(text)} characters: {low} to {high}"
    return _check_storable(what, text)


def _check_storable(what: str, text: str) -> str | None:
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    return (
        f"{what} has U+{ord(found[0]):04X} at {found.start()}: no U+0000 and no half of a "
        "surrogate pair"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
