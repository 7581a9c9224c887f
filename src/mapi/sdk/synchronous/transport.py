# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""Calls over HTTP: each within its deadline, made again where that is safe."""

from __future__ import annotations

import os
import ssl
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import httpcore
import msgspec

from mapi.sdk.addresses import split_address
from mapi.sdk.calls import Call, Reply, decoded
from mapi.sdk.deadlines import Deadline
from mapi.sdk.errors import (
    AnswerUnreadableError,
    ClientError,
    ConnectionFailedError,
    DeadlineError,
    NotFoundError,
    ServerUnreachableError,
    error_of_answer,
    refuse_other_content,
)
from mapi.sdk.pacing import Nesting, sleep
from mapi.sdk.repeating import TRIES_MAX, pause_before_repetition
from mapi.sdk.server import Server
from mapi.sdk.synchronous.network import pool_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mapi.sdk.calls import Progress, Source

__all__ = ["Transport", "read_reply"]

#: The largest answer that is no transfer; a comparison of ten long runs has 20 MB.
ANSWER_BYTES_MAX: Final = 128 << 20
_PROBLEM_BYTES_MAX: Final = 1 << 20

_Found = TypeVar("_Found")


class Transport:
    """The way to one server.

    Args:
        server: where it is, and the token.
        timeout_seconds: of one call, all tries and pauses included.
        agent: how the client names itself.
        tries: of one call, at most.
        limit: of all calls together.
    """

    def __init__(
        self,
        server: Server,
        *,
        timeout_seconds: float,
        agent: str,
        tries: int = TRIES_MAX,
        limit: Deadline | None = None,
    ) -> None:
        self.server = server
        self.timeout_seconds = timeout_seconds
        self.agent = agent
        self.tries = tries
        self._limit = limit
        self._prefix = urlsplit(server.url).path
        self._origin: httpcore.URL | None = None
        self._headers = {
            "User-Agent": agent,
            "Accept": "application/json, */*",
            # What it is packed by would be read, or written into a file, as it came.
            "Accept-Encoding": "identity",
        }
        if server.token:
            self._headers["Authorization"] = f"Bearer {server.token}"
        self._pool: httpcore.ConnectionPool | None = None
        self._process = os.getpid()
        self._calls = Nesting()

    def within(self, limit: Deadline) -> Transport:
        """Return another way to the server, whose calls are all over by then; it is closed as well."""
        return Transport(
            self.server,
            timeout_seconds=self.timeout_seconds,
            agent=self.agent,
            tries=self.tries,
            limit=limit,
        )

    def close(self) -> None:
        """Close the connections; the next call opens one again."""
        pool, self._pool = self._pool, None
        if self._calls.is_inside:
            return  # a signal handler's call: its thread may hold the pool's lock, and goes on with it
        if pool is not None and self._process == os.getpid():
            pool.close()

    def send(self, call: Call[_Found], *, timeout_seconds: float | None = None) -> _Found:
        """Return the answer to a call, after as many tries as its deadline allows.

        Args:
            call: what is asked.
            timeout_seconds: in place of the client's.

        Raises:
            ApiError: the server refuses the call.
            ConnectionFailedError: there is no answer, within the time or at all.
        """
        reply = self.reply(call, timeout_seconds=timeout_seconds)
        return cast("_Found", None) if reply is None else read_reply(call, reply)

    def upload(
        self,
        call: Call[_Found],
        source: Source,
        *,
        progress: Progress | None = None,
        answer_seconds: float | None = None,
    ) -> _Found:
        """Return the answer to content that was sent as `upload_reply` does."""
        reply = self.upload_reply(call, source, progress=progress, answer_seconds=answer_seconds)
        return read_reply(call, reply)

    def upload_reply(
        self,
        call: Call[Any],
        source: Source,
        *,
        progress: Progress | None = None,
        answer_seconds: float | None = None,
    ) -> Reply:
        """Send content of any length piece by piece, and return the answer as it is.

        Each piece has the time of a call.

        Args:
            call: what is asked; its body is the content.
            source: the content.
            progress: takes how many bytes went, and how many there are.
            answer_seconds: how long the answer may take behind the last piece; by default as long
                as one of a call.

        Raises:
            ApiError: the server refuses the call.
            ConnectionFailedError: there is no answer, within the time or at all.
        """
        tries = 0
        while True:
            tries += 1
            deadline = Deadline(self.timeout_seconds)
            pieces = _Pieces(
                source,
                deadline,
                piece_seconds=self.timeout_seconds,
                answer_seconds=self.timeout_seconds if answer_seconds is None else answer_seconds,
                progress=progress,
            )
            try:
                return self._try(call, deadline, content=pieces)
            except ClientError as error:
                pause = pause_before_repetition(
                    error, call, tries=tries, remaining_seconds=self.timeout_seconds
                )
                if pause is None or tries >= self.tries:
                    raise
            sleep(pause)

    def reply(self, call: Call[Any], *, timeout_seconds: float | None = None) -> Reply | None:
        """Return the answer as it is; ``None`` of a DELETE that a try before has done."""
        seconds = self.timeout_seconds if timeout_seconds is None else timeout_seconds
        if self._limit is not None:
            seconds = min(seconds, max(0.0, self._limit.remaining()))
        deadline = Deadline(seconds)
        tries = 0
        told: ClientError | None = None
        while True:
            tries += 1
            try:
                return self._try(call, deadline)
            except ClientError as error:
                if told is not None and isinstance(error, DeadlineError):
                    # Why there were several tries is what helps, and no try is left to say it.
                    raise DeadlineError(f"{error} The try before: {told}") from None
                told = error
                # What a try without an answer deleted is not there any more.
                if call.method == "DELETE" and tries > 1 and isinstance(error, NotFoundError):
                    return None
                pause = pause_before_repetition(
                    error, call, tries=tries, remaining_seconds=deadline.remaining()
                )
                if pause is None or tries >= self.tries:
                    raise
            sleep(pause)

    def download(
        self,
        call: Call[Any],
        write: Callable[[bytes], object],
        *,
        progress: Progress | None = None,
    ) -> int:
        """Pass an answer of any length on as it comes; each piece has the time of a call.

        Args:
            call: what is asked.
            write: takes the pieces. What it was given is not the whole if this raises.
            progress: takes how many bytes came, and how many there are, if that is known.

        Returns:
            How many bytes there were.
        """
        tries, size = 0, 0
        while True:
            tries += 1
            deadline = Deadline(self.timeout_seconds)
            try:
                with self.stream(call, deadline) as (_, headers, chunks):
                    whole = headers.get("content-length")
                    for chunk in chunks:
                        write(chunk)
                        size += len(chunk)
                        deadline.extend(self.timeout_seconds)
                        if progress is not None:
                            progress(size, None if whole is None else int(whole))
                    return size
            except ClientError as error:
                pause = pause_before_repetition(
                    error, call, tries=tries, remaining_seconds=self.timeout_seconds
                )
                # What was passed on cannot be taken back.
                if pause is None or size or tries >= self.tries:
                    raise
            sleep(pause)

    def follow(self, call: Call[Any], reply: Reply) -> bytes:
        """Return the content of a reply, from where it says that it is; our token stays here."""
        if reply.status < 300:
            return reply.body
        return self.elsewhere(Call(call.method, reply.headers["location"], bytes))

    def elsewhere(
        self, call: Call[_Found], source: Source | None = None, *, progress: Progress | None = None
    ) -> _Found:
        """Return the answer to a call whose path is a whole address; our token stays here.

        Args:
            call: what is asked.
            source: the body, if it has one.
            progress: takes how many bytes of it went, and how many there are.
        """
        try:
            origin, path = split_address(call.path)
        except ValueError as error:
            where = call.path.partition("?")[0]  # behind it is what lets one in
            raise AnswerUnreadableError(
                f"{self.server.url} sends this client to {where[:200]!r}: {error}."
            ) from None
        other = Transport(
            Server(origin, ""),
            timeout_seconds=self.timeout_seconds,
            agent=self.agent,
            tries=self.tries,
        )
        try:
            there = replace(call, path=path)
            if source is None:
                return other.send(there)
            return other.upload(there, source, progress=progress)
        finally:
            other.close()

    def _try(
        self, call: Call[Any], deadline: Deadline, *, content: _Pieces | None = None
    ) -> Reply:
        if self._calls.is_inside:
            # A signal handler's, whose own thread may hold the lock of the shared pool.
            pool = pool_for(self.server.url)
            try:
                return self._whole(call, deadline, content=content, pool=pool)
            finally:
                pool.close()
        try:
            self._calls.is_inside = True
            return self._whole(call, deadline, content=content)
        finally:
            self._calls.is_inside = False

    def _whole(
        self,
        call: Call[Any],
        deadline: Deadline,
        *,
        content: _Pieces | None,
        pool: httpcore.ConnectionPool | None = None,
    ) -> Reply:
        with self.stream(call, deadline, content=content, pool=pool) as (
            status,
            headers,
            chunks,
        ):
            parts: list[bytes] = []
            size = 0
            for chunk in chunks:
                size += len(chunk)
                if size > ANSWER_BYTES_MAX:
                    raise AnswerUnreadableError(
                        f"{call.method} {call.path} was answered with more than "
                        f"{ANSWER_BYTES_MAX} bytes."
                    )
                parts.append(chunk)
            return Reply(status, headers, b"".join(parts))

    @contextmanager
    def stream(
        self,
        call: Call[Any],
        deadline: Deadline,
        *,
        content: _Pieces | None = None,
        pool: httpcore.ConnectionPool | None = None,
    ) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
        """Yield status, headers and the pieces of an answer as they come; one try.

        Args:
            call: what is asked.
            deadline: of all of it; who reads may extend it from piece to piece.
            content: the body, in place of the call's own.
            pool: of connections, in place of those that all calls share.

        Raises:
            ApiError: the server refuses the call.
            ConnectionFailedError: there is no answer, or it breaks off.
        """
        headers = {**self._headers, **call.headers}
        if content is not None:
            headers["Content-Length"] = str(content.size_bytes)
        elif call.body or call.method in {"POST", "PUT", "PATCH"}:
            headers["Content-Length"] = str(len(call.body))
        where = f"{call.method} {self.server.url}{call.path.partition('?')[0]}"
        try:
            with (pool or self._opened()).stream(
                call.method,
                self._address(call.path),
                headers=list(headers.items()),
                # The library takes anything that can be gone through; its types say less.
                content=call.body if content is None else cast("Any", content),
                extensions={"timeout": _timeouts(deadline)},
            ) as answer:
                named = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in answer.headers
                }
                is_answer = answer.status < 300 or answer.status in call.takes
                if not is_answer and not (call.follows and "location" in named):
                    raise error_of_answer(answer.status, named, _start_of(answer), where=where)
                refuse_other_content(call.kinds, answer.status, named, where=where)
                yield answer.status, named, answer.iter_stream()
        except httpcore.UnsupportedProtocol as error:
            raise ServerUnreachableError(f"{where}: {error}") from None
        except (httpcore.ConnectError, httpcore.ProxyError) as error:
            cause = error.__cause__ or error.__context__
            if isinstance(cause, ssl.SSLError):
                if not isinstance(cause, ssl.SSLCertVerificationError):
                    raise AnswerUnreadableError(
                        f"{self.server.url} does not speak TLS ({_said(error)}): try http:// in "
                        "place of https://."
                    ) from None
                # It will be the same in a moment: nothing to try again.
                raise AnswerUnreadableError(
                    f"{self.server.url} does not prove who it is ({_said(error)})."
                ) from None
            raise ServerUnreachableError(
                f"{self.server.url} cannot be reached ({_said(error)}): does the server run?"
            ) from None
        except (httpcore.TimeoutException, TimeoutError):
            raise DeadlineError(
                f"{where} had no whole answer within {round(deadline.seconds, 1):g} seconds."
            ) from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionFailedError(
                f"{where}: the connection broke before the answer was whole ({_said(error)})."
            ) from None

    def _address(self, path: str) -> httpcore.URL:
        # In parts: of a text the library would take the same apart for each call.
        if self._origin is None:
            self._origin = httpcore.URL(self.server.url)
        origin = self._origin
        return httpcore.URL(
            scheme=origin.scheme,
            host=origin.host,
            port=origin.port,
            target=f"{self._prefix}{path}" or "/",
        )

    def _opened(self) -> httpcore.ConnectionPool:
        # After a fork the connections are the parent's: two processes would read each other's
        # answers from them.
        process = os.getpid()
        if self._pool is None or self._process != process:
            pool = pool_for(self.server.url)
            # A signal handler may fork or raise between two calls, so there is none here: with the new
            # process number and the old pool it would use its parent's connections.
            self._pool = pool
            self._process = process
        return self._pool


class _Pieces:
    """Content on its way: the deadline moves on with each piece, and somebody hears of it."""

    def __init__(
        self,
        source: Source,
        deadline: Deadline,
        *,
        piece_seconds: float,
        answer_seconds: float,
        progress: Progress | None,
    ) -> None:
        self.size_bytes = source.size_bytes
        self._source = source
        self._deadline = deadline
        self._seconds = (piece_seconds, answer_seconds)
        self._progress = progress

    def __iter__(self) -> Iterator[bytes]:
        done = 0
        for piece in self._source.pieces():
            yield piece  # whoever asks for the next has sent this one
            done += len(piece)
            self._deadline.extend(self._seconds[0])
            if self._progress is not None:
                self._progress(done, self.size_bytes)
        self._deadline.extend(self._seconds[1])


def read_reply(call: Call[_Found], reply: Reply) -> _Found:
    """Return what a reply holds.

    Raises:
        AnswerUnreadableError: it is none that this client can read.
    """
    try:
        return decoded(call, reply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerUnreadableError(
            f"{call.method} {call.path} was answered with what this client cannot read: {error}"
        ) from None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _start_of(answer: httpcore.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    for chunk in answer.iter_stream():
        parts.append(chunk)
        size += len(chunk)
        if size > _PROBLEM_BYTES_MAX:
            break
    return b"".join(parts)


def _timeouts(deadline: Deadline) -> dict[str, Any]:
    # The library passes the first three on to the streams below as they are.
    return {
        "connect": deadline,
        "read": deadline,
        "write": deadline,
        "pool": max(0.0, deadline.remaining()),
    }
