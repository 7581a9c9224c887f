"""The metrics of one producer: rows become points and lines of the log, attempts are told of.

Points and lines are two queues over the same file. Points go the way of corrections, whose later value
stays: a step that is logged again replaces what was delivered before, and what is new is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import Producer as LocalProducer
from expr_tracker.history.source import Source as LocalSource
from expr_tracker.notices import counted
from expr_tracker.store.files import RunFiles
from expr_tracker.store.parts import lost_parts_text
from mapi.follow.attempts import Attempts, stretches_of
from mapi.follow.instants import now_us
from mapi.follow.known import Known, likeness_of_line, lines_of
from mapi.follow.line_files import BEHIND_BYTES_MAX, file_size
from mapi.follow.numbers import fits
from mapi.follow.pieces import Pieces, halves
from mapi.follow.queues import Queue, RefusedError, current_name, current_queue
from mapi.follow.rows import ROUNDED, points_of_rows
from mapi.follow.texts import line_of_row
from mapi.sdk.calls import Producer
from mapi.wire.metrics import POINTS_MAX
from mapi.wire.notes import LOG_LINES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import StreamKey
    from mapi.follow.attempts import Stretch
    from mapi.follow.deliveries import Delivery
    from mapi.follow.known import Likeness
    from mapi.follow.pieces import Piece
    from mapi.follow.rows import TextRow
    from mapi.follow.texts import LogLine
    from mapi.wire.metrics import SeriesColumns

__all__ = ["BATCH_POINTS", "MetricsSource"]

#: Points of one request: twice of what `mapi.Run` sends, which has to be timely as well.
BATCH_POINTS: Final = 20_000
#: Of one request: new ones take the server half a millisecond each.
_BATCH_SERIES: Final = 1_000
#: How the lines begin that hold no row.
_MARKER: Final = b'{"_attempt'
#: Of one look; the next one goes on.
_ROUNDS_MAX: Final = 10


class MetricsSource:
    """The metrics file of one producer.

    Args:
        directory: of the run.
        key: the producer.
        again: whether all is sent from the first row.
        batch_points: about how many points go in one request.
    """

    def __init__(
        self,
        directory: Path,
        key: StreamKey,
        *,
        again: bool = False,
        batch_points: int = BATCH_POINTS,
    ) -> None:
        self.key = key
        self._batch_points = batch_points
        self._local = LocalProducer(RunFiles(directory, key).metrics, key)
        self.file = self._local.path.name
        self.problems: list[str] = []
        self._damage: list[str] = []
        self._again = again
        self._sender: _Sender | None = None

    def size_bytes(self) -> int:
        """Return how far the file goes now."""
        return file_size(self._local.path)

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Deliver attempts, points and lines behind where the queues stand."""
        with LocalSource.offline(self._local) as source:
            attempts = told_attempts(self._local, source)
            # Once, unless a queue is moved back meanwhile: the platform may be an older one again, or
            # somebody else has seen another file in its place.
            sender = self._sender_of(delivery, source)
            for _ in range(_ROUNDS_MAX):
                for stretch in stretches_of(attempts, source.size):
                    sender.deliver(source, stretch, told)
                if sender.is_done(source.size):
                    break
                sender = self._sender_of(delivery, source)
            sender.catch_up()
            told(source.size)
            # Of the lines that were read now; those before were told of when they were.
            found = source.damage.sentences(source.read_raw, source.line_number)
            self._damage = [*dict.fromkeys([*self._damage, *found])]
            problems = [*_problems_of_parts(source), *self._damage, *_problems_of_end(source)]
            self.problems = [f"{self._local.path}: {problem}" for problem in problems]

    def _sender_of(self, delivery: Delivery, source: LocalSource) -> _Sender:
        """Return who delivers the file as it is now."""
        if self._sender is not None and not self._sender.fits(source):
            self._sender = None
            self._damage = []
            delivery.begin(delivery.run)
        if self._sender is None:
            pieces = Pieces(self._batch_points)
            self._sender = _Sender(delivery, source, self.key, again=self._again, pieces=pieces)
            self._again = False
        return self._sender

    def rows_behind(self) -> int:
        """Return how many rows there are behind where the file is known to be delivered to."""
        start = 0 if self._sender is None else self._sender.offset
        rows = 0
        with LocalSource.offline(self._local) as source:
            for _, lines in source.pieces(start, source.size):
                markers = lines.count(b"\n" + _MARKER) + lines.startswith(_MARKER)
                rows += lines.count(b"\n") - markers
        return rows


class _Sender:
    """Delivers one file; it goes on where its queues stand."""

    def __init__(
        self,
        delivery: Delivery,
        source: LocalSource,
        key: StreamKey,
        *,
        again: bool,
        pieces: Pieces,
    ) -> None:
        self._delivery = delivery
        self._label = key.label
        self._producer = Producer(key.stream or "", key.rank)
        self._attempts = Attempts(delivery, self._producer, label=key.label)
        self._pieces = pieces
        base = source.path.name
        runs, run, producer = delivery.runs, delivery.run, self._producer

        def is_there(number: int) -> bool:
            return fits(source.read_raw, number, size=source.size)

        self._points = current_queue(
            lambda name: Queue(delivery, name, label=key.label, what="point"),
            lambda writers: current_name(base, writers, is_there, again=again),
            delivery=delivery,
            request=lambda place: runs.send_points(
                run, [], place=place, producer=producer, corrects=True
            ),
        )
        # Points that come again are known by their steps. Lines are not.
        self._lines = current_queue(
            lambda name: Queue(delivery, name, label=key.label, what="line"),
            lambda writers: current_name(f"lines of {base}", writers, is_there),
            delivery=delivery,
            request=lambda place: runs.send_lines(run, [], place=place, producer=producer),
        )
        self._known = Known(self._lines)

    def fits(self, source: LocalSource) -> bool:
        """Say whether the file still is the one that was delivered so far."""
        return all(
            one.fits(source.read_raw, size=source.size) for one in (self._points, self._lines)
        )

    def deliver(
        self, source: LocalSource, stretch: Stretch, told: Callable[[int], object]
    ) -> None:
        """Deliver what is new of an attempt."""
        self._attempts.begin(stretch.attempt)
        while (piece := self._next(source, stretch)) is not None:
            self._deliver_piece(source, piece, stretch.attempt.number)
            told(piece.stop)
        self._attempts.end(stretch.attempt)

    @property
    def offset(self) -> int:
        """Up to where both queues have had the file."""
        return min(self._points.offset, self._lines.offset)

    def is_done(self, size: int) -> bool:
        """Say whether both queues have had a file up to an offset."""
        is_ended = self._points.is_ended or self._lines.is_ended
        return self.offset >= size and not is_ended

    def catch_up(self) -> None:
        """Move on a queue that has had no items for long, so that nobody looks for them again."""
        if self._points.behind_bytes > BEHIND_BYTES_MAX:
            self._send_points([], self._points.reached)
        if self._lines.behind_bytes > BEHIND_BYTES_MAX:
            self._send_lines([], self._lines.reached)

    def _next(self, source: LocalSource, stretch: Stretch) -> Piece | None:
        """Return the next piece that one of the queues has not had, up to where the other stands."""
        first, second = sorted((self._points.offset, self._lines.offset))
        if not stretch.start <= first < stretch.stop:
            return None
        stop = min(second, stretch.stop) if second > first else stretch.stop
        return self._pieces.next(source.read, first, stop)

    def _deliver_piece(self, source: LocalSource, piece: Piece, attempt: int) -> None:
        rows = source.decode(piece.start, piece.lines)
        values = sum(map(len, rows)) - 2 * len(rows)
        self._pieces.fit(piece, max(values, 2 * len(rows)))
        parts = None
        if values > POINTS_MAX or len(rows) > LOG_LINES_MAX:
            parts = halves(piece)
        if parts is None:
            try:
                self._send_rows(source, rows, piece, attempt=attempt)
            except RefusedError as error:
                parts = halves(piece)
                if parts is None:
                    self._skip(piece, error)
        for part in parts or ():
            self._deliver_piece(source, part, attempt)

    def _send_rows(
        self, source: LocalSource, rows: Sequence[Row], piece: Piece, *, attempt: int
    ) -> None:
        """Send what a piece holds for each queue whose turn it is.

        Raises:
            RefusedError: of one of them.
        """
        found = points_of_rows(rows, now_us=now_us())
        losses, label = self._delivery.losses, self._label
        if self._points.offset == piece.start:
            if found.count == 0:
                self._points.pass_over(piece.number)
            elif self._send_points(found.series, piece.number, attempt):
                losses.add(
                    label, "point", "left out: the platform has no steps below 0",
                    count=found.negative,
                )  # fmt: skip
                losses.add(label, "value", ROUNDED, count=found.rounded)
                losses.add(
                    label, "row", "at another time: the clock that wrote it was wrong",
                    count=found.moved_times,
                )  # fmt: skip
        if self._lines.offset == piece.start:
            self._send_texts(source, found.texts, piece)

    def _send_points(
        self, series: Sequence[SeriesColumns], number: int, attempt: int | None = None
    ) -> bool:
        """Send points of lines that end at a place; say whether it was their turn."""
        producer = Producer(self._producer.stream, self._producer.rank, attempt)
        runs, run = self._delivery.runs, self._delivery.run

        def send(part: Sequence[SeriesColumns], until: int) -> bool:
            answer = self._points.send(
                until,
                lambda place: runs.send_points(
                    run, part, place=place, producer=producer, corrects=True
                ),
            )
            return answer is not None

        *parts, last = _requests(series)
        if parts and self._points.stands < 0 and not send([], 0):
            return False
        # All but the last one leave the queue where it is: it moves by whole lines.
        return all(send(part, self._points.stands) for part in parts) and send(last, number)

    def _send_texts(self, source: LocalSource, texts: Sequence[TextRow], piece: Piece) -> None:
        lines, changes, known = [], [], 0
        for text in texts:
            line, changed = line_of_row(text)
            lines.append(line)
            changes += changed
        if self._lines.is_later:
            found = [lines[at] for at in self._unknown(source, texts, piece)]
            lines, known = found, len(lines) - len(found)
        if not lines:
            self._lines.pass_over(piece.number)
            self._delivery.there["line"] += known
        elif self._send_lines(lines, piece.number):
            self._delivery.there["line"] += known
            for reason in changes:
                self._delivery.losses.add(self._label, "value", reason)

    def _unknown(self, source: LocalSource, texts: Sequence[TextRow], piece: Piece) -> list[int]:
        """Return which rows' lines the platform does not have, of a file that was another before."""
        delivery, producer = self._delivery, self._producer

        def before(offset: int) -> Iterator[Likeness]:
            for at, found in source.pieces(0, offset):
                rows = points_of_rows(source.decode(at, found), now_us=now_us())
                yield from map(_likeness_of, rows.texts)

        return self._known.unknown(
            piece,
            [*map(_likeness_of, texts)],
            there=lambda: delivery.call(
                lambda: [*lines_of(delivery.runs, delivery.run, producer)]
            ),
            before=before,
        )

    def _send_lines(self, lines: Sequence[LogLine], number: int) -> bool:
        runs, run = self._delivery.runs, self._delivery.run
        answer = self._lines.send(
            number,
            lambda place: runs.send_lines(run, lines, place=place, producer=self._producer),
        )
        return answer is not None

    def _skip(self, piece: Piece, error: RefusedError) -> None:
        """Go on behind a row that the platform refuses."""
        if self._points.offset == piece.start:
            self._send_points([], piece.number)
        else:
            self._send_lines([], piece.number)
        self._delivery.losses.add(self._label, "row", f"refused: {error}")


def _likeness_of(text: TextRow) -> Likeness:
    line, _ = line_of_row(text)
    if not text.has_time:
        del line["time"]
    return likeness_of_line(line)


def _requests(series: Sequence[SeriesColumns]) -> list[list[SeriesColumns]]:
    """Return series in parts that each fit a request; only rows of very many names need several."""
    parts: list[list[SeriesColumns]] = [[]]
    points = 0
    for one in series:
        points += len(one.values)
        if len(parts[-1]) == _BATCH_SERIES or (parts[-1] and points > POINTS_MAX):
            parts.append([])
            points = len(one.values)
        parts[-1].append(one)
    return parts


def _problems_of_parts(source: LocalSource) -> list[str]:
    lost = source.lost()
    return [f"rows are lost: {lost_parts_text(lost)}"] if lost else []


def _problems_of_end(source: LocalSource) -> list[str]:
    """Say what is wrong with the last line; one that is being written is none yet."""
    torn = source.torn_bytes
    return [f"a torn last line of {counted(torn, 'byte')} was left out"] if torn else []
