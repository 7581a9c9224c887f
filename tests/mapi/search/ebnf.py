"""A recogniser for the EBNF of a page: which texts the grammar that people read derives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Grammar"]

_TOKEN: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|\?[^?]*\?|[a-z]+|[=;|,()\[\]{}])""")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
#: The one rule with white space in it and none before it: labels hang on their series.
_TIGHT: Final = "labels"


@dataclass(frozen=True)
class _Part:
    """A node of a rule: its kind, and its parts or its text."""

    kind: str
    parts: tuple[_Part, ...] = ()
    text: str = ""


class Grammar:
    """Rules by name.

    Args:
        spaced: the EBNF of rules between whose words white space is free.
        tight: the EBNF of rules within which there is none.
        specials: patterns of one character, by the text between question marks.
    """

    def __init__(self, spaced: str, tight: str, specials: Mapping[str, str]) -> None:
        self._specials = {name: re.compile(one) for name, one in specials.items()}
        own, lexical = _rules(spaced), _rules(tight)
        self._spaced = frozenset(own)
        self._rules = {**own, **lexical}

    def derives(self, rule: str, text: str) -> bool:
        """Say whether a rule derives a whole text, with white space around it."""
        reading = _Reading(self, text)
        return len(text) in reading.after_blanks(reading.ends(_Part("name", text=rule), 0))

    def rule(self, name: str) -> tuple[_Part, bool]:
        """Return a rule, and whether white space is free in it."""
        return self._rules[name], name in self._spaced

    def special(self, name: str) -> re.Pattern[str]:
        """Return the pattern of a special sequence."""
        return self._specials[name]


class _Reading:
    """One text, and what was found at its places."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self._grammar = grammar
        self._text = text
        self._found: dict[tuple[str, int], frozenset[int]] = {}

    def after_blanks(self, places: frozenset[int]) -> frozenset[int]:
        """Return the places, and those behind the white space there."""
        behind = {found.end() for one in places if (found := _BLANKS.match(self._text, one))}
        return places | behind

    def ends(  # noqa: PLR0911 - one a kind
        self, part: _Part, at: int, *, is_spaced: bool = True
    ) -> frozenset[int]:
        """Return where a part can end that begins at a place."""
        match part.kind:
            case "literal":
                starts = self._starts(at, is_spaced=is_spaced)
                return frozenset(
                    one + len(part.text) for one in starts if self._stands(part.text, one)
                )
            case "special":
                found = self._grammar.special(part.text).match(self._text, at)
                return frozenset() if found is None else frozenset({found.end()})
            case "name":
                return self._named(part.text, at, is_spaced=is_spaced)
            case "or":
                return frozenset[int]().union(
                    *(self.ends(one, at, is_spaced=is_spaced) for one in part.parts)
                )
            case "maybe":
                return self.ends(part.parts[0], at, is_spaced=is_spaced) | {at}
            case "many":
                return self._repeated(part.parts[0], at, is_spaced=is_spaced)
            case _:
                places = frozenset({at})
                for one in part.parts:
                    places = frozenset[int]().union(
                        *(self.ends(one, place, is_spaced=is_spaced) for place in places)
                    )
                return places

    def _stands(self, literal: str, at: int) -> bool:
        there = self._text[at : at + len(literal)]
        is_keyword = len(literal) > 1 and literal.isalpha() and literal.isupper()
        return (there.upper() if is_keyword else there) == literal

    def _starts(self, at: int, *, is_spaced: bool) -> frozenset[int]:
        return self.after_blanks(frozenset({at})) if is_spaced else frozenset({at})

    def _named(self, name: str, at: int, *, is_spaced: bool) -> frozenset[int]:
        rule, is_own = self._grammar.rule(name)
        if is_own and name != _TIGHT:
            # Its own words take white space before them.
            is_spaced = False
        ends: set[int] = set()
        for start in self._starts(at, is_spaced=is_spaced):
            if (name, start) not in self._found:
                self._found[name, start] = frozenset()
                self._found[name, start] = self._of_rule(name, rule, start, is_own=is_own)
            ends |= self._found[name, start]
        return frozenset(ends)

    def _of_rule(self, name: str, rule: _Part, at: int, *, is_own: bool) -> frozenset[int]:
        if name == _TIGHT and self._text[at : at + 1] != "{":
            return frozenset()
        return self.ends(rule, at, is_spaced=is_own)

    def _repeated(self, part: _Part, at: int, *, is_spaced: bool) -> frozenset[int]:
        found, fresh = {at}, {at}
        while fresh:
            fresh = {
                end for place in fresh for end in self.ends(part, place, is_spaced=is_spaced)
            } - found
            found |= fresh
        return frozenset(found)


def _rules(text: str) -> dict[str, _Part]:
    tokens = _TOKEN.findall(text)
    assert re.sub(r"\s", "", "".join(tokens)) == re.sub(r"\s", "", text), text
    found: dict[str, _Part] = {}
    at = 0
    while at < len(tokens):
        name, sign = tokens[at : at + 2]
        assert sign == "=", tokens[at : at + 5]
        found[name], at = _choice(tokens, at + 2)
        assert tokens[at] == ";", tokens[at - 3 : at + 3]
        at += 1
    return found


def _choice(tokens: list[str], at: int) -> tuple[_Part, int]:
    first, at = _sequence(tokens, at)
    parts = [first]
    while tokens[at] == "|":
        part, at = _sequence(tokens, at + 1)
        parts.append(part)
    return (_Part("or", tuple(parts)) if len(parts) > 1 else first), at


def _sequence(tokens: list[str], at: int) -> tuple[_Part, int]:
    first, at = _term(tokens, at)
    parts = [first]
    while tokens[at] == ",":
        part, at = _term(tokens, at + 1)
        parts.append(part)
    return (_Part("all", tuple(parts)) if len(parts) > 1 else first), at


def _term(tokens: list[str], at: int) -> tuple[_Part, int]:
    token = tokens[at]
    closing = {"(": ")", "[": "]", "{": "}"}.get(token)
    if closing is not None:
        inner, at = _choice(tokens, at + 1)
        assert tokens[at] == closing, tokens[at - 3 : at + 3]
        kind = {"(": "all", "[": "maybe", "{": "many"}[token]
        return _Part(kind, (inner,)), at + 1
    if token[0] == "?":
        return _Part("special", text=token.strip("? ")), at + 1
    if token[0] in "\"'":
        return _Part("literal", text=token[1:-1]), at + 1
    return _Part("name", text=token), at + 1
