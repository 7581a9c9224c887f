"""Images, figures and tables of rows → media items of the platform, each in its turn.

The rows are those of the metrics file, of which this is a queue of its own: an item is uploaded first, and
then the queue moves on. An item that is sent twice because of what happened in between is the same bytes
at the same place, which the platform keeps once.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import TrackerError
from expr_tracker.media.table import read_table
from expr_tracker.store.bounds import path_within
from expr_tracker.store.files import RunFiles
from expr_tracker.store.reader import LineFile, part_paths
from expr_tracker.store.regular import read_regular
from mapi.errors import InvalidError
from mapi.follow.instants import now_us
from mapi.follow.pieces import Pieces
from mapi.follow.queues import Queue, current_name, current_queue
from mapi.follow.references import MediaReference, references_of_lines
from mapi.follow.texts import storable
from mapi.sdk.calls import Producer
from mapi.sdk.errors import QuotaExceededError
from mapi.sdk.pictures import content_of_image, content_of_table
from mapi.wire.media import CAPTION_LENGTH_MAX, MEDIA_BYTES_MAX
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from expr_tracker.store.files import StreamKey
    from mapi.follow.deliveries import Delivery
    from mapi.follow.pieces import Piece

__all__ = ["MediaContent", "MediaSource", "NoContentError", "content_of"]

#: Of one piece: a queue moves on behind so many uploads.
_ITEMS_OF_PIECE: Final = 20
_BEHIND_BYTES_MAX: Final = 256 << 10


class NoContentError(Exception):
    """The platform keeps nothing of an item; the text says why."""


class MediaContent:
    """What an item is, as the platform keeps it.

    Attributes:
        content: the bytes of a PNG, a JPEG or a table.
        table: names and rows; ``None`` of an image.
        changes: what had to be changed, a reason each.
    """

    def __init__(
        self,
        content: bytes,
        *,
        table: tuple[list[str], list[list[Any]]] | None = None,
        changes: list[str] | None = None,
    ) -> None:
        self.content = content
        self.table = table
        self.changes = changes or []

    @property
    def sha256(self) -> str:
        """What it is known by there."""
        return hashlib.sha256(self.content).hexdigest()


def content_of(directory: Path, reference: MediaReference) -> MediaContent:
    """Return what the platform keeps of an item.

    Raises:
        NoContentError: it keeps nothing of it.
        OSError: the file cannot be read.
    """
    path = path_within(directory, reference.path)
    if path is None or not path.is_file():
        raise NoContentError("left out: its file is missing")
    try:
        if reference.is_table:
            return _table(path)
        if path.stat().st_size > MEDIA_BYTES_MAX:
            raise NoContentError("left out: the platform keeps items of at most 8 MiB")
        content = read_regular(path)
        if hashlib.sha256(content).hexdigest() != reference.sha256:
            raise NoContentError("left out: its file was changed and does not have its hash")
        return MediaContent(content_of_image(content)[0])
    except (InvalidError, TrackerError, ValueError) as error:
        raise NoContentError(f"left out: {error}") from error


def _table(path: Path) -> MediaContent:
    document = read_table(path)
    changes: list[str] = []
    rows = [[_cell(cell, changes) for cell in row] for row in document["data"]]
    names = [storable(str(name), changes) for name in document["columns"]]
    return MediaContent(content_of_table(names, rows)[0], table=(names, rows), changes=changes)


def _cell(cell: Any, changes: list[str]) -> Any:
    """Return a cell; a file in it is named."""
    if isinstance(cell, str):
        return storable(cell, changes)
    if isinstance(cell, (dict, list)):
        changes.append("with the paths of files in the place of those in its cells")
        return str(cell.get("path", cell)) if isinstance(cell, dict) else str(cell)
    return cell


class MediaSource:
    """The media items of one producer.

    Args:
        directory: of the run.
        key: the producer.
    """

    def __init__(self, directory: Path, key: StreamKey) -> None:
        self.key = key
        self._directory = directory
        self._path = RunFiles(directory, key).metrics
        self._producer = Producer(key.stream or "", key.rank)
        self._pieces = Pieces(_ITEMS_OF_PIECE)
        self._queue: Queue | None = None

    def size_bytes(self) -> int:
        """Return how far the file goes now."""
        before, after = part_paths(self._path)
        size = 0
        for path in (*before, self._path, *after):
            try:
                size += path.stat().st_size
            except FileNotFoundError:  # set aside between the two looks
                continue
        return size

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Deliver the items of rows behind where the queue stands."""
        with LineFile(self._path) as file:
            queue = self._queue_of(delivery, file)
            while queue.offset < file.size:
                piece = self._pieces.next(file.read, queue.offset, file.size)
                if piece is None:
                    break
                self._deliver_piece(delivery, queue, piece)
                told(piece.stop)
            if queue.offset - queue.stands > _BEHIND_BYTES_MAX:
                self._move(delivery, queue, queue.offset)
            told(file.size)

    def _queue_of(self, delivery: Delivery, file: LineFile) -> Queue:
        def fits(offset: int) -> bool:
            if offset <= 0:
                return True
            return offset <= file.size and file.read(offset - 1, offset) == b"\n"

        if self._queue is not None and not fits(self._queue.offset):
            self._queue = None
            delivery.begin(delivery.run)
        if self._queue is None:
            self._queue = current_queue(
                lambda name: Queue(delivery, name, label=self.key.label, what="media item"),
                lambda writers: current_name(f"media of {self._path.name}", writers, fits),
                delivery=delivery,
                request=lambda place: delivery.runs.send_points(
                    delivery.run, [], place=place, producer=self._producer
                ),
            )
        return self._queue

    def _deliver_piece(self, delivery: Delivery, queue: Queue, piece: Piece) -> None:
        found = references_of_lines(piece.lines, now_us=now_us())
        self._pieces.fit(piece, len(found))
        for reference in found:
            self._upload(delivery, reference)
        if found:
            self._move(delivery, queue, piece.stop)
        else:
            queue.pass_over(piece.stop)

    def _move(self, delivery: Delivery, queue: Queue, stop: int) -> None:
        """Move the queue on: points that are none."""
        queue.send(
            stop,
            lambda place: delivery.runs.send_points(
                delivery.run, [], place=place, producer=self._producer
            ),
        )

    def _upload(self, delivery: Delivery, reference: MediaReference) -> None:
        losses, label = delivery.losses, self.key.label
        try:
            content = content_of(self._directory, reference)
        except NoContentError as error:
            losses.add(label, "media item", str(error))
            return
        runs, run, key = delivery.runs, delivery.run, reference.key
        about: dict[str, Any] = {
            "step": reference.step,
            "labels": dict(reference.labels),
            "caption": reference.caption[:CAPTION_LENGTH_MAX],
            "time": time_from_us(reference.time_us),
            "producer": self._producer,
        }
        try:
            if content.table is None:
                delivery.call(lambda: runs.log_image(run, key, content.content, **about))
            else:
                names, rows = content.table
                delivery.call(lambda: runs.log_table(run, key, rows, columns=names, **about))
        except QuotaExceededError as error:
            budgets = ", ".join(sorted({fault.code for fault in error.faults if fault.code}))
            losses.add(label, "media item", f"not taken: over the budget {budgets}")
            return
        except InvalidError as error:
            losses.add(label, "media item", f"refused: {error}")
            return
        delivery.sent["media item"] += 1
        for reason in content.changes:
            losses.add(label, "cell", reason)
