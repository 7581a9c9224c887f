"""What Prometheus reads: counts and times of requests by route, and the state of the pool.

Nothing here tells of a tenant: whoever may read it sees the server's load, nobody's data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from mapi.database.door import Database

__all__ = ["Meters"]

#: Around the targets: a page in 25 ms, a batch in 100, a long curve in 250.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Meters:
    """The meters of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "mapi_requests",
            "Requests that were answered.",
            (*labels, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "mapi_request_seconds",
            "From a request's first byte to its answer's last.",
            labels,
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._received = Counter(
            "mapi_received_bytes", "Bytes of bodies, as sent.", registry=self._registry
        )
        self._sent = Counter("mapi_sent_bytes", "Bytes of answers.", registry=self._registry)
        self.under_way = Gauge(
            "mapi_requests_under_way", "Requests without their answer.", registry=self._registry
        )
        self._pool = Gauge(
            "mapi_database_pool", "The pool of connections.", ("figure",), registry=self._registry
        )

    def count(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def count_bytes(self, *, received: int, sent: int) -> None:
        """Count what went over the wire."""
        self._received.inc(received)
        self._sent.inc(sent)

    def text(self, database: Database) -> bytes:
        """Return everything in Prometheus' text format."""
        for name, value in database.stats().items():
            self._pool.labels(name).set(value)
        return generate_latest(self._registry)
