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
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from mapi.access.secret import derived_secret
from mapi.errors import Fault, InvalidError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar import Request

__all__ = ["Cursors", "next_link"]

#: Long enough to walk through everything.
_LIFETIME_SECONDS: Final = 86_400
#: The longest key and labels of a series, or a note's worth of text, signed.
_LENGTH_MAX: Final = 16_384
_DIGEST_BYTES: Final = 32
_POINTER: Final = "/query/cursor"


class Cursors:
    """Writes and reads cursors.

    Args:
        secret: the installation's.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = derived_secret(secret, "mapi.api.cursor.1")

    def write(self, question: Mapping[str, Any], position: Mapping[str, Any]) -> str:
        """Return the cursor of a position in the answers to a question."""
        content = {
            "question": _fingerprint(question),
            "position": dict(position),
            "issued": int(time.time()),
        }
        packed = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        signed = _digest(packed, self._key) + packed
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")

    def read(self, text: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the position of a cursor.

        Raises:
            InvalidError: it is not ours, too old, or of another question.
        """
        packed = _authentic(text, self._key)
        if packed is None:
            raise _refused("this is no cursor of this server; begin again without one")
        content: dict[str, Any] = json.loads(packed)
        if time.time() - content["issued"] > _LIFETIME_SECONDS:
            raise _refused("the cursor is more than 24 hours old; begin again without one")
        if content["question"] != _fingerprint(question):
            raise _refused("the cursor belongs to another question; repeat that one with it")
        position: dict[str, Any] = content["position"]
        return position


def next_link(request: Request[Any, Any, Any], cursor: str) -> str:
    """Return the value of the header ``Link`` that leads to the next page."""
    query = [one for one in request.query_params.multi_items() if one[0] != "cursor"]
    return f'<{request.url.path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


def _fingerprint(question: Mapping[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digest(packed: bytes, key: bytes) -> bytes:
    return hmac.new(key, packed, hashlib.sha256).digest()


def _authentic(text: str, key: bytes) -> bytes | None:
    if not text.isascii() or len(text) > _LENGTH_MAX:
        return None
    try:
        # Strictly: characters outside of the alphabet would make many texts of one cursor.
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    digest, packed = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    return packed if hmac.compare_digest(digest, _digest(packed, key)) else None


def _refused(message: str) -> InvalidError:
    return InvalidError(Fault(_POINTER, message))
