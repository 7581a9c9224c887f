"""What a rule reports, and how a line is excused from a rule.

An excuse is a comment on the reported line, in any comment style, with its reason:

    class SignalHandler:  # lint-ok: names: the field calls it a signal handler

A module as a whole is excused by such a comment on a line of its own among its first 20 lines. An
excuse without a reason excuses nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

EXCUSE = re.compile(r"lint-ok:\s*(?P<rule>[a-z-]+):\s*\S.{2,}")
#: Where an excuse for the whole module is looked for; below it nobody would see it.
MODULE_EXCUSE_LINES = 20


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule."""

    path: str
    line: int
    rule: str
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        """Return it as compilers print, so that editors can jump there."""
        weight = "warning: " if self.is_warning else ""
        return f"{self.path}:{self.line}: {weight}{self.rule}: {self.message}"


def is_excused(finding: Finding, lines: list[str]) -> bool:
    """Say whether the reported line carries an excuse for this rule.

    Args:
        finding: What a rule reported; line 1 stands for the module as a whole.
        lines: The lines of the file.
    """
    if finding.line == 1:
        places = lines[:1] + [
            line for line in lines[1:MODULE_EXCUSE_LINES] if line.startswith("#")
        ]
    else:
        places = lines[finding.line - 1 : finding.line]
    excuses = (match for place in places for match in EXCUSE.finditer(place))
    return any(match["rule"] == finding.rule for match in excuses)
