"""What the operator decides about requests: which hosts, which cookie, how many, and what they are told."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from mapi.config import OidcSettings  # noqa: TC001 - routes are given this class, by its types
from mapi.tracking.freed import Retention

__all__ = ["HEARTBEAT_SECONDS", "Entrance", "host_of"]

#: Between two signs of life of a run, unless the time after which it is lost asks for more.
HEARTBEAT_SECONDS: Final = 15.0

_PORTS: Final = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The way in."""

    public_url: str | None = None
    """The address that users see."""
    checks_host: bool = False
    """Refuse requests to names that are not ours: a page of another site may have pointed its own
    name at this machine (DNS rebinding)."""
    names: frozenset[str] = frozenset()
    """Further names of this server."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Signs the states of sign-ins and the cursors of pages; the same in all replicas."""
    requests_per_second: float = 0.0
    """Of one token; 0 is no limit."""
    logs_requests: bool = False
    """Write a line for each request."""
    metrics_open: bool = False
    """Anybody may read ``/metrics``: the server listens on loopback only."""
    metrics_token: str | None = field(default=None, repr=False)
    """What else opens ``/metrics``."""
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    """How often the client of a run should say that it lives."""
    retention: Retention = field(default_factory=Retention)
    """How long what is kept, for who asks; to delete is another's."""
    oidc: OidcSettings | None = None
    """The identity provider."""

    def knows_host(self, host: str) -> bool:
        """Say whether a ``Host`` header names this server.

        An address is always right: only a name can be pointed at us by somebody else.
        """
        if not self.checks_host:
            return True
        name = host_of(host)
        if name in {"localhost", *self.names} or name.endswith(".localhost"):
            return True
        if self.public_url is not None and name == urlsplit(self.public_url).hostname:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def knows_origin(self, origin: str, *, scheme: str, host: str) -> bool:
        """Say whether a page of this origin is ours."""
        sent = _origin(origin)
        if sent is None:
            return False
        return sent in {_origin(f"{scheme}://{host}"), _origin(self.public_url or "")}

    def address(self, *, scheme: str, host: str) -> str:
        """Return the address of this server as the client sees it."""
        return self.public_url or f"{scheme}://{host}"

    def wants_secure_cookie(self, *, scheme: str, host: str) -> bool:
        """Say whether the cookie is for encrypted connections only: always, but on this machine."""
        address = urlsplit(self.address(scheme=scheme, host=host))
        return address.scheme == "https" or not _is_loopback(address.hostname or "")


def host_of(header: str) -> str:
    """Return the name or the address in a ``Host`` header, without its port; empty if unreadable."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _origin(address: str) -> tuple[str, str, str] | None:
    try:
        parts = urlsplit(address)
        port = str(parts.port) if parts.port is not None else _PORTS.get(parts.scheme, "")
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
