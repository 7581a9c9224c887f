"""The attempts of one producer: told to the platform as its files tell of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from expr_tracker.store.markers import REWOUND
from mapi.follow.instants import instant_of
from mapi.sdk.errors import StateConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from expr_tracker.store.index import Attempt
    from mapi.follow.deliveries import Delivery
    from mapi.sdk.calls import Producer

__all__ = ["Attempts", "Stretch", "ends_as", "stretches_of"]

#: What an attempt's own end says, as the platform has words for it.
_ENDS: Final = {
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "lost": "lost",
    # Its process left it for the next one.
    REWOUND: "cancelled",
}


@dataclass(frozen=True)
class Stretch:
    """The lines of one attempt."""

    attempt: Attempt
    """With a number that rises from stretch to stretch."""
    start: int
    stop: int


def stretches_of(attempts: Sequence[Attempt], size: int) -> Iterator[Stretch]:
    """Yield where the lines of each attempt stand in a file of ``size`` bytes.

    Readers go by the order in the file, the platform by numbers: where another program has numbered them
    otherwise, they are counted on.
    """
    number = 0
    for at, attempt in enumerate(attempts):
        number = max(number + 1, attempt.number)
        # Whatever stands before the first marker belongs to the first attempt.
        start = attempt.offset if at else 0
        stop = attempts[at + 1].offset if at + 1 < len(attempts) else size
        yield Stretch(replace(attempt, number=number), start, stop)


def ends_as(attempt: Attempt) -> str | None:
    """Return how the platform says that an attempt ended; ``None``: it goes on."""
    return _ENDS.get(attempt.status or "")


class Attempts:
    """What the platform knows of the attempts of one producer.

    Args:
        delivery: of the run.
        producer: whose they are.
        label: how reports name it.
    """

    def __init__(self, delivery: Delivery, producer: Producer, *, label: str) -> None:
        self._delivery = delivery
        self._producer = producer
        self._label = label
        runs, run = delivery.runs, delivery.run
        self._known = {
            one.number: one
            for one in delivery.call(lambda: runs.attempts(run))
            if (one.stream, one.rank) == (producer.stream, producer.rank)
        }

    def begin(self, attempt: Attempt) -> None:
        """Say that an attempt began, unless the platform knows."""
        from_step = None if attempt.from_step is None else max(0, attempt.from_step)
        known = self._known.get(attempt.number)
        if known is not None and known.from_step == from_step:
            return
        runs, run = self._delivery.runs, self._delivery.run
        try:
            self._known[attempt.number] = self._delivery.call(
                lambda: runs.begin_attempt(
                    run,
                    attempt.number,
                    from_step=from_step,
                    started=instant_of(attempt.time),
                    producer=self._producer,
                )
            )
        except StateConflictError as error:
            if known is None:
                raise
            self._delivery.losses.fail(f"{self._label}: {error}")

    def end(self, attempt: Attempt) -> None:
        """Say how an attempt ended, unless the platform knows."""
        status = ends_as(attempt)
        known = self._known.get(attempt.number)
        if status is None or (known is not None and known.status == status):
            return
        runs, run = self._delivery.runs, self._delivery.run
        self._known[attempt.number] = self._delivery.call(
            lambda: runs.end_attempt(
                run,
                attempt.number,
                status,
                finished=instant_of(attempt.end_time),
                producer=self._producer,
            )
        )
