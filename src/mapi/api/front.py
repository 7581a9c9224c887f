"""What stands before every route, those that do not exist too.

Each request gets an id, a line in the log and its place in the meters; each answer the headers that
keep a browser from doing what we did not mean. Addresses, headers and hosts are checked here,
before anything is looked up for them.
"""

from __future__ import annotations

import logging
import time
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import HttpMethod, ScopeType

from mapi.api.problems import IS_GONE, encoded_problem
from mapi.errors import Fault, ForbiddenError, InvalidError, NotFoundError
from mapi.wire.enums import ProblemCode
from mapi.wire.problems import PROBLEM_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

    from mapi.api.entrance import Entrance
    from mapi.api.meters import Meters
    from mapi.api.methods import Methods

__all__ = ["IS_HEAD", "Front", "address_of", "header_of"]

#: What the state of a HEAD holds: a route that answers at length has nothing to begin.
IS_HEAD: Final = "is_head"

_logger: Final = logging.getLogger("mapi.requests")
#: The caption of a media item, 2 000 characters of up to four bytes, percent-encoded, with its key and
#: labels. A filter of 4 096 characters needs less.
_ADDRESS_BYTES_MAX: Final = 32 << 10
#: Browsers send 2 KiB, proxies add some; more is a mistake or an attack.
_HEADER_BYTES_MAX: Final = 32 << 10
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: Users' words and pictures are shown on our pages: nothing in them may run or load anything.
#: Charts set sizes by style attributes, which cannot run.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    # The link that signs in once stands in an address: no other origin sees it. With no-referrer a
    # browser would not say either that a form of ours is ours: its Origin would be "null".
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    # An answer is for whoever asked; a route that is for all says so itself.
    b"cache-control": b"no-store",
}
_STRICT_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")


class Front:
    """The outermost layer of the application.

    Args:
        app: what answers.
        entrance: which hosts and origins are ours.
        meters: count requests.
        methods: what the application answers to.
        tidied: from a request to the address of the page that it means with a slash too many, if any.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        entrance: Entrance,
        meters: Meters,
        methods: Methods,
        tidied: Callable[[HTTPScope], bytes | None],
    ) -> None:
        self._app = app
        self._tidied = tidied
        self._methods = methods
        self._entrance = entrance
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = f"req_{token_hex(8)}"
        scope.setdefault("state", {})["request_id"] = request_id
        allowed = self._methods.of(scope["path"])
        traffic = _Traffic(receive, send, scope, allowed=allowed)
        asked = scope
        if traffic.is_head:
            # The routes know of no HEAD: it is a GET whose answer stays without a body. The server
            # below goes by its own scope.
            asked = {**scope, "method": HttpMethod.GET}
            scope["state"][IS_HEAD] = True
        started = time.perf_counter()
        self._meters.under_way.inc()
        try:
            refused = self._refusal(scope)
            where = None if refused is not None else self._tidied(scope)
            if where is not None:
                await _lead(traffic.send, where)
                return
            refused = refused or _refused_slash(scope)
            if refused is None:
                await self._app(asked, traffic.receive, traffic.send)
            else:
                await _answer(traffic.send, refused, request_id)
        finally:
            self._meters.under_way.dec()
            self._tell(asked, traffic, time.perf_counter() - started)

    def _refusal(self, scope: HTTPScope) -> Exception | None:
        refused = _refused_address(scope)
        if refused is not None:
            return refused
        host = header_of(scope, b"host") or ""
        if not self._entrance.knows_host(host):
            return _too_much(
                ProblemCode.HOST_UNKNOWN,
                f"this server is not called {host[:200]!r}; if it is, its operator says so with "
                "MAPI_PUBLIC_URL",
            )
        origin = header_of(scope, b"origin")
        if (
            origin
            and scope["method"] not in _SAFE_METHODS
            and not self._entrance.knows_origin(origin, scheme=scope["scheme"], host=host)
        ):
            return ForbiddenError(
                f"A page of {origin[:200]!r} may not write here; pages of this server may. Behind "
                "a proxy, set MAPI_PUBLIC_URL to the address that users see."
            )
        return None

    def _tell(self, scope: HTTPScope, traffic: _Traffic, seconds: float) -> None:
        route = str(scope.get("path_template") or "none")
        method = traffic.method if traffic.method in _METHODS else "other"
        self._meters.count(method=method, route=route, status=traffic.status, seconds=seconds)
        self._meters.count_bytes(received=traffic.received_bytes, sent=traffic.sent_bytes)
        level = logging.WARNING if traffic.status >= 500 else logging.INFO
        if level == logging.INFO and not self._entrance.logs_requests:
            return
        user: Any = scope.get("user")
        _logger.log(
            level,
            "request",
            extra={
                "request_id": traffic.request_id,
                "method": method,
                "route": route,
                "status": traffic.status,
                "duration_ms": round(seconds * 1_000, 3),
                "received_bytes": traffic.received_bytes,
                "sent_bytes": traffic.sent_bytes,
                "client": address_of(scope),
                "tenant": None if user is None else user.tenant_id,
                "token": None if user is None else user.token_id,
            },
        )


_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


class _Traffic:
    """Counts the bytes of one request and completes the headers of its answer."""

    def __init__(
        self, receive: Receive, send: Send, scope: HTTPScope, *, allowed: Sequence[str]
    ) -> None:
        self._receive = receive
        self._send = send
        self._is_secure = scope["scheme"] == "https"
        self._state = scope["state"]
        self._is_body_over = False
        self._allowed = allowed
        self.method = str(scope["method"])
        self.is_head = self.method == "HEAD" and self.method in allowed
        self.request_id: str = self._state["request_id"]
        #: 499 is what proxies write when the client went away before an answer.
        self.status = 499
        self.received_bytes = 0
        self.sent_bytes = 0

    async def receive(self) -> Any:
        message = await self._receive()
        if message["type"] == "http.request":
            self.received_bytes += len(message.get("body", b""))
            self._is_body_over = not message.get("more_body", False)
        elif not self._is_body_over:
            # What comes of half a body is nobody's fault but the network's.
            self._state[IS_GONE] = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._completed(list(message.get("headers", [])))
        sent: list[Any] = _headless(message) if self.is_head else [message]
        for one in sent:
            if one["type"] == "http.response.body":
                self.sent_bytes += len(one.get("body", b""))
            await self._send(one)

    def _completed(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        if self._allowed:
            headers = [
                (name, ", ".join(self._allowed).encode() if name.lower() == b"allow" else value)
                for name, value in headers
            ]
        present = {name.lower() for name, _ in headers}
        headers += [one for one in _HEADERS.items() if one[0] not in present]
        if self._is_secure:
            headers.append(_STRICT_TRANSPORT)
        headers.append((b"x-request-id", self.request_id.encode()))
        return headers


def header_of(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request; ``None`` without it."""
    for sent, value in scope["headers"]:
        if sent.lower() == name:
            return value.decode("latin-1")
    return None


def address_of(scope: Scope) -> str:
    """Return the client's address; that of a trusted proxy's client, if there is one between."""
    client = scope.get("client")
    return client[0] if client else ""


def _refused_address(scope: HTTPScope) -> Exception | None:
    address = len(scope["raw_path"]) + len(scope["query_string"])
    if address > _ADDRESS_BYTES_MAX:
        return _too_much(
            ProblemCode.ADDRESS_TOO_LONG,
            f"the address has {address} bytes: at most {_ADDRESS_BYTES_MAX}; a long search "
            "goes into the body of POST /v1/runs/search",
        )
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    if size > _HEADER_BYTES_MAX:
        return _too_much(
            ProblemCode.HEADERS_TOO_LARGE,
            f"the headers have {size} bytes: at most {_HEADER_BYTES_MAX}",
        )
    # No text of the database holds U+0000, so nothing is called so.
    if "\0" in scope["path"]:
        return InvalidError(Fault("/path", f"{scope['path'][:200]!r} has U+0000; leave it out"))
    if b"%00" in scope["query_string"]:
        return InvalidError(Fault("/query", "U+0000 cannot be stored; leave it out"))
    return None


def _refused_slash(scope: HTTPScope) -> Exception | None:
    if scope["raw_path"].endswith(b"/") and scope["raw_path"] != b"/":
        # Clients tidy addresses: what was to name a part of a thing must not mean all of it.
        return NotFoundError(
            f"There is nothing at {scope['path'][:200]!r}: an address here ends without a slash."
        )
    return None


def _headless(message: Any) -> list[Any]:
    """Return what of an answer to GET is sent to HEAD: its beginning, and an end without a body."""
    if message["type"] != "http.response.start":
        return []
    return [message, {"type": "http.response.body", "body": b"", "more_body": False}]


def _too_much(code: ProblemCode, message: str) -> InvalidError:
    return InvalidError(Fault("", message, code=code))


async def _lead(send: Send, where: bytes) -> None:
    """Lead to another address of this server."""
    headers = [(b"location", where), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _answer(send: Send, error: Exception, request_id: str) -> None:
    status, headers, body = encoded_problem(error, request_id=request_id)
    sent = {
        **headers,
        "content-type": PROBLEM_MEDIA_TYPE,
        "content-length": str(len(body)),
        # What was not read of the body is not worth reading.
        "connection": "close",
    }
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
