"""One way to ask with either client, so that a property is shown of both."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import Any

import mapi

__all__ = ["BOTH", "METRICS_TOKEN", "TOKEN", "Asking", "ask"]

BOTH = ["threads", "tasks"]
#: The operator's, of the servers here.
METRICS_TOKEN = "the operator"
TOKEN = "mapi_abcdefgh_a-secret-that-is-shown-nowhere"


def ask(kind: str, url: str, path: str, *args: Any, **kwargs: Any) -> Any:
    """Call the method that ``runs.get`` or the like names, with a new client.

    Args:
        kind: ``threads`` or ``tasks``.
        url: of the server.
        path: of the method.
        args: of the method.
        kwargs: of the method; ``timeout_seconds`` is the client's, and ``into`` a list that gets what
            is yielded, also if it ends with an error.
    """
    timeout_seconds = kwargs.pop("timeout_seconds", 10.0)
    into: list[Any] = kwargs.pop("into", [])
    if kind == "threads":
        with mapi.Client(url, token=TOKEN, timeout_seconds=timeout_seconds) as client:
            return _listed(_method(client, path)(*args, **kwargs), into)

    async def work() -> Any:
        async with mapi.AsyncClient(url, token=TOKEN, timeout_seconds=timeout_seconds) as client:
            found = _method(client, path)(*args, **kwargs)
            return await _awaited(found, into)

    return asyncio.run(work())


def _method(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name)
    return client


def _listed(found: Any, into: list[Any]) -> Any:
    if not inspect.isgenerator(found):
        return found
    into.extend(found)
    return into


async def _awaited(found: Any, into: list[Any]) -> Any:
    if not inspect.isasyncgen(found):
        return await found
    async for one in found:
        into.append(one)  # noqa: PERF401 - what came before an error is wanted as well
    return into


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
        if inspect.isasyncgen(found) or inspect.iscoroutine(found):
            return self._runner.run(_awaited(found, []))
        return _listed(found, [])

    def first(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Return the first of what a method yields, and let it go."""
        found = _method(self.client, path)(*args, **kwargs)
        if not inspect.isasyncgen(found):
            with contextlib.closing(found):
                return next(found)

        async def take() -> Any:
            async with contextlib.aclosing(found):
                return await anext(found)

        return self._runner.run(take())

    def close(self) -> None:
        self("close")
        self._runner.close()
