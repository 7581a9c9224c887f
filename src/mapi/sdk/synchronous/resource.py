# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""What the parts of a client have in common: the way to the server, and the project."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeVar

from mapi.sdk.arguments import version_of
from mapi.sdk.calls import Call, Repetition, path_of, with_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mapi.sdk.deadlines import Deadline
    from mapi.sdk.synchronous.transport import Transport

__all__ = ["Resource"]

_Found = TypeVar("_Found")
_MERGE_PATCH = "application/merge-patch+json"


class Resource:
    """One part of a client.

    Args:
        transport: the way to the server.
        project: where to work; `None` leaves it to the token.
    """

    def __init__(self, transport: Transport, project: str | None) -> None:
        self._transport = transport
        self._project = project

    @contextmanager
    def _within(self, limit: Deadline) -> Iterator[Self]:
        """Yield the same part of the client, whose calls are all over by then."""
        transport = self._transport.within(limit)
        try:
            yield type(self)(transport, self._project)
        finally:
            transport.close()

    def _get(
        self, *parts: str, answer: type[_Found], query: Sequence[tuple[str, str]] = ()
    ) -> _Found:
        return self._transport.send(Call("GET", path_of("v1", *parts, query=query), answer))

    def _post(
        self,
        *parts: str,
        answer: type[_Found],
        body: bytes = b"{}",
        makes: bool = False,
        query: Sequence[tuple[str, str]] = (),
        repetition: Repetition = Repetition.SAFE,
    ) -> _Found:
        """Post what may be sent twice; what makes something carries a key of its own."""
        packed, headers = with_body(body, makes=makes)
        path = path_of("v1", *parts, query=query)
        return self._transport.send(Call("POST", path, answer, packed, headers, repetition))

    def _put(self, *parts: str, answer: type[_Found], body: bytes) -> _Found:
        packed, headers = with_body(body)
        path = path_of("v1", *parts)
        return self._transport.send(Call("PUT", path, answer, packed, headers))

    def _patch(
        self,
        *parts: str,
        answer: type[_Found],
        body: bytes,
        if_match: str | None = None,
        content_type: str = _MERGE_PATCH,
    ) -> _Found:
        # A merge patch says how things are to be, so twice is once; but with a version, the second
        # would meet the one that the first has made.
        repetition = Repetition.SAFE if if_match is None else Repetition.ONCE
        packed, headers = with_body(body, content_type=content_type, if_match=if_match)
        path = path_of("v1", *parts)
        return self._transport.send(Call("PATCH", path, answer, packed, headers, repetition))

    def _delete(
        self,
        *parts: str,
        if_match: str | None = None,
        query: Sequence[tuple[str, str]] = (),
    ) -> None:
        version = version_of(if_match)
        headers = {} if version is None else {"If-Match": version}
        path = path_of("v1", *parts, query=query)
        self._transport.send(Call("DELETE", path, type(None), b"", headers))
