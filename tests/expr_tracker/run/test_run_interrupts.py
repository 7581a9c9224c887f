"""What a signal handler raises reaches the program, wherever in a call it falls: nobody swallows it.

CPython runs signal handlers where a Python function is entered and where a call of a built-in comes
back; a profile function is called at just these points. Every test raises at the first of them, at
the second, and so on until the action passes undisturbed.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

import expr_tracker as et
from expr_tracker.history import read_history
from expr_tracker.loading import loading
from expr_tracker.store.lock import is_locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

PACKAGE = str(Path(et.__file__).parent)
#: No action here comes near; a count that goes on for ever fails instead of hanging.
POINTS_MAX = 20_000
#: What Python itself never lets an exception out of.
UNRAISABLE = {"__del__", "abandon_in_child"}

Outcome = Literal["undisturbed", "raised", "swallowed"]


class LimitError(TimeoutError, RuntimeError, TypeError, ValueError):
    """What the signal handler raises: an exception of every type that code of ours may expect."""


def limit(number: int, frame: FrameType | None) -> None:
    """Handle a signal as a program does that limits the time of a call."""
    raise LimitError


@pytest.fixture(autouse=True)
def _handled() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, limit)
    yield
    signal.signal(signal.SIGUSR1, before)
    if et.get_run() is not None:
        et.finish(quiet=True)


def is_unraisable(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name in UNRAISABLE:
            return True
        frame = frame.f_back
    return False


def outcome(action: Callable[[], object], point: int) -> tuple[Outcome, str]:
    """Carry out ``action``, raise at its ``point``-th point; say what came of it, and where it was."""
    seen, where = 0, ""

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen, where
        del argument
        if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(PACKAGE):
            seen += 1
            if seen == point and is_unraisable(frame):
                seen -= 1
            elif seen == point:
                where = f"{frame.f_code.co_filename}:{frame.f_lineno} {event}"
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    gc.disable()  # the finaliser of another test's object is not what is interrupted
    sys.setprofile(profile)
    try:
        action()
    except LimitError:
        return "raised", where
    finally:
        sys.setprofile(None)
        gc.enable()
    return ("swallowed" if where else "undisturbed"), where


def interrupts(
    action: Callable[[], object], after: Callable[[], object] = int, stride: int = 1
) -> int:
    """Interrupt ``action`` at every ``stride``-th point; return how often that was."""
    swallowed = []
    for point in range(1, POINTS_MAX, stride):
        what, where = outcome(action, point)
        after()
        if what == "swallowed":
            swallowed.append(where)
        if what == "undisturbed":
            assert swallowed == []
            return point // stride
    raise AssertionError("no end of points")


def begin(folder: Path, **options: Any) -> et.Run:
    return et.init("p", dir=folder, capture=False, **options)


def test_what_is_raised_within_logs_spans_and_definitions_comes_out(tmp_path: Path) -> None:
    run = begin(tmp_path)

    def train() -> None:
        et.log({"loss": 1.0, "list": [1, float("nan")], "odd": Path("x")})
        with et.span("step", note={"a": object}):
            pass
        et.define_metric("loss", summary="min")
        run.summary["best"] = 1.0
        et.log({"loss": 2.0}, step=run.step + 1, commit=True)

    assert interrupts(train) > 100


def test_a_handler_may_log_wherever_it_interrupts_a_task_that_logs(tmp_path: Path) -> None:
    run = begin(tmp_path)
    handled: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        del number, frame
        handled.append(len(handled))
        et.log({"handler": handled[-1]})

    signal.signal(signal.SIGUSR1, handler)

    async def own(points: Iterator[int]) -> None:
        for point in points:
            what, _ = outcome(lambda point=point: et.log({"own": point}), point)  # type: ignore[misc]
            if what == "undisturbed":
                return
            # The other task goes on, amid what the handler has left.
            await asyncio.sleep(0)

    async def two() -> None:
        points = iter(range(1, POINTS_MAX))
        await asyncio.gather(own(points), own(points))

    asyncio.run(two())
    et.finish(quiet=True)
    rows = read_history(run.dir, -1)
    # Both tasks came to a point that a call has not.
    own_points = sorted(row["own"] for row in rows if "own" in row)
    assert own_points == [*range(1, len(handled) + 3)]
    assert [row["handler"] for row in rows if "handler" in row] == handled
    assert handled


def test_what_is_raised_within_questions_comes_out(tmp_path: Path) -> None:
    run = begin(tmp_path)
    for step in range(5):
        et.log({"loss": step / 2, "dict": {"a": [float("inf")]}}, step=step, commit=True)

    def ask() -> None:
        et.history(3)
        et.history(-1, output_type="arrow")
        et.info()
        run.history.flush()

    assert interrupts(ask) > 100


# One falls between `os.scandir` and the block that closes what it returned.
@pytest.mark.filterwarnings("ignore:unclosed scandir:ResourceWarning")
def test_what_is_raised_within_artifacts_comes_out(tmp_path: Path) -> None:
    begin(tmp_path / "runs")
    content = tmp_path / "folder"
    content.mkdir()
    (content / "a.txt").write_text("a")
    (content / "b.txt").write_text("b")
    count = 0

    def store() -> None:
        nonlocal count
        count += 1
        (content / "a.txt").write_text(str(count))
        et.log_artifact(content, name="model", type="model", aliases=["best"])
        used = et.use_artifact("model:best")
        used.download(tmp_path / f"copy{count}")

    assert interrupts(store, stride=3) > 100
    (content / "a.txt").write_text("last")
    assert et.log_artifact(content, name="model", type="model").version is not None


@pytest.mark.parametrize("is_rich", [False, True])
def test_what_is_raised_within_init_comes_out_and_leaves_no_stream_held(
    tmp_path: Path, *, is_rich: bool
) -> None:
    options: dict[str, Any] = {"config": {"lr": 0.1, "path": Path("x")}}
    if is_rich:
        options |= {"capture_console": True, "system_metrics": True}
    count = 0

    def start() -> None:
        nonlocal count
        count += 1
        begin(tmp_path, name=f"r{count}", **options)

    def end() -> None:
        if et.get_run() is not None:
            et.finish(quiet=True)
        assert not is_locked(tmp_path / "p" / f"r{count}" / "metrics.lock")

    assert interrupts(start, end, stride=7 if is_rich else 3) > 100
    entered = threading.Event()

    def load() -> None:
        with loading.gate():
            entered.set()

    threading.Thread(target=load, daemon=True).start()
    assert entered.wait(10), "no lock stays behind that other threads need"


@pytest.mark.parametrize("is_rich", [False, True])
def test_what_is_raised_within_finish_comes_out_and_another_finish_ends_the_run(
    tmp_path: Path, *, is_rich: bool
) -> None:
    options = {"capture_console": True, "system_metrics": True} if is_rich else {}
    count = 0

    def start() -> None:
        nonlocal count
        count += 1
        begin(tmp_path, name=f"r{count}", durability="buffered", **options)
        et.log({"loss": 0.5}, step=0, commit=True)
        et.log({"loss": 0.25}, step=1)

    def end_and_start() -> None:
        directory = tmp_path / "p" / f"r{count}"
        et.finish(quiet=True)
        assert not is_locked(directory / "metrics.lock")
        assert [row["loss"] for row in read_history(directory)] == [0.5, 0.25]
        start()

    start()
    assert interrupts(lambda: et.finish(quiet=True), end_and_start, 7 if is_rich else 2) > 100
