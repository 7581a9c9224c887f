"""Server-sent events, read: https://html.spec.whatwg.org/multipage/server-sent-events.html. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from mapi.sdk.errors import AnswerUnreadableError
from mapi.wire.events import (
    DeletedFrame,
    LogFrame,
    ProjectFrame,
    StatusFrame,
    TrackingFrame,
    WarningFrame,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Frame", "FrameReader", "SentFrame"]

#: What the stream of a run tells of.
Frame: TypeAlias = StatusFrame | TrackingFrame | LogFrame | WarningFrame | DeletedFrame
#: One frame: a thousand log lines of 16 KiB.
_FRAME_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class SentFrame:
    """A frame, and where to go on behind it."""

    frame: Frame | ProjectFrame
    """The second is of a project's stream."""
    id: str | None


class FrameReader:
    """Takes the bytes of a stream in any pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._decoder = msgspec.json.Decoder(Frame | ProjectFrame)

    def read(self, chunk: bytes) -> Iterator[SentFrame]:
        """Yield the frames that a piece completes; kinds that are newer than this are passed over.

        Raises:
            AnswerUnreadableError: this is no stream of frames.
        """
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        if len(self._rest) > _FRAME_BYTES_MAX:
            raise AnswerUnreadableError(f"A frame has more than {_FRAME_BYTES_MAX} bytes.")
        for block in blocks:
            found = self._frame(block)
            if found is not None:
                yield found

    def _frame(self, block: bytes) -> SentFrame | None:
        number: str | None = None
        text = b""
        for line in block.split(b"\n"):
            name, _, value = line.partition(b": ")
            if name == b"data":
                text += value
            elif name == b"id":
                number = value.decode()
        if not text:
            return None
        try:
            return SentFrame(self._decoder.decode(text), number)
        except msgspec.ValidationError:
            return None
        except msgspec.DecodeError as error:
            raise AnswerUnreadableError(f"A frame of the stream is no JSON: {error}") from None
