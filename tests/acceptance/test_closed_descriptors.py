"""Programs that close descriptors that are not theirs, and go on opening files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import read_history, status_of, verify
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Program, Start

pytestmark = pytest.mark.acceptance

#: Opens a run with everything that keeps a descriptor, and tells the number of one.
OPENING = """
    import json, os, sys, time
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False, capture_console=True,
                  system_metrics=True, system_interval=0.1)

    def say(name, value):
        sys.__stdout__.write(f"{name} {json.dumps(value)}\\n")
        sys.__stdout__.flush()

    def log(*values):
        for value in values:
            with et.span("s"):
                et.log({"b": value})
            print("printed", value)

    def wait_until(condition):
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, run.info()["loss"]
            time.sleep(0.01)

    def is_noticed(count=1):
        return sum(n for kind, n in run.info()["loss"]["degraded"].items() if "closed" in kind) >= count

    def open_others(count):
        '''Open files until one has each of the numbers that were free.'''
        files = []
        for number in range(count):
            files.append(open(f"{sys.argv[1]}/other{number}", "wb", buffering=0))
            files[-1].write(b"other\\n")
        return files

    log(0)
    wait_until(lambda: os.path.getsize(run.dir + "/metrics.system.jsonl"))
"""


def rows_of(run: Path, name: str) -> list[dict[str, Any]]:
    return list(whole_rows(run / name))


def logged(run: Path) -> list[int]:
    """Return what `log` of the program stored; the last span's time stands in a row of its own."""
    return [row["b"] for row in read_history(run, -1) if "b" in row]


def loss_of(program: Program) -> dict[str, dict[str, int]]:
    return next(json.loads(line[5:]) for line in program.lines if line.startswith("loss "))


def test_a_program_that_closes_every_descriptor_loses_nothing_and_ends_well(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(
        OPENING
        + """
    os.closerange(3, 300)
    log(*range(1, 20))
    et.finish()
    """,
        tmp_path,
    )
    run = tmp_path / "p" / "r"
    assert logged(run) == list(range(20))
    assert len(rows_of(run, "spans.jsonl")) == 20
    texts = [row["text"] for row in rows_of(run, "console.jsonl")]
    assert [text for text in texts if text.startswith("printed")] == [
        f"printed {value}" for value in range(20)
    ]
    assert "closed the descriptor" in program.errors
    assert "dropped 0" in program.errors
    assert "Traceback" not in program.errors
    assert status_of(run) == "succeeded"
    assert verify(run).problems == []


def test_files_that_get_the_numbers_are_left_alone_as_soon_as_it_is_noticed(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(
        OPENING
        + """
    os.closerange(3, 300)
    others = open_others(70)
    log(*range(1, 6))
    wait_until(lambda: is_noticed(5))  # rows, spans, console, system and a lock
    sizes = [os.path.getsize(other.name) for other in others]
    log(*range(6, 20))
    say("loss", run.info()["loss"])
    et.finish()
    say("same", sizes == [os.path.getsize(other.name) for other in others])
    for other in others:
        other.write(b"still mine\\n")
        other.close()
    """,
        tmp_path,
    )
    assert program.value("same")
    run = tmp_path / "p" / "r"
    loss = loss_of(program)
    stored = logged(run)
    assert stored == [0, *range(6, 20)]
    assert loss["dropped"]["rows of metrics.jsonl written into another file"] == 5
    assert loss["dropped"]["lines of spans.jsonl written into another file"] == 5
    assert len(rows_of(run, "spans.jsonl")) == 15
    assert loss["degraded"]["locks that were closed"] >= 1
    for number in range(70):
        assert (tmp_path / f"other{number}").read_bytes().endswith(b"still mine\n")
    for name in ("other", "metrics.jsonl lacks", "spans.jsonl lacks"):
        assert name in program.errors
    assert status_of(run) == "succeeded"
    assert verify(run).problems == []


def test_an_end_right_behind_goes_to_the_runs_own_files(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(
        OPENING
        + """
    os.closerange(3, 300)
    others = open_others(70)
    et.finish()
    for other in others:
        other.write(b"still mine\\n")
        other.close()
    """,
        tmp_path,
    )
    run = tmp_path / "p" / "r"
    assert status_of(run) == "succeeded"
    assert logged(run) == [0]
    others = [(tmp_path / f"other{number}").read_bytes() for number in range(70)]
    # One of the machine's samples may have been on its way.
    assert sum(b'"_status"' in other for other in others) == 0, program.errors
    assert all(other.endswith(b"still mine\n") for other in others)


def test_a_closed_lock_is_taken_again_while_the_run_goes_on(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(
        OPENING
        + """
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).endswith("/metrics.lock"):
                os.close(int(name))
        except FileNotFoundError:
            pass
    wait_until(is_noticed)
    say("loss", run.info()["loss"])
    et.finish()
    """,
        tmp_path,
    )
    assert loss_of(program)["degraded"] == {"locks that were closed": 1}
    assert not is_locked(tmp_path / "p" / "r" / "metrics.lock")


def test_one_closed_number_is_not_the_next_files(run_program: Start, tmp_path: Path) -> None:
    """A double close elsewhere in the program, and a checkpoint that is opened right behind it."""
    program = run_program(
        OPENING
        + """
    fd = next(int(name) for name in os.listdir("/proc/self/fd")
              if os.path.realpath("/proc/self/fd/" + name).endswith("/metrics.jsonl"))
    os.close(fd)
    others = open_others(3)
    log(*range(1, 20))
    say("loss", run.info()["loss"])
    et.finish()
    """,
        tmp_path,
    )
    assert logged(tmp_path / "p" / "r") == list(range(20))
    assert loss_of(program)["dropped"] == {}
    for number in range(3):
        assert (tmp_path / f"other{number}").read_bytes() == b"other\n"
