"""The platform half: the log of every run of a team, searchable and isolated by tenant.

    import mapi

    api = mapi.Client()                     # finds the server of this machine, or that of `mapi login`
    with api.runs.create(name="first", params={"lr": 0.1}) as run:
        for step in range(100):
            run.log({"loss": 1 / (step + 1)}, step=step)

    for found in api.runs.list(filter="metrics.loss.min < 0.3", columns=["metrics.loss.min"]):
        print(found.name, found.values)

It keeps metrics with labels, params, tags, log lines, media and spans next to the run, in
PostgreSQL. The library never needs it.

The rooms, from what a request meets first to what knows nothing of the others: `cli` is the
command ``mapi``; `serve` starts and stops everything; `api` is HTTP; `tracking` is the log, its
one path in and its readers; `sdk` the client for Python, `filters` its searches as
expressions, and `follow` brings run directories to a server with it; `access` says who asks and what they may do; `database` is the one door to PostgreSQL
and `objects` the one to the store of bytes. Pure below them: `search` is the language of filters,
`series` the rules of the log, `wire` the shapes that travel, `config` the settings and `errors`
what can go wrong.

The names below are loaded when they are used: ``import mapi`` alone costs nothing, and what needs
an extra (``client`` here, ``platform`` for the server) says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mapi import filters
    from mapi.errors import InvalidError, MapiError, SettingError
    from mapi.sdk.asynchronous.client import AsyncClient
    from mapi.sdk.asynchronous.run import AsyncRun
    from mapi.sdk.calls import Producer
    from mapi.sdk.errors import (
        AddressTooLongError,
        AnswerUnreadableError,
        ApiError,
        BodyUnreadableError,
        ClientError,
        ConnectionFailedError,
        DeadlineError,
        ForbiddenError,
        HeadersTooLargeError,
        HostUnknownError,
        IdempotencyMismatchError,
        InternalError,
        MethodNotAllowedError,
        NameTakenError,
        NotFoundError,
        ParamConflictError,
        PayloadTooLargeError,
        PreconditionFailedError,
        PreconditionRequiredError,
        QuotaExceededError,
        RateLimitedError,
        SchemaInvalidError,
        ServerUnreachableError,
        StateConflictError,
        UnauthenticatedError,
        UnavailableError,
        UnsupportedMediaTypeError,
    )
    from mapi.sdk.queueing import Place
    from mapi.sdk.synchronous.client import Client
    from mapi.sdk.synchronous.run import Run

__all__ = [
    "AddressTooLongError",
    "AnswerUnreadableError",
    "ApiError",
    "AsyncClient",
    "AsyncRun",
    "BodyUnreadableError",
    "Client",
    "ClientError",
    "ConnectionFailedError",
    "DeadlineError",
    "ForbiddenError",
    "HeadersTooLargeError",
    "HostUnknownError",
    "IdempotencyMismatchError",
    "InternalError",
    "InvalidError",
    "MapiError",
    "MethodNotAllowedError",
    "NameTakenError",
    "NotFoundError",
    "ParamConflictError",
    "PayloadTooLargeError",
    "Place",
    "PreconditionFailedError",
    "PreconditionRequiredError",
    "Producer",
    "QuotaExceededError",
    "RateLimitedError",
    "Run",
    "SchemaInvalidError",
    "ServerUnreachableError",
    "SettingError",
    "StateConflictError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedMediaTypeError",
    "filters",
]

_LAZY = {
    "AsyncClient": "mapi.sdk.asynchronous.client",
    "AsyncRun": "mapi.sdk.asynchronous.run",
    "Client": "mapi.sdk.synchronous.client",
    "InvalidError": "mapi.errors",
    "MapiError": "mapi.errors",
    "Place": "mapi.sdk.queueing",
    "Producer": "mapi.sdk.calls",
    "Run": "mapi.sdk.synchronous.run",
    "SettingError": "mapi.errors",
}


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib  # noqa: PLC0415 - only names that are not loaded come here

        if name not in __all__:
            raise AttributeError(f"module 'mapi' has no attribute {name!r}")
        if name == "filters":
            return importlib.import_module("mapi.filters")
        module = _LAZY.get(name, "mapi.sdk.errors")
        try:
            value = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name is not None and error.name.split(".")[0] in {"mapi", "expr_tracker"}:
                raise
            from expr_tracker.extras import install_command  # noqa: PLC0415 - for who lacks it

            raise ImportError(
                f"mapi.{name} needs {error.name}: {install_command('client')}"
            ) from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__", "__file__", "__name__", "__path__"})
