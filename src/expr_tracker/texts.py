"""The texts of objects that are not ours, for messages and in place of values.

``repr`` and ``str`` run the code of the object's class: it may raise, and give a text of any length. A
message about a bad value must say what is wrong with the value, and not raise something of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cut", "reason_of", "refusal_of", "shown", "text_of", "type_name"]

#: In a message a value is shown by its beginning: the rule that it breaks must stay in sight.
_SHOWN_CHARACTERS_MAX: Final = 200

#: Of a type, whatever its metaclass makes of ``__name__``.
_name_of: Final = vars(type)["__name__"].__get__


def type_name(value: object) -> str:
    """Return the name of an object's type."""
    return str(_name_of(type(value)))


def text_of(make: Callable[[Any], str], value: object) -> str:
    """Return the text that ``make`` makes of a user's object; where it raises, the type's name."""
    try:
        return str.__str__(make(value))
    except Exception as error:  # the object's own fault
        if is_from_signal(error):
            raise
    if issubclass(type(value), int):  # a longer one has no text (`sys.get_int_max_str_digits`)
        return f"<{type_name(value)} of {int.bit_length(value)} bits>"  # type: ignore[arg-type]
    return f"<unrepresentable {type_name(value)}>"


def cut(text: str, characters_max: int) -> str:
    """Return ``text``, its beginning alone where it is longer than that."""
    return text if len(text) <= characters_max else text[:characters_max] + "..."


def shown(value: object) -> str:
    """Return what a message shows of any value: its ``repr``, cut; it never raises."""
    return cut(text_of(repr, value), _SHOWN_CHARACTERS_MAX)


def refusal_of(error: Exception) -> str:
    """Return why a file cannot be read: what the system says of it, without the file's name."""
    return (error.strerror if isinstance(error, OSError) else None) or reason_of(error)


def reason_of(error: Exception) -> str:
    """Return what a message says of an exception: its text, cut; its type's name where it has none."""
    return cut(text_of(str, error) or type_name(error), _SHOWN_CHARACTERS_MAX)
