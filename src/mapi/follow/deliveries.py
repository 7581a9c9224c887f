"""What all that is sent of one run goes through: tried again while that helps, and counted.

A server that does not answer, is starting, or fails is tried again until nothing has got through for
as long as the patience lasts. What it refuses for good ends the run's delivery, with the reason.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

from mapi.errors import MapiError
from mapi.sdk.errors import (
    ApiError,
    ConnectionFailedError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.follow.losses import Losses
    from mapi.sdk.synchronous.runs import Runs

__all__ = ["Delivery", "DeliveryError", "RejectedError", "UnreachableError"]

_PAUSE_SECONDS_MIN: Final = 0.2
_PAUSE_SECONDS_MAX: Final = 5.0
#: A first failure may be a server that is being started anew.
_TOLD_AT: Final = 3

_Answer = TypeVar("_Answer")


class DeliveryError(MapiError):
    """What is left of a run cannot be delivered now."""


class UnreachableError(DeliveryError):
    """The server does not answer, or only fails; the next push goes on from where it stands."""


class RejectedError(DeliveryError):
    """The server lets nobody in with this token."""


class Delivery:
    """The way of one run to the platform.

    Args:
        runs: of a client.
        losses: counts what is not delivered as it stands in the files.
        patience_seconds: how long it is tried again while nothing gets through.
        pause: waits that many seconds; ``True`` ends the patience.
        tell_outage: hears why nothing gets through, once that has lasted a moment, and ``None`` when it
            does again.

    Attributes:
        run: the run's id on the platform.
        sent: what is new on the platform, by kind.
        there: what was offered to it that it had already, by kind.
        answers: how many requests were answered.
        writers: where each queue of the run stood when it was asked.
        heard: hears of each request that was answered, if somebody wants to.
    """

    def __init__(
        self,
        runs: Runs,
        *,
        losses: Losses,
        patience_seconds: float,
        pause: Callable[[float], bool],
        tell_outage: Callable[[str | None], object] = lambda _: None,
    ) -> None:
        self.runs = runs
        self.run = ""
        self.losses = losses
        self.writers: dict[str, int] = {}
        self.sent: Counter[str] = Counter()
        self.there: Counter[str] = Counter()
        self.answers = 0
        self._patience_seconds = patience_seconds
        self._pause = pause
        self._tell_outage = tell_outage
        self._is_told = False
        self.heard: Callable[[], object] | None = None

    def begin(self, run: str) -> None:
        """Begin with a run of the platform: ask where its queues stand.

        Raises:
            DeliveryError: there was no answer.
            ApiError: the platform refuses it.
        """
        self.run = run
        self.writers = self.call(lambda: self.runs.writers(run))

    def call(self, request: Callable[[], _Answer]) -> _Answer:
        """Return the answer to what may be asked any number of times.

        Raises:
            UnreachableError: there was none within the patience.
            RejectedError: the token is none, or is over.
            ApiError: the server refuses it.
        """
        since = time.monotonic()
        tries = 0
        while True:
            try:
                answer = request()
            except UnauthenticatedError as error:
                raise RejectedError(str(error)) from error
            except (ConnectionFailedError, ApiError) as error:
                if isinstance(error, ApiError) and not error.retryable and error.status < 500:
                    raise
                tries += 1
                longest = min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2.0 ** min(tries, 10))
                wait = random.uniform(longest / 2, longest)  # noqa: S311 - no secret
                if isinstance(error, ApiError) and error.retry_after_seconds:
                    wait = max(wait, error.retry_after_seconds)
                left = since + self._patience_seconds - time.monotonic()
                if tries >= _TOLD_AT and not self._is_told:
                    self._is_told = True
                    self._tell_outage(str(error))
                if wait > left or self._pause(wait):
                    raise UnreachableError(str(error)) from error
            else:
                self._tell_answer()
                return answer

    def _tell_answer(self) -> None:
        self.answers += 1
        if self._is_told:
            self._is_told = False
            self._tell_outage(None)
        if self.heard is not None:
            self.heard()
