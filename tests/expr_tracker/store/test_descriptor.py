"""Whether a descriptor is still what it was opened for."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
from typing import TYPE_CHECKING

import pytest

from expr_tracker.store import descriptor
from expr_tracker.store.descriptor import close_own, identity_of, is_own, name_of
from expr_tracker.store.place import open_for_append

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


@pytest.fixture
def fd(path: Path) -> Iterator[int]:
    fd = open_for_append(path)
    yield fd
    if identity_of(fd) is not None:
        os.close(fd)


def is_open(fd: int) -> bool:
    return identity_of(fd) is not None


def test_a_descriptor_is_its_own_until_it_is_closed_and_closing_it_twice_is_harmless(
    fd: int,
) -> None:
    identity = identity_of(fd)
    assert is_own(fd, identity)
    close_own(fd, identity)
    assert not is_own(fd, identity)
    assert not is_own(fd, None)
    close_own(fd, identity)
    assert not is_open(fd)


def test_the_number_of_another_file_is_not_ours_and_stays_open(fd: int, tmp_path: Path) -> None:
    identity = identity_of(fd)
    with (tmp_path / "other").open("wb") as other:
        os.dup2(other.fileno(), fd)
        assert not is_own(fd, identity)
        close_own(fd, identity)
        assert is_open(fd)


def test_a_reader_of_the_same_file_is_not_its_writer(fd: int, path: Path) -> None:
    identity = identity_of(fd)
    with path.open("rb") as reader:
        os.dup2(reader.fileno(), fd)
        assert not is_own(fd, identity)


def test_what_has_a_number_is_named_where_the_system_can(fd: int, path: Path) -> None:
    assert name_of(fd) in {str(path), None}
    os.close(fd)
    assert name_of(fd) is None


def test_a_number_apart_is_not_the_next_files(
    fd: int, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beyond = fd + 100  # the other tests of this process have files open
    monkeypatch.setattr(descriptor, "_NUMBERS", itertools.cycle(range(beyond, beyond + 9)))
    first = open_for_append(path)
    assert first >= beyond
    os.close(first)
    with (tmp_path / "other").open("wb") as other:
        assert other.fileno() != first
    again = open_for_append(path)
    assert again != first, "what is opened again gets no number that was trusted before"
    os.close(again)


def test_at_the_limit_of_open_files_a_descriptor_keeps_its_number(
    fd: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, operation: int, number: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "fcntl", refuse)
        other = open_for_append(path)
    assert identity_of(other) == identity_of(fd)
    os.close(other)
