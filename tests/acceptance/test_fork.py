from __future__ import annotations

import json
import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import list_streams, read_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
]


def test_a_fork_inside_a_span_starts_the_child_at_the_root(
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
    forking: str, how: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
    holding_the_lock: str, forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        holding_the_lock
        + forking
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
    forking: str, where: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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


def test_the_lock_of_a_killed_parent_is_free_although_its_child_lives(
    forking: str, start: Start, tmp_path: Path
) -> None:
    script = (
        forking
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


def test_a_fork_from_a_thread_gives_a_child_that_can_record(
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    # A child inherits the lock of a half-loaded module, held by a thread that it does not have.
    script = (
        forking
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
    forking: str, run_program: Start, tmp_path: Path
) -> None:
    script = (
        forking
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
