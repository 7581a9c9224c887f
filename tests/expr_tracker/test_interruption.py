"""Whose an exception is: a signal handler's, or that of the code it fell into."""

from __future__ import annotations

import functools
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.interruption import is_from_signal, suppress_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def plain(number: int, frame: object) -> None:
    raise TimeoutError(number)


def of_any(*arguments: Any) -> None:
    raise TimeoutError


def restoring(number: int, frame: object) -> None:
    """Raise once only, deep below."""
    signal.signal(number, signal.SIG_IGN)
    of_any()


def with_option(number: int, frame: object, *, text: str) -> None:
    raise TimeoutError(text)


class Limit:
    def __call__(self, number: int, frame: object) -> None:
        raise TimeoutError

    def handle(self, number: int, frame: object) -> None:
        raise TimeoutError


HANDLERS: list[Callable[..., Any]] = [
    plain,
    of_any,
    restoring,
    functools.partial(with_option, text="late"),
    Limit(),
    Limit().handle,
    lambda *_: of_any(),
]


@pytest.fixture
def _restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("handler", HANDLERS)
def test_what_a_handler_raises_is_told_at_any_depth(handler: Callable[..., Any]) -> None:
    signal.signal(signal.SIGUSR1, handler)

    def deep(depth: int) -> None:
        if depth == 0:
            signal.raise_signal(signal.SIGUSR1)
        else:
            deep(depth - 1)

    for depth in (0, 5):
        with pytest.raises(TimeoutError) as caught:
            deep(depth)
        signal.signal(signal.SIGUSR1, handler)
        assert is_from_signal(caught.value)


def look_up(number: int, table: dict[str, int]) -> int:
    frame = sys._getframe(1)  # a frame that it was not handed
    return table[f"{number}{frame.f_lineno}"]


def recurse(number: int) -> int:
    return recurse(number + 1)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda: look_up(1, {}), id="a call that looks at its caller's frame"),
        pytest.param(lambda: os.close(-1), id="a built-in function"),
        pytest.param(lambda: recurse(1), id="a deep one"),
    ],
)
def test_any_other_exception_is_none_of_a_handlers(action: Callable[[], object]) -> None:
    with pytest.raises((OSError, KeyError, RecursionError)) as caught:
        action()
    assert not is_from_signal(caught.value)


@pytest.mark.usefixtures("_restored")
def test_only_exceptions_of_our_own_and_of_the_types_named_are_suppressed() -> None:
    signal.signal(signal.SIGUSR1, plain)
    with suppress_own(OSError, ValueError):
        os.close(-1)
    with pytest.raises(KeyError), suppress_own(OSError):
        look_up(1, {})
    with pytest.raises(TimeoutError), suppress_own(OSError):
        signal.raise_signal(signal.SIGUSR1)
