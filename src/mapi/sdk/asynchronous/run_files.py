"""Runs as files: exports, and what takes them back."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import check_callable, checked_path, query_of, shown, text_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import PIECE_BYTES, Call, Source, id_of, path_of
from mapi.sdk.filters import texts_of
from mapi.wire.administration import ImportAnswer
from mapi.wire.enums import ExportFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.sdk.calls import Named, Progress
    from mapi.sdk.filters import Search

__all__ = ["AsyncRunFiles"]

#: A server that writes fewer bytes of an import a second has stopped; one alone takes 4 MiB.
_IMPORTED_BYTES_PER_SECOND_MIN: Final = 128 << 10
#: Another type is the page of a proxy, and no export.
_KINDS: Final = {
    ExportFormat.JSONL: "application/jsonl",
    ExportFormat.CSV: "text/csv",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}
#: What files begin with that are packed already.
_PACKED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


class AsyncRunFiles(AsyncResource):
    """Exports and imports."""

    async def export(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        run: Named | None = None,
        filter: Search = None,  # noqa: A002 - the word of the interface
        format: str = "jsonl",  # noqa: A002 - the word of the interface
        progress: Progress | None = None,
    ) -> int:
        """Write a run, or all runs that a filter matches, into a file as they were logged.

        Args:
            target: a path, where the file appears when it is whole, or an open file. At the end of
                its links a file that is there keeps its mode; a FIFO or a device is written into.
            run: one run.
            filter: in its place, a search.
            format: ``jsonl`` holds everything; ``csv`` and ``parquet`` hold the points.
            progress: takes the bytes that came, and how many there are, if that is known.

        Returns:
            How many bytes were written.
        """
        text_of(format, at="/format", words=tuple(one.value for one in ExportFormat))
        check_callable(progress, at="/progress")
        if isinstance(target, str | os.PathLike):
            checked_path(target, at="/target")
        elif not hasattr(target, "write"):
            raise InvalidError(
                Fault("/target", f"{shown(target)} is neither a path nor an open file")
            )
        if run is not None:
            path = path_of("v1", "runs", id_of(run), "export", query=query_of(format=format))
        else:
            query = query_of(format=format, filter=texts_of(filter), project=self._project)
            path = path_of("v1", "export", "runs", query=query)
        call = Call("GET", path, bytes, kinds=(_KINDS[ExportFormat(format)],))
        if not isinstance(target, str | os.PathLike):
            return await self._transport.download(call, target.write, progress=progress)
        from expr_tracker.store.output import (  # noqa: PLC0415 - only who exports pays for it
            output_place,
            writing_to,
        )

        with writing_to(output_place(target)) as partial, partial.open("wb") as file:
            size = await self._transport.download(call, file.write, progress=progress)
            file.close()  # what it holds back is written before the whole takes its place
        return size

    async def import_file(
        self, source: str | os.PathLike[str] | BinaryIO, *, progress: Progress | None = None
    ) -> ImportAnswer:
        """Take back a ``jsonl`` export, with ids, times, steps and attempts; again changes nothing.

        The server checks the file whole before it writes anything of it.

        Args:
            source: a path, or an open file that can be sought in; it may be packed by gzip or zstd.
            progress: takes the bytes that went, and how many there are.

        Raises:
            SchemaInvalidError: the file breaks a rule; nothing of it was written.
            OSError: it cannot be read.
        """
        check_callable(progress, at="/progress")
        with ExitStack() as opened:
            file = _opened(source, opened)
            start = file.tell()
            head = file.read(4)
            content = Source(file.seek(0, os.SEEK_END) - start, lambda: _pieces(file, start))
            path = path_of("v1", "import", query=query_of(project=self._project))
            headers = {"Content-Type": "application/jsonl"}
            for beginning, encoding in _PACKED.items():
                if head.startswith(beginning):
                    headers["Content-Encoding"] = encoding
            return await self._transport.upload(
                Call("POST", path, ImportAnswer, headers=headers),
                content,
                progress=progress,
                # Packed, ten times more is written than was sent.
                answer_seconds=self._transport.timeout_seconds
                + 10 * content.size_bytes / _IMPORTED_BYTES_PER_SECOND_MIN,
            )


def _opened(source: str | os.PathLike[str] | BinaryIO, opened: ExitStack) -> BinaryIO:
    if isinstance(source, str | os.PathLike):
        return opened.enter_context(Path(checked_path(source, at="/source")).open("rb"))
    if not hasattr(source, "read") or not hasattr(source, "seek"):
        raise InvalidError(
            Fault("/source", f"{shown(source)} is neither a path nor an open file of bytes")
        )
    return source


def _pieces(file: BinaryIO, start: int) -> Iterator[bytes]:
    file.seek(start)
    while piece := file.read(PIECE_BYTES):
        yield piece
