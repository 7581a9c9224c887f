"""Runs that grow and runs that begin are followed until it is over."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import make_token
from tests.mapi.follow.reading import in_files, on_platform

import expr_tracker as et
import mapi
from mapi.follow.deliveries import UnreachableError
from mapi.follow.pushing import Pusher
from mapi.follow.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.tenants import Tenant

    from mapi.follow.opened import PushReport

HALTED = """\
import os, signal, sys
import expr_tracker as et
run = et.init(project="p", name="r", dir=sys.argv[1], system_metrics=False)
run.log({"loss": 1.0})
run.flush(commit_open=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def client(url: str, tenant: Tenant) -> Iterator[mapi.Client]:
    with mapi.Client(url, token=make_token(tenant), timeout_seconds=20, tries=1) as found:
        yield found


def test_each_look_delivers_what_is_new(client: mapi.Client, tmp_path: Path) -> None:
    told: list[PushReport] = []
    sent: dict[str, int] = {}
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=told.append)
    assert watch.look() == []
    assert told == []
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    path = Path(run.dir)
    for step in range(5):
        run.log({"loss": step, "again": 1.0}, step=step)
        run.flush(commit_open=True)
        run.log({"again": float(step)}, step=0)
        run.flush(commit_open=True)
        (report,) = watch.look()
        assert on_platform(client, report.run or "") == in_files(path)
        assert client.runs.get(report.run or "").status.value == "running"
        sent = report.sent
    # A run that goes on is looked at once in a while whatever its files do; there is nothing to send.
    assert all(one.sent == sent for one in watch.look())
    run.finish()
    (report,) = watch.look()
    assert client.runs.get(report.run or "").status.value == "succeeded"
    assert [one.status for one in told] == ["running", "succeeded"]
    # A file that is not the one that was delivered any more.
    file = path / "metrics.jsonl"
    file.write_bytes(file.read_bytes()[40:])
    watch.look()
    reading = on_platform(client, report.run or "")
    assert in_files(path).items() <= reading.items()


def test_a_torn_line_that_was_completed_is_no_problem_any_more(
    client: mapi.Client, tmp_path: Path
) -> None:
    told: list[PushReport] = []
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=told.append)
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    file = Path(run.dir) / "metrics.jsonl"
    line = b'{"_step": 1, "_time": 1700000000.5, "loss": 2.0}\n'
    append(file, line[:20])
    (report,) = watch.look()
    assert report.problems == [f"{file}: a torn last line of 20 bytes was left out"]
    append(file, line[20:])
    (report,) = watch.look()
    assert report.problems == []
    assert [one.problems == [] for one in told] == [False, True]
    assert on_platform(client, report.run or "") == in_files(Path(run.dir))


def test_a_line_that_is_being_written_is_no_problem_until_its_writer_is_gone(
    client: mapi.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapi.follow.watching._QUIET_SECONDS", 0.0)
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=lambda _: None)
    with halted(tmp_path) as path:
        append(path / "metrics.jsonl", b'{"_step": 1, "lo')
        (report,) = watch.look()
        assert (report.status, report.problems) == ("running", [])
    (report,) = watch.look()
    assert report.status == "lost"
    assert "a torn last line of 16 bytes" in report.problems[0]


def test_damage_of_a_file_that_is_another_one_now_is_told_no_more(
    client: mapi.Client, tmp_path: Path
) -> None:
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=lambda _: None)
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    files = [Path(run.dir) / name for name in ("metrics.jsonl", "console.jsonl")]
    files[1].write_bytes(b'{"_time": 1700000000.5, "source": "stdout", "text": "a"}\n')
    whole = [file.read_bytes() for file in files]
    for file in files:
        append(file, b"{damaged\n")
    (report,) = watch.look()
    assert len(report.problems) == 2
    for file in files:
        append(file, b"{damaged too\n")
    (report,) = watch.look()
    assert any("2 damaged lines" in problem for problem in report.problems)
    for file, content in zip(files, whole, strict=True):
        file.write_bytes(content)
    (report,) = watch.look()
    assert report.problems == []


def test_a_lost_run_that_gets_more_rows_stays_lost(client: mapi.Client, tmp_path: Path) -> None:
    told: list[PushReport] = []
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=told.append)
    with halted(tmp_path) as path:
        pass
    (report,) = watch.look()
    run = report.run or ""
    assert (report.status, client.runs.get(run).status.value) == ("lost", "lost")
    append(path / "metrics.jsonl", b'{"_step": 7, "_time": 1700000000.5, "loss": 2.0}\n')
    (report,) = watch.look()
    assert report.sent["point"] == 2
    assert (report.status, client.runs.get(run).status.value) == ("lost", "lost")


def append(file: Path, content: bytes) -> None:
    with file.open("ab") as more:
        more.write(content)


def test_a_run_that_is_gone_on_the_platform_is_told_and_comes_again(
    client: mapi.Client, tmp_path: Path
) -> None:
    told: list[PushReport] = []
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=told.append)
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 1.0})
    run.flush(commit_open=True)
    (first,) = watch.look()
    client.runs.delete(first.run or "")
    run.log({"loss": 2.0})
    run.flush(commit_open=True)
    (second,) = watch.look()
    assert "trash" in second.problems[0]
    client.runs.purge(first.run or "")
    run.finish()
    watch.look()
    (third,) = watch.look() or [told[-1]]
    assert third.problems == []
    assert third.run != first.run
    assert on_platform(client, third.run or "") == in_files(Path(run.dir))


def test_a_live_run_sends_signs_of_life(
    client: mapi.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[str] = []
    monkeypatch.setattr("mapi.follow.watching._BEAT_SECONDS", 0.0)
    monkeypatch.setattr(client.runs, "heartbeat", beats.append)
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=lambda _: None)
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 1.0})
    run.flush(commit_open=True)
    (report,) = watch.look()
    watch.look()
    assert set(beats) == {report.run}
    run.finish()
    watch.look()
    beats.clear()
    watch.look()
    assert beats == []


def test_nobody_says_of_a_run_whose_directory_is_gone_that_it_lives(
    client: mapi.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[str] = []
    monkeypatch.setattr("mapi.follow.watching._BEAT_SECONDS", 0.0)
    monkeypatch.setattr(client.runs, "heartbeat", beats.append)
    root, away = tmp_path / "runs", tmp_path / "away"
    watch = Watch(Pusher(client, pause=lambda _: True), client, [root], tell=lambda _: None)
    with halted(root) as path:
        (report,) = watch.look()
        assert report.status == "running"
        path.rename(root / "moved")
        watch.look()
        beats.clear()
        watch.look()
        assert set(beats) == {report.run}
        (root / "moved").rename(away)
        watch.look()
        beats.clear()
        watch.look()
        assert beats == []


def test_a_link_that_leads_to_itself_stops_no_run(client: mapi.Client, tmp_path: Path) -> None:
    told: list[PushReport] = []
    watch = Watch(Pusher(client, pause=lambda _: True), client, [tmp_path], tell=told.append)
    for name in ("first", "second"):
        run = et.init(project="p", name=name, dir=tmp_path, system_metrics=False)
        run.log({"loss": 1.0})
        run.finish()
        (Path(run.dir) / "loop").symlink_to("loop")
    watch.look()
    assert [report.problems for report in told] == [[], []]
    for path in (tmp_path / "p/first", tmp_path / "p/second"):
        (report,) = (one for one in told if one.path == path)
        assert on_platform(client, report.run or "") == in_files(path)


@contextlib.contextmanager
def halted(root: Path) -> Iterator[Path]:
    """Give the directory of a run whose process is there, and puts nothing back."""
    process = subprocess.Popen([sys.executable, "-c", HALTED, root])
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        yield root / "p/r"
    finally:
        process.kill()
        process.wait()


def test_a_watch_ends_while_nobody_answers(tmp_path: Path) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 1.0})
    run.finish()
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return len(pauses) == 3

    with mapi.Client("http://127.0.0.1:9", token="mapi_x_y", tries=1) as client:
        pusher = Pusher(client, pause=pause, patience_seconds=float("inf"))
        with pytest.raises(UnreachableError):
            Watch(pusher, client, [tmp_path], tell=lambda _: None).run(pause)
    assert len(pauses) == 3
