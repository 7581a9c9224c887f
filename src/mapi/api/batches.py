"""What became of a batch, as an answer or as a problem: the part that fits is kept either way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.errors import QuotaError
from mapi.wire.decoding import FAULTS_MAX
from mapi.wire.metrics import BatchAnswer
from mapi.wire.problems import no_room_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.tracking.writing import Counts

__all__ = ["batch_answer"]

_SPENT: Final = "The run has spent a budget; an administrator can raise the limits of the project."


def batch_answer(counts: Counts, pointer_of: Callable[[int], str]) -> BatchAnswer:
    """Return the answer to a batch that was written.

    Args:
        counts: what became of it.
        pointer_of: from an item's place to where it stands in the body.

    Raises:
        QuotaError: a budget was spent; with the same figures.
    """
    if not counts.rejected:
        return BatchAnswer(
            accepted=counts.accepted,
            duplicates=counts.duplicates,
            conflicts=counts.conflicts,
            accepted_seq=counts.accepted_seq,
        )
    figures: dict[str, Any] = {
        "accepted": counts.accepted,
        "duplicates": counts.duplicates,
        "conflicts": counts.conflicts,
        "rejected": counts.rejected,
        "accepted_seq": counts.accepted_seq,
        "errors": [
            no_room_fault(pointer_of(place), counts.rejected_by[place])
            for place in sorted(counts.rejected_by)[:FAULTS_MAX]
        ],
    }
    raise QuotaError(counts.warning or _SPENT, figures)
