"""Functions as spans: each call is one, from its first instruction to its last.

A generator's span lasts for the whole iteration and stands on the stack only while the generator's
own code runs: what the consumer measures between two values is not part of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from expr_tracker.texts import shown

if TYPE_CHECKING:
    from expr_tracker.spans.span import Span

__all__ = ["decorated"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def decorated(make: Callable[[], Span], function: _Function) -> _Function:
    """Return ``function`` so that each call is a span of ``make``.

    Raises:
        TypeError: it is no function.
    """
    if isinstance(function, type) or not callable(function):
        raise TypeError(
            f"@span(...) decorates functions, not {shown(function)}; put @classmethod and @property "
            "above it, and in a class decorate the methods."
        )
    call = function if inspect.isroutine(function) else type(function).__call__
    made: Callable[..., Any]
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(call):
        made = _async_generator(make, function)
    elif inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(call):
        made = _generator(make, function)
    elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        made = _coroutine(make, function)
    else:
        made = _plain(make, function)
    return cast("_Function", made)


def _plain(make: Callable[[], Span], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def measured(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return measured


def _coroutine(make: Callable[[], Span], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def measured(*args: Any, **kwargs: Any) -> Any:
        with make():
            return await function(*args, **kwargs)

    return measured


def _generator(make: Callable[[], Span], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def measured(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        # "yield from" cannot step off the stack between two values, so this is what it stands for
        # (PEP 380), with the span stepping off and on.
        with make() as span:
            generator = function(*args, **kwargs)
            advance, argument = generator.send, None
            while True:
                try:
                    value = advance(argument)
                except StopIteration as stop:
                    return stop.value
                span.pause()
                try:
                    argument = yield value
                    advance = generator.send
                except GeneratorExit:
                    span.resume()
                    generator.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown in by the consumer
                    advance, argument = generator.throw, error
                span.resume()

    return measured


def _async_generator(make: Callable[[], Span], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def measured(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with make() as span:
            generator = function(*args, **kwargs)
            advance, argument = generator.asend, None
            while True:
                try:
                    value = await advance(argument)
                except StopAsyncIteration:
                    return
                span.pause()
                try:
                    argument = yield value
                    advance = generator.asend
                except GeneratorExit:
                    span.resume()
                    await generator.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown in by the consumer
                    advance, argument = generator.athrow, error
                span.resume()

    return measured
