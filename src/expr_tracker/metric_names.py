"""Names of metrics as callers choose them: one text, or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from expr_tracker.errors import QuestionTypeError
from expr_tracker.row import key_text
from expr_tracker.texts import shown, type_name

__all__ = ["metric_names"]


def metric_names(metrics: object, argument: str = "metrics") -> tuple[str, ...]:
    """Return the names that a caller chose, in order, each once.

    Args:
        metrics: a name, or several; a set is taken in the order of the alphabet.
        argument: the name of the argument, for the message.

    Raises:
        QuestionTypeError: it is neither.
    """
    if isinstance(metrics, str):
        return (key_text(metrics),)
    if not isinstance(metrics, Iterable) or isinstance(metrics, (bytes, bytearray, Mapping)):
        raise QuestionTypeError(
            f"{argument}={shown(metrics)} ({type_name(metrics)}): expected a name, a glob such as "
            "'train/*', or a list of them."
        )
    names = []
    for name in metrics:
        if not isinstance(name, str):
            raise QuestionTypeError(
                f"{argument} has {shown(name)} ({type_name(name)}): a metric's name is a text."
            )
        names.append(key_text(name))
    return tuple(dict.fromkeys(sorted(names) if isinstance(metrics, (set, frozenset)) else names))
