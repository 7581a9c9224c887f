"""``Idempotency-Key``: a POST that makes something makes it once, however often it is sent.

A route takes the header by its option ``MAKES``, or asks for it with `key_of` and keeps its answer in
the transaction of its work (`answer_once`). Only an answer that says that something was made is kept:
whatever failed has written nothing, and may be tried again with the same key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
from litestar import Response
from litestar.enums import MediaType, ScopeType

from mapi.access.idempotency import (
    KeptAnswer,
    RequestKey,
    claim_key,
    keep_answer,
    release_key,
)
from mapi.api.front import header_of
from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import BODY_BYTES_MAX
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from litestar import Request
    from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

    from mapi.database.door import Connection, Database

__all__ = ["MAKES", "Made", "answer_once", "idempotent", "key_of"]

#: The option of a route that makes something, so that its request may carry a key.
MAKES: Final = "makes"
#: The headers that belong to what was made.
_KEPT_HEADERS: Final = frozenset({b"content-type", b"location", b"etag"})
#: What only an answer has that was given before.
_REPEATED: Final = {"idempotency-replayed": "true"}


def idempotent(database: Database) -> Any:
    """Return the layer that keeps answers; it stands behind the authentication."""

    def layer(app: ASGIApp) -> ASGIApp:
        async def served(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == ScopeType.HTTP and scope["route_handler"].opt.get(MAKES):
                key = header_of(scope, b"idempotency-key")
                if key:
                    found = _Exchange(scope, receive, send, key)
                    await _serve_once(app, database, found)
                    return
            await app(scope, receive, send)

        return served

    return layer


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request with a key, and the way to its answer."""

    scope: HTTPScope
    receive: Receive
    send: Send
    key: str


async def _serve_once(app: ASGIApp, database: Database, exchange: _Exchange) -> None:
    scope = exchange.scope
    principal: Any = scope["user"]
    secret: str = scope["state"]["secret"]
    body = await _read(exchange.receive)
    key = RequestKey(exchange.key, _hash_of(scope, body))

    async def claim(connection: Connection) -> KeptAnswer | None:
        return await claim_key(connection, principal, key, secret=secret)

    found = await database.run(principal.reach, claim)
    if found is not None:
        await _repeat(exchange.send, found)
        return
    answer = _Recorded(exchange.send)
    try:
        await app(scope, _replayed(body, exchange.receive), answer.send)
    except BaseException:
        async with database.transaction(principal.reach) as connection:
            await release_key(connection, principal, key)
        raise
    async with database.transaction(principal.reach) as connection:
        if answer.has_made:
            kept = answer.kept()
            await keep_answer(connection, principal, key, answer=kept, secret=secret)
        else:
            await release_key(connection, principal, key)
    await answer.finish()


def key_of(request: Request[Any, Any, Any], body: bytes) -> RequestKey | None:
    """Return the key of a request to a route that keeps its answers itself; ``None`` without one.

    Args:
        request: of whom, to where.
        body: before compression.

    Raises:
        InvalidError: it is no key.
    """
    text = header_of(request.scope, b"idempotency-key")
    return RequestKey(text, _hash_of(request.scope, body)) if text else None


async def answer_once(
    database: Database,
    request: Request[Any, Any, Any],
    *,
    key: RequestKey | None,
    work: Callable[[Connection], Awaitable[Made]],
) -> Response[bytes]:
    """Return the answer of work that makes something, or what the key's first request was answered.

    Claim, work and answer are one transaction: whatever fails has not used the key up.

    Args:
        database: the door.
        request: who asks.
        key: and what; without one the work is done.
        work: may run again, and does nothing but by its connection.

    Raises:
        InvalidError: the key was used for another request.
        StateError: the first request is under way.
    """
    secret: str = request.scope["state"]["secret"]

    async def keyed(connection: Connection) -> Made:
        if key is None:
            return await work(connection)
        found = await claim_key(connection, request.user, key, secret=secret)
        if found is not None:
            return Made.again(found)
        made = await work(connection)
        await keep_answer(connection, request.user, key, answer=made.kept(), secret=secret)
        return made

    return (await database.run(request.user.reach, keyed)).response()


@dataclass(frozen=True, slots=True)
class Made:
    """The answer to a request that has made something."""

    status: int
    headers: Mapping[str, str]
    """Those that belong to what was made."""
    body: bytes
    """JSON."""
    is_repeated: bool = False
    """It was made before."""

    @classmethod
    def again(cls, kept: KeptAnswer) -> Self:
        """Return the answer that the first request was given."""
        headers, body = _opened(kept)
        return cls(kept.status, headers, body, is_repeated=True)

    def kept(self) -> KeptAnswer:
        """Return what is kept of it."""
        return _closed(self.status, self.headers, self.body)

    def response(self) -> Response[bytes]:
        """Return what is sent."""
        headers = {name: text for name, text in self.headers.items() if name != "content-type"}
        if self.is_repeated:
            headers |= _REPEATED
        return Response(
            self.body,
            status_code=self.status,
            media_type=self.headers.get("content-type", MediaType.JSON),
            headers=headers,
        )


def _closed(status: int, headers: Mapping[str, str], body: bytes) -> KeptAnswer:
    return KeptAnswer(status, msgspec.msgpack.encode((headers, body)))


def _opened(kept: KeptAnswer) -> tuple[dict[str, str], bytes]:
    return msgspec.msgpack.decode(kept.body, type=tuple[dict[str, str], bytes])


def _hash_of(scope: HTTPScope, body: bytes) -> bytes:
    found = hashlib.sha256()
    for part in (scope["method"].encode(), scope["raw_path"], scope["query_string"], body):
        # With their lengths: no two requests have the same bytes.
        found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidError(
                Fault("", "the body ends too early", code=ProblemCode.BODY_UNREADABLE)
            )
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES_MAX:
            raise InvalidError(
                Fault(
                    "",
                    f"the body has more than {BODY_BYTES_MAX} bytes",
                    code=ProblemCode.PAYLOAD_TOO_LARGE,
                )
            )
        if not message.get("more_body", False):
            break
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def replay() -> Any:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Recorded:
    """Holds an answer back until it is kept: the client must not know of it before."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def has_made(self) -> bool:
        return any(
            message["type"] == "http.response.start" and 200 <= message["status"] < 300
            for message in self._messages
        )

    def kept(self) -> KeptAnswer:
        status, headers, body = 0, {}, b""
        for message in self._messages:
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {
                    name.lower().decode(): value.decode("latin-1")
                    for name, value in message["headers"]
                    if name.lower() in _KEPT_HEADERS
                }
            elif message["type"] == "http.response.body":
                body += message.get("body", b"")
        return _closed(status, headers, body)

    async def finish(self) -> None:
        for message in self._messages:
            await self._send(message)


async def _repeat(send: Send, kept: KeptAnswer) -> None:
    headers, body = _opened(kept)
    sent = {**headers, "content-length": str(len(body)), **_REPEATED}
    await send(
        {
            "type": "http.response.start",
            "status": kept.status,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
