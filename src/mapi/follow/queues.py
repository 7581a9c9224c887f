"""One file as a queue of the platform: what is sent names the stretch of the file that it is.

**Which file a queue goes on with.** The one whose bytes before the place that it stands at have the mark
of its number (`mapi.follow.numbers`). Any other under the same name is another file, whatever became of
the one that was delivered: it was cut, something was put into it, a different one took its name. It has a
queue of its own, under the next number, and the one before takes nothing any more. All of such a file is looked at once
more: points and media replace what stands at their places, and of lines and spans only what the platform
has not is sent (`mapi.follow.known`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mapi.errors import InvalidError
from mapi.follow.deliveries import UnreachableError
from mapi.follow.numbers import ENDED, fits, offset_of
from mapi.sdk.errors import QuotaExceededError, StateConflictError
from mapi.sdk.queueing import Place
from mapi.wire.metrics import BatchAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mapi.follow.deliveries import Delivery

__all__ = ["Queue", "RefusedError", "current_name", "current_queue"]

_GENERATION: Final = re.compile(r"(.*)@([0-9]{1,9})")
_TRIES_MAX: Final = 5


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
        stands: the number of the place behind what was taken; -1: nothing was.
        reached: that from which on the file goes on: further by lines that hold no items.
    """

    def __init__(self, delivery: Delivery, name: str, *, label: str, what: str) -> None:
        self.name = name
        self.stands = delivery.writers.get(name, -1)
        self.reached = self.stands
        self._delivery = delivery
        self._label = label
        self._what = what

    @property
    def offset(self) -> int:
        """Where the file goes on."""
        return offset_of(self.reached)

    @property
    def behind_bytes(self) -> int:
        """How much of the file was passed over, and would be read again by the next push."""
        return self.offset - offset_of(self.stands)

    @property
    def is_ended(self) -> bool:
        """Whether another queue has the file by now."""
        return self.stands == ENDED

    @property
    def is_later(self) -> bool:
        """Whether a file of its name was delivered before, so that much of this one may be there."""
        return _GENERATION.fullmatch(self.name) is not None

    def fits(self, read: Callable[[int, int], bytes], *, size: int) -> bool:
        """Say whether a file still is the one that was delivered so far.

        Args:
            read: returns the bytes between two offsets of it.
            size: of it.
        """
        return not self.is_ended and fits(read, self.reached, size=size)

    def pass_over(self, number: int) -> None:
        """Go on behind lines that hold no items.

        Args:
            number: of the place behind them.
        """
        self.reached = max(self.reached, number)

    def send(self, number: int, request: Callable[[Place], BatchAnswer]) -> BatchAnswer | None:
        """Send items that end at a place, and move on to where the server says that the queue stands.

        Args:
            number: of the place behind their last line; where the queue stands already, they are a
                part of what follows.
            request: sends them from a place.

        Returns:
            What became of them; ``None``: it was not their turn, and `stands` has changed.

        Raises:
            RefusedError: they break a rule of the platform; nothing of them was taken.
            DeliveryError: there is no getting through, now or at all.
        """
        place = Place(self.name, after=self.stands, seq=number)
        try:
            answer = self._delivery.call(lambda: request(place))
        except QuotaExceededError as error:
            self._over_budget(error)
            answer = BatchAnswer(
                accepted=error.counts.get("accepted", 0),
                duplicates=error.counts.get("duplicates", 0),
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
        self._delivery.there[self._what] += answer.duplicates
        is_mine = answer.accepted_seq == number
        self._move(number if answer.accepted_seq is None else answer.accepted_seq)
        return answer if is_mine else None

    def _move(self, stands: int) -> None:
        self.stands = self.reached = stands

    def _over_budget(self, error: QuotaExceededError) -> None:
        budgets = sorted({fault.code for fault in error.faults if fault.code})
        reason = f"not taken: over the budget {', '.join(budgets)}" if budgets else "not taken"
        rejected = error.counts.get("rejected", 0)
        self._delivery.losses.add(self._label, self._what, reason, count=rejected)


def current_name(
    base: str, writers: Mapping[str, int], fits: Callable[[int], bool], *, again: bool = False
) -> tuple[str, str | None]:
    """Return the writer that delivers a file as it is now, and the one before that has to end.

    Args:
        base: the first writer's name.
        writers: where the run's writers stand.
        fits: whether the file can have been delivered up to the place of a number.
        again: whether it is to be delivered from its beginning whatever was.
    """
    number = 1
    for name in writers:
        match = _GENERATION.fullmatch(name)
        if match is not None and match[1] == base:
            number = max(number, int(match[2]))
    known = base if number == 1 else f"{base}@{number}"
    stands = writers.get(known, -1)
    if stands == ENDED:
        return f"{base}@{number + 1}", None
    if stands >= 0 and (again or not fits(stands)):
        return f"{base}@{number + 1}", known
    return known, None


def current_queue(
    queue_of: Callable[[str], Queue],
    choose: Callable[[Mapping[str, int]], tuple[str, str | None]],
    *,
    delivery: Delivery,
    request: Callable[[Place], BatchAnswer],
) -> Queue:
    """Return the queue that delivers a file as it is now; the one before takes nothing any more.

    What is still on its way to that one would put older values in the place of those of the new queue.

    Args:
        queue_of: makes the queue of a name.
        choose: does what `current_name` does.
        delivery: of the run.
        request: sends a batch without items.

    Raises:
        DeliveryError: there is no getting through, now or at all.
    """
    for _ in range(_TRIES_MAX):
        name, before = choose(delivery.writers)
        if before is None or queue_of(before).send(ENDED, request) is not None:
            return queue_of(name)
        # It is moved by somebody else at the moment.
        delivery.begin(delivery.run)
    raise UnreachableError(
        "another push is delivering the run; repeat this one when it has ended."
    )
