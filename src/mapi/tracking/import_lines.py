"""The lines below one run of an imported file, written the one way into the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mapi.database.queries import query
from mapi.series.name_map import writer_from_labels
from mapi.series.names import canonical_labels
from mapi.tracking.attempts import register_attempt
from mapi.tracking.batch import SCALAR_STEP, PointBatch, Series
from mapi.tracking.documents import put_document
from mapi.tracking.import_file import log_lines, span_rows
from mapi.tracking.import_life import write_life
from mapi.tracking.import_pruned import write_pruned
from mapi.tracking.ingest import write_points
from mapi.tracking.logs import append_lines, checked_lines
from mapi.tracking.notes import write_params, write_tags
from mapi.tracking.spans import append_spans
from mapi.tracking.writing import Sender, ask_for_run
from mapi.wire.exchange import (
    AttemptLine,
    DocumentLine,
    LifeLine,
    LogRecord,
    MediaLine,
    ParamLine,
    PointsLine,
    PrunedLine,
    SpanLine,
    TagLine,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.tracking.import_groups import GroupWriter
    from mapi.tracking.writing import Counts

__all__ = ["LOG_WRITER", "SPAN_WRITER", "LineWriter"]

#: Their places in the file are its sequence numbers.
LOG_WRITER: Final = "import: log lines"
SPAN_WRITER: Final = "import: spans"


class LineWriter:
    """Writes lines of one run in one transaction.

    Args:
        connection: the transaction.
        run_id: the run.
        principal: who imports.
        is_imported: the run was made by an import, this one or one that was cut.
        place: of log lines and spans: where in the file the first of them stands.
        now_us: the server's time in microseconds since 1970 UTC.
        groups: knows which experiments stand for those of the file.
        warn: hears what was not taken.
    """

    def __init__(  # noqa: PLR0913 - what a line needs
        self,
        connection: Connection,
        run_id: UUID,
        *,
        principal: Principal,
        is_imported: bool,
        place: int,
        now_us: int,
        groups: GroupWriter,
        warn: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._run_id = run_id
        self._principal = principal
        self._is_imported = is_imported
        self._place = place
        self._now_us = now_us
        self._groups = groups
        self._warn = warn

    def _sender(self, **about: Any) -> Sender:
        return Sender(principal=self._principal, **about)

    async def write(self, lines: Sequence[Any]) -> None:
        """Write lines of one type, in their order."""
        # Under the run's lock nobody writes between the look for what is there and the writing.
        await ask_for_run(self._connection, self._run_id)
        match lines[0]:
            case LifeLine():
                await self._write_life(lines)
            case AttemptLine() as attempt:
                await self._write_attempt(attempt)
            case ParamLine():
                await self._write_params(lines)
            case TagLine():
                await self._write_tags(lines)
            case DocumentLine() as document:
                await self._write_document(document)
            case PrunedLine():
                await self._write_pruned(lines)
            case PointsLine() as points:
                await self._write_points(points)
            case LogRecord():
                await self._write_logs(lines)
            case SpanLine():
                await self._write_spans(lines)
            case _:
                assert isinstance(lines[0], MediaLine)
                self._warn("The bytes of media items are not in the file; upload them again.")

    async def _write_life(self, lines: Sequence[LifeLine]) -> None:
        if not self._is_imported:
            return
        others = await write_life(
            self._connection,
            self._run_id,
            lines,
            sender=self._sender(),
            here=self._groups.experiment_here,
        )
        if others:
            self._warn(
                "Something else has happened to a run here since a file brought it: what happened where "
                "it was before is told up to there."
            )

    async def _write_attempt(self, line: AttemptLine) -> None:
        await register_attempt(
            self._connection,
            self._run_id,
            sender=self._sender(source=line.source, stream=line.stream, rank=line.rank),
            number=line.number,
            from_step=line.from_step,
            started=line.started,
        )
        if line.status is not None:
            await self._connection.execute(
                query("importing.finish_attempt"),
                {
                    "run": self._run_id,
                    "stream": line.stream,
                    "rank": line.rank,
                    "number": line.number,
                    "status": line.status.value,
                    "finished": line.finished,
                },
            )

    async def _write_params(self, lines: Sequence[ParamLine]) -> None:
        known = await self._known("importing.known_params", lines)
        counts = await write_params(
            self._connection,
            self._run_id,
            {one.key: one.text for one in lines},
            sender=self._sender(source=lines[0].source),
        )
        self._count(counts, "params")
        new = [one for one in lines if one.key not in known]
        await self._restore_times("importing.restore_param_times", new)

    async def _write_tags(self, lines: Sequence[TagLine]) -> None:
        known = await self._known("importing.known_tags", lines)
        ours = [one for one in lines if one.key.startswith("mapi.")]
        if ours:
            self._warn(f"{len(ours)} tags that begin with mapi. are not taken over.")
        new = [one for one in lines if one.key not in known and one not in ours]
        if not new:
            return
        counts = await write_tags(
            self._connection,
            self._run_id,
            {one.key: one.text for one in new},
            sender=self._sender(source=new[0].source),
        )
        self._count(counts, "tags")
        await self._restore_times("importing.restore_tag_times", new)

    async def _known(self, name: str, lines: Sequence[Any]) -> set[str]:
        """Return which keys the run has already: these stay as they are."""
        cursor = await self._connection.execute(
            query(name), {"run": self._run_id, "keys": [one.key for one in lines]}
        )
        return {row[0] for row in await cursor.fetchall()}

    async def _restore_times(self, name: str, lines: Sequence[Any]) -> None:
        """Give what was just written the times of the file."""
        await self._connection.execute(
            query(name),
            {
                "run": self._run_id,
                "keys": [one.key for one in lines],
                "times": [one.time for one in lines],
            },
        )

    async def _write_document(self, line: DocumentLine) -> None:
        # Also a run that is here may lack one: the import that made it broke off.
        about = {"name": line.name, "stream": line.stream, "rank": line.rank}
        cursor = await self._connection.execute(
            query("importing.has_document"), {"run": self._run_id, **about}
        )
        if await cursor.fetchone() == (False,):
            await put_document(
                self._connection,
                self._run_id,
                name=line.name,
                content=line.content,
                time=line.time,
                sender=self._sender(stream=line.stream, rank=line.rank),
            )

    async def _write_pruned(self, lines: Sequence[PrunedLine]) -> None:
        for line in lines:
            sender = self._sender(source=line.source, **_who_wrote(line))
            warning = await write_pruned(
                self._connection, self._run_id, line, sender=sender, is_imported=self._is_imported
            )
            if warning is not None:
                self._warn(f"The budget of a run had no room for all series: {warning}")

    async def _write_points(self, line: PointsLine) -> None:
        count = len(line.values)
        batch = PointBatch.of(
            [Series(line.key, canonical_labels(line.labels), line.name)],
            index=np.zeros(count, dtype=np.int64),
            steps=np.array(
                [SCALAR_STEP if one is None else one for one in line.steps], dtype=np.int64
            ),
            times_us=np.array(line.times, dtype=np.int64),
            values=np.array([float(one) for one in line.values], dtype=np.float64),
        )
        counts = await write_points(
            self._connection,
            self._run_id,
            batch,
            sender=self._sender(source=line.source, **_who_wrote(line)),
        )
        self._count(counts, "points")

    async def _write_logs(self, lines: Sequence[LogRecord]) -> None:
        counts = await append_lines(
            self._connection,
            self._run_id,
            checked_lines(log_lines(lines), now_us=self._now_us),
            sender=self._sender(
                source=lines[0].source,
                stream=lines[0].stream,
                rank=lines[0].rank,
                writer=LOG_WRITER,
                seq=self._place,
            ),
        )
        self._count(counts, "log lines")

    async def _write_spans(self, lines: Sequence[SpanLine]) -> None:
        counts = await append_spans(
            self._connection,
            self._run_id,
            span_rows(lines),
            sender=self._sender(
                stream=lines[0].stream,
                rank=lines[0].rank,
                writer=SPAN_WRITER,
                seq=self._place,
            ),
        )
        self._count(counts, "spans")

    def _count(self, counts: Counts, what: str) -> None:
        if counts.rejected:
            self._warn(f"The budget of a run had no room for all {what}: {counts.warning}")


def _who_wrote(line: PointsLine | PrunedLine) -> dict[str, Any]:
    """Return stream, rank and attempt of points, as a sender has them."""
    writer = writer_from_labels(line.labels)
    assert writer is not None, "the file was checked"
    stream, rank = writer
    return {"stream": stream, "rank": rank, "attempt": line.attempt}
