"""Idempotency keys: a POST that was sent again gets the answer of the first one, on any replica.

The row of a key is taken before the work and holds the answer behind it; best in the transaction of
the work, so that both are there or neither. The answer is sealed with the caller's own token, of
which we keep a hash only: it may hold a secret that is shown once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, StateError
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Connection

__all__ = [
    "ABANDONED_SECONDS",
    "KEY_LENGTH_MAX",
    "KeptAnswer",
    "RequestKey",
    "check_same",
    "claim_key",
    "keep_answer",
]

#: A UUID has 36; the rest is for names that mean something.
KEY_LENGTH_MAX: Final = 255
#: A request that is under way for longer has died with its server: a statement ends after 30 s.
ABANDONED_SECONDS: Final = 120
_NONCE_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A key and the request that it came with.

    Raises:
        InvalidError: the key is empty or too long, or has other than plain characters.
    """

    text: str
    """From the header."""
    request_hash: bytes
    """Of method, path and body."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.text) <= KEY_LENGTH_MAX or not self.text.isprintable():
            raise InvalidError(
                Fault(
                    "/headers/Idempotency-Key", f"expected 1 to {KEY_LENGTH_MAX} plain characters"
                )
            )


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the first request was answered."""

    status: int
    body: bytes


async def claim_key(
    connection: Connection, principal: Principal, key: RequestKey, *, secret: str
) -> KeptAnswer | None:
    """Take a key for this request, or return what the first request of the key was answered.

    Args:
        connection: a transaction of the principal. Where the work is part of it too, a second
            request waits for its end, and there is never a key without its answer.
        principal: whose key it is.
        key: and the request.
        secret: the caller's token, which opens the kept answer.

    Raises:
        InvalidError: the key was used for another request.
        StateError: the first request is under way.
    """
    which = {"principal": principal.token_id, "key": key.text}
    cursor = await connection.execute(
        query("access.claim_key"),
        {**which, "hash": key.request_hash, "abandoned_seconds": ABANDONED_SECONDS},
    )
    if await cursor.fetchone() is not None:
        await connection.execute(query("access.drop_old_keys"))
        return None
    cursor = await connection.execute(query("access.find_key"), which)
    first_hash, status, body = await cursor.fetchone() or (key.request_hash, None, None)
    check_same(key, first_hash)
    if status is None or body is None:
        raise StateError(
            f"The first request with the key {key.text!r} is under way; ask again in a moment."
        )
    return KeptAnswer(
        status, _cipher(secret).decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], None)
    )


def check_same(key: RequestKey, first_hash: bytes) -> None:
    """Refuse a key that was used before, for another request.

    Raises:
        InvalidError: it was.
    """
    if not hmac.compare_digest(first_hash, key.request_hash):
        raise InvalidError(
            Fault(
                "/headers/Idempotency-Key",
                f"{key.text!r} was used for another request; take a new key for a new request",
                code=ProblemCode.IDEMPOTENCY_MISMATCH,
            )
        )


async def keep_answer(
    connection: Connection,
    principal: Principal,
    key: RequestKey,
    *,
    answer: KeptAnswer,
    secret: str,
) -> None:
    """Keep what a request was answered, for a day."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(secret).encrypt(nonce, answer.body, None)
    await connection.execute(
        query("access.keep_answer"),
        {
            "principal": principal.token_id,
            "key": key.text,
            "status": answer.status,
            "body": sealed,
        },
    )


def _cipher(secret: str) -> AESGCM:
    return AESGCM(hmac.new(secret.encode(), b"mapi idempotency v1", hashlib.sha256).digest())
