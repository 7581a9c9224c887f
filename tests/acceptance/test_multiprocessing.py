from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import read_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
]


@pytest.mark.parametrize(("stream", "sibling"), [(None, "default-2"), ("data", "data-2")])
def test_a_second_writer_gets_a_stream_of_its_own_on_request(
    stream: str | None, sibling: str, start: Start, tmp_path: Path
) -> None:
    script = """
        import json, sys
        import expr_tracker as et
        folder, stream = sys.argv[1], json.loads(sys.argv[2])
        run = et.init("p", "r", dir=folder, stream=stream, capture=False)
        et.log({"who": run.stream or "default"})
        print("stream", json.dumps(run.stream), flush=True)
        input()
        et.finish()
    """
    new = {"ET_STREAM_IN_USE": "new"}
    first = start(script, tmp_path, json.dumps(stream), environment=new)
    assert first.value("stream") == stream
    second = start(script, tmp_path, json.dumps(stream), environment=new)
    assert second.value("stream") == sibling
    third = start(script, tmp_path, json.dumps(stream), environment=new)
    assert third.value("stream") == sibling[:-1] + "3"
    for program in (first, second, third):
        program.say()
        assert program.end() == 0, program.errors
    assert "is being written by another process" in second.errors
    directory = tmp_path / "p" / "r"
    assert read_history(directory, -1, stream=stream)[0]["who"] == (stream or "default")
    assert read_history(directory, -1, stream=sibling)[0]["who"] == sibling
    assert json.loads((directory / f"config.{sibling}.json").read_text()) == {}

    wrong = start(script, tmp_path, "null", environment={"ET_STREAM_IN_USE": "share"})
    assert wrong.end() == 1
    assert "ET_STREAM_IN_USE='share'" in wrong.errors


MULTIPROCESSING = """
import json, multiprocessing, os, sys
import time
from concurrent.futures import ProcessPoolExecutor

import expr_tracker as et

folder, method, form = sys.argv[1:4]

def begin():
    et.init("p", "r", dir=folder, stream=f"w{os.getpid()}", capture=False)

def work(number):
    et.log({"item": number})
    with et.span("produce"):
        pass
    return [os.getpid(), number]

def whole(number):
    begin()
    work(number)
    et.finish()

def unfinished(number):
    begin()
    work(number)
    et.log({"late": number}, step=70)
    et.summary()["pinned"] = number

def failing(number):
    unfinished(number)
    raise ValueError("boom")

def leaving(number):
    unfinished(number)
    sys.exit(number)

def waiting(number):
    unfinished(number)
    os.write(1, b"waiting\\n")  # in one piece, beside the other workers' lines
    time.sleep(30)

if __name__ == "__main__":
    context = multiprocessing.get_context(method)
    run = et.init("p", "r", dir=folder, capture=False)
    et.log({"parent": 0})
    if form == "Pool":
        with context.Pool(2, begin) as pool:
            done = pool.map(work, range(20), chunksize=2)
        pool.join()
    elif form == "closed Pool":
        pool = context.Pool(2, begin)
        done = pool.map(work, range(20), chunksize=2)
        pool.close()
        pool.join()
    elif form == "ProcessPoolExecutor":
        with ProcessPoolExecutor(2, mp_context=context, initializer=begin) as executor:
            done = list(executor.map(work, range(20)))
    else:
        target = globals()[form]
        processes = [context.Process(target=target, args=(number,)) for number in range(2)]
        for process in processes:
            process.start()
        if form == "waiting":
            print("pids", json.dumps([process.pid for process in processes]), flush=True)
            input()
            for process in processes:
                process.terminate()
        for process in processes:
            process.join()
        print("exit", json.dumps([process.exitcode for process in processes]), flush=True)
        done = [[process.pid, number] for number, process in enumerate(processes)]
    et.log({"parent": 1})
    et.finish()
    print("done", json.dumps(done), flush=True)
"""

METHODS = ["fork", "spawn", "forkserver"]


def items_of(directory: Path, done: list[list[int]]) -> list[int]:
    """Return the items that the workers' streams hold, and check that every worker has one."""
    found: list[int] = []
    for pid in {pid for pid, _ in done}:
        rows = read_history(directory, -1, stream=f"w{pid}")
        found += [row["item"] for row in rows if "item" in row]
    return sorted(found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["whole", "Pool", "closed Pool", "ProcessPoolExecutor"])
def test_workers_of_every_start_method_record_in_streams_of_their_own(
    form: str, method: str, run_program: Start, tmp_path: Path
) -> None:
    program = run_program(MULTIPROCESSING, tmp_path, method, form)
    done = program.value("done")
    directory = tmp_path / "p" / "r"
    assert items_of(directory, done) == sorted(number for _, number in done)
    assert [row["parent"] for row in read_history(directory, -1)] == [0, 1]
    assert "forked child" not in program.errors
    assert "Traceback" not in program.errors
    for pid in {pid for pid, _ in done}:
        lines = (directory / f"metrics.w{pid}.jsonl").read_text().splitlines()
        assert "_status" in json.loads(lines[-1]), "also a worker that its pool terminated"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("form", "status", "exits"),
    [
        ("unfinished", ["succeeded", "succeeded"], [0, 0]),
        ("failing", ["failed", "failed"], [1, 1]),
        ("leaving", ["succeeded", "failed"], [0, 1]),
        ("waiting", ["cancelled", "cancelled"], [-15, -15]),
    ],
)
def test_a_worker_that_never_calls_finish_leaves_open_row_summary_and_status(
    form: str,
    status: list[str],
    exits: list[int],
    method: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(MULTIPROCESSING, tmp_path, method, form)
    if form == "waiting":
        for _ in range(2):
            program.line("waiting")
        program.say()
    assert program.value("exit") == exits, program.errors
    done = program.value("done")
    assert program.end() == 0, program.errors
    directory = tmp_path / "p" / "r"
    for pid, number in done:
        lines = strict_lines(directory / f"metrics.w{pid}.jsonl")
        assert lines[-1]["_status"] == status[number]
        assert [line["_step"] for line in lines[:-1]] == [0, 70]
        assert lines[-2]["time_ms/produce"] > 0
        assert lines[-2]["late"] == number
        summary = json.loads((directory / f"summary.w{pid}.json").read_text())
        assert summary["pinned"] == number
        assert summary["late"] == number
