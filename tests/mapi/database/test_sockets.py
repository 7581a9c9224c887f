"""The directory of the database's socket: one at a time, and never another's."""

from __future__ import annotations

import shutil
import stat
import tempfile
from typing import TYPE_CHECKING

import pytest

from mapi.database.embedded.binaries import Identity
from mapi.database.embedded.sockets import make_socket_directory, remove_socket_directory

if TYPE_CHECKING:
    from pathlib import Path

#: Whoever runs the test.
OURSELVES = Identity(uid=None, prefix=())


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for what is temporary."""
    found = tmp_path / "outside"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / "home"
    found.mkdir()
    return found


def test_it_is_the_owners_alone_and_goes_as_a_whole(outside: Path, home: Path) -> None:
    made = make_socket_directory(home, OURSELVES)
    assert list(outside.iterdir()) == [made]
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (made / ".s.PGSQL.5432").touch()
    (made / ".s.PGSQL.5432.lock").touch()
    remove_socket_directory(home)
    assert list(outside.iterdir()) == []
    assert list(home.iterdir()) == []
    remove_socket_directory(home)


def test_the_next_one_takes_the_place_of_what_a_killed_server_left(
    outside: Path, home: Path
) -> None:
    first = make_socket_directory(home, OURSELVES)
    (first / ".s.PGSQL.5432").touch()
    second = make_socket_directory(home, OURSELVES)
    assert list(outside.iterdir()) == [second]
    # Killed between the two writes: nothing says yet whose it is.
    (second / "home").unlink()
    third = make_socket_directory(home, OURSELVES)
    assert list(outside.iterdir()) == [third]


def test_a_copy_of_a_home_leaves_alone_what_is_the_others(
    outside: Path, home: Path, tmp_path: Path
) -> None:
    made = make_socket_directory(home, OURSELVES)
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    own = make_socket_directory(copy, OURSELVES)
    assert sorted(outside.iterdir()) == sorted([made, own])
    remove_socket_directory(copy)
    assert list(outside.iterdir()) == [made]


def test_what_is_no_directory_of_ours_stays(outside: Path, home: Path, tmp_path: Path) -> None:
    other = outside / "other"
    other.mkdir()
    (other / "a file").touch()
    link = outside / "link"
    link.symlink_to(other)
    for named in (other, link, tmp_path / "nowhere"):
        (home / "socket").write_text(str(named))
        remove_socket_directory(home)
    assert [one.name for one in other.iterdir()] == ["a file"]
    assert link.is_symlink()
