from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.console import collapse, read_console
from expr_tracker.console.capture import ConsoleCapture, Limits
from expr_tracker.store.lines import decode_line
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.console.conftest import Console


def test_what_is_printed_is_shown_as_before_and_kept_line_by_line(console: Console) -> None:
    capture = console.capture()
    print("one", 1)
    console.clock.advance(1)
    print("two\nthree", file=sys.stderr)
    capture.stop()
    assert console.shown() == "one 1\n"
    assert console.stderr.getvalue() == "two\nthree\n"
    assert console.lines.rows == [
        {"_time": 100.0, "source": "stdout", "text": "one 1"},
        {"_time": 101.0, "source": "stderr", "text": "two"},
        {"_time": 101.0, "source": "stderr", "text": "three"},
    ]
    assert capture.stats()["lines"] == 3


def test_a_line_printed_in_pieces_is_one_line_and_the_last_needs_no_end(console: Console) -> None:
    capture = console.capture()
    print("a", end="")
    print("b", end="", file=sys.stderr)
    print("c")
    print("tail", end="")
    assert console.lines.texts == ["ac"]
    capture.stop()
    assert console.lines.texts == ["ac", "tail", "b"]


def test_carriage_returns_and_nul_are_kept_and_halves_of_pairs_as_their_escapes(
    console: Console,
) -> None:
    capture = console.capture()
    print("1%\r50%\r100%", file=sys.stderr)
    print("\ud800\0é", file=sys.stderr)
    capture.stop()
    assert console.lines.texts == ["1%\r50%\r100%", "\\ud800\0é"]


def test_stop_puts_back_exactly_what_was_there(console: Console) -> None:
    capture = console.capture()
    assert sys.stdout is not console.stdout
    capture.stop()
    assert sys.stdout is console.stdout
    assert sys.stderr is console.stderr
    capture.stop()
    print("after")
    capture.feed("stdout", "late\n")
    assert console.lines == []


def test_a_stream_wrapped_by_another_stays_and_ours_goes_silent(console: Console) -> None:
    capture = console.capture()
    ours = sys.stdout

    class Other(io.StringIO):
        def write(self, text: str) -> int:
            return ours.write(text.upper())

    theirs = Other()
    sys.stdout = theirs
    print("loud")
    capture.stop()
    assert sys.stdout is theirs
    print("later")
    assert console.shown() == "LOUD\nLATER\n"
    assert console.lines.texts == ["LOUD"]


def test_a_handler_that_keeps_the_stream_still_writes_after_stop(console: Console) -> None:
    capture = console.capture()
    handler = logging.StreamHandler(sys.stderr)
    capture.stop()
    handler.emit(logging.makeLogRecord({"msg": "kept"}))
    assert console.stderr.getvalue() == "kept\n"
    assert console.lines == []


def test_capture_can_be_started_again(console: Console) -> None:
    capture = console.capture()
    capture.start()
    print("a")
    capture.stop()
    print("between")
    capture.start()
    print("b")
    capture.stop()
    assert console.lines.texts == ["a", "b"]


def test_everything_but_writing_is_the_streams_own(console: Console) -> None:
    capture = console.capture()
    stream: Any = sys.stdout
    assert stream.encoding == "utf-8"
    assert stream.buffer is console.stdout.buffer
    assert stream.isatty() is False
    assert stream.writable()
    assert stream.errors == "strict"
    stream.reconfigure(encoding="latin-1")
    assert console.stdout.encoding == "latin-1"
    stream.mark = 1
    assert vars(console.stdout) == {"mark": 1}
    with pytest.raises(AttributeError):
        _ = stream.no_such_thing
    with pytest.raises(OSError, match="fileno"):
        stream.fileno()
    with pytest.raises(TypeError):
        stream.write(b"bytes")
    assert stream.write("abc\n") == 4
    stream.writelines(["d", "e\n"])
    stream.flush()
    with pytest.raises(TypeError):
        copy.copy(stream)
    assert repr(stream).startswith("<captured ")
    assert list(stream) == []
    assert stream.__enter__() is stream
    stream.__exit__(None, None, None)
    assert stream.closed
    capture.stop()
    assert console.lines.texts == ["abc", "de"]


def test_a_program_without_a_console_is_left_alone(console: Console) -> None:
    console.stdout = None  # type: ignore[assignment]
    capture = console.capture()
    print("nowhere")
    print("err", file=sys.stderr)
    capture.stop()
    assert sys.stdout is None
    assert console.lines.texts == ["err"]


def test_a_long_line_is_cut_with_a_mark(console: Console) -> None:
    capture = console.capture()
    print("x" * (Limits().line_characters + 10))
    for _ in range(100):
        print("y" * 1000, end="")
    print()
    print("z" * Limits().line_characters)
    print("next")
    capture.stop()
    first, second, third, fourth = console.lines.texts
    assert first == "x" * Limits().line_characters + " [cut: 10 more characters]"
    assert second == "y" * Limits().line_characters + f" [cut: {100_000 - 65_536} more characters]"
    assert third == "z" * Limits().line_characters
    assert fourth == "next"
    assert capture.stats()["cut"] == 2


def test_a_progress_bar_of_any_length_loses_nothing_and_shows_its_last_state(
    console: Console,
) -> None:
    capture = console.capture()
    states = [f"\r{number:6d} |{'#' * (number % 90)}" for number in range(5000)]
    for state in states:
        sys.stdout.write(state)
    sys.stdout.write("\n")
    capture.stop()
    assert len(console.lines) > 1
    assert all(len(text) <= Limits().line_characters for text in console.lines.texts)
    assert "".join(console.lines.texts) == "".join(states)
    assert collapse(console.lines.texts[-1]).startswith("  4999 |")
    assert capture.stats()["cut"] == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["\r", "\n", "a", "bb", ""]), st.integers(min_value=0, max_value=40)
        ),
        max_size=12,
    )
)
def test_whatever_is_printed_no_line_is_over_the_limit_and_what_is_missing_is_counted(
    pieces: list[tuple[str, int]],
) -> None:
    lines: list[bytes] = []
    capture = ConsoleCapture(lines.append, ManualClock(), limits=Limits(line_characters=16))
    text = "".join(piece * count for piece, count in pieces)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        capture.start()
        for piece, count in pieces:
            capture.feed("stdout", piece * count)
        capture.stop()
    kept = missing = 0
    for line in lines:
        row = decode_line(line)
        assert row is not None
        body, mark, count_text = row["text"].partition(" [cut: ")
        assert len(body) <= 16
        kept += len(body)
        missing += int(count_text.split()[0]) if mark else 0
    assert kept + missing == len(text.replace("\n", ""))


def test_the_file_has_a_limit_and_says_once_that_it_is_reached(console: Console) -> None:
    capture = console.capture(size_bytes=700, limits=Limits(file_bytes=1000))
    for number in range(20):
        print(f"line {number} {'x' * 40}")
    capture.stop()
    texts = console.lines.texts
    assert 1 <= len(texts) <= 4
    assert "limit of 1000 bytes" in texts[-1]
    assert capture.stats()["over_limit"] == 20 - (len(texts) - 1)
    assert console.shown().count("line") == 20


def test_secrets_are_taken_out_of_the_file_and_not_off_the_screen(console: Console) -> None:
    capture = console.capture(redact=lambda text: text.replace("s3cr3t", "[redacted]"))
    print("token s3cr3t")
    capture.stop()
    assert console.lines.texts == ["token [redacted]"]
    assert console.shown() == "token s3cr3t\n"


def test_a_line_whose_search_for_secrets_fails_is_withheld(console: Console) -> None:
    def redact(text: str) -> str:
        raise ValueError(text)

    capture = console.capture(redact=redact)
    print("s3cr3t")
    capture.stop()
    assert "s3cr3t" not in "".join(console.lines.texts)
    assert capture.stats()["failed"] == 1


def test_a_line_printed_while_storing_is_shown_but_not_stored(console: Console) -> None:
    def append(line: bytes) -> None:
        print("storing", file=sys.stderr)
        console.lines(line)

    capture = console.capture(append)
    print("a")
    capture.stop()
    assert console.stderr.getvalue() == "storing\n"
    assert console.lines.texts == ["a"]
    assert capture.stats()["within_append"] >= 1


def test_a_failing_append_never_reaches_print_and_is_warned_about_once(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    def append(_line: bytes) -> None:
        raise OSError("disk full")

    capture = console.capture(append)
    with caplog.at_level(logging.WARNING, "expr_tracker"):
        for _ in range(3):
            print("a")
    capture.stop()
    assert console.shown() == "a\n" * 3
    assert capture.stats()["failed"] == 3
    assert capture.stats()["lines"] == 0
    assert len(caplog.records) == 1


def test_an_interrupt_while_storing_reaches_the_program_and_the_next_line_is_stored(
    console: Console,
) -> None:
    interrupts = iter([KeyboardInterrupt])

    def append(line: bytes) -> None:
        for interrupt in interrupts:
            raise interrupt
        console.lines(line)

    capture = console.capture(append)
    with pytest.raises(KeyboardInterrupt):
        print("a")
    print("b")
    capture.stop()
    assert console.lines.texts[-1] == "b"


def test_threads_keep_their_lines_whole_and_in_order(console: Console) -> None:
    capture = console.capture()

    def work(name: int) -> None:
        for number in range(200):
            sys.stderr.write(f"{name} {number}\n")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    capture.stop()
    assert len(console.lines) == 800
    for name in range(4):
        mine = [text for text in console.lines.texts if text.startswith(f"{name} ")]
        assert mine == [f"{name} {number}" for number in range(200)]


def test_a_slow_file_holds_up_no_other_thread_and_its_lock_cannot_deadlock(
    console: Console,
) -> None:
    """The writer's lock and ours, taken in both orders."""
    file_lock = threading.Lock()
    storing, printed = threading.Event(), threading.Event()

    def append(line: bytes) -> None:
        storing.set()
        with file_lock:
            console.lines(line)

    capture = console.capture(append)

    def print_under_the_files_lock() -> None:
        with file_lock:
            started.start()
            assert storing.wait(30)
            print("from the holder")
            printed.set()

    started = threading.Thread(target=lambda: print("from the other"))
    holder = threading.Thread(target=print_under_the_files_lock)
    holder.start()
    assert printed.wait(30)
    holder.join(30)
    started.join(30)
    capture.stop()
    assert sorted(console.lines.texts) == ["from the holder", "from the other"]


def test_lines_beyond_what_may_wait_are_counted(console: Console) -> None:
    release, storing = threading.Event(), threading.Event()

    def append(line: bytes) -> None:
        storing.set()
        assert release.wait(30)
        console.lines(line)

    capture = console.capture(append, limits=Limits(waiting_bytes=200))
    thread = threading.Thread(target=lambda: print("first"))
    thread.start()
    assert storing.wait(30)
    for number in range(10):
        print(f"waiting {number}")
    release.set()
    thread.join(30)
    capture.stop()
    overflowed = capture.stats()["overflowed"]
    assert overflowed > 0
    assert len(console.lines) == 11 - overflowed


def test_lines_that_were_stored_wait_no_longer(console: Console) -> None:
    capture = console.capture(limits=Limits(waiting_bytes=200))
    for number in range(50):
        print(f"line {number}")
    capture.stop()
    assert len(console.lines) == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_prints_and_stores_nothing(tmp_path: Path, console: Console) -> None:
    path = tmp_path / "console.jsonl"

    def append(line: bytes) -> None:
        with path.open("ab") as file:
            file.write(line)

    capture = console.capture(append)
    print("half", end="")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            print(" of the child")
            capture.stop()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    print(" of the parent")
    capture.stop()
    assert [row["text"] for row in read_console(path)] == ["half of the parent"]


def test_an_abandoned_capture_is_silent(console: Console) -> None:
    capture = console.capture()
    capture.abandon_in_child()
    print("a")
    assert console.lines == []
    assert console.shown() == "a\n"
