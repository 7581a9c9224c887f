"""What a client raises: one class for each code of a problem, and those of the way to the server.

    MapiError
    └── ClientError                     a call came back without what was asked for
        ├── ApiError                    the server answered with a problem; it has a ``code``
        │   ├── SchemaInvalidError      (and `mapi.errors.InvalidError`)
        │   ├── NotFoundError, ForbiddenError, UnauthenticatedError, …: `KINDS` has all of them
        │   └── QuotaExceededError      what fitted was kept: its ``counts``
        └── ConnectionFailedError       no answer, or none of a server of ours
            ├── ServerUnreachableError  nobody answers at the address
            ├── DeadlineError           the call's time was over (and `TimeoutError`)
            └── AnswerUnreadableError   something else answers there

Each class is also the one that the platform itself raises for the same reason, so that
``except mapi.InvalidError`` takes what was refused here and what was refused there. No message holds
a token.
"""

from __future__ import annotations

import email.utils
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from mapi import errors
from mapi.errors import Fault
from mapi.wire.enums import ProblemCode
from mapi.wire.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "KINDS",
    "AddressTooLongError",
    "AnswerUnreadableError",
    "ApiError",
    "BodyUnreadableError",
    "ClientError",
    "ConnectionFailedError",
    "DeadlineError",
    "ForbiddenError",
    "HeadersTooLargeError",
    "HostUnknownError",
    "IdempotencyMismatchError",
    "InternalError",
    "MethodNotAllowedError",
    "NameTakenError",
    "NotFoundError",
    "ParamConflictError",
    "PayloadTooLargeError",
    "PreconditionFailedError",
    "PreconditionRequiredError",
    "QuotaExceededError",
    "RateLimitedError",
    "SchemaInvalidError",
    "ServerUnreachableError",
    "StateConflictError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedMediaTypeError",
    "error_of_answer",
    "refuse_other_content",
]

#: Of what could stand at a place of a text: more is in the fault.
_EXPECTED_MAX: Final = 6
#: Of an answer that is no problem of ours: enough to see who answered.
_SHOWN_BYTES: Final = 200


class ClientError(errors.MapiError):
    """A call came back without what was asked for."""


class ConnectionFailedError(ClientError, errors.UnavailableError):
    """The server cannot be reached, or the connection broke before there was an answer."""


class ServerUnreachableError(ConnectionFailedError):
    """Nobody answers there: nothing of the call has got to the server."""


class DeadlineError(ConnectionFailedError, TimeoutError):
    """The time of the call was over before there was an answer."""


class AnswerUnreadableError(ConnectionFailedError):
    """What answered is no server of ours, or one that is much newer than this client."""


class ApiError(ClientError):
    """The server answered with a problem.

    Attributes:
        status: of HTTP.
        code: of the closed list `mapi.wire.enums.ProblemCode`.
        detail: this case in words: the value, the rule, the fix.
        faults: each thing that is wrong, with where it stands; also called ``errors``.
        request_id: by which the operator finds the request in the server's log.
        retryable: whether the same call may work later.
        retry_after_seconds: when, if the server said so.
        counts: of a batch, what became of its items; empty for other calls.
    """

    def __init__(self, problem: Problem, *, retry_after_seconds: float | None = None) -> None:
        Exception.__init__(self, _said(problem))
        self.status = problem.status
        self.code = problem.code
        self.detail = problem.detail
        self.faults = tuple(
            Fault(one.pointer, one.message, one.code, one.offset, one.length, tuple(one.expected))
            for one in problem.errors
        )
        self.request_id = problem.request_id
        self.retryable = problem.retryable is True
        self.retry_after_seconds = retry_after_seconds
        self.seconds = retry_after_seconds or 0.0
        self.counts: dict[str, int] = {
            name: value
            for name in ("accepted", "duplicates", "conflicts", "rejected", "accepted_seq")
            if (value := getattr(problem, name)) is not None
        }

    @property
    def errors(self) -> tuple[Fault, ...]:
        """Each thing that is wrong; the name that the answer has for it."""
        return self.faults


def _said(problem: Problem) -> str:
    """Return the words of a problem for who writes Python, and where in a text it is."""
    text = problem.detail or problem.title
    if problem.code is ProblemCode.NAME_TAKEN:
        return text.replace("send ?if_exists=get", 'say if_exists="get"')
    first = problem.errors[0] if problem.errors else None
    if problem.code is not ProblemCode.SCHEMA_INVALID or first is None or first.offset is None:
        return text
    expected = ", ".join(first.expected[:_EXPECTED_MAX])
    more = ", …" if len(first.expected) > _EXPECTED_MAX else ""
    hint = f"; expected: {expected}{more}" if expected else ""
    return f"{text} (at character {first.offset + 1}{hint})"


class SchemaInvalidError(ApiError, errors.InvalidError):
    """The request breaks a rule: ``faults`` say where and which."""


class BodyUnreadableError(SchemaInvalidError):
    """The body was no JSON."""


class PayloadTooLargeError(SchemaInvalidError):
    """The body was too large."""


class UnsupportedMediaTypeError(SchemaInvalidError):
    """This kind of content is not read there."""


class AddressTooLongError(SchemaInvalidError):
    """The address with its query was too long."""


class HeadersTooLargeError(SchemaInvalidError):
    """The headers were too large."""


class HostUnknownError(SchemaInvalidError):
    """The server is not called so."""


class IdempotencyMismatchError(SchemaInvalidError):
    """The key was used for another request."""


class MethodNotAllowedError(SchemaInvalidError):
    """The server has no such route: it is older than this client."""


class UnauthenticatedError(ApiError, errors.AuthenticationError):
    """There is no token, or it is unknown, expired or revoked."""


class ForbiddenError(ApiError, errors.ForbiddenError):
    """The object is known, and there is no right to do this."""


class NotFoundError(ApiError, errors.NotFoundError):
    """There is no such object, or it is somebody else's."""


class StateConflictError(ApiError, errors.StateError):
    """The object's state does not allow it."""


class ParamConflictError(StateConflictError, errors.ParamConflictError):
    """A param has another value already; nothing of the call was written."""


class NameTakenError(StateConflictError, errors.NameTakenError):
    """A name that must be unique is in use."""


class PreconditionFailedError(StateConflictError, errors.PreconditionError):
    """The object has changed since it was read."""


class PreconditionRequiredError(StateConflictError, errors.PreconditionRequiredError):
    """The version that is meant has to be said."""


class RateLimitedError(ApiError, errors.RateLimitError):
    """Too many requests; `retry_after_seconds` later there is room."""


class QuotaExceededError(ApiError, errors.QuotaError):
    """A budget is spent; what fitted was kept, and ``counts`` says what."""


class UnavailableError(ApiError, errors.UnavailableError):
    """The server cannot answer now."""


class InternalError(ApiError):
    """A defect of the server."""


#: Every code and its class.
KINDS: Final[dict[ProblemCode, type[ApiError]]] = {
    ProblemCode.BODY_UNREADABLE: BodyUnreadableError,
    ProblemCode.UNAUTHENTICATED: UnauthenticatedError,
    ProblemCode.FORBIDDEN: ForbiddenError,
    ProblemCode.NOT_FOUND: NotFoundError,
    ProblemCode.METHOD_NOT_ALLOWED: MethodNotAllowedError,
    ProblemCode.PARAM_CONFLICT: ParamConflictError,
    ProblemCode.STATE_CONFLICT: StateConflictError,
    ProblemCode.NAME_TAKEN: NameTakenError,
    ProblemCode.PRECONDITION_FAILED: PreconditionFailedError,
    ProblemCode.PRECONDITION_REQUIRED: PreconditionRequiredError,
    ProblemCode.PAYLOAD_TOO_LARGE: PayloadTooLargeError,
    ProblemCode.ADDRESS_TOO_LONG: AddressTooLongError,
    ProblemCode.HEADERS_TOO_LARGE: HeadersTooLargeError,
    ProblemCode.HOST_UNKNOWN: HostUnknownError,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError,
    ProblemCode.SCHEMA_INVALID: SchemaInvalidError,
    ProblemCode.IDEMPOTENCY_MISMATCH: IdempotencyMismatchError,
    ProblemCode.RATE_LIMITED: RateLimitedError,
    ProblemCode.QUOTA_EXCEEDED: QuotaExceededError,
    ProblemCode.UNAVAILABLE: UnavailableError,
    ProblemCode.INTERNAL: InternalError,
}


def error_of_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, where: str
) -> ClientError:
    """Return what an answer that is no success means.

    Args:
        status: of HTTP, 300 or more.
        headers: with names in small letters.
        body: as far as it was read.
        where: the request, for the message.
    """
    retry_after = _seconds(headers.get("retry-after"), date=headers.get("date"))
    problem = _problem(status, body)
    if problem is None:
        if status in _GATEWAY_STATUSES:
            problem = _said_by_gateway(status, where)
        else:
            return AnswerUnreadableError(
                f"{where} was answered with status {status} and {_content(body)}: is this the address of a mapi server?"
            )
    return KINDS[problem.code](problem, retry_after_seconds=retry_after)


def _content(body: bytes) -> str:
    """Return what an answer that is not ours holds; of a page nobody wants to read the source."""
    if re.match(rb"\s*<(!doctype html|html)", body, re.IGNORECASE) is not None:
        return "a page of HTML"
    text = " ".join(body[:_SHOWN_BYTES].decode(errors="replace").split())
    return f"the text {text!r}" if text else "nothing"


def refuse_other_content(
    kinds: Sequence[str], status: int, headers: Mapping[str, str], *, where: str
) -> None:
    """Refuse an answer that is not what was asked for, before anything of it is passed on.

    Args:
        kinds: the content types that it may be of; none is any.
        status: of HTTP.
        headers: with names in small letters.
        where: the request, for the message.

    Raises:
        AnswerUnreadableError: it is packed, or of another type: the page of a proxy, most of the time.
    """
    packed = headers.get("content-encoding", "identity").strip().lower()
    if packed not in {"", "identity"}:
        raise AnswerUnreadableError(
            f"{where} was answered with content that is packed by {packed[:40]!r}, which was not asked for."
        )
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kinds and status < 300 and kind and kind not in kinds:
        raise AnswerUnreadableError(
            f"{where} was answered with content of type {kind[:80]!r}, not {' or '.join(kinds)}: is "
            "this the address of a mapi server?"
        )


#: What proxies say in place of a server that they cannot reach, or that is overrun.
_GATEWAY_STATUSES: Final = {
    429: ProblemCode.RATE_LIMITED,
    500: ProblemCode.INTERNAL,
    502: ProblemCode.UNAVAILABLE,
    503: ProblemCode.UNAVAILABLE,
    504: ProblemCode.UNAVAILABLE,
}


def _said_by_gateway(status: int, where: str) -> Problem:
    return Problem(
        type="about:blank",
        title="The server cannot be reached",
        status=status,
        detail=f"{where} was answered with status {status}, without a word from the server itself.",
        code=_GATEWAY_STATUSES[status],
        retryable=True,
    )


class _AnyProblem(Problem, kw_only=True):
    """A problem whose code may be newer than this client."""

    code: str  # type: ignore[assignment]


def _problem(status: int, body: bytes) -> Problem | None:
    try:
        found = msgspec.json.decode(body, type=_AnyProblem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    try:
        code = ProblemCode(found.code)
    except ValueError:
        code = ProblemCode.INTERNAL if status >= 500 else ProblemCode.SCHEMA_INVALID
    known = {name: getattr(found, name) for name in Problem.__struct_fields__}
    return Problem(**{**known, "code": code})


#: A server that asks for more is not waited for; the number is told all the same.
_RETRY_SECONDS_MAX: Final = 999_999.0


def _seconds(text: str | None, *, date: str | None) -> float | None:
    """Return the seconds of ``Retry-After``: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after.

    Args:
        text: seconds, or a date.
        date: what time it is for the server; its clock and ours may differ.
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:7]), _RETRY_SECONDS_MAX)
    until = _moment(text)
    if until is None:
        return None
    now = (None if date is None else _moment(date)) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), _RETRY_SECONDS_MAX)


def _moment(text: str) -> datetime | None:
    try:
        found = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
