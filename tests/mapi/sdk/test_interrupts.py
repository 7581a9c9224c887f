"""What a signal handler raises leaves everything whole, wherever in a call of the client it falls.

CPython runs signal handlers where a Python function is entered and where a call of a built-in comes
back; a profile function is called at just these points. Every test raises at the first of them, at
the second, and so on until the action passes undisturbed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.sdk.asking import TOKEN
from tests.mapi.sdk.small_servers import problem, says, serving_script
from tests.mapi.sdk.test_run import FINE, answering
from tests.mapi.sdk.test_transport import COUNTS

import mapi
from mapi.sdk.points import BATCH_POINTS, PointBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from tests.mapi.sdk.small_servers import SmallServer

PACKAGE = str(Path(mapi.__file__).parent)
#: No action here comes near; a count that goes on for ever fails instead of hanging.
POINTS_MAX = 20_000
KEYS = ("acc", "loss", "lr")


def interrupting(
    action: Callable[[], object],
    point: int,
    handler: Callable[[], object],
    *,
    within: str = PACKAGE,
) -> bool:
    """Carry out ``action``, and call ``handler`` at its ``point``-th point; say whether it did."""
    with interrupted(point, handler, within=within) as was_handled:
        action()
    return was_handled()


@contextlib.contextmanager
def interrupted(
    point: int, handler: Callable[[], object], *, within: str = PACKAGE
) -> Iterator[Callable[[], bool]]:
    """Call ``handler`` at the ``point``-th point of a block; what is given says whether it came to that."""
    seen = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        del argument
        if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(within):
            seen += 1
            if seen == point:
                sys.setprofile(None)
                handler()

    gc.disable()
    sys.setprofile(profile)
    try:
        yield lambda: seen >= point
    finally:
        sys.setprofile(None)
        gc.enable()


def is_interrupted(action: Callable[[], object], point: int) -> bool:
    """Carry out ``action``, and raise at its ``point``-th point; say whether it has so many."""
    seen = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        del argument
        if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(PACKAGE):
            seen += 1
            if seen == point:
                sys.setprofile(None)
                raise KeyboardInterrupt

    gc.disable()  # the finaliser of another test's object is not what is interrupted
    sys.setprofile(profile)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        gc.enable()
    assert seen < point, "the exception of a signal was swallowed"
    return False


def points_of(bodies: list[bytes]) -> dict[str, dict[int, list[float]]]:
    """Return what several requests say together: values by key and step."""
    found: dict[str, dict[int, list[float]]] = {}
    for body in bodies:
        for one in json.loads(body)["series"]:
            assert len(one["steps"]) == len(one["values"]) == len(one["times"])
            of_key = found.setdefault(one["key"], {})
            for step, value in zip(one["steps"], one["values"], strict=True):
                of_key.setdefault(step, []).append(value)
    return found


def add(buffer: PointBuffer, step: int) -> None:
    buffer.add({key: step + at / 10 for at, key in enumerate(KEYS)}, step=step)


def test_an_interrupted_add_keeps_all_of_its_values_or_none() -> None:
    outcomes = set()
    for point in range(1, POINTS_MAX):
        buffer = PointBuffer()
        add(buffer, 0)
        is_cut = is_interrupted(lambda buffer=buffer: add(buffer, 1), point)  # type: ignore[misc]
        count = len(buffer)
        add(buffer, 2)
        assert len(buffer) == count + 3
        found = points_of([one.body() for one in buffer.batches()])
        has_it = count == 6
        outcomes.add((is_cut, has_it))
        steps = [0, 1, 2] if has_it else [0, 2]
        assert found == {
            key: {step: [step + at / 10] for step in steps} for at, key in enumerate(KEYS)
        }
        if not is_cut:
            break
    assert outcomes == {(True, False), (True, True), (False, True)}


def test_what_an_interrupted_add_left_is_taken_back_also_by_a_call_that_is_interrupted() -> None:
    for point in range(1, POINTS_MAX):
        is_cut = False
        for other in range(1, POINTS_MAX):
            buffer = PointBuffer()
            add(buffer, 0)
            is_cut = is_interrupted(lambda buffer=buffer: add(buffer, 1), point)  # type: ignore[misc]
            count = len(buffer)
            is_cut_again = is_interrupted(buffer.take, other)
            found = points_of([one.body() for one in buffer.batches()])
            assert {key: len(steps) for key, steps in found.items()} == dict.fromkeys(
                KEYS, count // 3
            )
            if not is_cut_again:
                break
        if not is_cut:
            return
    raise AssertionError("no end of points")


def test_interrupted_batches_lose_nothing_and_are_counted_once() -> None:
    steps = BATCH_POINTS // 3 + 5
    full = PointBuffer()
    for step in range(steps):
        add(full, step)
    # The points of the encoder are those of `Batch.body`, which changes nothing.
    for point in range(1, POINTS_MAX):
        buffer = PointBuffer()
        for series, column in full._columns.items():
            buffer.add_column(series, column)
        arrived: list[Any] = []

        def send(buffer: PointBuffer = buffer, arrived: list[Any] = arrived) -> None:
            for batch in buffer.batches():
                arrived.append({of: len(column) for of, column in batch.columns.items()})
                buffer.done(batch, refused=1)

        is_cut = is_interrupted(send, point)
        taken = len(buffer)
        assert taken in {steps * 3, steps * 3 - BATCH_POINTS, 0}
        assert buffer.refused == {steps * 3: 0, 0: 2}.get(taken, 1)
        send()
        assert len(buffer) == 0
        assert buffer.refused == 2
        sums: dict[Any, int] = {}
        for batch in [one for at, one in enumerate(arrived) if one not in arrived[:at]]:
            for of, length in batch.items():
                sums[of] = sums.get(of, 0) + length
        assert set(sums.values()) == {steps}
        if not is_cut:
            return
    raise AssertionError("no end of points")


def with_one_add() -> PointBuffer:
    buffer = PointBuffer()
    add(buffer, 0)
    return buffer


def with_half_an_add() -> PointBuffer:
    """Return points of one `add` and some of another one, which was cut off."""
    for point in range(1, POINTS_MAX):
        buffer = with_one_add()
        assert is_interrupted(lambda buffer=buffer: add(buffer, 9), point)  # type: ignore[misc]
        if sum(map(len, buffer._columns.values())) > len(buffer):
            return buffer
    raise AssertionError("no end of points")


@pytest.mark.parametrize("acts", ["add", "take", "undo", "done"])
@pytest.mark.parametrize("handles", ["add", "take", "send"])
@pytest.mark.timeout(60)
def test_a_handler_may_use_the_points_that_its_own_thread_works_on(
    acts: str, handles: str
) -> None:
    for point in range(1, POINTS_MAX):
        # Half of an `add` is there, and has to be taken back first.
        buffer = with_half_an_add() if acts == "undo" else with_one_add()
        sent: list[bytes] = []

        def send(buffer: PointBuffer = buffer, sent: list[bytes] = sent) -> None:
            for batch in buffer.batches():
                sent.append(batch.body())
                buffer.done(batch)

        actions: dict[str, Callable[[], object]] = {
            "add": lambda buffer=buffer: add(buffer, 1),  # type: ignore[misc]
            "undo": lambda buffer=buffer: add(buffer, 1),  # type: ignore[misc]
            "take": buffer.take,
            "done": send,
        }
        handlers: dict[str, Callable[[], object]] = {
            "add": lambda buffer=buffer: add(buffer, 2),  # type: ignore[misc]
            "take": buffer.take,
            "send": send,
        }
        was_handled = interrupting(actions[acts], point, handlers[handles])
        count = len(buffer)
        rest = len(sent)
        send()
        assert len(buffer) == 0
        steps = {0} | ({1} if acts in {"add", "undo"} else set())
        steps |= {2} if handles == "add" and was_handled else set()
        found = points_of(sent)
        # What was on its way when the handler sent it may come twice; the server keeps it once.
        assert found.keys() == set(KEYS)
        assert all(one.keys() == steps for one in found.values()), point
        if acts != "done":
            assert all(values == [values[0]] for one in found.values() for values in one.values())
            assert count == sum(map(len, points_of(sent[rest:]).get("loss", {}).values())) * 3
        if not was_handled:
            return
    raise AssertionError("no end of points")


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with serving_script(answering(FINE)) as found:
        yield found


def sent_by(
    server: SmallServer, since: int
) -> tuple[dict[str, dict[int, list[float]]], list[str]]:
    """Return the points that a server was sent, and the ends."""
    asked = server.asked[since:]
    ends = [json.loads(one.body)["status"] for one in asked if one.method == "PATCH"]
    return points_of([one.body for one in asked if one.path.endswith("metrics")]), ends


def test_a_log_that_is_interrupted_begins_what_sends_with_the_next(server: SmallServer) -> None:
    with mapi.Client(server.url, token=TOKEN) as client:
        for point in range(1, POINTS_MAX):
            since = len(server.asked)
            run = client.runs.create()
            is_cut = is_interrupted(lambda run=run: run.log({"loss": 0}, step=0), point)  # type: ignore[misc]
            run.log({"loss": 1}, step=1)
            thread = run._upkeep._thread
            assert thread is not None
            assert thread.is_alive()
            run.finish()
            assert not thread.is_alive()
            found, ends = sent_by(server, since)
            assert found in ({"loss": {0: [0.0], 1: [1.0]}}, {"loss": {1: [1.0]}})
            assert ends == ["succeeded"]
            if not is_cut:
                return
    raise AssertionError("no end of points")


@pytest.mark.timeout(60)
def test_a_handler_may_log_wherever_it_interrupts_a_log(
    server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of them wakes what sends.
    monkeypatch.setattr("mapi.sdk.synchronous.run.BATCH_POINTS", 1)
    with mapi.Client(server.url, token=TOKEN) as client:
        for point in range(1, POINTS_MAX):
            since = len(server.asked)
            run = client.runs.create()
            was_handled = interrupting(
                lambda run=run: run.log({"loss": 0}, step=0),  # type: ignore[misc]
                point,
                lambda run=run: run.log({"loss": 1}, step=1),  # type: ignore[misc]
                within="",
            )
            run.finish()
            found, _ = sent_by(server, since)
            assert found["loss"].keys() == ({0, 1} if was_handled else {0})
            if not was_handled:
                return
    raise AssertionError("no end of points")


@pytest.mark.timeout(60)
def test_a_handler_may_log_a_line_wherever_it_interrupts_a_line() -> None:
    taken = answering(FINE | {"POST logs": says(200, COUNTS)})
    with serving_script(taken) as server, mapi.Client(server.url, token=TOKEN) as client:
        run = client.runs.create()
        run.log_line("warms up what is made with the first line")
        for point in range(1, POINTS_MAX):
            since = len(server.asked)
            was_handled = interrupting(
                lambda: run.log_line("own"), point, lambda: run.log_line("handler's"), within=""
            )
            check_lines([json.loads(one.body) for one in server.asked[since:]], was_handled)
            if not was_handled:
                return
    raise AssertionError("no end of points")


@contextlib.contextmanager
def handled(handler: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Give what lets a signal arrive that a handler of the program's own takes."""

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        handler()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        yield lambda: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


async def log_where_a_task_logs_and_sends(client: mapi.AsyncClient, point: int) -> tuple[Any, ...]:
    """Log a point and send it, and let a signal handler log another one in the midst of that."""
    run = await client.runs.create()
    with (
        handled(lambda: run.log({"loss": 1}, step=1)) as arrive,
        interrupted(point, arrive, within="") as was_handled,
    ):
        run.log({"loss": 0}, step=0)
        await run.flush()
    await run.finish()
    return was_handled(), run.waiting, run.dropped


def test_a_handler_may_log_wherever_it_interrupts_a_task_that_logs_and_sends(
    server: SmallServer,
) -> None:
    async def work() -> None:
        async with mapi.AsyncClient(server.url, token=TOKEN) as client:
            for point in range(1, POINTS_MAX, 7):
                since = len(server.asked)
                was_handled, *left = await log_where_a_task_logs_and_sends(client, point)
                found, ends = sent_by(server, since)
                told = {0: [0.0], 1: [1.0]} if was_handled else {0: [0.0]}
                assert (found, ends, left) == ({"loss": told}, ["succeeded"], [0, 0]), point
                if not was_handled:
                    return
        raise AssertionError("no end of points")

    asyncio.run(work())


async def line_where_a_task_logs_one(run: mapi.AsyncRun, point: int) -> bool:
    """Log a line, and let a signal handler have another one logged in the midst of that."""
    loop = asyncio.get_running_loop()
    others: list[asyncio.Task[Any]] = []
    with (
        handled(lambda: others.append(loop.create_task(run.log_line("handler's")))) as arrive,
        interrupted(point, arrive, within="") as was_handled,
    ):
        await run.log_line("own")
    await asyncio.gather(*others)
    return was_handled()


def test_a_handler_may_have_a_line_logged_wherever_it_interrupts_a_task_that_logs_one() -> None:
    async def work(server: SmallServer) -> None:
        async with mapi.AsyncClient(server.url, token=TOKEN) as client:
            run = await client.runs.create()
            await run.log_line("warms up what is made with the first line")
            for point in range(1, POINTS_MAX, 7):
                since = len(server.asked)
                was_handled = await line_where_a_task_logs_one(run, point)
                check_lines([json.loads(one.body) for one in server.asked[since:]], was_handled)
                if not was_handled:
                    return
        raise AssertionError("no end of points")

    with serving_script(answering(FINE | {"POST logs": says(200, COUNTS)})) as server:
        asyncio.run(work(server))


def check_lines(sent: list[dict[str, Any]], has_handlers: object) -> None:
    """Check that each line was sent once, under a number that the server takes."""
    told = sorted(line["message"] for body in sent for line in body["lines"])
    assert told == (["handler's", "own"] if has_handlers else ["own"])
    # The server takes no number of a writer twice, and none below one that it has.
    numbers: dict[str, list[int]] = {}
    for body in sent:
        numbers.setdefault(body["writer"], []).append(body["seq"])
    assert all(found == sorted(set(found)) for found in numbers.values())


def test_a_finish_that_is_interrupted_is_finished_by_the_next(server: SmallServer) -> None:
    with mapi.Client(server.url, token=TOKEN) as client:
        for point in range(1, POINTS_MAX, 3):
            since = len(server.asked)
            run = client.runs.create()
            run.log({"loss": 0}, step=0)
            is_cut = is_interrupted(run.finish, point)
            run.finish()
            found, ends = sent_by(server, since)
            assert set(found["loss"][0]) == {0.0}
            assert set(ends) == {"succeeded"}
            assert run.waiting == 0
            assert client.runs.create().id == "run_1"  # what the client reads is its own answer
            if not is_cut:
                return
    raise AssertionError("no end of points")


def test_ctrl_c_while_a_block_ends_sends_the_rest_and_says_how_it_ended(
    server: SmallServer,
) -> None:
    with mapi.Client(server.url, token=TOKEN) as client:
        # The first point is where `__exit__` itself is entered: there Python has begun nothing.
        for point in range(2, POINTS_MAX, 3):
            since = len(server.asked)
            run = client.runs.create()
            run.__enter__()
            run.log({"loss": 0}, step=0)
            is_cut = is_interrupted(lambda run=run: run.__exit__(None, None, None), point)  # type: ignore[misc]
            found, ends = sent_by(server, since)
            assert set(found["loss"][0]) == {0.0}, point
            assert ends[0] in {"succeeded", "cancelled"}
            assert run._pulse._ends.is_set()
            if not is_cut:
                return
    raise AssertionError("no end of points")


def test_what_is_refused_is_counted_once_however_it_is_interrupted() -> None:
    refuses = FINE | {"POST metrics": problem(422, "SCHEMA_INVALID")}
    with (
        serving_script(answering(refuses)) as server,
        mapi.Client(server.url, token=TOKEN) as client,
    ):
        for point in range(1, POINTS_MAX, 3):
            run = client.runs.create()
            run._upkeep._is_ending = True  # only this thread sends
            run.log({"loss": 0}, step=0)

            def refuse(run: Any = run) -> None:
                with pytest.raises(mapi.ApiError):
                    run.flush()

            is_cut = is_interrupted(refuse, point)
            assert run.dropped + run.waiting == 1
            run._pulse.stop()
            if not is_cut:
                return
    raise AssertionError("no end of points")


def test_a_handler_ends_the_run_whose_sending_it_interrupted(server: SmallServer) -> None:
    with mapi.Client(server.url, token=TOKEN) as client:
        run = client.runs.create()
        run.log({"loss": 0}, step=0)
        ended = threading.Event()

        def profile(frame: FrameType, event: str, argument: Any) -> None:
            del argument
            if event == "call" and frame.f_code.co_name == "_send_batch":
                sys.setprofile(None)
                run.finish("cancelled")
                ended.set()

        sys.setprofile(profile)
        try:
            run.flush()
        finally:
            sys.setprofile(None)
        assert ended.is_set()
        found, ends = sent_by(server, 0)
    assert set(found["loss"][0]) == {0.0}
    assert ends == ["cancelled"]
    assert run.waiting == 0
