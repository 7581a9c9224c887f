"""A text under the parser's finger: where it stands, what was looked for there, and faults.

Every look that finds nothing leaves a note of what it looked for. A fault says what was looked for
at its place, and completion reads the same notes at the end of an unfinished text, so neither has
a table of its own that could disagree with the grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from mapi.errors import Fault, InvalidError

__all__ = ["KEYWORDS", "TEXT_LENGTH_MAX", "Expectation", "Source", "check_text", "fault"]

#: A filter travels in an address, and proxies cut those at 8 kB; encoded it may be three times as
#: long, which is rare for what people write.
TEXT_LENGTH_MAX: Final = 4_096
KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "IN", "IS", "MISSING", "NAN"})

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_./:@+-]*")
#: What PostgreSQL cannot store in a text, so no run can have it.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Expectation:
    """Something that could stand at a place."""

    text: str
    """As typed, or what it is, such as ``a number``."""
    kind: str = "literal"
    """``literal``, or the open class: ``metric``, ``param``, ``tag``, ``label``, ``label value``,
    ``value``, ``end``."""
    of: str = ""
    """What it belongs to: a series for a label, a field for a value."""


def fault(message: str, at: tuple[int, int], expected: tuple[str, ...] = ()) -> InvalidError:
    """Return an error at ``at`` = offset and length; whoever knows the pointer puts it in."""
    return InvalidError(
        Fault(pointer="", message=message, offset=at[0], length=at[1], expected=expected)
    )


def check_text(text: str) -> None:
    """Refuse a text that is too long, or that nothing could be equal to.

    Raises:
        InvalidError: it says where.
    """
    if len(text) > TEXT_LENGTH_MAX:
        raise fault(
            f"the text has {len(text)} characters: at most {TEXT_LENGTH_MAX}",
            (TEXT_LENGTH_MAX, len(text) - TEXT_LENGTH_MAX),
        )
    found = _UNSTORABLE.search(text)
    if found is not None:
        raise fault(
            f"U+{ord(found[0]):04X} occurs in no value: no U+0000 and no half of a surrogate pair",
            (found.start(), 1),
        )


class Source:
    """The text, the place, and what was looked for at the furthest place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._looked_at = 0
        self._looked_for: list[Expectation] = []

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.text)

    def expectations(self) -> list[Expectation]:
        """Return what was looked for at the place, each once and in the grammar's order."""
        if self._looked_at != self.at:
            return []
        return list(dict.fromkeys(self._looked_for))

    def miss(self, *looked_for: Expectation) -> None:
        """Note what would have been taken at the place."""
        if self._looked_at != self.at:
            self._looked_at, self._looked_for = self.at, []
        self._looked_for.extend(looked_for)

    def skip_blanks(self) -> None:
        """Pass over white space."""
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def peek(self) -> str:
        """Return the next character, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def peek_word(self) -> str:
        """Return the longest run of characters that names, numbers and times are made of."""
        found = _WORD.match(self.text, self.at)
        assert found is not None
        return found[0]

    def take(self, literal: str) -> bool:
        """Take a sign if it stands here."""
        if self.text.startswith(literal, self.at):
            self.at += len(literal)
            return True
        self.miss(Expectation(literal))
        return False

    def take_pattern(self, pattern: re.Pattern[str]) -> str:
        """Take what the pattern matches here, or nothing."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def take_keyword(self, keyword: str) -> bool:
        """Take a keyword, in any case, after white space."""
        self.skip_blanks()
        word = self.peek_word()
        if word.upper() == keyword and word.isascii():
            self.at += len(word)
            return True
        self.miss(Expectation(keyword))
        return False

    def shown(self) -> tuple[str, int]:
        """Return what stands here for a message, and how long it is."""
        if self.is_at_end:
            return "the end", 0
        word = self.peek_word() or self.peek()
        clipped = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..."
        return repr(clipped), len(word)

    def fail_here(self, wanted: str) -> NoReturn:
        """Raise that something else stands here than was looked for.

        Raises:
            InvalidError: always.
        """
        found, length = self.shown()
        expected = tuple(one.text for one in self.expectations())
        raise fault(f"{wanted} is expected, not {found}", (self.at, length), expected)
