# mypy: disable-error-code="untyped-decorator, no-any-return"
# Fixtures of a conftest have no importable type in importlib mode; they are Any here.
from __future__ import annotations

import asyncio
import contextvars
import gc
import math
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.spans import own_clock, stack
from expr_tracker.spans.recording import ATTRIBUTES_BYTES_MAX
from expr_tracker.spans.span import Span
from expr_tracker.spans.stack import DEPTH_MAX, OVERFLOW_PATH, PATH_CHARACTERS_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


def test_a_finished_span_is_one_line_in_the_documented_order(room: Any, run: Any) -> None:
    run.step = 7
    before = time.time()
    with room.span("load", file="a.bin", size=3) as span:
        pass
    row = run.rows[0]
    assert list(row) == ["_step", "name", "depth", "track", "start", "dur_ms", "args"]
    assert row["_step"] == 7
    assert row["name"] == "load"
    assert row["depth"] == 0
    assert row["track"] == threading.get_ident()
    assert before - 0.01 <= row["start"] <= time.time() + 0.01
    assert row["start"] == span.started_at
    assert row["dur_ms"] == span.duration_ms > 0
    assert row["args"] == {"file": "a.bin", "size": 3}
    assert run.lines[0].endswith(b"}\n")
    assert run.metrics == [("load", span.duration_ms, {})]


def test_children_come_before_their_parents_with_joined_paths(room: Any, run: Any) -> None:
    with room.span("step"), room.span("forward"), room.span("attention"):
        pass
    assert run.paths == ["step/forward/attention", "step/forward", "step"]
    assert [row["depth"] for row in run.rows] == [2, 1, 0]


@pytest.mark.parametrize(
    ("given_name", "name"), [("/a/", "a"), ("", "span"), ("//", "span"), ("a/b", "a/b"), (3, "3")]
)
def test_slashes_around_a_name_are_stripped(given_name: Any, name: str, room: Any) -> None:
    assert room.span(given_name).name == name


def test_a_span_times_without_a_run(room: Any, run: Any) -> None:
    room.run = None
    with room.span("alone") as span:
        pass
    assert span.duration_ms > 0
    assert run.lines == []


def test_a_span_goes_by_the_clock_of_its_run(room: Any, run: Any) -> None:
    run.clock.hold(time.time() + 1800)
    before = run.clock.wall()
    with room.span("a") as span:
        pass
    assert before - 1e-6 <= span.started_at <= run.clock.wall()


def test_a_span_begun_before_its_run_stands_where_the_run_s_rows_do(room: Any, run: Any) -> None:
    run.clock.hold(time.time() + 1800)
    room.run = None
    before = run.clock.wall()
    span = room.start_span("a")
    assert span.started_at <= time.time() + 0.01
    room.run = run
    span.end()
    assert before - 1e-6 <= run.rows[0]["start"] <= run.clock.wall()
    assert run.rows[0]["start"] == span.started_at


def test_spans_without_a_run_follow_a_clock_that_was_set_forward(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.run = None
    own = own_clock.own_clock
    monkeypatch.setattr(own, "offset", own.offset)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 1800)
    monkeypatch.setattr(own, "due_ns", 0)
    with room.span("a") as span:
        pass
    assert abs(span.started_at - time.time()) < 1
    assert own.due_ns > time.monotonic_ns()


def test_attributes_may_be_called_name_store_and_self(room: Any, run: Any) -> None:
    with room.span("x", name=1, store=2, self=3) as span:
        span.set(name=4, attributes=5)
    assert run.rows[0]["args"] == {"name": 4, "store": 2, "self": 3, "attributes": 5}


def test_an_exception_is_recorded_by_its_type_and_raised(room: Any, run: Any) -> None:
    def fail(error: BaseException) -> None:
        with room.span("x"):
            raise error

    errors: list[BaseException] = [
        ValueError("no"),
        KeyboardInterrupt(),
        GeneratorExit(),
        BaseExceptionGroup("several", [KeyboardInterrupt()]),
    ]
    for error in errors:
        with pytest.raises(type(error)):
            fail(error)
    names = [row["error"] for row in run.rows]
    assert names == ["ValueError", "KeyboardInterrupt", "GeneratorExit", "BaseExceptionGroup"]


@pytest.mark.parametrize(
    "error", [ValueError("x"), ValueError, "ValueError"], ids=["exception", "type", "name"]
)
def test_end_takes_an_exception_its_type_or_its_name(error: Any, room: Any, run: Any) -> None:
    span = room.start_span("x")
    span.end(error)
    assert span.error == run.rows[0]["error"] == "ValueError"


def test_a_span_that_ends_twice_is_recorded_once(room: Any, run: Any) -> None:
    span = room.start_span("x")
    first = span.end()
    assert span.end() == first == span.duration_ms
    with span:  # a new go of the same object
        pass
    assert len(run.lines) == 2


def test_with_over_a_begun_span_is_that_span(room: Any, run: Any) -> None:
    with room.start_span("a") as span, room.span("b"):
        pass
    assert run.paths == ["a/b", "a"]
    assert not span.is_open


def test_out_of_order_ends_remove_only_themselves(room: Any, run: Any) -> None:
    first, second = room.start_span("a"), room.start_span("b")
    first.end()
    with room.span("c"):
        pass
    second.end()
    with room.span("d"):
        pass
    assert run.paths == ["a", "b/c", "a/b", "d"]


def test_every_child_after_an_out_of_order_end_has_only_open_names(room: Any) -> None:
    first, second = room.start_span("a"), room.start_span("b")
    first.end()
    for _ in range(2):
        with room.span("c") as child, room.span("d") as grandchild:
            pass
        assert (child.path, child.depth) == ("b/c", 1)
        assert (grandchild.path, grandchild.depth) == ("b/c/d", 2)
    second.end()


def test_overlapping_spans_for_ever_do_not_pile_up(room: Any) -> None:
    previous = room.start_span("p")
    for _ in range(2_000):
        following = room.start_span("p")
        previous.end()
        previous = following
    entry, length = stack.open_spans.get(), 0
    while entry is not None:
        entry, length = entry[1], length + 1
    assert length <= 2
    previous.end()


def test_a_span_ended_in_another_thread_leaves_no_prefix(room: Any, run: Any) -> None:
    span = room.start_span("a")
    thread = threading.Thread(target=span.end)
    thread.start()
    thread.join()
    with room.span("b"):
        pass
    assert run.paths == ["a", "b"]


def test_a_new_thread_begins_at_the_root(room: Any, run: Any) -> None:
    def work() -> None:
        with room.span("b"):
            pass

    with room.span("a"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert run.paths == ["b", "a"]


def test_tasks_inherit_a_copy_of_the_stack_and_do_not_mix(room: Any, run: Any) -> None:
    async def work(name: str, turns: int) -> None:
        async with room.span(name):
            for _ in range(turns):
                await asyncio.sleep(0)
            with room.span("inner"):
                await asyncio.sleep(0)

    async def main() -> None:
        with room.span("main"):
            await asyncio.gather(work("a", 3), work("b", 1))

    asyncio.run(main())
    assert sorted(run.paths) == ["main", "main/a", "main/a/inner", "main/b", "main/b/inner"]


def test_a_task_that_ends_its_creators_span_changes_only_that_one(room: Any, run: Any) -> None:
    span = room.start_span("a")
    contextvars.copy_context().run(span.end)
    with room.span("b"):
        pass
    assert run.paths == ["a", "b"]


def test_a_span_thrown_away_leaves_the_stack_and_is_counted(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    room.start_span("lost")
    gc.collect()
    with room.span("x"):
        pass
    room.start_span("lost")
    gc.collect()
    stack.settle_collected(run)
    assert run.paths == ["x"]
    assert run.dropped == ["spans never ended"] * 2
    assert caplog.text.count("thrown away without an end") == 1


def test_one_object_nested_in_itself_is_two_spans(room: Any, run: Any) -> None:
    span = room.span("a")
    with span as outer, span as inner, room.span("leaf"):
        assert outer is not inner
    with room.span("later"):
        pass
    assert run.paths == ["a/a/leaf", "a/a", "a", "later"]
    assert not outer.is_open
    assert not inner.is_open


def test_one_object_in_two_threads_is_two_spans(room: Any, run: Any) -> None:
    span = room.span("a")
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with span, room.span("in thread"):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with span:
        thread.start()
        inside.wait()
        with room.span("in main"):
            pass
    leave.set()
    thread.join()
    assert run.paths == ["a/in main", "a", "a/in thread", "a"]


def test_a_decorated_function_is_a_span_a_call(room: Any, run: Any) -> None:
    @room.span("fib", kind="recursive")
    def fib(n: int) -> int:
        """Fibonacci."""
        return n if n < 2 else fib(n - 1)

    assert fib(2) == 1
    assert fib.__name__ == "fib"
    assert fib.__doc__ == "Fibonacci."
    assert run.paths == ["fib/fib", "fib"]
    assert run.rows[0]["args"] == {"kind": "recursive"}


def test_a_decorated_coroutine_is_measured_until_its_end(room: Any, run: Any) -> None:
    @room.span("wait")
    async def wait(event: asyncio.Event) -> str:
        await event.wait()
        return "done"

    async def main() -> str:
        event = asyncio.Event()
        task = asyncio.create_task(wait(event))
        await asyncio.sleep(0)
        assert run.lines == []
        event.set()
        return await task

    assert asyncio.run(main()) == "done"
    assert run.paths == ["wait"]


def test_a_decorated_generator_is_measured_over_the_whole_iteration(room: Any, run: Any) -> None:
    @room.span("batches")
    def batches() -> Iterator[int]:
        for number in range(3):
            with room.span("read"):
                pass
            yield number

    with room.span("epoch"):
        for number in batches():
            with room.span("train"):
                assert f"{number}" in "012"
    expected = ["epoch/batches/read", "epoch/train"] * 3
    assert run.paths == [*expected, "epoch/batches", "epoch"]


def test_a_decorated_generator_passes_on_what_is_sent_and_thrown(room: Any, run: Any) -> None:
    @room.span("echo")
    def echo() -> Any:
        received: list[str] = []
        while True:
            try:
                value = yield len(received)
            except KeyError:
                value = "caught"
            if value is None:
                return received
            received.append(value)

    def delegate() -> Any:
        return (yield from echo())

    generator = delegate()
    assert next(generator) == 0
    assert generator.send("a") == 1
    assert generator.throw(KeyError("k")) == 2
    with pytest.raises(StopIteration) as stop:
        generator.send(None)
    assert stop.value.value == ["a", "caught"]
    assert "error" not in run.rows[0]


def test_a_generator_closed_early_ends_its_span(room: Any, run: Any) -> None:
    cleaned = []

    @room.span("gen")
    def values() -> Iterator[int]:
        try:
            yield 1
        finally:
            cleaned.append(True)

    generator = values()
    next(generator)
    generator.close()
    assert cleaned == [True]
    assert run.rows[0]["error"] == "GeneratorExit"


def test_a_decorated_async_generator_is_measured_over_the_whole_iteration(
    room: Any, run: Any
) -> None:
    @room.span("stream")
    async def stream() -> AsyncIterator[int]:
        for number in range(2):
            await asyncio.sleep(0)
            with room.span("read"):
                pass
            yield number

    async def main() -> list[int]:
        got = []
        async for number in stream():
            with room.span("use"):
                got.append(number)
        return got

    assert asyncio.run(main()) == [0, 1]
    assert run.paths == ["stream/read", "use", "stream/read", "use", "stream"]


@pytest.mark.parametrize("thing", [3, int, classmethod(lambda cls: cls)])
def test_only_functions_are_decorated(thing: Any, room: Any) -> None:
    with pytest.raises(TypeError, match="decorates functions"):
        room.span("x")(thing)


def test_a_path_too_long_or_too_deep_is_recorded_under_one_name(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with room.span("a" * 600), room.span("b" * PATH_CHARACTERS_MAX), room.span("c"):
        pass
    assert run.paths[:2] == [OVERFLOW_PATH] * 2
    spans = [room.start_span("d") for _ in range(DEPTH_MAX + 20)]
    for span in reversed(spans):
        span.end()
    assert run.paths.count(OVERFLOW_PATH) == 2 + 19
    assert max(map(len, run.paths)) <= PATH_CHARACTERS_MAX
    assert caplog.text.count("opened and not ended in a loop") == 1


def test_attributes_are_encoded_as_metrics_are_and_kept_as_they_were(room: Any, run: Any) -> None:
    shape = (2, 3)
    with room.span("x", shape=shape, nothing=float("nan"), huge=10**400, half="\ud800") as span:
        pass
    arguments = run.rows[0]["args"]
    assert arguments["shape"] == [2, 3]
    assert math.isnan(arguments["nothing"])
    assert arguments["half"] == "\\ud800"
    assert span.attributes["shape"] is shape


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_json_has_not_is_kept(number: float, room: Any, run: Any) -> None:
    with room.span("x", number=number):
        pass
    assert b"_nonfinite" in run.lines[0]
    assert repr(run.rows[0]["args"]["number"]) == repr(number)


def test_half_a_surrogate_pair_in_a_name_is_stored_as_its_escape(room: Any, run: Any) -> None:
    with room.span("\ud800"):
        pass
    assert run.paths == ["\\ud800"]


def test_large_plugin_results_do_not_cost_small_attributes(room: Any, run: Any) -> None:
    text = "m" * ATTRIBUTES_BYTES_MAX
    with room.span("x", plugins=[lambda _: {"text": text}], small=1):
        pass
    assert run.rows[0]["args"] == {"small": 1}
    assert run.dropped == []


def test_attributes_beyond_the_limit_are_left_out_and_counted(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with room.span("x", text="a" * ATTRIBUTES_BYTES_MAX):
            pass
    assert "args" not in run.rows[0]
    assert run.dropped == ["span attributes"] * 2
    assert caplog.text.count("the limit is 65536") == 1


def test_a_run_without_a_span_file_still_gets_the_metrics(room: Any, run: Any) -> None:
    run.records = False
    with room.span("x"):
        pass
    assert run.lines == []
    assert [path for path, _, _ in run.metrics] == ["x"]


def test_a_span_that_outlives_its_run_is_dropped_with_one_warning(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for forget in (False, True):
        run.is_open = True
        room.run = run
        with room.span("x"):
            run.is_open = False
            room.run = None if forget else run
    assert run.lines == []
    assert run.dropped == ["spans after finish"] * 2
    assert caplog.text.count("after its run had finished") == 1


def test_a_failing_recorder_does_not_reach_the_program(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise RuntimeError("disk on fire")

    run.finished = fail
    with room.span("x"):
        pass
    assert run.dropped == ["spans"]
    assert "disk on fire" in caplog.text


def test_interrupts_at_any_point_leave_no_prefix(room: Any) -> None:
    """SIGALRM arrives anywhere inside the span's own code; the stack is empty afterwards."""
    if sys.gettrace() is not None:
        pytest.skip("an interrupt inside the coverage tracer leaves the tracer's lock taken")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def work(until: float) -> None:
        while time.monotonic() < until:
            with room.span("a"), room.span("b"):
                pass

    # An interrupt that lands in a collector callback of some test tool would be swallowed there.
    gc.disable()
    before = signal.signal(signal.SIGALRM, interrupt)
    hits = 0
    try:
        for turn in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + turn * 1e-6)
                work(time.monotonic() + 0.05)
            except KeyboardInterrupt:
                hits += 1
            with room.span("after") as span:
                pass
            assert span.path == "after"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert hits == 200


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=40))
def test_a_path_is_the_names_of_the_open_spans(moves: list[tuple[bool, int]]) -> None:
    def run_moves() -> None:
        open_spans: list[Span] = []
        for number, (is_start, which) in enumerate(moves):
            if is_start or not open_spans:
                names = [span.name for span in open_spans] + [str(number)]
                span = Span(str(number), {}).begin()
                assert span.path == "/".join(names)
                assert span.depth == len(open_spans)
                open_spans.append(span)
            else:
                open_spans.pop(which % len(open_spans)).end()
        for span in open_spans:
            span.end()
        with Span("last", {}) as span:
            assert span.path == "last"

    contextvars.copy_context().run(run_moves)


def test_a_span_tells_its_state_and_its_start(room: Any) -> None:
    span = room.span("a")
    assert span.started_at == 0.0
    with span:
        assert repr(span) == "<Span 'a' open>"
        assert span.started_at > 0
    assert repr(span) == f"<Span 'a' {span.duration_ms:.3f} ms>"


def test_an_async_generator_passes_on_what_is_thrown_and_closes_early(room: Any, run: Any) -> None:
    @room.span("stream")
    async def stream() -> Any:
        for _ in range(3):
            try:
                yield "value"
            except KeyError:
                yield "caught"

    async def main() -> None:
        generator = stream()
        assert await generator.asend(None) == "value"
        assert await generator.athrow(KeyError("k")) == "caught"
        await generator.aclose()

    asyncio.run(main())
    assert [row["error"] for row in run.rows] == ["GeneratorExit"]
