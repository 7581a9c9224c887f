"""A stream lasts no longer than the token or the session of its reader, silent or not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from mapi.access.rights import Principal
from mapi.api.stream_life import Reader, kept_alive
from mapi.tracking.changes import Changes
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio


@dataclass
class Asked:
    """A request, as far as a stream looks at it."""

    user: Principal


async def _silent() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b"never"


async def _talking() -> AsyncIterator[bytes]:
    while True:
        await asyncio.sleep(0)
        yield b"more"


@pytest.mark.parametrize("source", [_silent, _talking])
async def test_a_stream_ends_when_its_token_does_and_not_before(source: Any) -> None:
    expires = datetime.now(UTC) + timedelta(seconds=0.2)
    principal = Principal(1, "test", "", frozenset({Scope.READ}), expires=expires)
    # No database: before the minute is over nobody is asked.
    reader = Reader(cast("Any", Asked(principal)), cast("Any", None), project_id=1)
    changes = Changes(cast("Any", None), None)
    async with asyncio.timeout(20):
        async for _ in kept_alive(source(), reader, changes):
            pass
    assert datetime.now(UTC) >= expires


async def test_a_stream_whose_token_has_ended_says_nothing() -> None:
    expires = datetime.now(UTC) - timedelta(seconds=1)
    principal = Principal(1, "test", "", frozenset({Scope.READ}), expires=expires)
    reader = Reader(cast("Any", Asked(principal)), cast("Any", None), project_id=1)
    changes = Changes(cast("Any", None), None)
    async with asyncio.timeout(20):
        assert [one async for one in kept_alive(_talking(), reader, changes)] == []
