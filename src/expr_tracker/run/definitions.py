"""What ``define_metric`` may say of a metric, and a hint where it says something else.

Definitions are words for whoever reads a run: they change nothing that the tracker does itself.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.texts import shown, text_of

if TYPE_CHECKING:
    from expr_tracker.notices import Notices

__all__ = ["warn_of_words"]

#: What a definition of a metric may say, and what some of its words may hold.
_WORDS: Final = (
    "summary",
    "goal",
    "unit",
    "step_metric",
    "hidden",
    "step_sync",
    "description",
    "overwrite",
)
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "summary": ("min", "max", "mean", "last", "first", "best", "none"),
    "goal": ("minimize", "maximize"),
}
#: What the summary is anyway, or what asks nothing of it.
_AS_IT_IS: Final = ("last", "none")


def warn_of_words(name: str, definition: dict[str, Any], notices: Notices) -> None:
    """Point out what no reader knows, of plain values.

    It is kept: older programs wrote what they liked.
    """

    def warn(what: str, given: str, known: tuple[str, ...]) -> None:
        near = get_close_matches(given.lower(), known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        notices.once(
            ("definition", what),
            f"define_metric({shown(name)}): {what} is not known.{hint} It is kept as it is. Known are: "
            f"{', '.join(known)}.",
        )

    for word, value in definition.items():
        choices = _CHOICES.get(word, ())
        if word not in _WORDS:
            warn(word, word, _WORDS)
        for choice in value if isinstance(value, list) else (value,):
            if choices and choice is not None and choice not in choices:
                warn(f"{word}={shown(choice)}", text_of(str, choice), choices)
    # The one word that names something which is here as well.
    summary = definition.get("summary")
    for wanted in summary if isinstance(summary, (list, tuple)) else (summary,):
        if not isinstance(wanted, str) or wanted in _AS_IT_IS or wanted not in _CHOICES["summary"]:
            continue
        notices.once(
            ("definition", "summary is the last"),
            f"define_metric({name!r}): summary={wanted!r} is kept in about.json for who reads it, and "
            "summary() goes on to hold the last value. Pin what you want to see beside it, as in "
            f"et.summary()[{f'{name}/{wanted}'!r}] = value.",
        )
