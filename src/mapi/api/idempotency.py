"""``Idempotency-Key``: a POST that makes something makes it once, however often it is sent.

A route takes the header by its option ``MAKES``. Only an answer that says that something was made
is kept: whatever failed has written nothing, and may be tried again with the same key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar.enums import ScopeType

from mapi.access.idempotency import KeptAnswer, claim_key, keep_answer, release_key
from mapi.api.front import header_of
from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import BODY_BYTES_MAX
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

    from mapi.database.door import Database

__all__ = ["MAKES", "idempotent"]

#: The option of a route that makes something, so that its request may carry a key.
MAKES: Final = "makes"
#: The headers that belong to what was made.
_KEPT_HEADERS: Final = frozenset({b"content-type", b"location", b"etag"})


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
    scope, key = exchange.scope, exchange.key
    principal: Any = scope["user"]
    secret: str = scope["state"]["secret"]
    body = await _read(exchange.receive)
    found = await claim_key(
        database, principal, key, request_hash=_hash_of(scope, body), secret=secret
    )
    if found is not None:
        await _repeat(exchange.send, found)
        return
    answer = _Recorded(exchange.send)
    try:
        await app(scope, _replayed(body, exchange.receive), answer.send)
    except BaseException:
        await release_key(database, principal, key)
        raise
    if answer.has_made:
        await keep_answer(database, principal, key, answer=answer.kept(), secret=secret)
    else:
        await release_key(database, principal, key)
    await answer.finish()


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
        return KeptAnswer(status, msgspec.msgpack.encode((headers, body)))

    async def finish(self) -> None:
        for message in self._messages:
            await self._send(message)


async def _repeat(send: Send, kept: KeptAnswer) -> None:
    headers, body = msgspec.msgpack.decode(kept.body, type=tuple[dict[str, str], bytes])
    sent = {**headers, "content-length": str(len(body)), "idempotency-replayed": "true"}
    await send(
        {
            "type": "http.response.start",
            "status": kept.status,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
