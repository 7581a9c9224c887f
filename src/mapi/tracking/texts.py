"""Free JSON on its way into the database: what PostgreSQL could not hold is refused here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mapi.errors import Fault, InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["json_text"]


def json_text(content: Mapping[str, Any], at: str, *, bytes_max: int) -> str:
    """Return the JSON of an object that was sent.

    Args:
        content: the object; its texts are storable, as `mapi.wire.decoding.decode` leaves them.
        at: where it stands in the body.
        bytes_max: of the JSON, in UTF-8.

    Raises:
        InvalidError: it is longer, or a number in it is too large for any JSON reader.
    """
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # 1e999 was read as infinity; a whole number has too many digits
        raise InvalidError(
            Fault(at, f"a number in it is too large to be kept ({error}); send it as a text")
        ) from None
    size = len(text.encode())
    if size > bytes_max:
        raise InvalidError(Fault(at, f"it has {size} bytes of JSON: at most {bytes_max}"))
    return text
