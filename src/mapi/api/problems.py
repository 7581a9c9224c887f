"""From an exception to the answer of RFC 9457: the one table of statuses and codes."""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from mapi import errors
from mapi.api.queries import query_parameters, rule_of
from mapi.wire.decoding import FAULTS_MAX, pointer
from mapi.wire.enums import ProblemCode
from mapi.wire.problems import PROBLEM_MEDIA_TYPE, Problem, ProblemFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Request
    from litestar.handlers.base import BaseRouteHandler

__all__ = ["IS_GONE", "answer_to", "answers_by_exception", "encoded_problem", "problem_fault"]

_logger: Final = logging.getLogger("mapi.api")
#: What a request's state holds when its client went away before the end of the body.
IS_GONE: Final = "is_gone"
#: Where the codes are explained.
_PAGES: Final = "https://expr-tracker.readthedocs.io/problems/"
_RETRY_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class _Kind:
    status: int
    code: ProblemCode
    title: str


_KINDS: Final[dict[type[Exception], _Kind]] = {
    errors.AuthenticationError: _Kind(401, ProblemCode.UNAUTHENTICATED, "Who is asking?"),
    errors.ForbiddenError: _Kind(403, ProblemCode.FORBIDDEN, "There is no right to this"),
    errors.NotFoundError: _Kind(404, ProblemCode.NOT_FOUND, "There is no such thing"),
    errors.ParamConflictError: _Kind(
        409, ProblemCode.PARAM_CONFLICT, "A param has another value already"
    ),
    errors.NameTakenError: _Kind(409, ProblemCode.NAME_TAKEN, "The name is taken"),
    errors.PreconditionError: _Kind(
        412, ProblemCode.PRECONDITION_FAILED, "It has changed since it was read"
    ),
    errors.PreconditionRequiredError: _Kind(
        428, ProblemCode.PRECONDITION_REQUIRED, "Which version is meant?"
    ),
    errors.StateError: _Kind(409, ProblemCode.STATE_CONFLICT, "Its state does not allow this"),
    errors.QuotaError: _Kind(429, ProblemCode.QUOTA_EXCEEDED, "A budget is spent"),
    errors.RateLimitError: _Kind(429, ProblemCode.RATE_LIMITED, "Too many requests"),
    errors.UnavailableError: _Kind(503, ProblemCode.UNAVAILABLE, "Not now"),
    errors.InvalidError: _Kind(422, ProblemCode.SCHEMA_INVALID, "The request is not correct"),
}
#: Faults that are not of a field, but of the whole body.
_BODY_KINDS: Final = {
    ProblemCode.BODY_UNREADABLE: _Kind(400, ProblemCode.BODY_UNREADABLE, "This is no JSON"),
    ProblemCode.PAYLOAD_TOO_LARGE: _Kind(413, ProblemCode.PAYLOAD_TOO_LARGE, "This is too large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: _Kind(
        415, ProblemCode.UNSUPPORTED_MEDIA_TYPE, "This kind of content is not read here"
    ),
    ProblemCode.ADDRESS_TOO_LONG: _Kind(
        414, ProblemCode.ADDRESS_TOO_LONG, "The address is too long"
    ),
    ProblemCode.HEADERS_TOO_LARGE: _Kind(
        431, ProblemCode.HEADERS_TOO_LARGE, "The headers are too large"
    ),
    ProblemCode.HOST_UNKNOWN: _Kind(421, ProblemCode.HOST_UNKNOWN, "This is another server"),
    ProblemCode.IDEMPOTENCY_MISMATCH: _Kind(
        422, ProblemCode.IDEMPOTENCY_MISMATCH, "The key was used for another request"
    ),
}
_FRAMEWORK_CODES: Final = {
    400: ProblemCode.SCHEMA_INVALID,
    401: ProblemCode.UNAUTHENTICATED,
    403: ProblemCode.FORBIDDEN,
    404: ProblemCode.NOT_FOUND,
    405: ProblemCode.METHOD_NOT_ALLOWED,
    413: ProblemCode.PAYLOAD_TOO_LARGE,
    415: ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    429: ProblemCode.RATE_LIMITED,
}
_MISSING: Final = re.compile(r"Missing required query parameter '([^']*)'")
_encoder: Final = msgspec.json.Encoder()


def answer_to(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return the answer to a request that raised ``error``."""
    state = request.scope.get("state", {})
    request_id = state.get("request_id", "")
    if state.get(IS_GONE) and isinstance(error, (errors.MapiError, HTTPException)):
        # Nobody reads it; it is counted as what proxies write then.
        _logger.debug("the client went away before the end of its body: %s", error)
        return Response(b"", status_code=499, media_type=PROBLEM_MEDIA_TYPE)
    status, headers, body = encoded_problem(
        error,
        request_id=request_id,
        handler=request.scope.get("route_handler"),
        query=list(request.query_params.multi_items()),
    )
    return Response(
        body,
        status_code=status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers=headers,
    )


def encoded_problem(
    error: Exception,
    *,
    request_id: str,
    handler: BaseRouteHandler | None = None,
    query: Sequence[tuple[str, str]] = (),
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer; a defect goes into the server's log.

    Args:
        error: what was raised.
        request_id: of the request.
        handler: the route that was asked for, which knows how its parameters are called.
        query: the parameters that were sent.
    """
    problem, headers = _problem_of(error, handler, query)
    problem.request_id = request_id
    if problem.code is ProblemCode.INTERNAL:
        _logger.error("request failed", exc_info=error, extra={"request_id": request_id})
    return problem.status, headers, _encoder.encode(problem)


def answers_by_exception() -> dict[type[Exception] | int, Any]:
    """Return what the application does with each exception."""
    return {Exception: answer_to, HTTPException: answer_to}


def _problem_of(
    error: Exception, handler: BaseRouteHandler | None, query: Sequence[tuple[str, str]]
) -> tuple[Problem, dict[str, str]]:
    if isinstance(error, HTTPException):
        return _framework_problem(error, handler, query)
    kind = _kind_of(error)
    if kind is None:
        return _problem(
            _Kind(500, ProblemCode.INTERNAL, "This is a defect of the server"),
            "The server failed; its log has the details under this request id.",
        ), {}
    problem = _problem(kind, str(error))
    headers: dict[str, str] = {}
    if isinstance(error, (errors.InvalidError, errors.StateError)):
        problem.errors = [problem_fault(one) for one in error.faults[:FAULTS_MAX]]
    if isinstance(error, errors.QuotaError):
        # Clients repeat a 429; this one answers the same until somebody raises the budget.
        problem.retryable = False
        for name, value in error.counts.items():
            setattr(problem, name, value)
    if isinstance(error, errors.OutOfTurnError):
        problem.accepted_seq = error.accepted_seq
    if isinstance(error, errors.UnavailableError):
        problem.retryable = True
        headers["Retry-After"] = str(_RETRY_SECONDS)
    if isinstance(error, errors.RateLimitError):
        problem.retryable = True
        headers["Retry-After"] = str(math.ceil(error.seconds))
    if isinstance(error, errors.AuthenticationError):
        headers["WWW-Authenticate"] = "Bearer"
    return problem, headers


def _kind_of(error: Exception) -> _Kind | None:
    if isinstance(error, errors.InvalidError):
        code = error.faults[0].code
        if code in _BODY_KINDS:
            return _BODY_KINDS[ProblemCode(code)]
    for base in type(error).__mro__:
        if base in _KINDS:
            return _KINDS[base]
    return None


def _framework_problem(
    error: HTTPException, handler: BaseRouteHandler | None, query: Sequence[tuple[str, str]]
) -> tuple[Problem, dict[str, str]]:
    code = _FRAMEWORK_CODES.get(error.status_code, ProblemCode.SCHEMA_INVALID)
    # What the framework finds wrong with a query or a body is a fault of the schema.
    status = 422 if code is ProblemCode.SCHEMA_INVALID else error.status_code
    if error.status_code >= 500:
        status, code = error.status_code, ProblemCode.INTERNAL
    faults = _framework_faults(error, handler, query)
    detail = "; ".join(
        f"{one.pointer}: {one.message}" if one.pointer else one.message for one in faults
    )
    if not faults and code is ProblemCode.SCHEMA_INVALID:
        faults = [ProblemFault(pointer="", message=error.detail)]
    if code is ProblemCode.PAYLOAD_TOO_LARGE:
        detail = _too_large(handler)
    problem = _problem(_Kind(status, code, _title_of(code)), detail or error.detail)
    problem.errors = faults
    return problem, dict(error.headers or {})


def _title_of(code: ProblemCode) -> str:
    kinds = (*_BODY_KINDS.values(), *_KINDS.values())
    found = next((one.title for one in kinds if one.code is code), None)
    return found or code.value.replace("_", " ").capitalize()


def _too_large(handler: BaseRouteHandler | None) -> str:
    limit = None
    if isinstance(handler, HTTPRouteHandler):
        limit = handler.resolve_request_max_body_size()
    size = "" if limit is None else f" than {limit / (1 << 20):g} MiB ({limit} bytes)"
    return f"The body is larger{size}, the most that is taken here; send it in parts."


def _framework_faults(
    error: HTTPException, handler: BaseRouteHandler | None, query: Sequence[tuple[str, str]]
) -> list[ProblemFault]:
    """Return what the framework found wrong with single parameters."""
    missing = _MISSING.match(error.detail)
    if missing is not None:
        return [ProblemFault(pointer=pointer("query", missing[1]), message="it is missing")]
    found = error.extra if isinstance(error.extra, list) else []
    known = () if handler is None else query_parameters(handler)
    by_argument = {one.argument: one for one in known}
    faults = []
    for one in found[:FAULTS_MAX]:
        if not isinstance(one, dict) or "key" not in one or "message" not in one:
            continue
        parameter = by_argument.get(one["key"])
        if parameter is None:
            faults.append(
                ProblemFault(pointer=pointer("query", one["key"]), message=one["message"])
            )
            continue
        sent = ", ".join(repr(value[:80]) for name, value in query if name == parameter.name)
        message = f"{sent or 'nothing'} is given, expected {rule_of(parameter)}"
        faults.append(ProblemFault(pointer=pointer("query", parameter.name), message=message))
    return faults


def _problem(kind: _Kind, detail: str) -> Problem:
    return Problem(
        type=_PAGES + kind.code.value.lower().replace("_", "-"),
        title=kind.title,
        status=kind.status,
        detail=detail,
        code=kind.code,
    )


def problem_fault(fault: errors.Fault) -> ProblemFault:
    """Return a fault as an answer tells it."""
    return ProblemFault(
        pointer=fault.pointer,
        message=fault.message,
        code=fault.code,
        offset=fault.offset,
        length=fault.length,
        expected=list(fault.expected),
    )
