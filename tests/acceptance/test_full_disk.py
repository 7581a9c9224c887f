from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import until

from expr_tracker.history import list_attempts, read_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

ROWS = 20_000
#: A healthy log takes microseconds: a thousandth of a second each would be a storm of retries.
SECONDS_MOST = 10.0
LOG_LINES_MOST = 10


@pytest.fixture(params=["real-tmpfs-of-256-KiB", "file-size-limit-of-256-KiB"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A place that takes 256 KiB: a file system of its own, or the kernel's limit on a file."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not request.param.startswith("real"):
        yield "limit", folder
        return
    options = ["-o", "size=4m"]
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no mount here: {mounted.stderr.decode().strip()}")
    # The ballast goes away when space is to come back.
    (folder / "ballast").write_bytes(bytes(4 * 1024 * 1024 - 256 * 1024))
    yield "tmpfs", folder
    subprocess.run(["umount", "-l", folder], check=True)


#: Logs until long after the disk is full, says what it cost, and waits for a word.
FILLING = """
    import json, resource, sys, time
    import expr_tracker as et

    how, folder, rows, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))
    run = et.init("p", "r", dir=folder, capture=False)

    def percentile(times, part):
        return sorted(times)[int(len(times) * part)] * 1e6

    times = []
    began = time.monotonic()
    for step in range(rows):
        before = time.perf_counter()
        et.log({"i": step, "a": 0.1, "b": 0.2})
        times.append(time.perf_counter() - before)
    print("seconds", time.monotonic() - began)
    print("p50_us", percentile(times, 0.5))
    print("p99_us", percentile(times, 0.99))
    print("max_us", max(times) * 1e6)
    info = et.info()
    print("pending", info["history"]["pending_bytes"])
    print("durability", json.dumps(info["history"]["durability"]))
    print("failure", json.dumps(info["history"]["write_failure"]))
    print("loss", json.dumps(info["loss"]))
    print("live", json.dumps([row["i"] for row in et.history(-1)]))
    print("full", flush=True)
    if end == "comes back":
        input()
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        deadline = time.monotonic() + 30
        while et.info()["history"]["pending_bytes"] and time.monotonic() < deadline:
            time.sleep(0.01)
        info = et.info()
        print("pending", info["history"]["pending_bytes"])
        print("durability", json.dumps(info["history"]["durability"]))
        et.log({"i": rows})
    et.finish()
    print("finished", flush=True)
"""


def bounded_lines(errors: str) -> list[str]:
    lines = errors.splitlines()
    assert len(lines) <= LOG_LINES_MOST, errors
    return lines


def test_space_that_comes_back_gets_every_row_in_order(
    small_disk: tuple[str, Path],
    start: Start,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
    record_property: Callable[[str, object], None],
) -> None:
    how, folder = small_disk
    program = start(FILLING, how, folder, ROWS, "comes back")
    assert program.value("seconds") < SECONDS_MOST
    for name in ("p50_us", "p99_us", "max_us"):
        record_property(name, program.value(name))
    print("\n".join(program.lines))
    assert program.value("pending") > 0
    assert program.value("durability") == "buffered"
    assert program.value("failure") == os.strerror(28 if how == "tmpfs" else 27)
    loss = program.value("loss")
    assert not loss["dropped"]
    assert not loss["refused"]
    assert program.value("live") == list(range(ROWS)), "a live query sees the rows that wait"
    program.line("full")
    partial = (folder / "p" / "r" / "metrics.jsonl").read_bytes()
    assert partial.endswith(b"\n"), "no reader ever sees half a line"

    (folder / "ballast").unlink(missing_ok=True)
    program.say()
    assert program.value("pending") == 0
    assert program.value("durability") == "process"
    assert program.end() == 0, program.errors
    lines = strict_lines(folder / "p" / "r" / "metrics.jsonl")
    assert [line["i"] for line in lines if "i" in line] == list(range(ROWS + 1))
    assert lines[-1]["_status"] == "succeeded"
    said = bounded_lines(program.errors)
    assert len([line for line in said if "cannot be written" in line]) == 1
    assert len([line for line in said if "can be written again" in line]) == 1


@pytest.mark.parametrize("is_resumed", [False, True], ids=["", "resumed"])
def test_space_that_never_comes_back_leaves_a_rescue_file_and_the_command_that_puts_it_back(
    small_disk: tuple[str, Path],
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
    *,
    is_resumed: bool,
) -> None:
    how, folder = small_disk
    # The limit holds for the rescue file as well, which must have room in it.
    rows = ROWS if how == "tmpfs" else 6_000
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    program = start(FILLING, how, folder, rows, "never", environment={"TMPDIR": str(rescue)})
    assert program.value("seconds") < SECONDS_MOST
    program.line("finished")
    assert program.end() == 0, program.errors
    said = bounded_lines(program.errors)
    (saved,) = rescue.glob("*.jsonl")
    directory = folder / "p" / "r"
    command = f"et rescue {saved} {directory}"
    assert any(line.endswith(command) for line in said)
    in_file = strict_lines(folder / "p" / "r" / "metrics.jsonl")
    lines = [*in_file, *strict_lines(saved)]
    assert [line["i"] for line in lines if "i" in line] == list(range(rows))
    assert lines[-1]["_status"] == "succeeded"
    first = len([line for line in in_file if "i" in line])
    waiting = rows - first
    (report,) = [line for line in said if line.startswith("p/r (default): stored")]
    # The end marker waits too, but it is no row: what is stored and rescued sums to what was logged.
    assert "dropped 0" in report
    # The same command, as it is typed where the program ran.
    here = f"et rescue {saved} {directory.relative_to(tmp_path)}"
    assert f"rescued {waiting} ({here})" in report
    assert f"stored {rows - waiting} rows" in report

    # What the message tells the user to do works, once there is room; until then it changes nothing.
    if how == "tmpfs":
        refused = et(command)
        assert refused.returncode == 1
        assert f"{directory / 'metrics.jsonl'}: No space left on device: " in refused.stderr
        assert "bytes are needed beside it" in refused.stderr
        assert strict_lines(directory / "metrics.jsonl") == in_file
    (folder / "ballast").unlink(missing_ok=True)
    if is_resumed:
        ended = start(RESUMING, folder)
        assert ended.end() == 0, ended.errors
    done = et(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{waiting} rows put back into {directory / 'metrics.jsonl'}" in done.stdout
    rows_now = (
        list(range(rows)) if not is_resumed else [*range(first), -1, *range(first + 1, rows)]
    )
    assert [row["i"] for row in read_history(directory, -1)] == rows_now
    assert et(f"et verify {directory}").returncode == 0
    assert "nothing to add" in et(command).stdout
    ended = start(RESUMING, folder)
    assert ended.end() == 0, ended.errors
    assert [row["i"] for row in read_history(directory, -1)] == [*rows_now, -1]
    assert [each.number for each in list_attempts(directory)] == list(range(1, 3 + is_resumed))


#: One row more, as a job does that is started again.
RESUMING = """
    import sys
    import expr_tracker as et
    et.init("p", "r", dir=sys.argv[1], capture=False)
    et.log({"i": -1})
    et.finish()
"""


def et(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as it would be pasted."""
    words = [sys.executable, "-m", "expr_tracker", *shlex.split(command)[1:]]
    return subprocess.run(words, capture_output=True, text=True, check=False)


#: Begins on a full disk, and ends on it or waits for room.
FULL_FROM_THE_FIRST = """
    import sys
    import expr_tracker as et
    run = et.init("p", "r", dir=sys.argv[1], capture=False, config={"lr": 1})
    for step in range(3):
        et.log({"i": step})
    print("id", run.id, flush=True)
    if sys.argv[2] == "comes back":
        input()
    et.finish()
"""


# The other one is a limit of single files: other files still have room.
@pytest.mark.parametrize("small_disk", ["real-tmpfs-of-256-KiB"], indirect=True)
@pytest.mark.parametrize("end", ["comes back", "never"])
@pytest.mark.parametrize("has_run", [False, True], ids=["new", "resumed"])
def test_a_disk_that_is_full_at_init_costs_one_warning_and_no_row(
    small_disk: tuple[str, Path], start: Start, tmp_path: Path, *, has_run: bool, end: str
) -> None:
    _, folder = small_disk
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    directory = folder / "p" / "r"
    if has_run:
        assert start(RESUMING, folder).end() == 0
    with (folder / "more").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    program = start(FULL_FROM_THE_FIRST, folder, end, environment={"TMPDIR": str(rescue)})
    identity = program.line("id")
    if has_run:
        assert json.loads((directory / "run.json").read_bytes())["id"] == identity
    else:
        assert not (directory / "run.json").exists()
    if end == "comes back":
        (folder / "ballast").unlink()
        program.say()
    assert program.end() == 0, program.errors
    assert "Traceback" not in program.errors
    assert program.errors.count("What is said about the run") == 1
    (folder / "ballast").unlink(missing_ok=True)
    for saved in rescue.glob("*metrics*"):
        assert et(f"et rescue {saved} {directory}").returncode == 0
    if end == "comes back":
        assert json.loads((directory / "run.json").read_bytes())["id"] == identity
        assert json.loads((directory / "config.json").read_bytes()) == {"lr": 1}
    assert [row["i"] for row in read_history(directory, -1)] == [-1] * has_run + [0, 1, 2]
    assert start(RESUMING, folder).end() == 0
    assert et(f"et verify {directory}").returncode == 0


@pytest.mark.parametrize("small_disk", ["real-tmpfs-of-256-KiB"], indirect=True)
def test_two_runs_of_a_disk_that_is_full_from_the_first_row_are_put_back_one_after_the_other(
    small_disk: tuple[str, Path], start: Start, tmp_path: Path
) -> None:
    _, folder = small_disk
    directory = folder / "p" / "r"
    saved = []
    for name in ("first", "second"):
        rescue = tmp_path / name
        rescue.mkdir()
        with (folder / "more").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while name == "first" and file.write(bytes(4096)):
                pass
        program = start(
            FILLING, "tmpfs", folder, 6_000, "never", environment={"TMPDIR": str(rescue)}
        )
        program.line("finished")
        assert program.end() == 0, program.errors
        (folder / "more").unlink()
        saved += list(rescue.glob("*metrics*"))
    assert len(saved) == 2
    (folder / "ballast").unlink()
    for each in saved:
        done = et(f"et rescue {each} {directory}")
        assert done.returncode == 0, done.stderr
    assert [each.status for each in list_attempts(directory)] == ["succeeded"] * 2
    report = et(f"et verify {directory}")
    assert report.returncode == 0, report.stdout
    assert "12000 rows" in report.stdout


#: The very descriptor of the file stops taking writes, as the program gave its number to a reader.
READ_ONLY = """
    import json, os, sys, time
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False)
    path = run.dir + "/metrics.jsonl"
    number = next(int(fd) for fd in os.listdir("/proc/self/fd")
                  if os.path.realpath("/proc/self/fd/" + fd).endswith("metrics.jsonl"))
    for step in range(100):
        et.log({"i": step})
    reader = os.open(path, os.O_RDONLY)
    os.dup2(reader, number)
    began = time.monotonic()
    for step in range(100, 20_000):
        et.log({"i": step})
    print("seconds", time.monotonic() - began)
    print("failure", json.dumps(et.info()["history"]["write_failure"]))
    et.finish()
    print("begins", json.dumps(os.pread(number, 5, 0).decode()))
"""


def test_a_descriptor_that_takes_no_writes_any_more_costs_no_row(
    run_program: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    program = run_program(READ_ONLY, tmp_path, environment={"TMPDIR": str(rescue)})
    assert program.value("seconds") < SECONDS_MOST
    assert program.value("failure") is None
    assert program.value("begins") == '{"_st', "the reader is the program's, and still open"
    bounded_lines(program.errors)
    lines = strict_lines(tmp_path / "p" / "r" / "metrics.jsonl")
    assert [line["i"] for line in lines if "i" in line] == list(range(20_000))
    assert list(rescue.iterdir()) == []


#: Logs steadily while the parent does something to the run directory.
STEADY = """
    import json, sys, time
    import expr_tracker as et

    folder, durability = sys.argv[1:]
    options = {} if durability == "process" else {"durability": "buffered", "buffer_size": 10}
    run = et.init("p", "r", dir=folder, capture=False, **options)
    step = 0
    def log(count):
        global step
        for _ in range(count):
            et.log({"i": step})
            with et.span("s", i=step):
                pass
            step += 1
    def wait_for_a_word(count):
        print("logged", step, flush=True)
        sys.stdin.readline()
        log(count)
    log(1_000)
    run.history.flush()
    wait_for_a_word(1_000)
    wait_for_a_word(1_000)
    print("loss", json.dumps(et.info()["loss"]), flush=True)
    et.finish()
    print("finished", flush=True)
"""


@pytest.mark.parametrize("durability", ["process", "buffered"])
@pytest.mark.parametrize("what", ["removed", "moved", "file removed"])
def test_a_run_directory_that_vanishes_is_there_again_with_every_row(
    what: str,
    durability: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(STEADY, tmp_path, durability)
    program.line("logged")
    directory = tmp_path / "p" / "r"
    identity_before = json.loads((directory / "run.json").read_text())
    if what == "removed":
        shutil.rmtree(directory)
    elif what == "moved":
        directory.rename(tmp_path / "p" / "old")
    else:
        (directory / "metrics.jsonl").unlink()
    program.say()
    program.line("logged")
    until((directory / "metrics.jsonl").exists, "the file is put back")
    program.say()
    program.line("finished")
    assert program.end() == 0, program.errors
    lines = strict_lines(directory / "metrics.jsonl")
    assert [line["i"] for line in lines if "i" in line] == list(range(3_000))
    assert lines[-1]["_status"] == "succeeded"
    spans = strict_lines(directory / "spans.jsonl")
    assert [line["args"]["i"] for line in spans] == list(range(3_000))
    assert json.loads((directory / "summary.json").read_text())["i"] == 2_999
    identity = json.loads((directory / "run.json").read_text())
    assert identity["id"] == identity_before["id"]
    assert (directory / "config.json").exists()
    bounded_lines(program.errors)
    assert "put back" in program.errors
    assert [row["i"] for row in read_history(directory, -1) if "i" in row] == list(range(3_000))


def test_a_vanished_directory_does_not_let_a_second_writer_in(
    start: Start, tmp_path: Path
) -> None:
    program = start(STEADY, tmp_path, "process")
    program.line("logged")
    directory = tmp_path / "p" / "r"
    directory.rename(tmp_path / "p" / "old")
    program.say()
    program.line("logged")
    until((directory / "metrics.lock").exists, "the lock is put back")
    second = start(
        """
        import sys
        import expr_tracker as et
        try:
            et.init("p", "r", dir=sys.argv[1], capture=False)
        except et.errors.StreamInUseError as error:
            print("refused", error, flush=True)
        """,
        tmp_path,
    )
    assert f"process {program.pid}" in second.line("refused")
    assert second.end() == 0, second.errors
    program.say()
    assert program.end() == 0, program.errors


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_a_file_that_another_program_cuts_loses_only_what_was_cut(
    durability: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(STEADY, tmp_path, durability)
    program.line("logged")
    path = tmp_path / "p" / "r" / "metrics.jsonl"
    with path.open("r+b") as file:
        file.truncate(0)
    program.say()
    program.line("logged")
    program.say()
    loss = program.value("loss")
    assert program.end() == 0, program.errors
    lines = strict_lines(path)
    assert [line["i"] for line in lines if "i" in line] == list(range(1_000, 3_000))
    assert [row["i"] for row in read_history(path.parent, -1) if "i" in row] == list(
        range(1_000, 3_000)
    )
    assert not loss["dropped"]
    bounded_lines(program.errors)
    assert "changed by another program" in program.errors


@pytest.mark.parametrize("durability", ["process", "buffered"])
def test_a_file_that_another_program_replaces_keeps_what_that_program_kept_and_goes_on(
    durability: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(STEADY, tmp_path, durability)
    program.line("logged")
    path = tmp_path / "p" / "r" / "metrics.jsonl"
    edited = b"".join(path.read_bytes().splitlines(keepends=True)[500:])
    other = path.with_name("edited")
    other.write_bytes(edited)
    other.replace(path)
    program.say()
    program.line("logged")
    until(lambda: path.stat().st_size > len(edited), "the writer follows")
    program.say()
    program.line("finished")
    assert program.end() == 0, program.errors
    numbers = [line["i"] for line in strict_lines(path) if "i" in line]
    assert numbers == list(range(500, 3_000))
    bounded_lines(program.errors)


#: Every append to the metrics file takes two milliseconds while `is_slow`.
SLOW = """
    import json, os, sys, time
    real_write = os.write
    is_slow = False
    slow_writes = 0

    def write(fd, data):
        global slow_writes
        if is_slow and os.readlink(f"/proc/self/fd/{fd}").endswith("metrics.jsonl"):
            slow_writes += 1
            time.sleep(0.002)
        return real_write(fd, data)

    os.write = write  # before the library takes it
    import expr_tracker as et

    folder, durability = sys.argv[1:]
    options = {} if durability == "automatic" else {"durability": durability}
    run = et.init("p", "r", dir=folder, capture=False, max_buffer_seconds=0.5, **options)
    step = 0

    def logs(count):
        global step
        times = []
        for _ in range(count):
            before = time.perf_counter()
            et.log({"i": step})
            times.append(time.perf_counter() - before)
            step += 1
        times.sort()
        print("p50_us", times[count // 2] * 1e6)
        print("p99_us", times[count * 99 // 100] * 1e6)

    logs(500)
    is_slow = True
    logs(100)
    print("durability", json.dumps(et.info()["history"]["durability"]))
    logs(5_000)
    print("slow_writes", slow_writes)
    is_slow = False
    deadline = time.monotonic() + 30
    if durability == "automatic":
        # Half of 64 quick flushes turn buffering off.
        while et.info()["history"]["durability"] != "process" and time.monotonic() < deadline:
            et.log({"i": step})
            step += 1
            run.history.flush()
    print("durability", json.dumps(et.info()["history"]["durability"]))
    et.finish()
    print("rows", step, flush=True)
"""


def test_a_slow_file_system_turns_buffering_on_says_so_once_and_turns_it_off_again(
    run_program: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
    record_property: Callable[[str, object], None],
) -> None:
    program = run_program(SLOW, tmp_path, "automatic")
    figures = {
        when: (program.value("p50_us"), program.value("p99_us"))
        for when in ("quick", "slow", "buffered")
        if when != "buffered"
    }
    assert program.value("durability") == "buffered"
    figures["buffered"] = (program.value("p50_us"), program.value("p99_us"))
    print(figures)
    record_property("log_us", figures)
    assert figures["slow"][1] > 2_000
    assert figures["buffered"][0] < 1_000, "the caller no longer waits for the file"
    assert program.value("slow_writes") < 200, "one for 50 rows and one a round"
    assert program.value("durability") == "process"
    lines = strict_lines(tmp_path / "p" / "r" / "metrics.jsonl")
    rows = program.value("rows")
    assert [line["i"] for line in lines if "i" in line] == list(range(rows))
    said = bounded_lines(program.errors)
    assert len([line for line in said if "are now buffered" in line]) == 1
    assert len([line for line in said if "quick again" in line]) == 1


@pytest.mark.parametrize("durability", ["process", "fsync"])
def test_durability_that_was_asked_for_stays_on_a_slow_file_system(
    durability: str, start: Start, tmp_path: Path
) -> None:
    program = start(SLOW.replace("logs(5_000)", "logs(200)"), tmp_path, durability)
    assert program.value("durability") == durability
    assert program.value("slow_writes") >= 300
    assert program.value("durability") == durability
    assert program.end() == 0, program.errors
    assert "buffered" not in program.errors
