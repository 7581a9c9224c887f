"""Idempotency keys: a POST that was sent again gets the answer of the first one, on any replica.

The row of a key is taken before the work and holds the answer behind it. The answer is sealed with
the caller's own token, of which we keep a hash only: it may hold a secret that is shown once.
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
    from mapi.database.door import Connection, Database

__all__ = ["KEY_LENGTH_MAX", "KeptAnswer", "claim_key", "keep_answer", "release_key"]

#: A UUID has 36; the rest is for names that mean something.
KEY_LENGTH_MAX: Final = 255
#: A request that is under way for longer has died with its server: a statement ends after 30 s.
_ABANDONED_SECONDS: Final = 120
_NONCE_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the first request was answered."""

    status: int
    body: bytes


async def claim_key(
    database: Database, principal: Principal, key: str, *, request_hash: bytes, secret: str
) -> KeptAnswer | None:
    """Take a key for this request, or return what the first request of the key was answered.

    Args:
        database: the door.
        principal: whose key it is.
        key: from the header.
        request_hash: of method, path and body.
        secret: the caller's token, which opens the kept answer.

    Raises:
        InvalidError: the key is too long, or was used for another request.
        StateError: the first request is under way.
    """
    if not 1 <= len(key) <= KEY_LENGTH_MAX or not key.isprintable():
        raise InvalidError(
            Fault("/headers/Idempotency-Key", f"expected 1 to {KEY_LENGTH_MAX} plain characters")
        )
    which = {"principal": principal.token_id, "key": key}

    async def work(connection: Connection) -> tuple[bytes, int | None, bytes | None] | None:
        cursor = await connection.execute(
            query("access.claim_key"),
            {**which, "hash": request_hash, "abandoned_seconds": _ABANDONED_SECONDS},
        )
        if await cursor.fetchone() is not None:
            await connection.execute(query("access.drop_old_keys"))
            return None
        cursor = await connection.execute(query("access.find_key"), which)
        return await cursor.fetchone() or (request_hash, None, None)

    found = await database.run(principal.reach, work)
    if found is None:
        return None
    first_hash, status, body = found
    if not hmac.compare_digest(first_hash, request_hash):
        raise InvalidError(
            Fault(
                "/headers/Idempotency-Key",
                f"{key!r} was used for another request; take a new key for a new request",
                code=ProblemCode.IDEMPOTENCY_MISMATCH,
            )
        )
    if status is None or body is None:
        raise StateError(
            f"The first request with the key {key!r} is under way; ask again in a moment."
        )
    return KeptAnswer(
        status, _cipher(secret).decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], None)
    )


async def keep_answer(
    database: Database, principal: Principal, key: str, *, answer: KeptAnswer, secret: str
) -> None:
    """Keep what a request was answered, for a day."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(secret).encrypt(nonce, answer.body, None)
    async with database.transaction(principal.reach) as connection:
        await connection.execute(
            query("access.keep_answer"),
            {
                "principal": principal.token_id,
                "key": key,
                "status": answer.status,
                "body": sealed,
            },
        )


async def release_key(database: Database, principal: Principal, key: str) -> None:
    """Let go of a key whose request made nothing."""
    async with database.transaction(principal.reach) as connection:
        await connection.execute(
            query("access.release_key"), {"principal": principal.token_id, "key": key}
        )


def _cipher(secret: str) -> AESGCM:
    return AESGCM(hmac.new(secret.encode(), b"mapi idempotency v1", hashlib.sha256).digest())
