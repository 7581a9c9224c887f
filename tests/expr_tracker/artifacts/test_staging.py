"""What a killed process leaves, and what happens to it: real processes, killed for real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from expr_tracker.artifacts import ArtifactStore
from expr_tracker.artifacts.staging import Staging, dead_stagings, locked

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024


def silent(kind: str, text: str) -> None:
    del kind, text


def log_again(store: ArtifactStore, source: Path) -> None:
    """Log the same files once more and see that one whole version is all there is."""
    artifact = store.log(source, "m")
    assert artifact.version == 0
    assert store.verify().version_count == 1
    assert [found.name for found in (store.root / "m").iterdir()] == ["v0"]
    assert list((store.root / ".incoming").iterdir()) == []
    (folder,) = {artifact.download()}
    for file in source.iterdir():
        assert (folder / file.name).read_bytes() == file.read_bytes()


PAUSED_COPY = """
import os, signal, sys
from pathlib import Path
from expr_tracker.artifacts import ArtifactStore
base = Path(sys.argv[1])
write, written = os.write, 0
def slow_write(descriptor, data):
    global written
    count = write(descriptor, data)
    written += count
    if written > 2 * 2**20:
        print("in the middle", flush=True)
        signal.pause()
    return count
os.write = slow_write
ArtifactStore(base / "artifacts").log(base / "source", "m")
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "big").write_bytes(os.urandom(1024) * 1024 * 6)
    (folder / "small").write_bytes(b"x")
    return folder


def killed_in_the_middle(tmp_path: Path) -> int:
    with subprocess.Popen(
        [sys.executable, "-c", PAUSED_COPY, str(tmp_path)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in the middle\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    return child.pid


def test_a_copy_that_was_killed_in_the_middle_is_no_version(tmp_path: Path, source: Path) -> None:
    killed_in_the_middle(tmp_path)
    store = ArtifactStore(tmp_path / "artifacts")
    left = [found for found in store.root.rglob("big") if found.is_file()]
    assert [0 < found.stat().st_size < 6 * MIB for found in left] == [True]
    assert store.list() == []
    assert not (store.root / "m").exists()
    log_again(store, source)


def test_the_copy_of_a_live_process_is_left_alone(tmp_path: Path, source: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PAUSED_COPY, str(tmp_path)], stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"in the middle\n"
            store = ArtifactStore(tmp_path / "artifacts")
            assert store.log(source, "other").version == 0
            assert len(list((store.root / ".incoming").iterdir())) == 1
        finally:
            child.kill()


KILL_EVERYWHERE = """
import os, shutil, signal, sys
from pathlib import Path
from expr_tracker.artifacts import ArtifactStore

base, torn = Path(sys.argv[1]), sys.argv[2] == "torn"
# Every call with which the store changes the disk.
NAMES = ["write", "fsync", "open", "mkdir", "rename", "replace", "unlink", "rmdir", "close"]

def child(root, fatal):
    calls = 0
    def wrapped(original, name):
        def call(*arguments, **keywords):
            nonlocal calls
            calls += 1
            if calls == fatal:
                if torn and name == "write":
                    original(arguments[0], bytes(arguments[1])[:len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **keywords)
        return call
    store = ArtifactStore(root)
    for name in NAMES:
        setattr(os, name, wrapped(getattr(os, name), name))
    store.log(base / "source", "m", aliases=["best"])
    os._exit(0)

fatal = 0
while True:
    fatal += 1
    root = base / "stores" / str(fatal)
    pid = os.fork()
    if pid == 0:
        child(root, fatal)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0
        break
print(fatal)
"""


@pytest.mark.parametrize("kind", ["whole", "torn"])
def test_killed_at_any_call_it_leaves_no_version_or_a_whole_one(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_bytes(b"aaaa")
    (source / "b").write_bytes(b"bb")
    done = subprocess.run(
        [sys.executable, "-c", KILL_EVERYWHERE, str(tmp_path), kind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
    found = []
    for root in sorted((tmp_path / "stores").iterdir(), key=lambda root: int(root.name)):
        store = ArtifactStore(root, warn=silent)
        versions = store.list()
        found.append(len(versions))
        for artifact in versions:
            assert artifact.version == 0
            assert artifact.files() == ["a", "b"]
            assert store.use("m:best").download() == artifact.dir
        log_again(store, source)
    # The version appears at one instant and stays.
    assert found == sorted(found)
    assert found[-1] == 1


def test_a_version_that_was_in_place_but_not_listed_is_listed(tmp_path: Path) -> None:
    """Killed between the rename and the line: the files are whole, so they are not thrown away."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a").write_bytes(b"a")
    store = ArtifactStore(tmp_path / "artifacts")
    store.log(tmp_path / "source", "m", aliases=["best"])
    line = (store.root / "index.jsonl").read_bytes()
    (store.root / "index.jsonl").unlink()
    left = store.root / ".incoming" / "1-dead"
    left.mkdir()
    (left / "record.json").write_bytes(line)
    (tmp_path / "other").write_bytes(b"o")
    store.log(tmp_path / "other")
    assert store.find("m:best").version == 0
    assert (store.root / "index.jsonl").read_bytes().startswith(line)
    assert list((store.root / ".incoming").iterdir()) == []


@pytest.mark.parametrize("record", [b"", b"[]", b'{"name": "../x", "version": "v0"}'])
def test_a_left_record_that_makes_no_sense_is_removed(tmp_path: Path, record: bytes) -> None:
    store = ArtifactStore(tmp_path / "artifacts")
    (tmp_path / "a").write_bytes(b"a")
    left = store.root / ".incoming" / "1-dead"
    left.mkdir(parents=True)
    (left / "record.json").write_bytes(record)
    assert store.log(tmp_path / "a").version == 0
    assert not left.exists()
    assert len(store.list()) == 1


def test_an_interrupt_between_place_and_line_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    store = ArtifactStore(tmp_path / "artifacts")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("expr_tracker.artifacts.registry.append_line", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.log(tmp_path / "a")
    monkeypatch.undo()
    assert store.list() == []
    assert store.log(tmp_path / "a").version == 0
    assert store.verify().version_count == 1
    assert [found.name for found in (store.root / "a").iterdir()] == ["v0"]


def test_a_line_that_cannot_be_written_takes_the_version_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    store = ArtifactStore(tmp_path / "artifacts", warn=silent)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("expr_tracker.artifacts.registry.append_line", fail)
    assert store.log(tmp_path / "a").version is None
    monkeypatch.undo()
    assert list((store.root / "a").iterdir()) == []
    assert list((store.root / ".incoming").iterdir()) == []
    assert store.log(tmp_path / "a").version == 0


def test_every_byte_is_on_the_medium_before_the_version_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a").write_bytes(b"a")
    store = ArtifactStore(tmp_path / "artifacts")
    calls: list[tuple[str, int]] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(descriptor: int) -> None:
        calls.append(("fsync", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def noted_rename(source: Path, target: Path) -> None:
        calls.append(("rename", source.stat().st_ino))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    stored = store.log(tmp_path / "source", "m").get_path("a")
    monkeypatch.undo()
    folder = ("rename", stored.parent.stat().st_ino)
    before, after = calls[: calls.index(folder)], calls[calls.index(folder) :]
    assert ("fsync", stored.stat().st_ino) in before
    assert ("fsync", stored.parent.stat().st_ino) in before
    assert ("fsync", stored.parent.parent.stat().st_ino) in after
    assert after[-1] == ("fsync", (store.root / "index.jsonl").stat().st_ino)


def test_many_files_reach_the_medium_by_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(os, "sync", lambda: calls.append("all"))
    monkeypatch.setattr(
        "expr_tracker.artifacts.staging.sync_file", lambda file: calls.append(file.name)
    )
    staging = Staging.create(tmp_path)
    for number in range(64):
        (staging.files / str(number)).touch()
    staging.sync()
    assert sorted(calls) == sorted(str(number) for number in range(64))
    calls.clear()
    (staging.files / "64").touch()
    staging.sync()
    assert calls == ["all"]
    staging.remove()


def test_a_folder_in_the_way_is_not_replaced_even_if_it_is_empty(tmp_path: Path) -> None:
    staging = Staging.create(tmp_path)
    place = tmp_path / "m" / "v0"
    place.mkdir(parents=True)
    with pytest.raises(FileExistsError):
        staging.move_to(place, {})
    staging.abandon()
    assert list((tmp_path / ".incoming").iterdir()) == []


def test_without_locks_nobody_is_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    warned: list[str] = []
    store = ArtifactStore(tmp_path / "artifacts", warn=lambda _, text: warned.append(text))
    other = Staging.create(store.root)
    (tmp_path / "a").write_bytes(b"a")
    assert store.log(tmp_path / "a").version == 0
    assert other.files.exists()
    assert any("without locks" in text for text in warned)


def test_a_lock_that_is_never_let_go_is_an_error_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("expr_tracker.artifacts.staging._LOCK_SECONDS_MAX", -1.0)
    warned: list[str] = []
    store = ArtifactStore(tmp_path / "artifacts", warn=lambda _, text: warned.append(text))
    (tmp_path / "a").write_bytes(b"a")
    store.root.mkdir()
    with locked(store.root, silent) as is_real:
        assert is_real
        assert store.log(tmp_path / "a").version is None
    assert "another process has held the artifact store" in warned[0]
    assert store.log(tmp_path / "a").version == 0


def test_leftovers_can_be_asked_for_where_there_are_none(tmp_path: Path) -> None:
    assert list(dead_stagings(tmp_path)) == []
    shutil.rmtree(tmp_path)
    assert list(dead_stagings(tmp_path)) == []
