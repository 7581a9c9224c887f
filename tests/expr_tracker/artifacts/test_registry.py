"""Several publishers at once: processes, threads, and a handler inside of a call."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from expr_tracker.artifacts import ArtifactStore
from expr_tracker.artifacts.copying import append_line
from expr_tracker.store.lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
from typing import Any

PROCESS_COUNT = 4
ROUND_COUNT = 5

PUBLISHER = """
import sys
from pathlib import Path
from expr_tracker.artifacts import ArtifactStore
base, me, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = ArtifactStore(base / "artifacts", base / "lineage.jsonl", me)
own = base / f"own-{me}"
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    own.write_text(f"{me} {number}")
    mine = store.log(own, "m", aliases=["newest"])
    assert (mine.download() / own.name).read_text() == f"{me} {number}"
    both = base / f"same-{me}" / "file"
    both.parent.mkdir(exist_ok=True)
    both.write_text(f"same {number}")
    store.log(both, "same", aliases=["newest"])
"""


@contextmanager
def publishers(base: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PUBLISHER, str(base), str(me), str(ROUND_COUNT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            for me in range(PROCESS_COUNT)
        ]
        yield children


def test_processes_that_log_at_once_get_versions_of_their_own(tmp_path: Path) -> None:
    with publishers(tmp_path) as children:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"go\n")
            child.stdin.flush()
        assert [child.wait() for child in children] == [0] * PROCESS_COUNT

    store = ArtifactStore(tmp_path / "artifacts")
    count = PROCESS_COUNT * ROUND_COUNT
    versions = store.list("m")
    assert [artifact.version for artifact in versions] == list(range(count))
    contents = {
        file.read_text()
        for artifact in versions
        if artifact.dir is not None
        for file in artifact.dir.iterdir()
    }
    assert contents == {f"{me} {n}" for me in range(PROCESS_COUNT) for n in range(ROUND_COUNT)}
    # The newest line decides, whoever wrote it.
    lines = [decode_line(line) for line in (store.root / "index.jsonl").read_bytes().splitlines()]
    assert None not in lines
    newest = [line for line in lines if line is not None and "newest" in line["aliases"]]
    last = next(line for line in reversed(newest) if line["name"] == "m")
    assert store.use("m:newest").qualified_name == f"m:{last['version']}"
    # Equal content under equal paths is one version, whoever came first.
    assert [artifact.version for artifact in store.list("same")] == list(range(ROUND_COUNT))
    assert store.verify().problems == ()
    assert list((store.root / ".incoming").iterdir()) == []
    lineage = (tmp_path / "lineage.jsonl").read_bytes().splitlines()
    assert len(lineage) == 2 * count
    assert None not in [decode_line(line) for line in lineage]


def test_threads_share_one_store(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / "artifacts")
    barrier = threading.Barrier(4)

    def publish(me: int) -> None:
        barrier.wait()
        for number in range(5):
            file = tmp_path / f"file-{me}-{number}"
            file.write_bytes(b"%d" % number)
            store.log(file, "m")

    threads = [threading.Thread(target=publish, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [artifact.version for artifact in store.list("m")] == [*range(20)]
    assert store.verify().problems == ()


def test_a_signal_handler_may_log_while_a_log_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a handler of SIGTERM does that saves a last checkpoint."""
    store = ArtifactStore(tmp_path / "artifacts")
    for name in ["a", "b"]:
        (tmp_path / name).write_bytes(name.encode())
    versions: list[int | None] = []
    handled: list[int] = []

    def handler(*_: object) -> None:
        versions.append(store.log(tmp_path / "b", "m").version)

    def interrupted(file: Path, line: bytes, *, exclusive: bool) -> None:
        if not handled:
            handled.append(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
        append_line(file, line, exclusive=exclusive)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        monkeypatch.setattr("expr_tracker.artifacts.registry.append_line", interrupted)
        outer = store.log(tmp_path / "a", "m")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert {outer.version, *versions} == {0, 1}
    assert len(store.list("m")) == 2
    assert store.verify().problems == ()


def test_the_thousandth_version_is_logged_without_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts lines that are parsed instead of seconds: one each, however long the index is."""
    store = ArtifactStore(tmp_path / "artifacts")
    parsed: list[bytes] = []

    def counted(line: bytes) -> dict[str, Any] | None:
        parsed.append(line)
        return decode_line(line)

    monkeypatch.setattr("expr_tracker.artifacts.index.decode_line", counted)
    file = tmp_path / "m"
    for number in range(30):
        file.write_bytes(b"%d" % number)
        store.log(file)
    assert len(parsed) == 30


def test_a_file_where_the_artifacts_folder_belongs_ends_in_a_warning_not_in_a_loop(
    tmp_path: Path,
) -> None:
    root = tmp_path / "artifacts"
    root.mkdir()
    (root / "model").write_text("in the way")
    content = tmp_path / "weights.bin"
    content.write_bytes(b"1234")
    store = ArtifactStore(root)
    assert store.log(content, name="model").version is None
    assert store.failure_count == 1
