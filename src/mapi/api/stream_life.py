"""How long an event stream lasts: while its reader has the right, with comments in its silence.

Whether a reader has the right is asked when rights have changed, and once a minute; when their token
or session expires is known beforehand, and never put off.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mapi.api.authentication import principal_of
from mapi.errors import MapiError, NotFoundError, UnavailableError
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from litestar import Request

    from mapi.access.rights import Principal
    from mapi.database.door import Database
    from mapi.tracking.changes import Changes

__all__ = ["Reader", "kept_alive"]

#: Proxies close what is silent, most of them after a minute.
_COMMENT_SECONDS = 15.0
#: So long a reader who has lost the right still reads, should no notice tell.
_RIGHTS_SECONDS = 60.0
_COMMENT = b": so that nobody takes this for a dead connection\n\n"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a stream, as long as they may."""

    request: Request[Principal, Any, Any]
    database: Database
    project_id: int
    """What they must be allowed to read."""

    async def is_allowed(self) -> bool:
        """Ask again who this is, and whether they may still read."""
        try:
            principal, _ = await principal_of(self.database, self.request)
            principal.require(Scope.READ, self.project_id)
        except UnavailableError:
            return True  # nobody can say now; the next round asks again
        except MapiError:
            return False
        return True

    def left_seconds(self) -> float:
        """Return for how long their token or session counts, if nobody revokes it."""
        expires = self.request.user.expires
        if expires is None:
            return float("inf")
        return (expires - _now()).total_seconds()


async def kept_alive(
    source: AsyncIterator[bytes], reader: Reader, changes: Changes
) -> AsyncIterator[bytes]:
    """Yield what a source yields, with comments in its silence, while the reader has the right."""
    with _watched_rights(reader, changes) as rights:
        spoken = time.monotonic()
        pending: asyncio.Task[bytes] | None = None
        try:
            while True:
                if pending is None:
                    pending = asyncio.create_task(_next(source))
                silent = time.monotonic() - spoken
                await asyncio.wait(
                    {pending, rights.changing},
                    timeout=max(0.0, min(rights.left_seconds(), _COMMENT_SECONDS - silent)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not await rights.hold():
                    return
                if pending.done():
                    text, pending = pending.result(), None
                    if not text:
                        return
                    yield text
                elif time.monotonic() - spoken >= _COMMENT_SECONDS:
                    yield _COMMENT
                else:
                    continue
                spoken = time.monotonic()
        finally:
            ended = [rights.changing] if pending is None else [rights.changing, pending]
            for one in ended:
                one.cancel()
            await asyncio.gather(*ended, return_exceptions=True)
            await source.aclose()  # type: ignore[attr-defined]


async def _next(source: AsyncIterator[bytes]) -> bytes:
    """Return the next text; an empty one at the end, or when what is followed is gone."""
    while True:
        try:
            text = await anext(source)
        except (StopAsyncIteration, NotFoundError):
            return b""
        if text:
            return text


class _Rights:
    """The rights of a reader, and when they were asked for."""

    def __init__(self, reader: Reader, changed: asyncio.Event) -> None:
        self._reader = reader
        self._changed = changed
        self._asked = time.monotonic()
        self.changing = asyncio.create_task(changed.wait())
        """Is done when rights in the tenant have changed."""

    def left_seconds(self) -> float:
        """Return for how long nothing need be asked."""
        since = time.monotonic() - self._asked
        return min(self._reader.left_seconds(), _RIGHTS_SECONDS - since)

    async def hold(self) -> bool:
        """Say whether the reader may go on; it is asked for where that is due."""
        if self.changing.done() or time.monotonic() - self._asked >= _RIGHTS_SECONDS:
            # First: a change while we ask is another reason to ask.
            self._changed.clear()
            self._asked = time.monotonic()
            if not await self._reader.is_allowed():
                return False
            if self.changing.done():
                self.changing = asyncio.create_task(self._changed.wait())
        return self._reader.left_seconds() > 0


@contextmanager
def _watched_rights(reader: Reader, changes: Changes) -> Iterator[_Rights]:
    changed = asyncio.Event()
    with changes.following_rights(reader.request.user.tenant_id, changed.set):
        yield _Rights(reader, changed)
