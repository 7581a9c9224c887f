"""The embedded server: private, durable, alone in its home."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.database.embedded.binaries import Binaries, find_binaries, find_identity
from mapi.database.embedded.home import Home, advice_for_home
from mapi.database.embedded.server import EmbeddedServer
from mapi.database.embedded.sockets import remove_socket_directory
from mapi.errors import DatabaseError, HomeInUseError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    try:
        yield server
    finally:
        server.stop()


def test_it_starts_again_with_what_was_committed_after_a_kill(own: EmbeddedServer) -> None:
    own.start()
    with psycopg.connect(own.superuser_url(), autocommit=True) as connection:
        connection.execute("create table kept (n int)")
        connection.execute("insert into kept select generate_series(1, 1000)")
        assert own.process_id is not None
        os.kill(own.process_id, signal.SIGKILL)
    own.stop()
    own.start()
    with psycopg.connect(own.superuser_url()) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (1000,)


def test_a_server_that_outlived_its_starter_is_shut_down_by_the_next(
    own: EmbeddedServer, tmp_path: Path
) -> None:
    own.start()
    survivor = own.process_id
    next_one = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    try:
        next_one.start()
        assert next_one.process_id != survivor
        with psycopg.connect(next_one.superuser_url()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        next_one.stop()


@pytest.mark.parametrize("number_is", ["not collected", "taken by another program"])
def test_the_number_of_a_killed_server_keeps_nobody_out(
    own: EmbeddedServer, tmp_path: Path, number_is: str
) -> None:
    own.start()
    with psycopg.connect(own.superuser_url(), autocommit=True) as connection:
        connection.execute("create table kept (n int)")
    killed = own.process_id
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    # Nobody waits for it: its number stays, as where a container has no init.
    lock = tmp_path / "pg" / "data" / "postmaster.pid"
    other = subprocess.Popen(["sleep", "600"]) if number_is.startswith("taken") else None
    if other is not None:
        lock.write_text(f"{other.pid}\n{lock.read_text().partition(chr(10))[2]}")
    next_one = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    try:
        next_one.start()
        with psycopg.connect(next_one.superuser_url()) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (0,)
        assert other is None or other.poll() is None
    finally:
        next_one.stop()
        if other is not None:
            other.kill()
            other.wait()


def test_a_server_that_begins_while_the_next_does_keeps_nobody_out(
    own: EmbeddedServer, tmp_path: Path
) -> None:
    own.start()
    assert own.process_id is not None
    os.kill(own.process_id, signal.SIGKILL)
    os.waitpid(own.process_id, 0)

    # Its watchdog starts it again and is killed at once: the lock file still has the old number.
    def restart() -> None:
        with contextlib.suppress(DatabaseError):  # the next one ends it
            own.restart_if_dead()

    again = threading.Thread(target=restart)
    again.start()
    next_one = EmbeddedServer(tmp_path / "pg", find_binaries(None), find_identity(65534))
    try:
        next_one.start()
        with psycopg.connect(next_one.superuser_url()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        again.join()
        next_one.stop()


def test_it_ends_with_its_starter(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from mapi.database.embedded.binaries import find_binaries, find_identity\n"
        "from mapi.database.embedded.server import EmbeddedServer\n"
        "server = EmbeddedServer(Path(sys.argv[1]), find_binaries(None), find_identity(65534))\n"
        "server.start(); print(server.process_id, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "pg")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        server = int(starter.stdout.readline())
        watched = os.pidfd_open(server)
        try:
            starter.kill()
            starter.wait()
            readable = _wait_readable(watched, 30)
        finally:
            os.close(watched)
    assert readable, "the server still runs half a minute after its starter was killed"
    remove_socket_directory(tmp_path / "pg")


def _wait_readable(descriptor: int, seconds: float) -> bool:
    import select

    return bool(select.select([descriptor], [], [], seconds)[0])


def test_its_home_is_the_same_by_another_name(own: EmbeddedServer, tmp_path: Path) -> None:
    own.start()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "pg", target_is_directory=True)
    same = EmbeddedServer(link, find_binaries(None), find_identity(65534))
    assert same.attach()
    with psycopg.connect(same.superuser_url()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_nobody_else_can_reach_it(own: EmbeddedServer, tmp_path: Path) -> None:
    own.start()
    url = dict(part.split("=", 1) for part in own.superuser_url().split())
    socket_directory = Path(url["host"])
    assert stat.S_IMODE(socket_directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "pg").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "pg" / "password").stat().st_mode) == 0o600
    with psycopg.connect(own.superuser_url()) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(own.url("postgres", "wrong", "postgres"))
    own.stop()
    assert not socket_directory.exists()


def test_a_start_that_was_killed_while_making_the_cluster_begins_again(
    own: EmbeddedServer, tmp_path: Path
) -> None:
    (tmp_path / "pg" / "data.part" / "base").mkdir(parents=True)
    own.start()
    assert not (tmp_path / "pg" / "data.part").exists()


def test_a_cluster_of_another_version_is_left_alone(own: EmbeddedServer, tmp_path: Path) -> None:
    own.start()
    own.stop()
    (tmp_path / "pg" / "data" / "PG_VERSION").write_text("14\n")
    with pytest.raises(DatabaseError, match="made by PostgreSQL 14"):
        own.start()


def test_a_directory_without_programs_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="MAPI_PG_BIN names a directory"):
        find_binaries(tmp_path)


def test_one_process_works_in_a_home(tmp_path: Path) -> None:
    first, second = Home(tmp_path / "home"), Home(tmp_path / "home")
    first.enter()
    with pytest.raises(HomeInUseError, match=f"in use by process {os.getpid()}"):
        second.enter()
    first.leave()
    second.enter()
    second.leave()
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_a_home_of_another_host_is_refused_until_it_is_freed(tmp_path: Path) -> None:
    owner = tmp_path / "home" / "owner.json"
    owner.parent.mkdir()
    owner.write_text(json.dumps({"host": "elsewhere", "boot": "another", "pid": 7}))
    with pytest.raises(HomeInUseError, match="belongs to the host 'elsewhere'"):
        Home(tmp_path / "home").enter()
    owner.unlink()
    home = Home(tmp_path / "home")
    home.enter()
    home.leave()
    assert not owner.exists()


def test_a_disk_that_is_full_at_the_first_start_is_told_in_a_line(tmp_path: Path) -> None:
    real = find_binaries(None).directory
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "postgres").symlink_to(real / "postgres")
    initdb = programs / "initdb"
    initdb.write_text(
        "#!/bin/sh\n"
        "echo 'FATAL:  could not write to file \"base/4\": No space left on device' >&2\n"
        "echo 'child process exited with exit code 1' >&2\n"
        "exit 1\n"
    )
    initdb.chmod(0o755)
    binaries = Binaries(programs, find_binaries(None).version)
    server = EmbeddedServer(tmp_path / "pg", binaries, find_identity(65534))
    with pytest.raises(DatabaseError) as caught:
        server.start()
    assert str(caught.value).startswith(f"The disk of {tmp_path / 'pg'}")
    assert "make room" in str(caught.value)
    assert "FATAL" not in str(caught.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EEXIST, "is a file and no directory"),
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "Make room"),
        (errno.EACCES, "Give it to the user that runs this"),
    ],
)
def test_what_helps_a_home_that_cannot_be_made_goes_by_what_is_wrong(
    number: int, said: str
) -> None:
    advice = advice_for_home(OSError(number, "x"))
    assert said in advice
    assert "--home or MAPI_HOME" in advice
