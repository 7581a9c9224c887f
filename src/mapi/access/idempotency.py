"""Idempotency keys: a POST that was sent again gets the answer of the first one, on any replica.

A key is claimed, the work done and the answer kept in one transaction: all of it is there or nothing is,
whatever dies. The answer is sealed with the caller's own token, of which we keep a hash only: it may hold
a secret that is shown once.
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
    from mapi.database.door import Connection, Database, Reach

__all__ = [
    "KEY_LENGTH_MAX",
    "KeptAnswer",
    "RequestKey",
    "check_same",
    "claim_key",
    "delete_old_keys",
    "keep_answer",
    "under_way",
]

#: A UUID has 36; the rest is for names that mean something.
KEY_LENGTH_MAX: Final = 255
_NONCE_BYTES: Final = 12
#: A transaction of some 0.1 s.
_DELETED_AT_ONCE: Final = 10_000


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
        connection: the transaction of the work, of the principal. A second request waits for its end,
            for 2 s.
        principal: whose key it is.
        key: and the request.
        secret: the caller's token, which opens the kept answer.

    Raises:
        InvalidError: the key was used for another request.
        StateError: the first request is under way, for longer than this one waits.
    """
    cursor = await connection.execute(
        query("access.claim_key"), {"principal": principal.token_id, "key": key.text}
    )
    row = await cursor.fetchone()
    assert row is not None, "the function has one row"
    is_held, first_hash, status, body = row
    if not is_held:
        raise under_way(key)
    if first_hash is None:
        return None
    check_same(key, first_hash)
    return KeptAnswer(
        status, _cipher(secret).decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], None)
    )


def under_way(key: RequestKey) -> StateError:
    """Return what a request is told whose first one still has the key."""
    return StateError(
        f"The first request with the key {key.text!r} is under way; ask again in a moment."
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
    """Keep what a request was answered, for a day; in the transaction that has claimed its key."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(secret).encrypt(nonce, answer.body, None)
    await connection.execute(
        query("access.keep_answer"),
        {
            "principal": principal.token_id,
            "key": key.text,
            "hash": key.request_hash,
            "status": answer.status,
            "body": sealed,
        },
    )


async def delete_old_keys(database: Database, reach: Reach) -> int:
    """Delete the keys of a tenant that are older than a day, and return how many.

    Whether it was done yet changes no answer: an old key is as none.
    """

    async def work(connection: Connection) -> int:
        cursor = await connection.execute(
            query("access.delete_old_keys"), {"limit": _DELETED_AT_ONCE}
        )
        return cursor.rowcount

    total = 0
    while count := await database.run(reach, work):
        total += count
    return total


def _cipher(secret: str) -> AESGCM:
    return AESGCM(hmac.new(secret.encode(), b"mapi idempotency v1", hashlib.sha256).digest())
