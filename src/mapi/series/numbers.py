"""Which texts are numbers: the one parser for params, written as the search language writes them.

    number = [ "+" | "-" ] , ( digits , [ "." , [ digits ] ] | "." , digits ) , [ exponent ]
           | [ "+" | "-" ] , "inf" ;
    exponent = ( "e" | "E" ) , [ "+" | "-" ] , digits ;

So ``1e-3``, ``.5``, ``5.`` and ``+3`` are numbers; ``1_000``, ``0x10``, ``NaN``, ``Infinity``,
``true`` and texts with white space around are texts. A number too large for 64-bit floating point
is a text as well: read as infinity it would answer comparisons that it does not win.
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["NUMBER_LENGTH_MAX", "number_from_text"]

#: The longest exact decimal of a 64-bit float has 1 077 characters; longer texts are data.
NUMBER_LENGTH_MAX: Final = 1_100
# ASCII digits only: \d takes those of every script.
_NUMBER: Final = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf)")


def number_from_text(text: str) -> float | None:
    """Return the number that a text is, or ``None``."""
    if len(text) > NUMBER_LENGTH_MAX or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return None if math.isinf(number) and not text.endswith("inf") else number
