from __future__ import annotations

import json
import random
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import until

from expr_tracker.history import read_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Program, Start

pytestmark = pytest.mark.acceptance

#: Every key is unique over all programs of a test: this many for each of them.
KEYS_PER_PROGRAM = 10_000_000

#: Logs for ever and tells its parent about a row behind the call that logged it, never before.
LOGGING_FOR_EVER = """
    import os, sys, threading
    import expr_tracker as et

    folder, first, form = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    run = et.init("p", "r", dir=folder, capture=False)
    rest = {"a": 0.1, "b": 0.2, "c": 0.3}

    def log(key):
        if form == "explicit":
            et.log({"key": key}, step=run.step)
            et.log(rest, step=run.step, commit=True)
        elif form == "wide":
            et.log({"key": key, "text": "x" * 200_000})
        elif form == "text":
            et.log({"key": key, "text": "half a pair: \\ud800", "none": None, "nan": float("nan")})
        elif form == "spans":
            with et.span("s", key=key):
                pass
        else:
            et.log({"key": key, **rest})

    def log_and_tell(keys):
        for key in keys:
            log(key)
            os.write(1, b"%d\\n" % key)

    if form == "threads":
        for number in range(3):
            keys = range(first + number, first + 10_000_000, 4)
            threading.Thread(target=log_and_tell, args=(keys,), daemon=True).start()
        log_and_tell(range(first + 3, first + 10_000_000, 4))
    else:
        log_and_tell(range(first, first + 10_000_000))
"""


def kill_after(program: Program, rows: int) -> set[int]:
    """Kill a program when it has told about ``rows`` rows; return all that it told about."""
    for _ in range(rows):
        program.line()
    program.signal(signal.SIGKILL)
    assert program.end() == -signal.SIGKILL
    return {int(line) for line in program.lines}


@pytest.mark.parametrize(
    ("form", "rows_most"),
    [("implicit", 20_000), ("explicit", 5_000), ("text", 5_000), ("wide", 60), ("threads", 5_000)],
)
def test_kill_9_at_any_row_loses_none_whose_log_returned(
    form: str,
    rows_most: int,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    told: set[int] = set()
    kills = 7
    for number in range(kills):
        program = start(LOGGING_FOR_EVER, tmp_path, number * KEYS_PER_PROGRAM, form)
        told |= kill_after(program, random.randrange(1, rows_most))

    directory = tmp_path / "p" / "r"
    rows = read_history(directory, -1)
    keys = [row["key"] for row in rows]
    assert told <= set(keys)
    assert len(keys) == len(set(keys)), "a row was written twice"
    steps = [row["_step"] for row in rows]
    assert steps == list(range(len(rows)))
    # At most the row that was under way at each kill is there without having been told about.
    under_way = 4 if form == "threads" else 1
    assert len(keys) - len(told) <= kills * under_way

    tail = (directory / "metrics.jsonl").read_bytes()
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(tail[: tail.rfind(b"\n") + 1])
    lines = strict_lines(whole)
    written = [line["_step"] for line in lines if "_step" in line]
    assert len(written) == len(set(written))
    attempts = [line["_attempt"] for line in lines if "_attempt" in line]
    assert attempts == list(range(2, kills + 1))


def test_kill_9_loses_no_span_that_has_ended(start: Start, tmp_path: Path) -> None:
    told: set[int] = set()
    for number in range(3):
        program = start(LOGGING_FOR_EVER, tmp_path, number * KEYS_PER_PROGRAM, "spans")
        told |= kill_after(program, random.randrange(1, 5_000))
    lines = (tmp_path / "p" / "r" / "spans.jsonl").read_bytes().splitlines(keepends=True)
    keys = [json.loads(line)["args"]["key"] for line in lines if line.endswith(b"\n")]
    assert told <= set(keys)
    assert len(keys) == len(set(keys))


#: Leaves a row open until the journal has it.
LEAVING_A_ROW_OPEN = """
    import signal, sys
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False)
    for step in range(10):
        et.log({"loss": float(step)}, step=step, commit=True)
    et.log({"loss": 10.0, "nan": float("nan")}, step=10)
    with et.span("forward"):
        pass
    print("open", flush=True)
    while True:
        signal.pause()
"""

RESUMING = """
    import sys
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False)
    print("step", run.step, flush=True)
    et.log({"loss": 11.0})
    et.finish()
"""


def test_an_open_row_older_than_a_second_comes_back_after_kill_9(
    start: Start,
    run_program: Start,
    tmp_path: Path,
) -> None:
    program = start(LEAVING_A_ROW_OPEN, tmp_path)
    program.line("open")
    directory = tmp_path / "p" / "r"
    journal = directory / "metrics.open.json"
    until(lambda: journal.exists() and b"time_ms/forward" in journal.read_bytes(), "the journal")
    live = read_history(directory, -1)
    assert [row["_step"] for row in live] == list(range(10)), "a live writer's open row is its own"
    program.signal(signal.SIGKILL)
    program.end()

    dead = read_history(directory, -1)
    assert [row["_step"] for row in dead] == list(range(11))
    assert dead[-1]["loss"] == 10.0
    assert dead[-1]["nan"] != dead[-1]["nan"]

    assert run_program(RESUMING, tmp_path).value("step") == 11
    rows = read_history(directory, -1)
    assert [row["_step"] for row in rows] == list(range(12))
    assert [row["loss"] for row in rows] == [float(step) for step in range(12)]
    assert rows[10]["time_ms/forward"] > 0
    assert rows[10]["_time"] == dead[10]["_time"]
    assert not journal.exists()


def test_a_journal_is_outdated_by_the_commit_of_its_row(
    start: Start,
    run_program: Start,
    tmp_path: Path,
) -> None:
    script = LEAVING_A_ROW_OPEN.replace(
        'print("open", flush=True)',
        'print("open", flush=True); input(); et.log({"more": 1}, step=10, commit=True)\n'
        '    print("committed", flush=True)',
    )
    program = start(script, tmp_path)
    program.line("open")
    journal = tmp_path / "p" / "r" / "metrics.open.json"
    until(journal.exists, "the journal")
    program.say()
    program.line("committed")
    program.signal(signal.SIGKILL)
    program.end()
    run_program(RESUMING, tmp_path)
    lines = (tmp_path / "p" / "r" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line).get("_step") for line in lines].count(10) == 1
    assert read_history(tmp_path / "p" / "r", -1)[10]["more"] == 1


#: Exceptions from a signal handler, at random moments, most of them inside a call of the tracker.
INTERRUPTED = """
    import json, random, signal, sys, time
    import expr_tracker as et

    class Interrupt(BaseException):
        pass

    def interrupt(number, frame):
        raise Interrupt

    folder, form, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(int(sys.argv[4]))
    options = {"durability": "buffered", "buffer_size": 20} if form == "buffered" else {}
    if form == "rotated":
        options["max_file_bytes"] = 20_000
    run = et.init("p", "r", dir=folder, capture=False, **options)
    signal.signal(signal.SIGALRM, interrupt)
    told = []
    key = 0
    interrupts = 0

    def once():
        global key
        key += 1
        mine = key
        if form == "mixed":
            kind = mine % 5
            if kind == 0:
                et.log({"key": mine, "text": "a"})
            elif kind == 1:
                et.log({"key": mine}, step=run.step, commit=True)
            elif kind == 2:
                with et.span("s"):
                    pass
                et.log({"key": mine, "nan": float("nan")})
            elif kind == 3:
                run.history.flush()
                et.log({"key": mine, "list": [1, 2, 3]})
            else:
                et.log({"key": mine})
                et.history(3)
        else:
            et.log({"key": mine, "a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
        told.append(mine)

    began = time.monotonic()
    while interrupts < wanted and time.monotonic() - began < 60:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(5e-6, 2e-4))
            while True:
                once()
        except Interrupt:
            interrupts += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        time.sleep(0.001)
    except Interrupt:
        pass
    et.log({"key": key + 1, "last": 1.0})
    told.append(key + 1)
    began = time.monotonic()
    et.finish()
    print("seconds", time.monotonic() - began)
    print("interrupts", interrupts)
    print("told", json.dumps(told))
"""


@pytest.mark.parametrize(
    ("form", "interrupts"),
    [("plain", 10_000), ("mixed", 6_000), ("buffered", 4_000), ("rotated", 4_000)],
)
def test_interrupts_inside_log_hang_nothing_lose_nothing_and_repeat_nothing(
    form: str, interrupts: int, run_program: Start, tmp_path: Path
) -> None:
    program = run_program(INTERRUPTED, tmp_path, form, interrupts, random.randrange(1 << 30))
    assert program.value("seconds") < 10
    assert program.value("interrupts") >= interrupts
    told = program.value("told")
    directory = tmp_path / "p" / "r"
    rows = read_history(directory, -1)
    keys = [row["key"] for row in rows if "key" in row]
    assert set(told) <= set(keys)
    assert len(keys) == len(set(keys))
    assert keys == sorted(keys)
    lines = [
        json.loads(line)
        for part in (*sorted(directory.glob("metrics.jsonl.parts/*")), directory / "metrics.jsonl")
        for line in part.read_bytes().splitlines()
    ]
    steps = [line["_step"] for line in lines if "_step" in line]
    assert len(steps) == len(set(steps)), "a step was written twice"
    assert lines[-1]["_status"] == "succeeded"
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["last"] == 1.0
