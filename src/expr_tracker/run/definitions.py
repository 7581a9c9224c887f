"""What ``define_metric`` may say of a metric, and a hint where it says something else."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

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


def warn_of_words(name: str, definition: dict[str, Any], notices: Notices) -> None:
    """Point out what no reader knows; it is kept, for older programs wrote what they liked."""

    def warn(what: str, given: str, known: tuple[str, ...]) -> None:
        near = get_close_matches(given.lower(), known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        notices.once(
            ("definition", what),
            f"define_metric({name!r}): {what} is not known.{hint} It is kept as it is. Known are: "
            f"{', '.join(known)}.",
        )

    for word, value in definition.items():
        choices = _CHOICES.get(word, ())
        if word not in _WORDS:
            warn(word, word, _WORDS)
        for choice in value if isinstance(value, (list, tuple)) else (value,):
            if choices and choice is not None and choice not in choices:
                warn(f"{word}={choice!r}", str(choice), choices)
