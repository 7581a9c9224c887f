"""Take secrets out of what is about to be written: trees, argument lists, text.

Three rules, the same everywhere:

1. A value under a name of `secret_names` is replaced: members of trees, pairs in lists of pairs,
   ``--key value`` and ``key=value`` in argument lists, ``key: value``, ``key="value"`` and headers
   in text.
2. What `token_shapes` knows is replaced wherever it stands.
3. A text that is JSON is searched as the tree that it stands for.
4. Never replaced: ``True``, ``False``, ``None``, floats, whole numbers of at most six digits (a
   count, a size or a vocabulary index is no secret; written as text likewise), empty text, and
   references such as ``${API_KEY}`` that name a secret without holding it.

Structure survives: as many keys (those that hold a secret themselves lose it), the same lengths, a
text for each text that is replaced. The functions are idempotent and take time in proportion to their
input. They are a net for accidents; a secret under an innocent name and in no known shape passes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.capture.secret_names import (
    has_secret_stem,
    is_group_name,
    is_login_name,
    is_secret_name,
)
from expr_tracker.capture.text_pairs import is_harmless, is_secret_value, without_pairs
from expr_tracker.capture.token_shapes import (
    KEY_BLOCK_BEGIN,
    KEY_BLOCK_END,
    REDACTED,
    is_plain_word,
    without_shapes,
)
from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["REDACTED", "LineRedactor", "redact", "redact_argv", "redact_text"]

#: A password of digits has more; counts, ports and indices of vocabularies have at most six.
_HARMLESS_NUMBER_MAX: Final = 999_999
#: The encoder of rows stops at 64 levels; deeper trees are hostile and end in the mark.
_DEPTH_MAX: Final = 128
#: Replacing a secret can complete the pattern of the next one; three passes settled every text
#: that the property tests found, and each pass only shrinks what is left to find.
_PASSES_MAX: Final = 8
#: RSA keys of 16 384 bits have about 200 lines; a block without its end stops hiding lines there.
_KEY_BLOCK_LINES_MAX: Final = 256

#: ``user:password@host`` without a scheme, as database names have it.
_BARE_USER_INFO: Final = re.compile(r"([^\s:/@]++:)[^\s@]++(@[^\s@]++)")
_CONNECTION_ENDINGS: Final = ("dsn", "uri", "url", "db", "database", "connection")

#: ``user:password`` alone, as programs pass it to a library for HTTP.
_LOGIN: Final = re.compile(r"([^\s:/@]{1,128}:)([^\s:/@]+)")

#: What curl calls it; a password may hold anything. ``-u 1000:1000`` is a user and a group.
_LOGIN_FLAGS: Final = frozenset({"u", "user", "U", "proxy-user"})
_FLAG_LOGIN: Final = re.compile(r"([^\s:/@]{1,128}:)(?!//)(\S+)")

_FLAG: Final = re.compile(r"--?([A-Za-z][\w.-]*)", re.ASCII)
#: A value may begin with a hyphen (a key block, a number); a flag goes on with a letter.
_NEXT_FLAG: Final = re.compile(r"--?[A-Za-z]")
_PAIR: Final = re.compile(r"([+~-]{0,2}([A-Za-z_][\w./@-]*)=)(.*)", re.ASCII | re.DOTALL)


def redact(value: Any) -> Any:
    """Return a JSON-like tree without secrets; the one that was passed is left as it is."""
    return _tree(value, secret=False, depth=0)


def redact_argv(argv: Sequence[str]) -> list[str]:
    """Return the arguments of a program without secrets, as many as were passed."""
    redacted: list[str] = []
    flag: str | None = None
    for argument in argv:
        if flag is not None and _NEXT_FLAG.match(argument) is None:
            redacted.append(_under_flag(flag, argument))
            flag = None
            continue
        pair = _PAIR.fullmatch(argument)
        if pair is not None:
            under = _under_flag if argument.startswith("-") else _under_name
            redacted.append(pair[1] + under(pair[2], pair[3]))
            flag = None
            continue
        match = _FLAG.fullmatch(argument)
        flag = match[1] if match is not None else ("login" if argument == "login" else None)
        redacted.append(redact_text(argument))
    return redacted


def redact_text(text: str) -> str:
    """Return ``text`` (a line, a document, a diff) without secrets."""
    if is_plain_word(text):
        return text
    for _ in range(_PASSES_MAX):
        redacted = without_pairs(without_shapes(text))
        if redacted == text:
            redacted = _without_members(text)
        if redacted == text:
            break
        text = redacted
    return text


def _without_members(text: str) -> str:
    """Return JSON without the secrets that only its structure tells; other text as it is."""
    if not (text.lstrip()[:1].startswith(("{", "[")) and has_secret_stem(text)):
        return text
    try:
        tree = json.loads(text)
        redacted = redact(tree)
        return text if redacted == tree else json.dumps(redacted, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        if is_from_signal(error):
            raise
        return text


class LineRedactor:
    """`redact_text` for text that arrives line by line: it remembers an open key block."""

    def __init__(self) -> None:
        self._lines_left = 0

    def __call__(self, line: str) -> str:
        """Return the next line without secrets."""
        if self._lines_left:
            end = KEY_BLOCK_END.search(line)
            self._lines_left = 0 if end is not None else self._lines_left - 1
            return REDACTED if end is None else REDACTED + redact_text(line[end.end() :])
        if "-----BEGIN " in line:
            begins = list(KEY_BLOCK_BEGIN.finditer(line))
            if begins and KEY_BLOCK_END.search(line, begins[-1].end()) is None:
                self._lines_left = _KEY_BLOCK_LINES_MAX
        return redact_text(line)


# --- trees ---------------------------------------------------------------------------------------


def _tree(value: Any, *, secret: bool, depth: int, name: str | None = None) -> Any:
    if isinstance(value, str):
        return _secret_text(value) if secret else redact_text(value)
    if depth >= _DEPTH_MAX:
        return REDACTED
    if isinstance(value, dict):
        group = name if name is not None and is_group_name(name) else None
        return _members(value, secret=secret, group=group, depth=depth + 1)
    if isinstance(value, (list, tuple)):
        return _items(value, secret=secret, name=name, depth=depth + 1)
    if secret and type(value) is int and abs(value) > _HARMLESS_NUMBER_MAX:
        return REDACTED
    return value


def _members(
    mapping: Mapping[Any, Any], *, secret: bool, group: str | None, depth: int
) -> dict[Any, Any]:
    # {"name": "API_KEY", "value": "..."}: how containers and headers list their settings.
    named = mapping.get("name", mapping.get("key"))
    holds_secret = isinstance(named, str) and is_secret_name(named)
    members: dict[Any, Any] = {}
    for key, value in mapping.items():
        kept = _key(key, members, mapping)
        is_secret = secret or (holds_secret and key == "value")
        members[kept] = _member(kept, value, secret=is_secret, group=group, depth=depth)
    return members


def _key(key: Any, taken: Mapping[Any, Any], mapping: Mapping[Any, Any]) -> Any:
    """Return a key without what it holds of a secret, unlike every other key."""
    if not isinstance(key, str) or (redacted := redact_text(key)) == key:
        return key
    number, unlike = 1, redacted
    while unlike in taken or unlike in mapping:
        number += 1
        unlike = f"{redacted} ({number})"
    return unlike


def _member(key: Any, value: Any, *, secret: bool, group: str | None, depth: int) -> Any:
    name = str(key)
    secret = (
        secret or is_secret_name(name) or (group is not None and is_secret_name(f"{name}_{group}"))
    )
    if not secret and isinstance(value, str) and isinstance(key, str):
        return _under_name(key, value)
    if not secret and is_login_name(name) and _is_pair_of_texts(value):
        return type(value)((redact_text(value[0]), _secret_text(value[1])))
    return _tree(value, secret=secret, name=name, depth=depth)


def _is_pair_of_texts(value: Any) -> bool:
    return (
        type(value) in {list, tuple}
        and len(value) == 2
        and all(isinstance(item, str) for item in value)
    )


def _items(
    items: list[Any] | tuple[Any, ...], *, secret: bool, name: str | None, depth: int
) -> list[Any] | tuple[Any, ...]:
    redacted: list[Any]
    if not secret and items and all(isinstance(item, str) for item in items):
        redacted = redact_argv(items)
        if name is not None:
            redacted = [_secret_text(t) if is_secret_value(name, t) else t for t in redacted]
    elif not secret and items and all(map(_is_named, items)):
        redacted = [_pair(item, depth) for item in items]
    else:
        redacted = [_tree(item, secret=secret, name=name, depth=depth) for item in items]
    return tuple(redacted) if isinstance(items, tuple) else redacted


def _is_named(item: Any) -> bool:
    """Say whether this is a name and its value, as headers and parameters are listed."""
    return type(item) in {list, tuple} and len(item) == 2 and isinstance(item[0], str)


def _pair(item: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | tuple[Any, ...]:
    name, value = redact_argv(item) if _is_pair_of_texts(item) else (redact_text(item[0]), item[1])
    if depth >= _DEPTH_MAX:
        return type(item)((name, REDACTED))
    return type(item)((name, _member(name, value, secret=False, group=None, depth=depth + 1)))


def _under_flag(flag: str, text: str) -> str:
    """Return the argument that stands behind ``flag``, replaced or searched."""
    if flag in _LOGIN_FLAGS:
        match = _FLAG_LOGIN.fullmatch(text)
        if match is not None and not is_harmless(match[2]):
            return match[1] + REDACTED
    return _under_name(flag, text)


def _under_name(name: str, text: str) -> str:
    """Return the text that stands under ``name``, replaced or searched."""
    if is_secret_value(name, text):
        return _secret_text(text)
    if is_login_name(name):
        match = _LOGIN.fullmatch(text)
        if match is not None and not is_harmless(match[2]):
            return match[1] + REDACTED
    if "://" not in text and name.lower().endswith(_CONNECTION_ENDINGS):
        match = _BARE_USER_INFO.fullmatch(text)
        text = text if match is None else match[1] + REDACTED + match[2]
    return redact_text(text)


def _secret_text(text: str) -> str:
    return text if is_harmless(text) else REDACTED
