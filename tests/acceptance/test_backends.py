"""Programs that bring their runs to the platform while they log: killed, forked, in many processes."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import (
    DEADLINE_SECONDS,
    Server,
    environment_of,
)
from tests.mapi.follow.reading import in_files, on_platform
from tests.mapi.sdk.small_servers import free_port
from tests.waiting import until

import mapi
from mapi.database.embedded.sockets import remove_socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.acceptance.conftest import Program, Start

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("platform") / "home")
    yield found
    with contextlib.suppress(subprocess.TimeoutExpired):
        found.end()
    remove_socket_directory(found.home / "postgres")


@pytest.fixture
def api(server: Server) -> Iterator[mapi.Client]:
    with asking(server) as found:
        yield found


@contextlib.contextmanager
def asking(server: Server, token: str | None = None) -> Iterator[mapi.Client]:
    with mapi.Client(server.url, token=token or server.token) as found:
        found.projects.create("p", if_exists="get")
        yield found


@pytest.fixture
def begin(server: Server, start: Start, tmp_path: Path) -> Callable[..., Program]:
    """Start a program whose runs go to the platform; its first argument is the folder of runs."""

    def called(script: str, *arguments: object, **variables: str) -> Program:
        environment = {"MAPI_HOME": str(server.home), "ET_BACKENDS": "mapi", **variables}
        return start(script, tmp_path / "runs", *arguments, environment=environment)

    return called


def push(server: Server, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "expr_tracker", "push", str(folder)],
        env=environment_of(server.home),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def found_of(api: mapi.Client, run: Path) -> str:
    identity = json.loads((run / "run.json").read_text())
    found = api.runs.in_project("p").create(external_id=identity["id"])
    return found.id


def status_of(api: mapi.Client, run: Path) -> str:
    status = api.runs.get(found_of(api, run)).status
    return status.value


def assert_equal(api: mapi.Client, run: Path) -> None:
    assert on_platform(api, found_of(api, run)) == in_files(run)


def has_more(api: mapi.Client, run: Path, rows: int) -> bool:
    return count(api, run) > rows


#: Logs one row for each line that it is told, so that a test decides how far it is.
LOGS = """
import sys
import expr_tracker as et
run = et.init("p", "r", dir=sys.argv[1], capture=False)
print("begun", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        break
    for _ in range(int(line)):
        et.log({"loss": et.get_run().step / 2, "note": "x"})
    print("logged", flush=True)
"""


def log(program: Program, rows: int) -> None:
    program.say(str(rows))
    program.line("logged")


def count(api: mapi.Client, run: Path) -> int:
    return len(on_platform(api, found_of(api, run)))


def test_a_killed_program_leaves_what_was_delivered_and_a_later_one_brings_the_rest_once(
    begin: Callable[..., Program], server: Server, api: mapi.Client, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "p" / "r"
    rows = 0
    for _ in range(3):
        program = begin(LOGS)
        program.line("begun")
        log(program, 50)
        rows += 50
        until(partial(has_more, api, run, rows - 50), "some rows are there")
        log(program, 200)
        rows += 200
        program.signal(signal.SIGKILL)
        program.end()
    push(server, tmp_path / "runs")
    assert status_of(api, run) == "lost"
    assert count(api, run) == rows
    assert_equal(api, run)
    program = begin(LOGS + "et.finish()")
    log(program, 10)
    program.say("end")
    assert program.end() == 0
    assert status_of(api, run) == "succeeded"
    assert count(api, run) == rows + 10
    assert_equal(api, run)
    assert len(api.runs.lines(found_of(api, run), limit=1_000)) == rows + 10


@pytest.mark.parametrize(
    ("last", "status", "code"),
    [
        ("", "succeeded", 0),
        ("sys.exit(3)", "succeeded", 3),
        ("raise ValueError('no')", "failed", 1),
        ("raise KeyboardInterrupt", "cancelled", 130),
    ],
    ids=["falls off its end", "leaves", "raises", "is interrupted"],
)
def test_a_program_that_never_finishes_its_run_ends_it_on_the_platform_too(
    begin: Callable[..., Program],
    api: mapi.Client,
    tmp_path: Path,
    last: str,
    status: str,
    code: int,
) -> None:
    script = f"""
        import sys
        import expr_tracker as et
        et.init("p", "r", dir=sys.argv[1], capture=False)
        for step in range(100):
            et.log({{"loss": step}}, step=step)
        {last}
    """
    assert begin(script).end() in {code, -2 if code == 130 else code}
    run = tmp_path / "runs" / "p" / "r"
    assert status_of(api, run) == status
    assert count(api, run) == 100
    assert_equal(api, run)


def test_a_signal_that_ends_a_program_is_told_with_the_last_rows(
    begin: Callable[..., Program], api: mapi.Client, tmp_path: Path
) -> None:
    program = begin(LOGS)
    program.line("begun")
    run = tmp_path / "runs" / "p" / "r"
    log(program, 5)
    until(lambda: count(api, run) == 5, "the first rows are there")
    log(program, 100)
    program.signal(signal.SIGTERM)
    assert program.end() == -signal.SIGTERM
    assert status_of(api, run) == "cancelled"
    assert count(api, run) == 105
    assert_equal(api, run)


def test_processes_of_one_directory_are_one_run_which_the_last_of_them_ends(
    begin: Callable[..., Program], api: mapi.Client, tmp_path: Path
) -> None:
    script = """
        import sys
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1], capture=False, backend_on_rank=None,
                      stream=None if sys.argv[2] == "-" else sys.argv[2])
        print("begun", flush=True)
        sys.stdin.readline()
        for step in range(200):
            et.log({"loss": step / 3, "train/tokens": step}, step=step)
        sys.stdin.readline()
        et.finish()
        print("url", run.url, flush=True)
    """
    programs = [
        begin(script, stream, RANK=rank)
        for stream, rank in (("-", "0"), ("-", "1"), ("data", "0"), ("data", "3"))
    ]
    for program in programs:
        program.line("begun")
    for program in programs:
        program.say()
    run = tmp_path / "runs" / "p" / "r"
    until(lambda: count(api, run) > 0, "rows are there")
    *others, last = programs
    urls = set()
    for program in others:
        program.say()
        urls.add(program.line("url"))
        assert program.end() == 0
    assert status_of(api, run) == "running"
    last.say()
    urls.add(last.line("url"))
    assert last.end() == 0
    assert len(urls) == 1
    assert status_of(api, run) == "succeeded"
    assert_equal(api, run)
    assert {(stream, rank) for stream, rank, *_ in on_platform(api, found_of(api, run))} == {
        ("", 0),
        ("", 1),
        ("data", 0),
        ("data", 3),
    }


def test_a_forked_child_sends_nothing_and_its_parent_goes_on(
    begin: Callable[..., Program], api: mapi.Client, tmp_path: Path
) -> None:
    script = """
        import os, sys, threading
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1], capture=False)
        children = []
        for step in range(40):
            et.log({"loss": step}, step=step)
            if step % 4 == 0:
                pid = os.fork()
                if pid == 0:
                    et.log({"child": step})
                    ours = [each.name for each in threading.enumerate() if "mapi" in each.name]
                    os._exit(len(ours) or 7)
                children.append(pid)
        statuses = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children}
        print("children", sorted(statuses), flush=True)
        pid = os.fork()
        if pid == 0:
            et.init("p", "child", dir=sys.argv[1], capture=False)
            et.log({"loss": 1.5}, step=0)
            et.finish()
            sys.stdout.flush()
            os._exit(0)
        print("own", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        et.finish()
    """
    program = begin(script)
    assert program.value("children") == [7]
    assert program.value("own") == 0
    assert program.end() == 0
    for name, rows in (("r", 40), ("child", 1)):
        run = tmp_path / "runs" / "p" / name
        assert count(api, run) == rows
        assert_equal(api, run)
        assert status_of(api, run) == "succeeded"


def test_workers_of_a_pool_bring_their_own_streams(
    begin: Callable[..., Program], api: mapi.Client, tmp_path: Path
) -> None:
    script = """
        import multiprocessing, sys
        import expr_tracker as et

        def work(number):
            et.init("p", "r", dir=sys.argv[1], capture=False, stream=f"worker{number}")
            for step in range(20):
                et.log({"loss": step * number}, step=step)
            et.finish()

        if __name__ == "__main__":
            et.init("p", "r", dir=sys.argv[1], capture=False)
            et.log({"loss": 1}, step=0)
            context = multiprocessing.get_context(sys.argv[2])
            workers = [context.Process(target=work, args=[number]) for number in range(3)]
            for each in workers:
                each.start()
            for each in workers:
                each.join()
            assert all(each.exitcode == 0 for each in workers)
            et.finish()
    """
    for method in ("fork", "spawn"):
        assert begin(script, method).end() == 0
    run = tmp_path / "runs" / "p" / "r"
    assert status_of(api, run) == "succeeded"
    assert count(api, run) == 3 * 20 + 1
    assert_equal(api, run)


def test_rows_outlast_a_server_that_is_killed_and_started_again(
    serve: Callable[..., Server], start: Start, tmp_path: Path
) -> None:
    words = ["--port", str(free_port())]
    home = tmp_path / "home"
    server = serve(home, *words)
    environment = {
        "MAPI_URL": server.url,
        "MAPI_TOKEN": server.token,
        "MAPI_HOME": str(tmp_path / "none"),
        "ET_BACKENDS": "mapi",
    }
    program = start(LOGS + "et.finish()", tmp_path / "runs", environment=environment)
    program.line("begun")
    run = tmp_path / "runs" / "p" / "r"
    log(program, 10)
    with asking(server) as api:
        until(lambda: count(api, run) == 10, "rows are there")
    server.end(signal.SIGKILL)
    log(program, 10)
    until(lambda: "wait in its directory" in program.errors, "the outage is told")
    server = serve(home, *words)
    with asking(server, environment["MAPI_TOKEN"]) as api:
        until(lambda: count(api, run) == 20, "what waited is there")
        log(program, 10)
        program.say("end")
        assert program.end() == 0
        assert status_of(api, run) == "succeeded"
        assert count(api, run) == 30
        assert_equal(api, run)
    assert program.errors.count("wait in its directory") == 1
    assert program.errors.count("taken again") == 1


def test_without_the_extra_a_run_says_how_to_get_it_and_goes_on(
    run_program: Start, tmp_path: Path
) -> None:
    script = """
        import json, sys

        class NotInstalled:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "httpcore":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, NotInstalled())
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1], capture=False, backends=["mapi"])
        et.log({"loss": 1})
        et.finish()
        print("figures", json.dumps(run.info()["backends"]), flush=True)
    """
    program = run_program(script, tmp_path / "runs")
    (warning,) = program.errors.splitlines()
    assert "it needs httpcore: pip install" in warning
    figures: dict[str, Any] = program.value("figures")["mapi"]
    assert (figures["delivered"], figures["waiting"], figures["url"]) == (0, 1, None)


def test_all_that_a_feed_needs_is_loaded_by_init_so_that_a_program_may_fork(
    begin: Callable[..., Program],
) -> None:
    script = """
        import json, sys
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1], capture=False)
        before = set(sys.modules)
        for step in range(3000):
            et.log({"loss": step, "text": "x"}, step=step)
        et.finish()
        print("loaded", json.dumps(sorted(set(sys.modules) - before)), flush=True)
        print("figures", json.dumps(run.info()["backends"]["mapi"]["delivered"]), flush=True)
    """
    program = begin(script)
    assert program.value("loaded") == []
    assert program.value("figures") == 3000
    assert program.end() == 0
