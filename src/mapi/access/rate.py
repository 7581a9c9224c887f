"""How many requests a token may send in a while; pure.

Each replica counts what it serves itself: n replicas let through up to n times the rate. The limit
is there so that one client cannot take the server from the others, which holds for each replica.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

__all__ = ["BURST_SECONDS", "RateLimit"]

#: A client that was quiet may send at once what the rate allows in this time: a page that opens
#: asks thirty things, a training that was cut off catches up.
BURST_SECONDS: Final = 10.0
#: Whoever is not among the last 10 000 has been quiet for long enough to have a full bucket.
_BUCKETS_MAX: Final = 10_000


class RateLimit:
    """A bucket of permits for each caller, filled at a steady rate.

    Args:
        per_second: the rate; 0 lets everything through.
    """

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._size = per_second * BURST_SECONDS
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float) -> float:
        """Take a permit.

        Args:
            caller: whose bucket.
            now: seconds of a clock that does not go back.

        Returns:
            0 if there was one; else the seconds until there is.
        """
        if self._rate <= 0:
            return 0.0
        permits, since = self._buckets.pop(caller, (self._size, now))
        permits = min(self._size, permits + (now - since) * self._rate)
        wait = 0.0 if permits >= 1 else (1 - permits) / self._rate
        self._buckets[caller] = (permits if wait else permits - 1, now)
        if len(self._buckets) > _BUCKETS_MAX:
            self._buckets.popitem(last=False)
        return wait
