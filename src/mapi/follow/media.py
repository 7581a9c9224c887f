"""Images, figures and tables of rows → media items of the platform, each in its turn.

The rows are those of the metrics file, of which this is a queue of its own. Other bytes at the same place
replace an item, so each goes in its turn, and moves the queue on as it is kept: an upload that comes late
finds the queue further on, and changes nothing.
"""

from __future__ import annotations

import errno
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from expr_tracker.errors import TrackerError
from expr_tracker.interruption import is_from_signal
from expr_tracker.media.table import read_table
from expr_tracker.store.bounds import path_within
from expr_tracker.store.files import RunFiles
from expr_tracker.store.regular import read_regular
from mapi.errors import InvalidError
from mapi.follow.instants import now_us
from mapi.follow.line_files import LineFileSource
from mapi.follow.queues import RefusedError
from mapi.follow.references import MEDIA_MARK, MediaReference, references_of_lines
from mapi.follow.texts import storable
from mapi.sdk.pictures import content_of_image, content_of_table
from mapi.wire.media import CAPTION_LENGTH_MAX, MEDIA_BYTES_MAX
from mapi.wire.metrics import SeriesColumns
from mapi.wire.times import time_from_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from expr_tracker.store.files import StreamKey
    from expr_tracker.store.reader import LineFile
    from mapi.follow.deliveries import Delivery
    from mapi.follow.pieces import Piece
    from mapi.follow.queues import Queue
    from mapi.sdk.queueing import Place
    from mapi.wire.metrics import BatchAnswer

__all__ = ["MediaContent", "MediaSource", "NoContentError", "UnreadableError", "content_of"]


#: Of 10 000 characters each: a request has 8 MiB.
_NAMES_MAX: Final = 100
_MISSING: Final = "left out: its file is missing"
#: Of a name that no file has, or can have.
_NO_FILE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


class NoContentError(Exception):
    """The platform keeps nothing of an item; the text says why."""


class UnreadableError(NoContentError):
    """This machine does not give the file of an item out now, which it may another time."""


@dataclass(frozen=True)
class MediaContent:
    """What an item is, as the platform keeps it."""

    content: bytes
    """Of a PNG, a JPEG or a table."""
    changes: tuple[str, ...] = ()
    """What had to be changed, a reason each."""

    @property
    def sha256(self) -> str:
        """What it is known by there."""
        return hashlib.sha256(self.content).hexdigest()


def content_of(directory: Path, reference: MediaReference) -> MediaContent:
    """Return what the platform keeps of an item.

    Raises:
        UnreadableError: its file cannot be read now.
        NoContentError: it keeps nothing of it.
    """
    path = path_within(directory, reference.path)
    try:
        if path is None or not path.is_file():
            raise NoContentError(_MISSING)
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
    except OSError as error:
        if is_from_signal(error):
            raise
        if error.errno in _NO_FILE:
            raise NoContentError(_MISSING) from error
        raise UnreadableError(f"{reference.path}: {error.strerror}") from error


def _table(path: Path) -> MediaContent:
    document = read_table(path)
    changes: list[str] = []
    if not all(isinstance(row, list) for row in document["data"]):
        raise NoContentError("left out: its file is no table, for a row of it is no list")
    rows = [[_cell(cell, changes) for cell in row] for row in document["data"]]
    names = [storable(str(name), changes) for name in document["columns"]]
    return MediaContent(content_of_table(names, rows)[0], tuple(changes))


def _cell(cell: Any, changes: list[str]) -> Any:
    """Return a cell; a file in it is named."""
    if isinstance(cell, str):
        return storable(cell, changes)
    if isinstance(cell, (dict, list)):
        changes.append("with the paths of files in the place of those in its cells")
        return str(cell.get("path", cell)) if isinstance(cell, dict) else str(cell)
    return cell


class MediaSource(LineFileSource):
    """The media items of one producer.

    Args:
        directory: of the run.
        key: the producer.
        again: whether all are sent from the first row: what is there already stays.
    """

    what: ClassVar[str] = "media item"
    items_max: ClassVar[int] = 20

    def __init__(self, directory: Path, key: StreamKey, *, again: bool = False) -> None:
        path = RunFiles(directory, key).metrics
        super().__init__(path, key, writer=f"media of {path.name}", again=again)
        self._directory = directory

    def move(self, delivery: Delivery, place: Place) -> BatchAnswer:
        """Move the queue on in one request: points that are none."""
        return self._name(delivery, place, [])

    def _name(self, delivery: Delivery, place: Place, names: Sequence[str]) -> BatchAnswer:
        """Move the queue on, and say what its items are called in full."""
        named = [SeriesColumns(name=name, values=[]) for name in names]
        return delivery.runs.send_points(delivery.run, named, place=place, producer=self._producer)

    def deliver_piece(
        self, delivery: Delivery, queue: Queue, piece: Piece, *, file: LineFile
    ) -> None:
        """Upload the items of whole lines, one after the other."""
        del file
        count = 0
        for line, references in _lines_with_media(piece):
            count += len(references)
            if references and not self._deliver_line(delivery, queue, line, references=references):
                return
        self._pieces.fit(piece, count)
        queue.pass_over(piece.number)

    def _deliver_line(
        self,
        delivery: Delivery,
        queue: Queue,
        line: Piece,
        *,
        references: Sequence[MediaReference],
    ) -> bool:
        """Upload the items of a line, which each have a place of their own; say whether it was its turn."""
        names = [*dict.fromkeys(one.name for one in references if one.name is not None)]
        parts = references if names else references[:-1]
        if parts and queue.stands < 0 and not self.move_to(delivery, queue, 0):
            return False
        # All but the last one leave the queue where it is: it moves by whole lines.
        if not all(self._upload(delivery, queue, one, number=queue.stands) for one in parts):
            return False
        if not names:
            return self._upload(delivery, queue, references[-1], number=line.number)
        # Behind them: of an item that is not there the platform keeps no name.
        firsts = range(0, len(names), _NAMES_MAX)
        return all(
            self._send_names(
                delivery,
                queue,
                names[first : first + _NAMES_MAX],
                number=line.number if first == firsts[-1] else queue.stands,
            )
            for first in firsts
        )

    def _send_names(
        self, delivery: Delivery, queue: Queue, names: Sequence[str], *, number: int
    ) -> bool:
        """Send what items are called in full, and move the queue to a place; say whether it was its turn."""
        try:
            answer = queue.send(number, lambda place: self._name(delivery, place, names))
        except RefusedError as error:
            for _ in names:
                delivery.losses.add(self.key.label, "full name", f"refused: {error}")
            return number == queue.stands or self.move_to(delivery, queue, number)
        return answer is not None

    def _upload(
        self, delivery: Delivery, queue: Queue, reference: MediaReference, *, number: int
    ) -> bool:
        """Upload an item, and move the queue to a place; say whether it was its turn."""
        losses, label = delivery.losses, self.key.label
        try:
            content = content_of(self._directory, reference)
            answer = queue.send(
                number, lambda place: self._send(delivery, reference, content, place=place)
            )
        except (NoContentError, RefusedError) as error:
            if isinstance(error, UnreadableError):
                problem = f"{label}: {error}; it is left out until a push with --again"
                if problem not in self.problems:
                    self.problems.append(problem)
            else:
                is_refused = isinstance(error, RefusedError)
                losses.add(label, self.what, f"refused: {error}" if is_refused else str(error))
            return number == queue.stands or self.move_to(delivery, queue, number)
        if answer is not None and (answer.accepted or answer.duplicates):
            for reason in content.changes:
                losses.add(label, "cell", reason)
        return answer is not None

    def _send(
        self,
        delivery: Delivery,
        reference: MediaReference,
        content: MediaContent,
        *,
        place: Place,
    ) -> BatchAnswer:
        return delivery.runs.send_media(
            delivery.run,
            reference.key,
            content.content,
            place=place,
            step=reference.step,
            labels=dict(reference.labels),
            caption=reference.caption[:CAPTION_LENGTH_MAX],
            time=time_from_us(reference.time_us),
            producer=self._producer,
        )


def _lines_with_media(piece: Piece) -> Iterator[tuple[Piece, list[MediaReference]]]:
    """Yield the lines of a piece that may refer to files, and the last that each says of a place."""
    now, at = now_us(), 0
    lines = piece.lines
    while (found := lines.find(MEDIA_MARK, at)) >= 0:
        start = lines.rfind(b"\n", at, found) + 1 or at
        at = lines.find(b"\n", found) + 1 or len(lines)
        references = references_of_lines(lines[start:at], now_us=now)
        places = {(one.key, one.labels, one.step): one for one in references}
        yield piece.part(start, at), [*places.values()]
