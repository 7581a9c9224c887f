"""Blocking work beside the event loop, which is over before its caller goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]

_Result = TypeVar("_Result")


async def in_thread(work: Callable[..., _Result], *arguments: object) -> _Result:
    """Return what ``work`` returns in a thread; a caller that is cancelled waits for its end.

    `asyncio.to_thread` leaves the thread running. The caller would close a file in which it still
    writes, and the number of the file may by then belong to somebody's socket.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # looked at, so that nobody reports it as forgotten
        raise cancelled
    return task.result()
