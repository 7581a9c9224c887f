"""One way to ask with either client, so that a property is shown of both."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import mapi

__all__ = ["BOTH", "TOKEN", "Asking", "ask"]

BOTH = ["threads", "tasks"]
TOKEN = "mapi_abcdefgh_a-secret-that-is-shown-nowhere"


def ask(kind: str, url: str, path: str, *args: Any, **kwargs: Any) -> Any:
    """Call the method that ``runs.get`` or the like names, with a new client."""
    timeout_seconds = kwargs.pop("timeout_seconds", 10.0)
    if kind == "threads":
        with mapi.Client(url, token=TOKEN, timeout_seconds=timeout_seconds) as client:
            return _listed(_method(client, path)(*args, **kwargs))

    async def work() -> Any:
        async with mapi.AsyncClient(url, token=TOKEN, timeout_seconds=timeout_seconds) as client:
            found = _method(client, path)(*args, **kwargs)
            if inspect.isasyncgen(found):
                return [one async for one in found]
            return await found

    return asyncio.run(work())


def _method(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name)
    return client


def _listed(found: Any) -> Any:
    return list(found) if inspect.isgenerator(found) else found


class Asking:
    """A client of either kind that is asked as the one for threads is; generators become lists."""

    def __init__(self, kind: str, url: str, token: str) -> None:
        self._runner = asyncio.Runner()
        self.client: Any
        if kind == "threads":
            self.client = mapi.Client(url, token=token, timeout_seconds=20)
        else:
            self.client = mapi.AsyncClient(url, token=token, timeout_seconds=20)

    def __call__(self, path: str, *args: Any, **kwargs: Any) -> Any:
        found = _method(self.client, path)(*args, **kwargs)
        if inspect.isasyncgen(found):
            found = _all(found)
        return self._runner.run(found) if inspect.iscoroutine(found) else _listed(found)

    def close(self) -> None:
        self("close")
        self._runner.close()


async def _all(found: Any) -> list[Any]:
    return [one async for one in found]
