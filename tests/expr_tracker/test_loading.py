from __future__ import annotations

import os
import threading

import pytest

from expr_tracker.loading import loading

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _guarding() -> None:
    """The first block through the gate registers the hooks of `os.fork`."""
    with loading.gate():
        pass


def fork_and_enter() -> int:
    """Fork a child that passes the gate; return its exit status."""
    pid = os.fork()
    if pid == 0:
        done = threading.Event()

        def enter() -> None:
            with loading.gate():
                done.set()

        threading.Thread(target=enter, daemon=True).start()
        os._exit(0 if done.wait(10) else 1)
    return os.waitpid(pid, 0)[1]


def test_a_fork_waits_until_no_other_thread_is_loading() -> None:
    inside, leave = threading.Event(), threading.Event()
    events: list[str] = []

    def load() -> None:
        with loading.gate():
            inside.set()
            leave.wait(10)
            events.append("loaded")

    def fork() -> None:
        assert fork_and_enter() == 0
        events.append("forked")

    loader, forker = threading.Thread(target=load), threading.Thread(target=fork)
    loader.start()
    assert inside.wait(10)
    forker.start()
    leave.set()
    loader.join()
    forker.join()
    assert events == ["loaded", "forked"]


def test_a_fork_from_inside_leaves_the_gate_open_in_both_processes() -> None:
    with loading.gate():
        assert fork_and_enter() == 0
    assert fork_and_enter() == 0
    entered = threading.Event()

    def enter() -> None:
        with loading.gate():
            entered.set()

    threading.Thread(target=enter).start()
    assert entered.wait(10)
