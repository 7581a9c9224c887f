"""Who sends a batch: what its body says of stream, rank and sequence, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mapi.errors import Fault, InvalidError
from mapi.series.names import check_stream
from mapi.tracking.writing import Sender
from mapi.wire.metrics import check_numbering

if TYPE_CHECKING:
    from mapi.access.rights import Principal

__all__ = ["sender_at", "sender_of"]


class _Sent(Protocol):
    @property
    def stream(self) -> str: ...
    @property
    def rank(self) -> int: ...
    @property
    def writer(self) -> str | None: ...
    @property
    def seq(self) -> int | None: ...
    @property
    def after(self) -> int | None: ...


def sender_of(principal: Principal, sent: _Sent, *, pointer_of: str = "") -> Sender:
    """Return the sender of a batch that may have a sequence number.

    Args:
        principal: who asks.
        sent: what the request says.
        pointer_of: where in the request, as a JSON pointer.

    Raises:
        InvalidError: the stream breaks its rule, or writer, seq and after do not go together.
    """
    check_numbering(sent.writer, sent.seq, sent.after, pointer_of=pointer_of)
    found = sender_at(principal, stream=sent.stream, rank=sent.rank)
    return Sender(
        principal=principal,
        stream=found.stream,
        rank=found.rank,
        writer=sent.writer,
        seq=sent.seq,
        after=sent.after,
    )


def sender_at(principal: Principal, *, stream: str, rank: int) -> Sender:
    """Return the sender at a stream and rank.

    Raises:
        InvalidError: the stream breaks its rule.
    """
    wrong = check_stream(stream)
    if wrong is not None:
        raise InvalidError(Fault("/stream", wrong))
    return Sender(principal=principal, stream=stream, rank=rank)
