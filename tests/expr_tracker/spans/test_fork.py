"""What a forked child sees of its parent's spans and plugins."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import ForkedObjectError
from expr_tracker.plugins import CpuTime, GpuStats, TorchMemory
from expr_tracker.spans import gpu_stats

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    # 3.12 and later warn about fork beside threads, which one of these tests is about.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def in_child(check: Callable[[], None]) -> None:
    """Run ``check`` in a forked child and fail here if it failed there."""
    pid = os.fork()
    if pid == 0:
        try:
            check()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not run the rest of the tests
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_the_stack_is_empty_in_the_child(room: Any) -> None:
    def check() -> None:
        with room.span("b") as span:
            pass
        assert span.path == "b"

    with room.span("a"):
        in_child(check)
        with room.span("c") as after:
            pass
    assert after.path == "a/c"


def test_the_parents_span_is_refused_in_the_child(room: Any, run: Any) -> None:
    span, unused = room.start_span("a"), room.span("b")

    def check() -> None:
        for use in (span.end, span.set, span.begin, unused.begin, unused.__enter__):
            with pytest.raises(ForkedObjectError, match="parent process"):
                use()
        with pytest.raises(RuntimeError):
            span.__exit__(None, None, None)
        # An exception on its way out is not replaced.
        span.__exit__(SystemExit, SystemExit(), None)

    in_child(check)
    span.end()
    assert run.paths == ["a"]


def test_a_function_decorated_in_the_parent_works_in_the_child(room: Any, run: Any) -> None:
    @room.span("work")  # type: ignore[untyped-decorator]
    def work() -> int:
        return 3

    def check() -> None:
        assert work() == 3
        assert run.paths == ["work"]

    in_child(check)


@pytest.mark.parametrize("make", [CpuTime, TorchMemory, GpuStats])
def test_the_parents_plugin_is_refused_in_the_child(make: Any, room: Any) -> None:
    plugin = make()

    def check() -> None:
        with pytest.raises(ForkedObjectError, match=f"The plugin {make.__name__}"):
            plugin.start(room.span("x"))
        span = room.span("x", plugins=[plugin])
        with pytest.raises(ForkedObjectError):
            span.begin()
        assert not span.is_open
        with room.span("y", plugins=[CpuTime()]) as own:
            pass
        assert own.path == "y"
        assert "cpu_time_ms" in own.metrics

    in_child(check)


def test_no_inherited_lock_is_touched(room: Any) -> None:
    """Another thread of the parent holds the samplers' lock at the moment of the fork."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with gpu_stats._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def check() -> None:
        sys.modules["pynvml"] = None  # type: ignore[assignment]
        with room.span("x", plugins=[GpuStats()]):
            pass

    try:
        in_child(check)
    finally:
        release.set()
        thread.join()
