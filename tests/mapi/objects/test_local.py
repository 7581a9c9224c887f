"""What holds for objects that are files, beside what holds for all stores."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mapi.errors import NotFoundError, UnavailableError
from mapi.objects.local import LocalStore
from mapi.objects.permits import UploadPermits
from mapi.objects.store import CHUNK_BYTES, ObjectExistsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def torn() -> AsyncIterator[bytes]:
    yield b"half of"
    raise ConnectionResetError("the sender is gone")


async def keys(store: LocalStore, folder: str = "") -> set[str]:
    return {head.key async for head in store.heads(folder)}


@pytest.fixture
def permits() -> UploadPermits:
    return UploadPermits(bytes(32), url="", clock=lambda: 0.0)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def store(directory: Path, permits: UploadPermits) -> LocalStore:
    return LocalStore(directory, permits=permits)


def test_a_link_in_the_store_leads_nowhere(
    store: LocalStore, directory: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (directory / "folder").symlink_to(outside)
    (directory / "file").symlink_to(outside / "secret")
    (directory / "dangling").symlink_to(outside / "new")

    async def work() -> None:
        for key in ("folder/secret", "file", "dangling"):
            for call in (store.head(key), store.read(key), store.get(key)):
                with pytest.raises(NotFoundError):
                    await call
            assert await store.delete(key) is False
        for key in ("folder/new", "file", "dangling"):
            with pytest.raises((NotFoundError, ObjectExistsError)):
                await store.put(key, b"evil")
        assert await keys(store) == set()
        assert await keys(store, "folder") == set()

    run(work())
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"


def test_what_is_no_file_is_no_object(store: LocalStore, directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(directory)  # the path of a socket is short
        listening.bind("socket")

    async def work() -> None:
        for key in ("pipe", "socket"):
            with pytest.raises(NotFoundError):
                await store.read(key)
            assert await store.delete(key) is False
            with pytest.raises(ObjectExistsError):
                await store.put(key, b"x")
        assert await keys(store) == set()

    run(work())


def test_an_object_in_place_of_a_folder_is_told(store: LocalStore) -> None:
    run(store.put("a", b"x"))
    with pytest.raises(NotFoundError):
        run(store.put("a/b", b"y"))
    assert run(store.read("a")) == b"x"


def test_nothing_is_left_aside(store: LocalStore, directory: Path) -> None:
    run(store.put("a", b"x"))
    for content in (b"y", torn()):
        with pytest.raises((ObjectExistsError, ConnectionResetError)):
            run(store.put("a" if content == b"y" else "b", content))
    assert list((directory / ".partial").iterdir()) == []


def test_a_disk_without_room_is_told_and_leaves_nothing(
    store: LocalStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(UnavailableError, match="No space left on device"):
            run(store.put("a", b"x"))
    assert list((directory / ".partial").iterdir()) == []
    run(store.put("a", b"x"))


def test_what_a_killed_server_left_aside_goes_after_a_day(
    store: LocalStore, directory: Path, permits: UploadPermits
) -> None:
    for name in ("old", "new"):
        (directory / ".partial" / name).touch()
    os.utime(directory / ".partial" / "old", (0, 0))
    LocalStore(directory, permits=permits)
    assert [path.name for path in (directory / ".partial").iterdir()] == ["new"]


def test_a_writer_that_is_cancelled_waits_for_its_thread(
    store: LocalStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the file would be closed under the thread, and its number given to another."""
    begun, may_end = threading.Event(), threading.Event()
    still_open: list[bool] = []
    write = os.write

    def slow(file: int, content: bytes) -> int:
        begun.set()
        may_end.wait(10)
        os.fstat(file)  # raises if it was closed
        still_open.append(True)
        return write(file, content)

    async def work() -> None:
        task = asyncio.ensure_future(store.put("a", b"x"))
        await asyncio.to_thread(begun.wait, 10)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with monkeypatch.context() as patch:
        patch.setattr("os.write", slow)
        run(work())
    assert still_open == [True]
    assert list((directory / ".partial").iterdir()) == []
    run(store.put("a", b"y"))


def test_empty_folders_go_with_their_last_object(store: LocalStore, directory: Path) -> None:
    run(store.put("a/b/c", b"x"))
    run(store.put("a/d", b"x"))
    run(store.delete("a/b/c"))
    assert sorted(path.name for path in (directory / "a").iterdir()) == ["d"]
    run(store.delete("a/d"))
    assert [path.name for path in directory.iterdir()] == [".partial"]


def test_folders_taken_away_at_once_do_not_stop_a_writer(store: LocalStore) -> None:
    async def come_and_go(key: str) -> None:
        for _ in range(30):
            await store.put(key, b"x")
            assert await store.delete(key)

    async def work() -> None:
        await asyncio.gather(*(come_and_go(f"a/b/{at}") for at in range(4)))

    run(work())


def test_files_are_for_the_server_alone(store: LocalStore, directory: Path) -> None:
    run(store.put("a/b", b"x"))
    assert (directory / "a" / "b").stat().st_mode & 0o077 == 0
    assert (directory / "a").stat().st_mode & 0o077 == 0


def test_a_file_that_was_cut_off_is_told(store: LocalStore, directory: Path) -> None:
    async def work() -> None:
        await store.put("a", bytes(2 * CHUNK_BYTES))
        chunks = await store.get("a")
        await anext(chunks)
        os.truncate(directory / "a", CHUNK_BYTES)
        with pytest.raises(UnavailableError, match="ends early"):
            await anext(chunks)

    run(work())
