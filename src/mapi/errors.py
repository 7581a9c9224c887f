"""The errors of the platform, in one tree; `mapi.api.problems` says how HTTP tells them.

    MapiError
    ├── SettingError           a setting or an option of a command
    ├── DatabaseError          the database cannot be started, reached or migrated
    │   └── HomeInUseError     another process, or another host, works in this home
    ├── UnavailableError       the server, the database or the store does not answer now
    ├── AuthenticationError    no token, or one that is unknown, expired or revoked
    ├── ForbiddenError         a known object, and no right to it
    ├── NotFoundError          no such object, or one of another tenant
    ├── StateError             the object's state does not allow it
    │   ├── ParamConflictError a param has another value
    │   ├── OutOfTurnError     a batch follows another than the last that was taken
    │   ├── NameTakenError     a name that must be unique is in use
    │   ├── PreconditionError  ``If-Match`` names another version
    │   └── PreconditionRequiredError  ``If-Match`` has to be sent, and is not
    ├── QuotaError             a budget is spent; what fitted was kept
    ├── RateLimitError         too many requests in a while; it says when to come back
    └── InvalidError           input breaks a rule; it says where and which

Every message names the value, the rule and the fix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AuthenticationError",
    "DatabaseError",
    "Fault",
    "ForbiddenError",
    "HomeInUseError",
    "InvalidError",
    "MapiError",
    "NameTakenError",
    "NotFoundError",
    "OutOfTurnError",
    "ParamConflictError",
    "PreconditionError",
    "PreconditionRequiredError",
    "QuotaError",
    "RateLimitError",
    "SettingError",
    "StateError",
    "UnavailableError",
]


class MapiError(Exception):
    """Anything that the platform raises on purpose."""


class SettingError(MapiError):
    """A setting or an option of a command is wrong."""


class DatabaseError(MapiError):
    """The database cannot be started, reached or migrated."""


class HomeInUseError(DatabaseError):
    """Another process, or another host, works in this home."""


class UnavailableError(MapiError):
    """The server, the database or the store does not answer now; the same call may work later."""


class AuthenticationError(MapiError):
    """There is no token, or it is unknown, expired or revoked."""


class ForbiddenError(MapiError):
    """The object is known to the caller, who has no right to do this."""


class NotFoundError(MapiError):
    """There is no such object for this caller."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with what was sent."""

    pointer: str
    """Where: a JSON pointer (RFC 6901) into the body, or ``/query/<name>``."""
    message: str
    """What is wrong, which rule says so, and what would be right."""
    code: str = ""
    """A machine's name of the rule; empty for the error's own."""
    offset: int | None = None
    """Where in a text the fault begins, in Unicode code points."""
    length: int | None = None
    """How many code points it takes."""
    expected: Sequence[str] = field(default_factory=tuple)
    """What could stand there instead."""


class StateError(MapiError):
    """The object's state does not allow it."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class ParamConflictError(StateError):
    """A param was written before, with another value; nothing of the call was written."""


class OutOfTurnError(StateError):
    """A batch follows another one than the last that was taken of its writer; nothing was written.

    Attributes:
        accepted_seq: where the writer stands; ``None`` before its first batch.
    """

    def __init__(self, message: str, accepted_seq: int | None) -> None:
        super().__init__(message, [Fault("/after", message)])
        self.accepted_seq = accepted_seq


class NameTakenError(StateError):
    """A name that must be unique is in use."""


class PreconditionError(StateError):
    """The object has changed since the caller read it."""


class PreconditionRequiredError(StateError):
    """Which version is to be changed has to be said, and is not."""


class QuotaError(MapiError):
    """A budget is spent: what fitted was kept, the rest was counted.

    Attributes:
        counts: what a full answer would have said.
    """

    def __init__(self, message: str, counts: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.counts = dict(counts)


class RateLimitError(MapiError):
    """The caller sent too many requests in a while.

    Attributes:
        seconds: after which there is room again.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class InvalidError(MapiError):
    """Input breaks a rule; nothing of it was taken.

    Attributes:
        faults: what is wrong, the first things first.
    """

    def __init__(self, faults: Sequence[Fault] | Fault) -> None:
        self.faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        first = self.faults[0]
        more = len(self.faults) - 1
        rest = f" ({more} more)" if more else ""
        # What is wrong with a whole body stands nowhere in it.
        where = f"{first.pointer}: " if first.pointer else ""
        super().__init__(f"{where}{first.message}{rest}")
