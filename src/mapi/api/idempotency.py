"""``Idempotency-Key``: a POST that makes something makes it once, however often it is sent.

A route that has the option `MAKES` hands its work to `answer_once`: the key is claimed, the work done and
the answer kept in one transaction. A server or a database that dies at any moment leaves either nothing
made and a free key, or what was made and its answer. Only an answer that says that something was made is
kept: whatever failed has written nothing, and may be tried again with the same key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec
from litestar import Response
from litestar.enums import MediaType

from mapi.access.idempotency import KeptAnswer, RequestKey, claim_key, keep_answer
from mapi.api.front import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from litestar import Request

    from mapi.database.door import Connection, Database

__all__ = ["MAKES", "Made", "answer_once", "hash_of", "key_of"]

#: The option of a route that makes something, so that its request may carry a key.
MAKES: Final = "makes"
#: What only an answer has that was given before.
_REPLAYED: Final = {"idempotency-replayed": "true"}
_encoder: Final = msgspec.json.Encoder()
_Facts = TypeVar("_Facts")


def key_of(request: Request[Any, Any, Any], body: bytes = b"") -> RequestKey | None:
    """Return the key of a request; ``None`` without one.

    Args:
        request: of whom, to where.
        body: before compression; nothing where the route reads none.

    Raises:
        InvalidError: it is no key.
    """
    text = header_of(request.scope, b"idempotency-key")
    if text is None:
        return None
    scope = request.scope
    found = hash_of(scope["method"], scope["raw_path"], query=scope["query_string"], body=body)
    return RequestKey(text, found)


async def answer_once(
    database: Database,
    request: Request[Any, Any, Any],
    *,
    key: RequestKey | None,
    work: Callable[[Connection], Awaitable[Made[_Facts]]],
) -> Response[_Facts]:
    """Return the answer of work that makes something, or what the key's first request was answered.

    Args:
        database: the door.
        request: who asks.
        key: and what; without one the work is done.
        work: may run again, and does nothing but by its connection: what it does is undone where its
            answer cannot be kept.

    Raises:
        InvalidError: the key was used for another request.
        StateError: the first request is under way.
    """
    secret: str = request.scope["state"]["secret"]

    async def keyed(connection: Connection) -> Made[_Facts]:
        if key is None:
            return await work(connection)
        found = await claim_key(connection, request.user, key, secret=secret)
        if found is not None:
            return Made.replayed(found)
        made = await work(connection)
        await keep_answer(connection, request.user, key, answer=made.kept(), secret=secret)
        return made

    return (await database.run(request.user.reach, keyed)).response()


@dataclass(frozen=True, slots=True)
class Made(Generic[_Facts]):
    """The answer to a request that has made something, which tells of it by a struct."""

    status: int
    headers: Mapping[str, str]
    """Those that belong to what was made."""
    body: bytes
    """The struct in JSON."""
    is_replayed: bool = False
    """It was made before, and answered the same."""

    @classmethod
    def of(
        cls,
        facts: _Facts,
        *,
        is_new: bool = True,
        headers: Mapping[str, str] | None = None,
        is_replayed: bool = False,
    ) -> Made[_Facts]:
        """Return the answer that tells of what was made; 200 where it was there already."""
        return cls(201 if is_new else 200, headers or {}, _encoder.encode(facts), is_replayed)

    @classmethod
    def replayed(cls, kept: KeptAnswer) -> Made[_Facts]:
        """Return the answer that the first request was given."""
        headers, body = msgspec.msgpack.decode(kept.body, type=tuple[dict[str, str], bytes])
        return cls(kept.status, headers, body, is_replayed=True)

    def kept(self) -> KeptAnswer:
        """Return what is kept of it."""
        return KeptAnswer(self.status, msgspec.msgpack.encode((self.headers, self.body)))

    def response(self) -> Response[_Facts]:
        """Return what is sent."""
        headers = {**self.headers, **(_REPLAYED if self.is_replayed else {})}
        # The framework sends bytes as they are.
        found = Response(
            self.body, status_code=self.status, media_type=MediaType.JSON, headers=headers
        )
        return cast("Response[_Facts]", found)


def hash_of(method: str, path: bytes, *, query: bytes, body: bytes) -> bytes:
    """Return what tells a request from another one that has the same key."""
    found = hashlib.sha256()
    for part in (method.encode(), path, query, body):
        # With their lengths: no two requests have the same bytes.
        found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()
