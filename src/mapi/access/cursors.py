"""Where a page ended, as a text that only this installation can write.

A cursor is bound to what was asked for: one that was changed, is a day old or belongs to another
question is refused. What it says is no secret, so it is signed and not hidden.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
import zlib
from typing import TYPE_CHECKING, Any, Final

from mapi.access.secret import derived_secret
from mapi.errors import Fault, InvalidError
from mapi.wire.runs import CURSOR_LENGTH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Cursors"]

#: Long enough to walk through everything, short enough that ``now`` means something.
_LIFETIME_SECONDS: Final = 86_400
_DIGEST_BYTES: Final = 32
#: Set apart from whatever else the secret signs; counts the forms of the content.
_PURPOSE: Final = "mapi.cursor.2"
_POINTER: Final = "/query/cursor"


class Cursors:
    """Writes and reads cursors.

    Args:
        secret: the installation's.
        clock: seconds since 1970.
    """

    def __init__(self, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = derived_secret(secret, _PURPOSE)
        self._clock = clock

    def write(self, question: Mapping[str, Any], position: Mapping[str, Any]) -> str:
        """Return the cursor of a position in the answers to a question.

        Args:
            question: all that makes the list what it is; a cursor is good for it alone.
            position: JSON.
        """
        content = {
            "question": _fingerprint(question),
            "position": dict(position),
            "issued": int(self._clock()),
        }
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        packed = zlib.compress(text.encode(), 9)
        signed = _digest(packed, self._key) + packed
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")

    def read(
        self, text: str, question: Mapping[str, Any], *, pointer: str = _POINTER
    ) -> dict[str, Any]:
        """Return the position of a cursor.

        Args:
            text: as the client sent it.
            question: what is asked now.
            pointer: where the text came from.

        Raises:
            InvalidError: it is not ours, too old, or of another question.
        """
        packed = _authentic(text, self._key)
        if packed is None:
            raise _refused(pointer, "this is no cursor of this server; begin again without one")
        content: dict[str, Any] = json.loads(zlib.decompress(packed))
        if self._clock() - content["issued"] > _LIFETIME_SECONDS:
            raise _refused(
                pointer, "the cursor is more than 24 hours old; begin again without one"
            )
        if content["question"] != _fingerprint(question):
            raise _refused(
                pointer, "the cursor belongs to another question; repeat that one with it"
            )
        position: dict[str, Any] = content["position"]
        return position


def _fingerprint(question: Mapping[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digest(packed: bytes, key: bytes) -> bytes:
    return hmac.new(key, packed, hashlib.sha256).digest()


def _authentic(text: str, key: bytes) -> bytes | None:
    if not text.isascii() or len(text) > CURSOR_LENGTH_MAX:
        return None
    try:
        # Strictly: characters outside of the alphabet would make many texts of one cursor.
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    digest, packed = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    return packed if hmac.compare_digest(digest, _digest(packed, key)) else None


def _refused(pointer: str, message: str) -> InvalidError:
    return InvalidError(Fault(pointer, message))
