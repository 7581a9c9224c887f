"""A secret is there whole or not at all, whatever happens to who makes it."""

from __future__ import annotations

import errno
import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, NoReturn

import pytest

from mapi.database.secret_file import keep_secret, read_secret

if TYPE_CHECKING:
    from pathlib import Path


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert read_secret(path) is None
    assert keep_secret(path, lambda: "one") == "one"
    assert keep_secret(path, lambda: "two") == "one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["secret"]


def test_a_full_disk_leaves_no_secret(tmp_path: Path) -> None:
    def fail() -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        keep_secret(tmp_path / "secret", fail)
    assert os.listdir(tmp_path) == []
    assert keep_secret(tmp_path / "secret", lambda: "one") == "one"


def test_who_is_killed_while_it_makes_a_secret_leaves_none(tmp_path: Path) -> None:
    def die() -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"

    path = tmp_path / "secret"
    child = os.fork()
    if not child:
        keep_secret(path, die)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert read_secret(path) is None
    assert keep_secret(path, lambda: "one") == "one"


def test_an_empty_file_is_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch()
    assert read_secret(path) is None
    assert keep_secret(path, lambda: "one") == "one"


@pytest.mark.parametrize("is_empty", [False, True])
def test_whoever_makes_it_at_the_same_time_gets_the_same(tmp_path: Path, is_empty: bool) -> None:
    path = tmp_path / "secret"
    if is_empty:
        path.touch()
    barrier = Barrier(8)

    def make(name: str) -> str:
        barrier.wait()
        return keep_secret(path, lambda: name)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(make, "abcdefgh"))
    assert found == {path.read_text(encoding="ascii")}
