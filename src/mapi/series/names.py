"""What keys, labels, params, tags, names and notes may be: one validator for every writer.

The client checks with it before a request, the server again. Nothing here reads or writes.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

__all__ = [
    "KEY_LENGTH_MAX",
    "LABELS_MAX",
    "LABEL_VALUE_LENGTH_MAX",
    "LOG_MESSAGE_BYTES_MAX",
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
    "check_log_message",
    "check_name",
    "check_note",
    "check_param",
    "check_stream",
    "check_tag",
    "check_title",
    "labels_hash",
    "nearest_key",
    "series_text",
]

#: One key and one set of labels make a series; sorted by name.
Labels = tuple[tuple[str, str], ...]

#: Keys and labels are columns of tables and legends of charts: short enough to be read there.
KEY_LENGTH_MAX: Final = 64
#: More labels than this describe a run, not a series: they are params or tags.
LABELS_MAX: Final = 8
LABEL_VALUE_LENGTH_MAX: Final = 200
#: One line of a table.
NAME_LENGTH_MAX: Final = 200
#: A page or ten of text; longer documents belong beside the run.
NOTE_LENGTH_MAX: Final = 20_000
#: What trackers in use allow, so that their runs can be taken over whole.
PARAM_KEY_LENGTH_MAX: Final = 250
PARAM_BYTES_MAX: Final = 65_536
TAG_KEY_LENGTH_MAX: Final = 250
TAG_LENGTH_MAX: Final = 5_000
#: A traceback fits; a dump does not.
LOG_MESSAGE_BYTES_MAX: Final = 16_384
#: Written by the platform's own clients for what a name was before; they are not counted.
RESERVED_LABELS: Final = frozenset({"scope", "span", "raw", "stream", "rank", "summary"})

_KEY: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
#: Categories of characters: of control, without a shape (marks of direction among them), private,
#: not assigned, and ends of lines and paragraphs.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
#: Persian and Indic scripts and pictures are joined, or kept apart, by these two.
_JOINERS: Final = frozenset("\u200c\u200d")
_UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_SHOWN: Final = 80


def check_key(key: object) -> str | None:
    """Return what is wrong with a metric's key, or ``None``."""
    if not isinstance(key, str):
        return f"a key is a text, not {_shown(key)}"
    if _KEY.fullmatch(key):
        return None
    return (
        f"{_shown(key)} is no key: 1 to {KEY_LENGTH_MAX} of a-z, 0-9 and _, the first a letter; "
        f"the nearest is {nearest_key(key)} (what qualifies it goes into labels: loss with "
        "split=val)"
    )


def nearest_key(name: str) -> str:
    """Return the key that is most like a name."""
    # Longer than a key ever is, but a megabyte of text is not worked through for a message.
    key = re.sub(r"[^a-z0-9]+", "_", name[: 4 * KEY_LENGTH_MAX].lower()).strip("_")
    if not key:
        return "metric"
    if not "a" <= key[0] <= "z":
        key = f"m_{key}"
    return key[:KEY_LENGTH_MAX].rstrip("_")


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
    return _check_label_value(f"the value of the label {name}", value)


def check_stream(stream: object) -> str | None:
    """Return what is wrong with the name of a stream, or ``None``; it becomes a label."""
    if not isinstance(stream, str):
        return f"the name of a stream is a text, not {_shown(stream)}"
    # The default stream is called nothing and gets no label.
    return _check_label_value("the name of the stream", stream) if stream else None


def _check_label_value(what: str, value: str) -> str | None:
    if not 1 <= len(value) <= LABEL_VALUE_LENGTH_MAX:
        return f"{what} has {len(value)} characters: 1 to {LABEL_VALUE_LENGTH_MAX}"
    if _CONTROL.search(value):
        return f"{what} has control characters: {_shown(value)}"
    return None


def canonical_labels(labels: Mapping[str, str]) -> Labels:
    """Return checked labels in the one order that all compare in."""
    return tuple(sorted(labels.items()))


# Call after call has the same few sets of labels.
@lru_cache(maxsize=1_024)
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
    if not {".", ".."}.isdisjoint(key.split("/")):
        return (
            f"{_shown(key)} is no key of a tag: between slashes it has no part . or .., which "
            "clients take out of the address that the key stands in; take another word"
        )
    return _check_text("the value of a tag", text, low=0, high=TAG_LENGTH_MAX)


def check_log_message(message: object) -> str | None:
    """Return what is wrong with the message of a log line, or ``None``."""
    if not isinstance(message, str):
        return f"a message is a text, not {_shown(message)}"
    size = len(message.encode(errors="surrogatepass"))
    if size > LOG_MESSAGE_BYTES_MAX:
        return f"the message has {size} bytes of UTF-8: at most {LOG_MESSAGE_BYTES_MAX}"
    return _check_storable("the message", message)


def check_name(name: object) -> str | None:
    """Return what is wrong with the display name of a run, or ``None``."""
    return _check_text("a name", name, low=0, high=NAME_LENGTH_MAX)


def check_title(what: str, title: object) -> str | None:
    """Return what is wrong with a name that something is found by, or ``None``.

    Two that look the same are the same: no blanks around it, no characters that do not show, and the
    composed form of Unicode (NFC) alone.

    Args:
        what: whose name it is, with its article: ``the name of an experiment``.
        title: the name.
    """
    wrong = _check_text(what, title, low=1, high=NAME_LENGTH_MAX)
    if wrong is not None:
        return wrong
    assert isinstance(title, str)
    if title != title.strip():
        return f"{what}, {_shown(title)}, begins or ends with a blank: leave it out"
    for at, character in enumerate(title):
        if unicodedata.category(character) in _UNSEEN and character not in _JOINERS:
            return (
                f"{what} has U+{ord(character):04X} at {at}, which does not show: leave it out, or "
                "write a blank"
            )
    if not unicodedata.is_normalized("NFC", title):
        return (
            f"{what}, {_shown(title)}, is not in the composed form of Unicode: send it in NFC "
            "(unicodedata.normalize in Python)"
        )
    return None


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
