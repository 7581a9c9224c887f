from __future__ import annotations

import json
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import list_streams, read_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
]

#: Every script below begins so. A child that hangs is ended by the alarm, which its status shows.
FORKING = """
import faulthandler, json, os, signal, sys, threading, time, traceback, warnings
import expr_tracker as et

warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)

def say(name, value=None):
    os.write(1, f"{name} {json.dumps(value)}\\n".encode())

def in_child(work, wait=True):
    pid = os.fork()
    if pid == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(15)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] if wait else pid
"""

#: From `hold` on, a thread of the program stands inside the critical section of the recorder, with
#: every lock that `log` takes: the write that it waits in is ended with the process.
HOLDING_THE_LOCK = """
import os, threading
real_write, parent, inside, is_held = os.write, os.getpid(), threading.Event(), False

def write(fd, data):
    if is_held and os.getpid() == parent and b"held" in data:
        inside.set()
        threading.Event().wait()
    return real_write(fd, data)

os.write = write  # before the library takes it

def hold(log):
    global is_held
    is_held = True
    threading.Thread(target=lambda: log({"held": 1.0}), daemon=True).start()
    assert inside.wait(10)
"""


def test_a_child_uses_nothing_of_its_parents_and_waits_for_no_lock_of_its(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        HOLDING_THE_LOCK
        + FORKING
        + """
folder = sys.argv[1]
run = et.init("p", "r", dir=folder, capture=False)
et.log({"a": 1.0})
summary, history, artifacts = et.summary(), run.history, run.artifacts
span = et.start_span("outer")
unused = et.span("unused")
meter = et.plugins.CpuTime()
with et.span("metered", plugins=[meter]):
    pass
before = {name: open(f"{run.dir}/{name}", "rb").read()
          for name in ("metrics.jsonl", "spans.jsonl", "config.json", "run.json")}
hold(run.log)

uses = {
    "run.log": lambda: run.log({"a": 2.0}),
    "run.log of an odd value": lambda: run.log({"a": "text"}),
    "run.log at a step": lambda: run.log({"a": 2.0}, step=9, commit=True),
    "run.finish": lambda: run.finish(),
    "run.info": lambda: run.info(),
    "run.step": lambda: run.step,
    "run.flush": lambda: run.flush(),
    "run.summary": lambda: run.summary,
    "run.rewind": lambda: run.rewind(0),
    "run.define_metric": lambda: run.define_metric("a", unit="s"),
    "run.log_artifact": lambda: run.log_artifact(__file__),
    "run.use_artifact": lambda: run.use_artifact("program0"),
    "with run": lambda: run.__exit__(None, None, None),
    "history.query": lambda: history.query(5),
    "history.flush": lambda: history.flush(),
    "history.flush(commit_open=True)": lambda: history.flush(commit_open=True),
    "history.series": lambda: history.series.points("a"),
    "summary[name]": lambda: summary["a"],
    "summary[name] = value": lambda: summary.__setitem__("a", 1),
    "del summary[name]": lambda: summary.__delitem__("a"),
    "dict(summary)": lambda: dict(summary),
    "len(summary)": lambda: len(summary),
    "span.end": lambda: span.end(),
    "span.set": lambda: span.set(a=1),
    "span begun in the child": lambda: unused.__enter__(),
    "plugin.start": lambda: meter.start(span),
    "plugin.end": lambda: meter.end(span),
    "plugin in a span": lambda: et.span("s", plugins=[meter]).__enter__(),
    "artifacts.log": lambda: artifacts.log(__file__),
    "artifacts.use": lambda: artifacts.use("program0"),
}

def child():
    for name, use in uses.items():
        began = time.monotonic()
        try:
            use()
            outcome = "nothing was raised"
        except RuntimeError as error:
            outcome = "RuntimeError" if "parent" in str(error) else str(error)
        except Exception as error:
            outcome = repr(error)
        say("use", [name, outcome, time.monotonic() - began])

say("status", in_child(child))
say("same", all(open(f"{run.dir}/{name}", "rb").read() == data for name, data in before.items()))
os._exit(0)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("status") == 0, program.errors
    assert program.value("same")
    outcomes = [json.loads(line[4:]) for line in program.lines if line.startswith("use ")]
    assert len(outcomes) == 30
    for name, outcome, seconds in outcomes:
        assert outcome == "RuntimeError", (name, outcome)
        assert seconds < 1, name


def test_a_child_that_logs_without_init_is_warned_once_and_stores_nothing(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        HOLDING_THE_LOCK
        + FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)
et.log({"a": 1.0})
path = run.dir + "/metrics.jsonl"
before = open(path, "rb").read()
hold(run.log)

def child():
    began = time.monotonic()
    for _ in range(100):
        et.log({"a": 2.0})
        et.log({"a": 2.0}, step=7, commit=True)
        with et.span("s"):
            pass
    say("run", et.get_run() is None)
    for name in ("info", "summary", "history"):
        try:
            getattr(et, name)()
        except RuntimeError as error:
            say(name, str(error))
    et.finish()
    say("seconds", time.monotonic() - began)
    own = et.init("p", "r", dir=sys.argv[1], stream="child", capture=False)
    say("dropped", own.info()["loss"]["dropped"])
    et.log({"mine": 1.0})
    et.finish()

say("status", in_child(child))
say("same", open(path, "rb").read() == before)
os._exit(0)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("run")
    for name in ("info", "summary", "history"):
        assert "forked child" in program.value(name)
    assert program.value("seconds") < 1
    assert sum(program.value("dropped").values()) == 300, "they are counted where the user looks"
    assert program.value("status") == 0, program.errors
    assert program.value("same")
    assert program.errors.count("et.log in a forked child") == 1, program.errors
    assert read_history(tmp_path / "p" / "r", -1, stream="child")[0]["mine"] == 1.0


def test_a_fork_inside_a_span_starts_the_child_at_the_root(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)

def child():
    with et.span("alone") as span:
        pass
    say("alone", span.path)
    et.init("p", "r", dir=sys.argv[1], stream="child", capture=False)
    with et.span("mine") as span:
        with et.span("inner") as inner:
            pass
    say("mine", [span.path, span.depth, inner.path])
    et.finish()

with et.span("outer"):
    with et.span("middle"):
        say("status", in_child(child))
        with et.span("after") as after:
            pass
say("after", after.path)
et.finish()
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("alone") == "alone"
    assert program.value("mine") == ["mine", 0, "mine/inner"]
    assert program.value("status") == 0, program.errors
    assert program.value("after") == "outer/middle/after"
    spans = (tmp_path / "p" / "r" / "spans.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in spans] == [
        "outer/middle/after",
        "outer/middle",
        "outer",
    ]
    rows = read_history(tmp_path / "p" / "r", -1, stream="child")
    assert set(rows[0]) == {"_step", "_time", "time_ms/mine", "time_ms/mine/inner"}


def test_thirty_forks_while_four_threads_log_hang_no_child_and_lose_no_row(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)
is_over = threading.Event()
counts = [0] * 4

def work(number):
    while not is_over.is_set():
        et.log({"thread": number, "count": counts[number], "list": [1, 2]})
        with et.span("s", n=number):
            pass
        if counts[number] % 20 == 0:
            et.history(3)
        counts[number] += 1

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()

def child(number):
    et.log({"nothing": 1})
    et.init("p", "r", dir=sys.argv[1], stream=f"c{number}", capture=False)
    for step in range(5):
        with et.span("own"):
            et.log({"child": number})
    assert len(et.history(-1)) >= 5
    et.finish()

statuses = [in_child(lambda: child(number)) for number in range(30)]
is_over.set()
for thread in threads:
    thread.join()
et.finish()
say("statuses", statuses)
say("counts", counts)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("statuses") == [0] * 30, program.errors
    counts = program.value("counts")
    directory = tmp_path / "p" / "r"
    rows = read_history(directory, -1)
    for thread in range(4):
        mine = [row["count"] for row in rows if row.get("thread") == thread]
        assert mine == list(range(counts[thread]))
    assert list_streams(directory) == [None, *sorted(f"c{number}" for number in range(30))]
    for number in range(30):
        own = read_history(directory, -1, stream=f"c{number}")
        assert [row["child"] for row in own if "child" in row] == [number] * 5
    assert program.errors.count("et.log in a forked child") == 30


ENDS_OF_A_CHILD = ["sys.exit", "exception", "os._exit", "SIGTERM", "return through atexit"]


@pytest.mark.parametrize("how", ENDS_OF_A_CHILD)
def test_no_end_of_a_child_writes_into_the_parents_files(
    how: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
how = sys.argv[2]
run = et.init("p", "r", dir=sys.argv[1], durability="buffered", buffer_size=1000,
              buffer_interval=None, max_buffer_seconds=None, capture=False)
for step in range(20):
    et.log({"a": float(step)})          # most of them wait in memory
et.log({"open": 1.0}, step=100)         # a row that is open
et.summary()["pinned"] = 1
span = et.start_span("open")

def files():
    kinds = ("metrics", "spans", "summary", "config", "about", "run", "artifacts")
    return {name: open(f"{run.dir}/{name}", "rb").read() for name in os.listdir(run.dir)
            if name.split(".")[0] in kinds and "meta" not in name and "open" not in name}

before = files()
pid = os.fork()
if pid == 0:
    if how == "sys.exit":
        sys.exit(4)
    elif how == "exception":
        raise ValueError("boom")
    elif how == "os._exit":
        os._exit(4)
    elif how == "SIGTERM":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
else:
    status = os.waitpid(pid, 0)[1]
    say("same", files() == before)
    say("exit", os.waitstatus_to_exitcode(status))
    span.end()
    et.finish()
    say("parent")
"""
    )
    program = run_program(script, tmp_path, how)
    assert program.value("same"), program.errors
    expected = {"sys.exit": 4, "exception": 1, "os._exit": 4, "SIGTERM": -15}
    assert program.value("exit") == expected.get(how, 0)
    program.line("parent")
    rows = read_history(tmp_path / "p" / "r", -1)
    assert [row["_step"] for row in rows] == [*range(20), 100]
    assert rows[-1]["open"] == 1.0
    assert json.loads((tmp_path / "p" / "r" / "summary.json").read_text())["pinned"] == 1


def test_a_child_dies_of_sigterm_at_once_although_its_parents_lock_was_held(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        HOLDING_THE_LOCK
        + FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)
hold(run.log)
read_end, write_end = os.pipe()
def child():
    os.write(write_end, b"!")
    time.sleep(20)
pid = in_child(child, wait=False)
os.read(read_end, 1)
began = time.monotonic()
os.kill(pid, signal.SIGTERM)
say("exit", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
say("seconds", time.monotonic() - began)
os._exit(0)
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("exit") == -signal.SIGTERM
    assert program.value("seconds") < 0.9


@pytest.mark.parametrize("where", ["own stream", "own run", "own stream, grandchild"])
def test_a_worker_with_a_run_of_its_own_records_like_any_process(
    where: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
folder, where = sys.argv[1:]
run = et.init("p", "r", dir=folder, capture=False)
et.log({"parent": 0})

def worker():
    name = "worker" if where == "own run" else "r"
    stream = None if where == "own run" else "worker"
    et.init("p", name, dir=folder, stream=stream, span_metrics=False, backends=[], capture=False,
            config={"who": "worker"})
    try:
        for _ in range(5):
            with et.span("produce"):
                pass
            et.log({"item": 1.0})
        et.log({"late": 1.0}, step=50)
        say("rows", len(et.history(50)))
        say("parents", [row["parent"] for row in et.history(50, run=run.dir, stream=None)])
    finally:
        et.finish()

def middle():
    say("status", in_child(worker))

say("status", in_child(middle if "grandchild" in where else worker))
et.log({"parent": 1})
et.finish()
"""
    )
    program = run_program(script, tmp_path, where)
    assert program.value("rows") == 6
    assert program.value("parents") == [0]
    assert program.value("status") == 0, program.errors
    assert [row["parent"] for row in read_history(tmp_path / "p" / "r", -1)] == [0, 1]
    directory = tmp_path / "p" / ("worker" if where == "own run" else "r")
    stream = None if where == "own run" else "worker"
    rows = read_history(directory, -1, stream=stream)
    assert [row["_step"] for row in rows] == [*range(5), 50]
    assert not any("time_ms" in name for row in rows for name in row)
    suffix = "" if stream is None else ".worker"
    spans = (directory / f"spans{suffix}.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in spans] == ["produce"] * 5
    assert json.loads((directory / f"config{suffix}.json").read_text()) == {"who": "worker"}
    assert "forked child" not in program.errors


def test_a_second_writer_of_a_stream_is_refused_and_told_who_has_it(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], stream="data", capture=False)
et.log({"a": 1})
say("pid", os.getpid())

def child():
    try:
        et.init("p", "r", dir=sys.argv[1], stream="data", capture=False)
    except et.errors.StreamInUseError as error:
        say("refused", str(error))
    say("run", et.get_run() is None)
    et.init("p", "r", dir=sys.argv[1], stream="other", capture=False)
    et.log({"b": 1})
    et.finish()

say("status", in_child(child))
say("again", in_child(child))  # the first child's end has not freed the parent's lock
et.log({"a": 2})
et.finish()
"""
    )
    program = run_program(script, tmp_path)
    pid = program.value("pid")
    refused = program.value("refused")
    assert f"process {pid} on {socket.gethostname()}" in refused
    assert "stream=" in refused
    assert program.value("run")
    assert program.value("status") == 0, program.errors
    assert f"process {pid}" in program.value("refused")
    assert program.value("again") == 0, program.errors
    assert [row["a"] for row in read_history(tmp_path / "p" / "r", -1, stream="data")] == [1, 2]


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


def test_the_lock_of_a_killed_parent_is_free_although_its_child_lives(
    start: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False, capture_console=False)
et.log({"a": 1})
read_end, write_end = os.pipe()
def child():
    os.write(write_end, b"!")
    signal.alarm(0)
    sys.stdin.readline()
pid = in_child(child, wait=False)
os.read(read_end, 1)
say("child", pid)
signal.pause()
"""
    )
    parent = start(script, tmp_path)
    child = parent.value("child")
    parent.signal(signal.SIGKILL)
    assert parent.process.wait(10) == -signal.SIGKILL
    os.kill(child, 0)  # it lives
    try:
        second = start(script, tmp_path)
        second.value("child")
    finally:
        os.kill(child, signal.SIGKILL)
    rows = read_history(tmp_path / "p" / "r", -1)
    assert [row["a"] for row in rows] == [1, 1]
    second.signal(signal.SIGTERM)


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
        assert [line["_step"] for line in lines[:-1]] == [0, 1, 70]
        assert lines[-2]["late"] == number
        summary = json.loads((directory / f"summary.w{pid}.json").read_text())
        assert summary["pinned"] == number
        assert summary["late"] == number


def test_a_fork_from_a_thread_gives_a_child_that_can_record(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=False)
def child():
    et.init("p", "r", dir=sys.argv[1], stream="child", capture=False)
    et.log({"a": 1}, step=3)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20)
def fork():
    say("exit", os.waitstatus_to_exitcode(in_child(child)))
thread = threading.Thread(target=fork)
thread.start()
thread.join()
et.finish()
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("exit") == -signal.SIGTERM, program.errors
    path = tmp_path / "p" / "r" / "metrics.child.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["a"] == 1
    assert lines[1]["_status"] == "cancelled"


def test_a_fork_waits_for_modules_that_another_thread_is_loading(
    run_program: Start, tmp_path: Path
) -> None:
    # A child inherits the lock of a half-loaded module, held by a thread that it does not have.
    script = (
        FORKING
        + """
begun = threading.Event()

class SlowFinder:
    def find_spec(self, name, path, target=None):
        if name in ("expr_tracker.capture.programs", "expr_tracker.spans.span"):
            begun.set()
            time.sleep(0.3)  # the others have all the time to fork meanwhile

sys.meta_path.insert(0, SlowFinder())
form = sys.argv[2]
run = et.init("p", "r", dir=sys.argv[1], capture=form == "environment")
if form == "spans":
    threading.Thread(target=lambda: et.span("first")).start()
assert begun.wait(10)

def child():
    import importlib.metadata
    from expr_tracker.capture import capture_environment
    et.init("p", "r", dir=sys.argv[1], stream="child")
    with et.span("s"):
        et.log({"a": 1})
    et.finish()

say("status", in_child(child))
et.finish()
"""
    )
    for form in ("environment", "spans"):
        assert run_program(script, tmp_path / form, form).value("status") == 0


def test_a_forks_child_leaves_the_parents_companions_alone(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        FORKING
        + """
run = et.init("p", "r", dir=sys.argv[1], capture=True, capture_console=True, system_metrics=True,
              system_interval=0.05)
def child():
    print("printed in the child", flush=True)
    et.log({"nothing": 1})
    et.init("p", "r", dir=sys.argv[1], stream="child", capture=False, capture_console=True)
    print("printed in the child's run", flush=True)
    et.log({"a": 1})
    et.finish()
    say("threads", [thread.name for thread in threading.enumerate()])
status = in_child(child)
print("printed in the parent", flush=True)
et.finish()
say("status", status)
"""
    )
    program = run_program(script, tmp_path)
    assert len(program.value("threads")) == 1
    assert program.value("status") == 0, program.errors
    directory = tmp_path / "p" / "r"

    def texts(stream: str) -> str:
        path = directory / f"console{stream}.jsonl"
        return "".join(json.loads(line)["text"] for line in path.read_text().splitlines())

    assert "printed in the parent" in texts("")
    assert "child" not in texts("")
    assert "printed in the child's run" in texts(".child")
    assert "printed in the parent" not in texts(".child")
    assert None in list_streams(directory)


def test_nothing_of_the_standard_library_is_replaced(run_program: Start, tmp_path: Path) -> None:
    script = """
        import sys
        import atexit, builtins, io, logging, multiprocessing, os, signal, subprocess, threading
        import multiprocessing.context, multiprocessing.popen_fork, multiprocessing.process
        import multiprocessing.util, concurrent.futures.process, time

        modules = [atexit, builtins, io, logging, multiprocessing, os, signal, subprocess,
                   threading, time, multiprocessing.context, multiprocessing.popen_fork,
                   multiprocessing.process, multiprocessing.util, concurrent.futures.process,
                   multiprocessing.process.BaseProcess, threading.Thread]

        def attributes():
            return {(str(module), name): id(value) for module in modules
                    for name, value in vars(module).items()
                    if callable(value) and not name.startswith("__")}

        hooks = (sys.excepthook, sys.stdout, sys.stderr, threading.excepthook)
        before = attributes()
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1])
        et.log({"a": 1.0})
        with et.span("s"):
            pass
        during = attributes()
        assert hooks == (sys.excepthook, sys.stdout, sys.stderr, threading.excepthook)
        et.finish()
        after = attributes()
        for moment in (during, after):
            changed = sorted(key for key in before if moment.get(key) != before[key])
            assert not changed, changed
        print("same", flush=True)
    """
    run_program(script, tmp_path).line("same")
