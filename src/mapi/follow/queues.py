"""One file as a queue of the platform: what is sent names the stretch of the file that it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mapi.errors import InvalidError
from mapi.sdk.errors import QuotaExceededError, StateConflictError
from mapi.sdk.queueing import Place
from mapi.wire.metrics import BatchAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mapi.follow.deliveries import Delivery

__all__ = ["Queue", "RefusedError", "current_name"]

_GENERATION: Final = re.compile(r"(.*)@([0-9]{1,9})")


class RefusedError(Exception):
    """The platform takes no such items, whenever they come; the queue stands where it stood."""


class Queue:
    """One writer of a run: where it stands, and what moves it on.

    Args:
        delivery: of the run.
        name: the writer's.
        label: how reports name whose items these are.
        what: how reports name one of them.

    Attributes:
        stands: the offset behind what was taken; -1: nothing was.
        offset: where the file goes on: further than ``stands`` by lines that hold no items.
    """

    def __init__(self, delivery: Delivery, name: str, *, label: str, what: str) -> None:
        self.name = name
        self.stands = delivery.writers.get(name, -1)
        self.offset = max(0, self.stands)
        self._delivery = delivery
        self._label = label
        self._what = what

    def pass_over(self, stop: int) -> None:
        """Go on behind lines that hold no items."""
        self.offset = max(self.offset, stop)

    def send(self, stop: int, request: Callable[[Place], BatchAnswer]) -> BatchAnswer | None:
        """Send items that end at an offset, and move on to where the server says that the queue stands.

        Args:
            stop: the offset behind their last line; where the queue stands already, they are a part
                of a line, of which more follows.
            request: sends them from a place.

        Returns:
            What became of them; ``None``: it was not their turn, and `stands` has changed.

        Raises:
            RefusedError: they break a rule of the platform; nothing of them was taken.
            DeliveryError: there is no getting through, now or at all.
        """
        place = Place(self.name, after=self.stands, seq=stop)
        try:
            answer = self._delivery.call(lambda: request(place))
        except QuotaExceededError as error:
            self._over_budget(error)
            answer = BatchAnswer(
                accepted=error.counts.get("accepted", 0),
                accepted_seq=error.counts.get("accepted_seq"),
            )
        except StateConflictError as error:
            if all(fault.pointer != "/after" for fault in error.faults):
                raise
            self._move(error.counts.get("accepted_seq", -1))
            return None
        except InvalidError as error:
            if error.faults[0].pointer in {"/writer", "/attempt", "/after", "/stream"}:
                raise
            raise RefusedError(str(error)) from error
        self._delivery.sent[self._what] += answer.accepted
        is_mine = answer.accepted_seq == stop
        self._move(stop if answer.accepted_seq is None else answer.accepted_seq)
        return answer if is_mine else None

    def _move(self, stands: int) -> None:
        self.stands = stands
        self.offset = max(0, stands)

    def _over_budget(self, error: QuotaExceededError) -> None:
        budgets = sorted({fault.code for fault in error.faults if fault.code})
        reason = f"not taken: over the budget {', '.join(budgets)}" if budgets else "not taken"
        rejected = error.counts.get("rejected", 0)
        self._delivery.losses.add(self._label, self._what, reason, count=rejected)


def current_name(
    base: str, writers: Mapping[str, int], fits: Callable[[int], bool], *, again: bool = False
) -> str:
    """Return the writer that delivers a file as it is now.

    A file that was cut, or into which lines were put, is none that was delivered: it has a new queue,
    under the next number.

    Args:
        base: the first writer's name.
        writers: where the run's writers stand.
        fits: whether the file can have been delivered up to an offset.
        again: whether it is to be delivered from its beginning whatever was.
    """
    number = 1
    for name in writers:
        match = _GENERATION.fullmatch(name)
        if match is not None and match[1] == base:
            number = max(number, int(match[2]))
    stands = writers.get(base if number == 1 else f"{base}@{number}", -1)
    if stands >= 0 and (again or not fits(stands)):
        number += 1
    return base if number == 1 else f"{base}@{number}"
