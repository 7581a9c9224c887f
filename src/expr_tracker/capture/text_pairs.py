r"""Secrets that free text holds under a name: ``key: value``, ``KEY="value"``, ``--key value``.

Text is read for names first; only behind a secret name is a value looked for. That keeps a
megabyte of log at the cost of one pass. Text is also program code (a diff), where a name is
followed by an expression as often as by a value: calls (``token = getpass()``), attributes
(``api_key=self.api_key``) and type annotations stay, so that a diff stays a diff.
"""

from __future__ import annotations

import re
from typing import Final

from expr_tracker.capture.secret_names import (
    has_secret_stem,
    is_directory_name,
    is_header_name,
    is_key_like_name,
    is_secret_name,
    is_token_name,
    is_tokens_name,
)
from expr_tracker.capture.token_shapes import REDACTED

__all__ = ["is_harmless", "is_secret_value", "without_pairs"]

#: What is no secret under any name: see rule 4 of `redaction`.
_HARMLESS: Final = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|nan|[+-]?[0-9]{1,6}|[+-]?[0-9]{0,6}\.[0-9]{0,6})?"
    r"|\$[A-Z_][A-Z0-9_]*|\$?\{\{?[A-Z_:. 0-9]*\}?\}|%[A-Z_]+%|\*+",
    re.ASCII | re.IGNORECASE,
)
#: The beginning of a directory, a variable or a command that gives one.
_DIRECTORY: Final = re.compile(r"[/~.\\$%`]|[A-Za-z]:[\\/]")
#: Pieces of text are shorter, and names of files have other characters too.
_CREDENTIAL: Final = re.compile(r"(?=\D*+\d)(?=[^A-Za-z]*+[A-Za-z])[A-Za-z0-9]{20,}+", re.ASCII)
_HEX_KEY: Final = re.compile(r"[0-9a-f]{40}")
_QUOTED_HEX_KEY: Final = re.compile(r"\\?[\"']?(?P<key>[0-9a-f]{40})(?![\w-])", re.ASCII)

#: A name, the quote or bracket that closes it, ``=`` or ``:``. With ``: str =`` between, it is a
#: default in Python. Names are possessive and begin where no name character stands before them,
#: so each character is read once.
_NAMED: Final = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]++)(?:\\?[\"'])?\]?"
    r"(?:[ \t]{0,8}:[ \t]{0,8}(?:str|bytes|Any|SecretStr)(?:[ \t]?\|[ \t]?None)?[ \t]{0,8}="
    r"|[ \t]{0,8}(?:={1,2}>?|:=?))"
    r"[ \t]{0,8}(?:[\[(][ \t]{0,8}(?=[\"']))?",
    re.ASCII,
)
#: A flag and its value as two words, and ``wandb login KEY``.
_FLAGGED: Final = re.compile(
    r"(?<![\w.-])(?:--?(?P<name>[A-Za-z][\w.-]*+)|(?P<login>login))[ \t]{1,8}(?![-=:])", re.ASCII
)
#: Quoted (the closing quote may be missing: lines are cut), or up to a separator. The
#: bound keeps expressions within expressions linear.
_VALUE: Final = re.compile(
    r"(?P<done>\[redacted\])"
    r"|(?P<open>\\[\"'])(?P<escaped>[^\"'\\\n]*+)"
    r"|[bBrRfFuU]{0,2}(?P<triple>\"\"\"|''')(?P<long>[^\"']*+)"
    r"|[bBrRfFuU]{0,2}\"(?P<double>(?:[^\"\\\n]|\\.)*+)"
    r"|[bBrRfFuU]{0,2}'(?P<single>(?:[^'\\\n]|\\.)*+)"
    r"|(?P<bare>[^\s\"'&;,<>]{1,512}+)"
)
_WORD_BEFORE: Final = re.compile(r"(?<![\w.-])([A-Za-z]{2,16}+) (?!.)", re.ASCII | re.DOTALL)
_REST: Final = re.compile(r"[^\s\"'&;,<>]*+")
_REST_OF_LINE: Final = re.compile(r"[^\r\n\"'\\]*+")
_REST_OF_WORD: Final = re.compile(r"\S++")

#: Expressions: a call or index; an attribute of what usually holds settings; an annotation.
_CODE: Final = re.compile(
    r"[A-Za-z_][\w.]*[(\[].*"
    r"|(?:args?|cfg|cls|config|ctx|env|environ|flags|kwargs|options|opts?|os|params|request|self"
    r"|settings)\.[A-Za-z_.]+"
    r"|(?:str|bytes|int|float|bool|object|Any|Optional|None|SecretStr)[)\]:]*"
    r"|[({\[|>].*",
    re.ASCII | re.IGNORECASE,
)
#: As many as `_VALUE` reads: an expression this long without a space or comma is none.
_EXPRESSION_CHARACTERS_MAX: Final = 512
#: Under a name that ends in *token*, an unquoted word as long as this is no word.
_WORD_CHARACTERS_MAX: Final = 16


def is_harmless(text: str) -> bool:
    """Say whether ``text`` stays even under a secret name."""
    return _HARMLESS.fullmatch(text) is not None


def is_secret_value(name: str, text: str) -> bool:
    """Say whether ``text`` under ``name`` is to be taken for a secret."""
    if is_secret_name(name):
        return True
    if is_directory_name(name):
        return _DIRECTORY.match(text) is None
    if is_tokens_name(name):
        return _CREDENTIAL.fullmatch(text) is not None
    return len(text) == 40 and is_key_like_name(name) and _HEX_KEY.fullmatch(text) is not None


def without_pairs(text: str) -> str:
    """Return ``text`` with the values under secret names replaced."""
    if not has_secret_stem(text):
        return text
    return _without(_FLAGGED, _without(_NAMED, text))


def _without(pattern: re.Pattern[str], text: str) -> str:
    kept: list[str] = []
    copied = position = 0
    while (match := pattern.search(text, position)) is not None:
        position = match.end()
        name = match["name"] or match.groupdict().get("login") or ""
        if name.lower() in {"key", "keys"}:
            name = _word_before(text, match.start("name")) + name
        if not (is_secret_name(name) or is_key_like_name(name) or is_directory_name(name)):
            continue
        start, stop = _secret_span(text, match, name)
        if start < stop:
            kept += [text[copied:start], REDACTED]
            copied = stop
        position = stop
    kept.append(text[copied:])
    return "".join(kept)


def _word_before(text: str, start: int) -> str:
    """Return the word in front of a name with a space between: people write ``API key: ...``."""
    match = _WORD_BEFORE.search(text, max(0, start - _WORD_CHARACTERS_MAX - 1), start)
    return "" if match is None else match[1] + "_"


def _secret_span(text: str, match: re.Match[str], name: str) -> tuple[int, int]:
    """Return where the value behind ``match`` is to be replaced; an empty span leaves it."""
    position = match.end()
    if is_directory_name(name):
        if _DIRECTORY.match(text, position):
            return position, position
    elif not is_secret_name(name):
        key = _QUOTED_HEX_KEY.match(text, position)
        return (position, position) if key is None else key.span("key")
    value = _VALUE.match(text, position)
    if value is None:
        return position, position
    group = value.lastgroup or "done"
    if group == "bare":
        return _bare_span(text, match, name)
    if group == "done" or is_harmless(value[group]):
        return value.end(), value.end()
    return value.span(group)


def _bare_span(text: str, match: re.Match[str], name: str) -> tuple[int, int]:
    position = match.end()
    if is_header_name(name):
        pattern = _REST_OF_LINE
    elif _is_setting(text, match):
        pattern = _REST_OF_WORD
    else:
        value = _VALUE.match(text, position)
        assert value is not None
        if _is_expression(name, value["bare"], is_tight=text[position - 1] in "=:"):
            return position, position
        pattern = _REST
    value = pattern.match(text, position)
    assert value is not None
    bare = value[0]
    if not any(opening in bare for opening in "([{"):
        bare = bare.rstrip(")]}")
    stop = position + len(bare)
    return (stop, stop) if is_harmless(bare) else (position, stop)


def _is_setting(text: str, match: re.Match[str]) -> bool:
    """Say whether this is a line of an environment file: ``KEY=value``, nothing around it."""
    if text[match.end() - 1] != "=" or match.end() != match.end("name") + 1:
        return False
    before = text[max(match.start() - 9, text.rfind("\n", 0, match.start()) + 1) : match.start()]
    return before in {"", "+", "-", "export ", "+export ", "-export "}


def _is_expression(name: str, bare: str, *, is_tight: bool) -> bool:
    if len(bare) == _EXPRESSION_CHARACTERS_MAX:
        return False
    if _CODE.fullmatch(bare) or bare.rstrip(",)").lower() == name.lstrip("-").lower():
        return True
    # "next token: cat": a word of a log. A credential has digits or is longer than words are.
    return (
        not is_tight
        and is_token_name(name)
        and len(bare) < _WORD_CHARACTERS_MAX
        and not any(character.isdigit() for character in bare)
    )
