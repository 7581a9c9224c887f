from __future__ import annotations

import json
import random
import signal
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import read_history, status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

#: 30 rows, a pinned value and an open row with a span; then the process ends in one of many ways.
ENDING = """
    import os, signal, sys, threading, time
    import expr_tracker as et

    folder, how = sys.argv[1:]
    run = et.init("p", "r", dir=folder, capture=False)
    for step in range(30):
        et.log({"loss": step / 10})
    et.summary()["best"] = 0.5
    et.log({"late": 1.0}, step=40)
    with et.span("forward"):
        pass

    def end():
        if how == "os._exit":
            os._exit(7)
        elif how == "exception":
            raise ValueError("boom")
        elif how == "sys.exit(0)":
            sys.exit(0)
        elif how == "sys.exit(3)":
            sys.exit(3)
        elif how == "exit code":
            et.finish(exit_code=2)
        elif how == "pause":
            print("ready", flush=True)
            while True:
                signal.pause()
        elif how == "sleep":
            print("ready", flush=True)
            time.sleep(1_000)
        elif how == "lock":
            print("ready", flush=True)
            threading.Lock().acquire() and threading.Event().wait()
        elif how == "compute":
            print("ready", flush=True)
            while True:
                sum(range(1_000))
        elif how == "inside with":
            with run:
                print("ready", flush=True)
                signal.pause()
        elif how == "inside span":
            with et.span("outer"):
                print("ready", flush=True)
                signal.pause()
        elif how == "query":
            print("ready", flush=True)
            while True:
                et.history(50)
        elif how == "flush":
            print("ready", flush=True)
            while True:
                run.history.flush()
        elif how == "info":
            print("ready", flush=True)
            while True:
                et.info()

    end()
"""


def assert_all_is_on_disk(
    directory: Path, status: str, lines: list[dict[str, Any]], *, open_row: bool = True
) -> None:
    steps = [line["_step"] for line in lines if "_step" in line]
    assert steps == [*range(30), *([40] if open_row else [])]
    assert lines[-1].get("_status") == status, lines[-1]
    assert lines[-1].get("_attempt_end") == 1
    if open_row:
        assert lines[-2]["late"] == 1.0
        assert lines[-2]["time_ms/forward"] > 0
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["best"] == 0.5
    assert summary["loss"] == 2.9
    assert summary["late"] == 1.0


@pytest.mark.parametrize(
    ("how", "exit_status", "run_status"),
    [
        ("return", 0, "succeeded"),
        ("exception", 1, "failed"),
        ("sys.exit(0)", 0, "succeeded"),
        ("exit code", 0, "failed"),
    ],
)
def test_a_program_that_ends_without_finish_leaves_everything(
    how: str,
    exit_status: int,
    run_status: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(ENDING, tmp_path, how)
    assert program.end() == exit_status
    directory = tmp_path / "p" / "r"
    assert_all_is_on_disk(directory, run_status, strict_lines(directory / "metrics.jsonl"))
    assert not (directory / "metrics.open.json").exists()


def test_sys_exit_with_a_code_leaves_everything_and_the_code(
    start: Start, tmp_path: Path, strict_lines: Callable[[Path], list[dict[str, Any]]]
) -> None:
    # CPython keeps no trace of the code for exit hooks, so the status says nothing about it.
    program = start(ENDING, tmp_path, "sys.exit(3)")
    assert program.end() == 3
    directory = tmp_path / "p" / "r"
    lines = strict_lines(directory / "metrics.jsonl")
    assert lines[-1]["_status"] in {"succeeded", "failed"}
    assert_all_is_on_disk(directory, lines[-1]["_status"], lines)


def test_os_exit_keeps_every_committed_row_and_is_told_from_an_end(
    start: Start, tmp_path: Path, strict_lines: Callable[[Path], list[dict[str, Any]]]
) -> None:
    assert start(ENDING, tmp_path, "os._exit").end() == 7
    lines = strict_lines(tmp_path / "p" / "r" / "metrics.jsonl")
    assert [line["_step"] for line in lines] == list(range(30))
    assert not any("_attempt_end" in line for line in lines)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize(
    "how",
    [
        "pause",
        "sleep",
        "lock",
        "compute",
        "inside with",
        "inside span",
        "query",
        "flush",
        "info",
    ],
)
def test_a_signal_leaves_everything_and_the_exit_status(
    name: str,
    how: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    number = getattr(signal, name)
    program = start(ENDING, tmp_path, how)
    program.line("ready")
    program.signal(number)
    status = program.end()
    assert status == -number or (name == "SIGINT" and status == 130), program.errors
    directory = tmp_path / "p" / "r"
    lines = strict_lines(directory / "metrics.jsonl")
    if how == "inside span" and name == "SIGINT":
        # The exception ends the outer span, which joins the open row too.
        assert lines[-2]["time_ms/outer"] > 0
    assert_all_is_on_disk(directory, "cancelled", lines)


TIGHT_LOOP = """
    import os, sys
    import expr_tracker as et

    folder, form = sys.argv[1:]
    options = {"durability": "buffered"} if form == "buffered" else {}
    run = et.init("p", "r", dir=folder, capture=False, **options)
    key = 0
    while True:
        if form == "spans":
            with et.span("s", key=key):
                pass
        elif form == "slow way":
            et.log({"key": key, "text": "a"}, step=key, commit=True)
        else:
            et.log({"key": key, "a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
        os.write(1, b"%d\\n" % key)
        key += 1
"""


@pytest.mark.parametrize(
    ("form", "times"), [("fast way", 25), ("slow way", 15), ("buffered", 10), ("spans", 5)]
)
def test_sigterm_inside_log_ends_the_program_and_loses_nothing(
    form: str,
    times: int,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    for number in range(times):
        folder = tmp_path / str(number)
        program = start(TIGHT_LOOP, folder, form)
        for _ in range(random.randrange(1, 2_000)):
            program.line()
        program.signal(signal.SIGTERM)
        assert program.end() == -signal.SIGTERM, program.errors
        told = [int(line) for line in program.lines]
        lines = strict_lines(folder / "p" / "r" / "metrics.jsonl")
        assert lines[-1]["_status"] == "cancelled"
        rows = [line for line in lines if "_step" in line]
        if form == "spans":
            rows = [line["args"] for line in strict_lines(folder / "p" / "r" / "spans.jsonl")]
        else:
            assert [row["_step"] for row in rows] == list(range(len(rows)))
            summary = json.loads((folder / "p" / "r" / "summary.json").read_text())
            assert summary["key"] == rows[-1]["key"]
        assert [row["key"] for row in rows] == list(range(len(rows)))
        assert 0 <= len(rows) - len(told) <= 1


HANDLERS = """
    import os, signal, sys, time
    import expr_tracker as et

    folder, how = sys.argv[1:]
    heard = []

    def leave(number, frame):
        print("handler", number, flush=True)
        sys.exit(3)

    def note(number, frame):
        heard.append(number)
        print("handler", number, flush=True)

    def fail(number, frame):
        print("handler", number, flush=True)
        raise RuntimeError("told to end")

    if how in ("leaves, before init", "leaves through finally", "leaves a block"):
        signal.signal(signal.SIGTERM, leave)
    elif how == "raises, before init":
        signal.signal(signal.SIGTERM, fail)
    elif how in ("notes, before init", "notes and leaves", "notes and ends"):
        signal.signal(signal.SIGTERM, note)
    elif how == "ignored":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    run = et.init("p", "r", dir=folder, capture=False)
    if how == "notes, after init":
        signal.signal(signal.SIGTERM, note)
    elif how == "leaves, after init":
        signal.signal(signal.SIGTERM, leave)
    elif how == "chains, after init":
        before = signal.getsignal(signal.SIGTERM)
        def chain(number, frame):
            print("handler", number, flush=True)
            before(number, frame)
        signal.signal(signal.SIGTERM, chain)
    elif how == "default, after init":
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for step in range(30):
        et.log({"loss": step / 10})
    et.summary()["best"] = 0.5
    et.log({"late": 1.0}, step=40)
    with et.span("forward"):
        pass
    print("ready", flush=True)

    def wait():
        while not heard:
            if how == "ignored":
                input()
                break
            time.sleep(0.01)

    if how == "leaves through finally":
        try:
            wait()
        finally:
            et.finish()
    elif how == "leaves a block":
        with run:
            wait()
    wait()
    if how == "notes and leaves":
        sys.exit(3)
    if how == "notes and ends":
        sys.exit()
    print("goes on", flush=True)
    et.finish()
    print("after", signal.getsignal(signal.SIGTERM) in (leave, note, signal.SIG_IGN), flush=True)
"""


@pytest.mark.parametrize(
    ("how", "exit_status", "run_status"),
    [
        ("leaves, before init", 3, "cancelled"),
        ("leaves through finally", 3, "cancelled"),
        ("leaves a block", 3, "cancelled"),
        ("raises, before init", 1, "cancelled"),
        ("notes and leaves", 3, "cancelled"),
        ("notes and ends", 0, "cancelled"),
        ("leaves, after init", 3, "succeeded"),
        ("notes, before init", 0, "succeeded"),
        ("notes, after init", 0, "succeeded"),
        ("chains, after init", -signal.SIGTERM, "cancelled"),
        ("ignored", 0, "succeeded"),
    ],
)
def test_a_handler_of_the_programs_own_decides_what_a_signal_does(
    how: str,
    exit_status: int,
    run_status: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(HANDLERS, tmp_path, how)
    program.line("ready")
    program.signal(signal.SIGTERM)
    if how == "ignored":
        program.say()
    else:
        program.line("handler 15")
    if exit_status == 0 and how != "notes and ends":
        program.line("goes on")
        assert program.line("after") == "True", "the program's handler is back after finish"
    assert program.end() == exit_status, program.errors
    directory = tmp_path / "p" / "r"
    assert_all_is_on_disk(directory, run_status, strict_lines(directory / "metrics.jsonl"))


def test_the_default_action_that_a_program_restored_is_respected(
    start: Start, tmp_path: Path
) -> None:
    program = start(HANDLERS, tmp_path, "default, after init")
    program.line("ready")
    program.signal(signal.SIGTERM)
    assert program.end() == -signal.SIGTERM
    assert len(read_history(tmp_path / "p" / "r", -1)) >= 30


FINISHING = """
    import os, sys
    real_write = os.write
    is_slow = False

    def slow_write(fd, data):
        if is_slow and os.readlink(f"/proc/self/fd/{fd}").endswith("metrics.jsonl"):
            real_write(1, b"writing\\n")
            os.read(0, 1)
        return real_write(fd, data)

    os.write = slow_write  # before the library takes it
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False, durability="buffered",
                  buffer_interval=None, max_buffer_seconds=None, buffer_size=None)
    for step in range(30):
        et.log({"loss": step / 10})
    et.summary()["best"] = 0.5
    et.log({"late": 1.0}, step=40)
    with et.span("forward"):
        pass
    is_slow = True
    et.finish()
    print("finished", flush=True)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_during_finish_loses_nothing_that_waited(
    name: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    number = getattr(signal, name)
    program = start(FINISHING, tmp_path)
    program.line("writing")
    program.signal(number)
    for _ in range(20):
        try:
            program.say()
        except BrokenPipeError:
            break
    assert program.end() in {-number, 0}, program.errors
    directory = tmp_path / "p" / "r"
    lines = strict_lines(directory / "metrics.jsonl")
    assert_all_is_on_disk(directory, lines[-1]["_status"], lines)


FINISHING_IN_A_HANDLER = """
    import os, signal, sys
    import expr_tracker as et

    folder, how = sys.argv[1:]
    is_over = False

    def handler(number, frame):
        global is_over
        et.finish()
        is_over = True
        if how == "leaves":
            sys.exit(3)

    run = et.init("p", "r", dir=folder, capture=False)
    signal.signal(signal.SIGTERM, handler)
    key = 0
    while not is_over:
        if key % 2:
            run.log({"key": key, "a": 0.1})
        else:
            run.log({"key": key}, step=key)
            run.log({"b": 0.1}, step=key, commit=True)
        if is_over:
            break
        os.write(1, b"%d\\n" % key)
        key += 1
"""


@pytest.mark.parametrize("how", ["leaves", "returns"])
def test_a_handler_that_calls_finish_inside_log_loses_nothing(
    how: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    for number in range(10):
        folder = tmp_path / str(number)
        program = start(FINISHING_IN_A_HANDLER, folder, how)
        for _ in range(random.randrange(1, 1_000)):
            program.line()
        program.signal(signal.SIGTERM)
        assert program.end() == (3 if how == "leaves" else 0), program.errors
        told = [int(line) for line in program.lines]
        lines = strict_lines(folder / "p" / "r" / "metrics.jsonl")
        assert lines[-1]["_status"] == "succeeded"
        keys = [line["key"] for line in lines if "_step" in line]
        assert keys == list(range(len(keys)))
        assert set(told) <= set(keys)


STUCK_THREAD = """
    import os, sys, threading
    real_write = os.write
    stuck = threading.Event()

    def write(fd, data):
        if b"stuck" in data and os.readlink(f"/proc/self/fd/{fd}").endswith("metrics.jsonl"):
            real_write(1, b"ready\\n")
            stuck.wait()
        return real_write(fd, data)

    os.write = write
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False)
    et.log({"loss": 0.5})
    threading.Thread(target=lambda: et.log({"stuck": 1.0}), daemon=True).start()
    threading.Event().wait()
"""


def test_a_thread_that_hangs_in_a_write_does_not_keep_a_signal_from_ending_the_program(
    start: Start, tmp_path: Path
) -> None:
    program = start(STUCK_THREAD, tmp_path)
    program.line("ready")
    program.signal(signal.SIGTERM)
    assert program.end() == -signal.SIGTERM, program.errors
    assert read_history(tmp_path / "p" / "r", -1)[0]["loss"] == 0.5


#: A handler that raises an ordinary exception while the interpreter ends the run: at a point that is
#: chosen by the number of calls before it.
RAISED_AT_EXIT = """
    import atexit, os, signal, sys
    import expr_tracker as et

    folder, point = sys.argv[1], int(sys.argv[2])
    et.init("p", "r", dir=folder, capture=False, durability="buffered")
    for step in range(30):
        et.log({"loss": step / 10})
    package = os.path.dirname(et.__file__)

    class LimitError(TimeoutError):
        pass

    def limit(number, frame):
        raise LimitError

    signal.signal(signal.SIGUSR1, limit)

    def profile(frame, event, argument):
        global point
        if event == "call" and frame.f_code.co_filename.startswith(package):
            point -= 1
            if point == 0:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    atexit.register(sys.setprofile, profile)  # hooks run in reverse order: before the tracker's
"""


@pytest.mark.parametrize("point", [5, 20, 60, 120, 200])
def test_an_exception_of_a_handler_at_the_end_of_the_program_costs_no_row(
    point: int, start: Start, tmp_path: Path
) -> None:
    program = start(RAISED_AT_EXIT, tmp_path, point)
    program.end()
    assert "LimitError" in program.errors
    assert len(read_history(tmp_path / "p" / "r", -1)) == 30
    assert status_of(tmp_path / "p" / "r") == "succeeded"
