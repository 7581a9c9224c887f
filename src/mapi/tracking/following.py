"""Readers who follow one run: what is new is read once a replica, and handed to all of them.

A reader first catches up from where it was, then takes the deltas that all readers of the run get.
They are read with the reach of the run's own project, which each of them may see; whether a reader
still may is asked again by the stream that feeds it. A reader whose queue is full is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import psycopg

from mapi.errors import MapiError, NotFoundError, UnavailableError
from mapi.tracking.live import (
    END,
    Delta,
    Frame,
    Position,
    read_deletion,
    read_delta,
    read_head,
)
from mapi.wire.events import DeletedFrame, LogFrame, StatusFrame, TrackingFrame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from uuid import UUID

    from mapi.database.door import Database, Reach
    from mapi.tracking.changes import Changes

__all__ = ["Following", "Told", "told_of", "told_of_deletion"]

_logger: Final = logging.getLogger("mapi.live")
#: Deltas that wait for a reader: with five a second, almost a minute. Whoever is slower is cut and
#: comes back with the id of the last frame it has.
_QUEUE_MAX: Final = 256
#: Each is a connection and a task; a browser shares one between its tabs.
_READERS_MAX: Final = 2_000
#: Followers look by themselves this often: a replica that was killed may have said nothing of its
#: last write.
_LOOK_SECONDS: Final = 15.0
#: After a database that did not answer.
_RETRY_SECONDS: Final = 1.0
_encoder: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Told:
    """A delta as readers get it."""

    delta: Delta
    text: bytes
    """The frames in the form of server-sent events."""

    def behind(self, position: Position) -> bytes:
        """Return the text for a reader who is at a position inside of the delta."""
        if position.line_id <= self.delta.start.line_id:
            return self.text
        frames: list[Frame] = []
        for frame in self.delta.frames:
            if isinstance(frame, LogFrame):
                lines = [line for line in frame.lines if line.id > position.line_id]
                if lines:
                    frames.append(LogFrame(run=frame.run, lines=lines))
            else:
                frames.append(frame)
        return _text_of(frames, self.delta.stop)


def told_of(delta: Delta) -> Told:
    """Return a delta with its text."""
    return Told(delta, _text_of(delta.frames, delta.stop))


def told_of_deletion(frame: DeletedFrame) -> Told:
    """Return what ends the stream of a run that is gone."""
    return told_of(Delta(END, END, [frame], is_complete=True))


def _text_of(frames: list[Frame], stop: Position) -> bytes:
    """Return frames as server-sent events; the last one carries the position.

    Whoever comes back in the midst of a delta gets all of it again, and misses nothing.
    """
    parts = []
    for at, frame in enumerate(frames):
        number = b"id: %s\n" % str(stop).encode() if at == len(frames) - 1 else b""
        kind = str(frame.__struct_config__.tag).encode()
        parts.append(b"%sevent: %s\ndata: %s\n\n" % (number, kind, _encoder.encode(frame)))
    return b"".join(parts)


class _Hub:
    """All readers of one run."""

    def __init__(self, run_id: UUID) -> None:
        self.run_id = run_id
        self.readers: set[asyncio.Queue[Told | None]] = set()
        self.is_ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def tell(self, told: Told) -> None:
        for reader in list(self.readers):
            try:
                reader.put_nowait(told)
            except asyncio.QueueFull:
                self.cut(reader)

    def cut(self, reader: asyncio.Queue[Told | None], last: Told | None = None) -> None:
        """End a reader: what it has not read is dropped, and replaced by what is last."""
        self.readers.discard(reader)
        while not reader.empty():
            reader.get_nowait()
        if last is not None:
            reader.put_nowait(last)
        reader.put_nowait(None)


class Following:
    """Who follows which run on this replica.

    Args:
        database: the door, for what is new.
        changes: wakes who follows.
        look_seconds: how long a follower waits to be woken before it looks by itself.
    """

    def __init__(
        self, database: Database, changes: Changes, *, look_seconds: float = _LOOK_SECONDS
    ) -> None:
        self._database = database
        self._changes = changes
        self._look_seconds = look_seconds
        self._hubs: dict[tuple[int, UUID], _Hub] = {}
        self._count = 0

    @property
    def changes(self) -> Changes:
        """Where the changes come from."""
        return self._changes

    def require_place(self) -> None:
        """Let through one more stream.

        Raises:
            UnavailableError: the server ends, or has as many as it can.
        """
        if self._count >= _READERS_MAX or self._changes.is_closed():
            raise UnavailableError(f"All {_READERS_MAX} streams of this server are in use.")

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold the place of one stream."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def follow(
        self, reach: Reach, run_id: UUID, start: Position | None
    ) -> AsyncIterator[bytes]:
        """Yield what is new in a run, until the server stops or the reader is too slow.

        Args:
            reach: the tenant and the run's project.
            run_id: the run.
            start: how far the reader is; ``None`` begins now, with the status.
        """
        hub = self._hub(reach, run_id)
        queue: asyncio.Queue[Told | None] = asyncio.Queue(_QUEUE_MAX)
        hub.readers.add(queue)
        try:
            await hub.is_ready.wait()
            position = Position()
            try:
                async for told in self._catch_up(reach, run_id, start):
                    position = told.delta.stop
                    yield told.text
            except NotFoundError:
                gone = await self._gone(reach, run_id)
                if gone is not None:
                    yield gone.text
                return
            while (next_told := await queue.get()) is not None:
                stop = next_told.delta.stop
                if stop.change_seq <= position.change_seq and stop.line_id <= position.line_id:
                    continue
                yield next_told.behind(position)
                position = stop
        finally:
            hub.readers.discard(queue)
            if not hub.readers and hub.task is not None:
                hub.task.cancel()
                self._hubs.pop((reach.tenant_id, run_id), None)

    async def _gone(self, reach: Reach, run_id: UUID) -> Told | None:
        async with self._database.transaction(reach) as connection:
            found = await read_deletion(connection, run_id)
        return None if found is None else told_of_deletion(found[1])

    async def _catch_up(
        self, reach: Reach, run_id: UUID, start: Position | None
    ) -> AsyncIterator[Told]:
        async with self._database.transaction(reach) as connection:
            head = await read_head(connection, run_id)
        if start is None:
            yield told_of(Delta(head.position, head.position, [head.status], is_complete=True))
            return
        if start.change_seq > head.position.change_seq or start.line_id > head.position.line_id:
            # Of another database, or before a backup came back: nothing that the reader has holds.
            anew = TrackingFrame(
                run=head.status.run, change_seq=head.position.change_seq, is_partial=True
            )
            frames: list[Frame] = [head.status, anew]
            yield told_of(Delta(head.position, head.position, frames, is_complete=True))
            return
        known: StatusFrame | None = None
        while True:
            async with self._database.transaction(reach) as connection:
                delta, known = await read_delta(connection, run_id, start, known=known)
            yield told_of(delta)
            start = delta.stop
            if delta.is_complete:
                return

    def _hub(self, reach: Reach, run_id: UUID) -> _Hub:
        place = (reach.tenant_id, run_id)
        hub = self._hubs.get(place)
        if hub is None:
            hub = self._hubs[place] = _Hub(run_id)
            hub.task = asyncio.create_task(self._serve(hub, reach))
        return hub

    async def _serve(self, hub: _Hub, reach: Reach) -> None:
        wake = asyncio.Event()
        try:
            with self._changes.following_run(reach.tenant_id, hub.run_id, wake.set):
                async with self._database.transaction(reach) as connection:
                    head = await read_head(connection, hub.run_id)
                position, status = head.position, head.status
                hub.is_ready.set()
                while True:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(wake.wait(), self._look_seconds)
                    wake.clear()
                    if self._changes.is_closed():
                        return
                    try:
                        position, status = await self._tell_new(
                            hub, reach, position=position, status=status
                        )
                    except UnavailableError as error:
                        _logger.warning("followers of a run wait: %s", error)
                        await asyncio.sleep(_RETRY_SECONDS)
                        wake.set()
        except NotFoundError:
            await self._tell_gone(hub, reach)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("the followers of a run are cut: %s", error)
        finally:
            self._hubs.pop((reach.tenant_id, hub.run_id), None)
            hub.is_ready.set()
            for reader in list(hub.readers):
                hub.cut(reader)

    async def _tell_gone(self, hub: _Hub, reach: Reach) -> None:
        try:
            gone = await self._gone(reach, hub.run_id)
        except (MapiError, psycopg.Error) as error:
            _logger.warning("the followers of a run that is gone are cut: %s", error)
            return
        for reader in list(hub.readers):
            hub.cut(reader, gone)

    async def _tell_new(
        self, hub: _Hub, reach: Reach, *, position: Position, status: StatusFrame
    ) -> tuple[Position, StatusFrame]:
        while True:
            async with self._database.transaction(reach) as connection:
                delta, status = await read_delta(connection, hub.run_id, position, known=status)
            position = delta.stop
            if delta.frames:
                hub.tell(told_of(delta))
            if delta.is_complete:
                return position, status
