"""The few things that a program with tasks does otherwise than one with threads.

Everything else of the client is written once, for tasks, and rewritten for threads by
`.ci/tooling/synchronous.py`; these pairs are what it cannot rewrite.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ipaddress
import os
import socket
import threading
import time
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mapi.sdk.deadlines import Deadline
from mapi.sdk.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = [
    "EXIT_SECONDS",
    "AsyncNesting",
    "AsyncTurn",
    "AsyncUpkeep",
    "Nesting",
    "Turn",
    "Upkeep",
    "acquire",
    "async_acquire",
    "async_let_go",
    "async_resolve",
    "async_sleep",
    "let_go",
    "resolve",
    "sleep",
]

AsyncTurn: TypeAlias = asyncio.Lock
async_sleep = asyncio.sleep
# A signal handler that ends a run may have interrupted its own thread while that had the turn.
Turn = threading.RLock
sleep = time.sleep

#: How long an end waits for work that is under way.
_JOIN_SECONDS: Final = 35.0
#: How long the end of a program waits for a server that takes nothing; all runs that were left open
#: have it together.
EXIT_SECONDS: Final = 10.0


class AsyncNesting:
    """Of calls in tasks none is within another of its own: a signal handler can await none."""

    @property
    def is_inside(self) -> bool:
        """See `Nesting`."""
        return False

    @is_inside.setter
    def is_inside(self, is_inside: bool) -> None:
        pass


class Nesting(threading.local):
    """Knows of a call that a signal handler makes within another one of its thread.

    Attributes:
        is_inside: whether the thread is in a call. Set and set back where the call is made, not by
            methods: what a handler raises may fall into those.
    """

    is_inside = False


async def async_acquire(lock: asyncio.Lock, *, seconds: float) -> bool:
    """Take a lock, and say whether it could be had within these seconds."""
    try:
        return await asyncio.wait_for(lock.acquire(), max(0.0, seconds))
    except TimeoutError:
        return False


def acquire(lock: threading.RLock, *, seconds: float) -> bool:
    """Take a lock, and say whether it could be had within these seconds."""
    return lock.acquire(timeout=max(0.0, seconds))


def async_let_go(lock: asyncio.Lock, *, has_turn: bool) -> None:
    """Give a lock back that `async_acquire` took."""
    if has_turn:
        lock.release()


def let_go(lock: threading.RLock, *, has_turn: bool) -> None:
    """Give a lock back that `acquire` took, or that it took when a signal cut it off."""
    del has_turn  # a signal may have come before it was known
    with contextlib.suppress(RuntimeError):  # it is another thread's, or nobody's
        lock.release()


async def async_resolve(host: str, port: int, *, seconds: float) -> list[str]:
    """Return the addresses of a host, in the order in which they are to be tried.

    Raises:
        TimeoutError: the name service has not answered within these seconds.
        OSError: there is no such host.
    """
    asked = asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    try:
        return _addresses(await asyncio.wait_for(asked, seconds))
    except TimeoutError:
        raise _unresolved(host) from None
    except UnicodeError as error:
        raise OSError(f"{host!r} is no name of a host: {error}") from None


def resolve(host: str, port: int, *, seconds: float) -> list[str]:
    """Return the addresses of a host, in the order in which they are to be tried.

    Raises:
        TimeoutError: the name service has not answered within these seconds.
        OSError: there is no such host.
    """
    if _is_address(host):
        return [host]
    # The system's own call waits as long as it likes; a thread of ours can be left to it.
    asked: Future[list[Any]] = Future()

    def ask() -> None:
        try:
            asked.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            asked.set_exception(error)
        except UnicodeError as error:
            asked.set_exception(OSError(f"{host!r} is no name of a host: {error}"))

    threading.Thread(target=ask, name="mapi-resolve", daemon=True).start()
    try:
        return _addresses(asked.result(seconds))
    except TimeoutError:
        raise _unresolved(host) from None


def _unresolved(host: str) -> TimeoutError:
    return TimeoutError(f"the name service has no answer about {host} yet")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _addresses(found: list[Any]) -> list[str]:
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class _Exit:
    """The end of the program: it begins with the first who asks when it has to be over."""

    def __init__(self) -> None:
        self._limit: Deadline | None = None

    def limit(self) -> Deadline:
        """Return when all that still sends has to be done."""
        if self._limit is None:
            self._limit = Deadline(EXIT_SECONDS)
        return self._limit


_exit: Final = _Exit()


class AsyncUpkeep:
    """Does something again and again in a task, and at once when it is woken.

    Args:
        work: what is done; it is given no deadline, as behind the end of a loop there are no tasks.
        every_seconds: see below.

    Attributes:
        every_seconds: from one time to the next; a change counts from the next one on.
    """

    def __init__(
        self, work: Callable[[Deadline | None], Awaitable[None]], *, every_seconds: float
    ) -> None:
        self._work = work
        self.every_seconds = every_seconds
        self._failures = Failures("what sends points")
        self._wake = asyncio.Event()
        self._is_ending = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if it has not; without a running loop there is nobody to do it."""
        if self._task is None and not self._is_ending:
            with contextlib.suppress(RuntimeError):
                self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def is_ending(self) -> bool:
        """Whether this is the last time, so that work of many parts should stop behind one."""
        return self._is_ending

    def wake(self) -> None:
        """Do it now."""
        self._wake.set()

    async def stop(self, *, seconds: float = _JOIN_SECONDS) -> None:
        """End, once what is under way is done, or these seconds are over."""
        self._is_ending = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=max(0.0, seconds))
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while not self._is_ending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self.every_seconds)
            self._wake.clear()
            if not self._is_ending:
                try:
                    await self._work(None)
                except Exception as error:  # noqa: BLE001 - whatever it is, points go on
                    self._failures.tell(error)


class Upkeep:
    """Does something again and again in a thread, and at once when it is woken.

    Args:
        work: what is done; given a deadline it is the last time, and the program ends.
        every_seconds: see below.

    Attributes:
        every_seconds: from one time to the next; a change counts from the next one on.
    """

    def __init__(self, work: Callable[[Deadline | None], None], *, every_seconds: float) -> None:
        self._work = work
        self.every_seconds = every_seconds
        self._failures = Failures("what sends points")
        # A signal handler may put into it whatever its own thread is doing.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._is_ending = False
        self._begins = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def start(self) -> None:
        """Begin, if it has not; what a signal cuts off here is done by the next call."""
        if self._thread is None and not self._is_ending:
            atexit.unregister(self._at_exit)
            atexit.register(self._at_exit)
            # A daemon: a program that ends without a word must not wait for it.
            thread = threading.Thread(target=self._run, name="mapi-run", daemon=True)
            thread.start()
            if self._thread is None:
                self._thread = thread

    @property
    def is_ending(self) -> bool:
        """Whether this is the last time, so that work of many parts should stop behind one."""
        return self._is_ending

    def wake(self) -> None:
        """Do it now."""
        if self._wake.empty():
            self._wake.put(None)

    def stop(self, *, seconds: float = _JOIN_SECONDS) -> None:
        """End, once what is under way is done, or these seconds are over."""
        atexit.unregister(self._at_exit)
        self._is_ending = True
        self._wake.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, seconds))
            self._thread = None

    def _at_exit(self) -> None:
        """Do it for the last time: the program ends without having said so here."""
        if self._process != os.getpid():
            return  # of a child, which has neither the thread nor the work
        limit = _exit.limit()
        # A batch that is on its way may still arrive, with a server that is slow.
        self.stop(seconds=limit.remaining() / 2)
        try:
            self._work(limit)
        except Exception as error:  # noqa: BLE001 - other runs have an end as well
            self._failures.tell(error)

    def _run(self) -> None:
        # Here no signal handler runs, so a thread that began is known; of several, one works.
        with self._begins:
            if self._thread is None:
                self._thread = threading.current_thread()
        if self._thread is not threading.current_thread():
            return
        while not self._is_ending:
            with contextlib.suppress(Empty):
                self._wake.get(timeout=self.every_seconds)
            if not self._is_ending:
                try:
                    self._work(None)
                except Exception as error:  # noqa: BLE001 - whatever it is, points go on
                    self._failures.tell(error)
