"""The secret that all replicas of one installation share."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from mapi.database.queries import query

if TYPE_CHECKING:
    from mapi.database.door import Database

__all__ = ["derived_secret", "server_secret"]


async def server_secret(database: Database) -> bytes:
    """Return the installation's secret, which its first migration made."""
    async with database.outside() as connection:
        cursor = await connection.execute(query("access.server_secret"))
        (found,) = await cursor.fetchone() or (b"",)
    return bytes(found)


def derived_secret(secret: bytes, purpose: str) -> bytes:
    """Return a secret for one purpose: what is signed for one is worth nothing for another."""
    return hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
