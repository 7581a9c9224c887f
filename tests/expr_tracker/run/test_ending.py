"""Signals and exits, as far as one process can show them; the acceptance tests kill real ones."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from expr_tracker.run.ending import SignalWatch, watch_child_exit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")


class Watched:
    """A watch and what it was asked to do."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.watch = SignalWatch(
            lambda number: self.calls.append(f"leave {number}"),
            lambda: self.calls.append("checkpoint"),
        )


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_over_the_default_action_it_leaves() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    watched = Watched()
    watched.watch.install()
    signal.raise_signal(signal.SIGTERM)
    assert watched.calls == [f"leave {int(signal.SIGTERM)}"]
    watched.watch.restore()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_in_front_of_a_handler_it_makes_memory_safe_and_lets_the_handler_decide() -> None:
    watched = Watched()

    def mine(number: int, frame: FrameType | None) -> None:
        watched.calls.append("mine")

    signal.signal(signal.SIGTERM, mine)
    watched.watch.install()
    signal.raise_signal(signal.SIGTERM)
    assert watched.calls == ["checkpoint", "mine"]
    watched.watch.restore()
    assert signal.getsignal(signal.SIGTERM) is mine


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    watched = Watched()
    watched.watch.install()
    signal.raise_signal(signal.SIGHUP)
    assert watched.calls == []
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    watched.watch.restore()


def test_a_handler_that_came_later_is_left_in_place() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    watched = Watched()
    watched.watch.install()

    def later(number: int, frame: FrameType | None) -> None:
        watched.calls.append("later")

    signal.signal(signal.SIGTERM, later)
    watched.watch.restore()
    assert signal.getsignal(signal.SIGTERM) is later


def test_another_thread_installs_and_restores_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    watched = Watched()
    for action in (watched.watch.install, watched.watch.restore):
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "succeeded"), (ValueError(), "failed"), (KeyboardInterrupt(), "cancelled")],
    ids=repr,
)
def test_the_exception_that_ended_the_interpreter_decides_the_status(
    monkeypatch: pytest.MonkeyPatch, error: BaseException | None, status: str
) -> None:
    if error is None:
        monkeypatch.delattr(sys, "last_value", raising=False)
    else:
        monkeypatch.setattr(sys, "last_value", error, raising=False)
    assert Watched().watch.status_at_exit() == status


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SystemExit(0), "succeeded"),
        (SystemExit(), "succeeded"),
        (SystemExit(2), "failed"),
        (ValueError(), "failed"),
        (KeyboardInterrupt(), "cancelled"),
    ],
    ids=repr,
)
def test_the_exception_that_is_being_handled_decides_the_status(
    error: BaseException, status: str
) -> None:
    try:
        _raise(error)
    except BaseException:  # noqa: BLE001 - it is the point
        assert Watched().watch.status_at_exit() == status


class TerminatedError(Exception):
    """What a program makes of a signal."""


def watched_handler(number: signal.Signals, error: BaseException | None) -> SignalWatch:
    """Return a watch in front of a handler that has just seen a signal and raised ``error``."""

    def mine(number: int, frame: FrameType | None) -> None:
        if error is not None:
            raise error

    signal.signal(number, mine)
    watch = Watched().watch
    watch.install()
    with contextlib.nullcontext() if error is None else pytest.raises(type(error)):
        signal.raise_signal(number)
    watch.restore()
    return watch


@pytest.mark.parametrize(
    ("number", "raised", "status"),
    [
        (signal.SIGTERM, None, "cancelled"),
        (signal.SIGTERM, SystemExit(143), "cancelled"),
        (signal.SIGTERM, SystemExit(0), "cancelled"),
        (signal.SIGHUP, SystemExit(1), "cancelled"),
        (signal.SIGHUP, None, "succeeded"),
    ],
    ids=repr,
)
def test_a_program_that_ends_without_an_error_behind_a_signal_was_cancelled_by_it(
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    raised: BaseException | None,
    status: str,
) -> None:
    # sys.exit() leaves no trace for exit hooks, so this is all that can be known of it.
    monkeypatch.delattr(sys, "last_value", raising=False)
    assert watched_handler(number, raised).status_at_exit() == status


@pytest.mark.parametrize(
    ("raised", "ended_by", "status"),
    [
        (SystemExit(143), "the same", "cancelled"),
        (TerminatedError(), "the same", "cancelled"),
        (None, SystemExit(3), "cancelled"),
        (None, SystemExit(0), "succeeded"),
        (None, ValueError(), "failed"),
        (TerminatedError(), ValueError(), "failed"),
    ],
    ids=repr,
)
def test_what_ended_a_block_is_told_from_what_a_signals_handler_raised(
    raised: BaseException | None, ended_by: BaseException | str, status: str
) -> None:
    watch = watched_handler(signal.SIGTERM, raised)
    error = raised if isinstance(ended_by, str) else ended_by
    assert watch.status_after(error) == status


def test_outside_of_a_multiprocessing_child_there_is_nothing_to_watch() -> None:
    called: list[int] = []
    unwatch = watch_child_exit(lambda: called.append(os.getpid()))
    unwatch()
    assert called == []
