"""What is told of attempts: beginnings and ends that no marker says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import list_attempts, status_of, verify
from expr_tracker.history.status import overview_of
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.holders import HOLDERS_KEPT
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.markers import begin_marker, end_marker

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


def write(run: Path, *lines: Row) -> RunFiles:
    run.mkdir(exist_ok=True)
    files = RunFiles(run, StreamKey())
    files.metrics.write_bytes(b"".join(map(encode_line, lines)))
    return files


def row(step: int, time: float | None = None) -> Row:
    return {"_step": step} if time is None else {"_step": step, "_time": time}


def test_the_first_attempt_began_with_its_first_row(tmp_path: Path) -> None:
    files = write(tmp_path, row(0, 7.0), end_marker(1, "failed", time=9.0))
    write_document(files.identity, {"id": "1", "created": 5.0})
    (attempt,) = list_attempts(tmp_path)
    assert (attempt.time, attempt.pid, attempt.status) == (7.0, None, "failed")


def test_without_a_time_in_its_first_row_it_began_with_the_run(tmp_path: Path) -> None:
    files = write(tmp_path, row(0))
    write_document(files.identity, {"id": "1", "created": 5.0})
    assert list_attempts(tmp_path)[0].time == 5.0


def test_attempts_without_an_end_are_lost(tmp_path: Path) -> None:
    write(
        tmp_path,
        row(0, 1.0),
        begin_marker(2, None, time=2.0, pid=1),  # another process went on, with the same number
        row(1, 2.0),
        end_marker(2, "rewound", time=3.0),
        begin_marker(3, 1, time=3.0, pid=1),  # the same one went back
        row(1, 3.0),
        begin_marker(4, 1, time=4.0, pid=1),  # another one resumed at a step
        row(1, 4.0),
    )
    told = list_attempts(tmp_path)
    assert [attempt.status for attempt in told] == ["lost", "rewound", "lost", "lost"]
    assert [attempt.end_time for attempt in told] == [None, 3.0, None, None]


@pytest.mark.parametrize("status", ["lost", "running", "failed"])
def test_attempts_are_told_in_the_same_words_everywhere(tmp_path: Path, status: str) -> None:
    lines = [
        row(0, 1.0),
        end_marker(1, "rewound", time=2.0),
        begin_marker(2, 0, time=2.0, pid=11),
        begin_marker(3, 0, time=3.0, pid=12),
    ]
    files = write(tmp_path, *lines, *([end_marker(3, status, time=4.0)] * (status == "failed")))
    lock = StreamLock(files.lock)
    if status == "running":
        lock.acquire("default")
    told = [attempt.status for attempt in list_attempts(tmp_path)]
    (verified,) = verify(tmp_path).streams
    assert told == ["rewound", "lost", status]
    assert [attempt.status for attempt in verified.attempts] == told
    assert overview_of(tmp_path).status == status_of(tmp_path) == status
    lock.release()


@pytest.mark.parametrize("status", ["lost", "running"])
def test_who_dies_between_the_end_of_one_attempt_and_the_next_is_lost(
    tmp_path: Path, status: str
) -> None:
    files = write(tmp_path, row(0, 1.0), end_marker(1, "rewound", time=2.0))
    lock = StreamLock(files.lock)
    if status == "running":
        lock.acquire("default")
    (attempt,) = list_attempts(tmp_path)
    assert (attempt.status, attempt.end_time) == (status, None)
    assert status_of(tmp_path) == status
    lock.release()


@pytest.mark.parametrize(("since", "pid"), [(0.5, 11), (1.5, None), (2.5, None)])
def test_a_lock_that_is_older_than_the_first_row_names_the_first_process(
    tmp_path: Path, since: float, pid: int | None
) -> None:
    files = write(tmp_path, row(0, 1.0), begin_marker(2, 0, time=2.0, pid=11), row(0, 2.0))
    write_document(files.lock, {"pid": 11, "host": "here", "since": since})
    assert list_attempts(tmp_path)[0].pid == pid


def test_the_lock_tells_who_held_it_before(tmp_path: Path) -> None:
    run = tmp_path / "run"
    files = write(run, row(0, 100.0), begin_marker(2, 0, time=200.0, pid=12), row(0, 200.0))

    def hold(pid: int, since: float) -> None:
        """Take the lock as another process would have, at another time."""
        lock = StreamLock(files.lock)
        lock.acquire("default")
        document = read_document(files.lock)
        assert document is not None
        files.lock.write_text(json.dumps({**document, "pid": pid, "since": since}))
        lock.release()

    hold(10, 50.0)  # went without a row
    hold(11, 99.0)
    hold(12, 199.0)
    hold(13, 300.0)  # only looked
    assert [attempt.pid for attempt in list_attempts(run)] == [11, 12]
    for number in range(2 * HOLDERS_KEPT):
        hold(100 + number, 400.0 + number)
    assert [attempt.pid for attempt in list_attempts(run)] == [11, 12]
    assert files.lock.stat().st_size < 1_000


def test_of_more_holders_than_are_kept_none_is_taken_for_the_first_process(tmp_path: Path) -> None:
    files = write(tmp_path, row(0, 100.0))
    before = [[10 + number, float(number)] for number in range(HOLDERS_KEPT)]
    holder = {"pid": 50, "host": "here", "since": 200.0, "before": before}
    write_document(files.lock, holder)
    assert list_attempts(tmp_path)[0].pid is None
    write_document(files.lock, {**holder, "before": before[:-1]})
    assert list_attempts(tmp_path)[0].pid == before[-2][0]
    write_document(files.lock, {**holder, "before": ["damage", [1], {}, 5, [None, 2.0]]})
    assert list_attempts(tmp_path)[0].pid is None
    write_document(files.lock, {**holder, "before": "damage", "since": 20.0})
    assert list_attempts(tmp_path)[0].pid == 50


def test_an_attempt_whose_lock_is_held_is_running(tmp_path: Path) -> None:
    files = write(tmp_path, row(0, 1.0))
    lock = StreamLock(files.lock)
    lock.acquire("default")
    try:
        assert list_attempts(tmp_path)[0].status == "running"
    finally:
        lock.release()
    assert list_attempts(tmp_path)[0].status == "lost"


def test_the_first_process_is_known_by_what_it_captured(tmp_path: Path) -> None:
    files = write(tmp_path, row(0, 1.0))
    write_document(files.environment, {"program": {"pid": 10}})
    assert list_attempts(tmp_path)[0].pid == 10
    write(tmp_path, row(0, 1.0), begin_marker(2, 0, time=2.0, pid=11), row(0, 2.0))
    assert list_attempts(tmp_path)[0].pid == 10  # the second captured nothing
    write_document(files.environment, {"program": {"pid": 11}})
    assert list_attempts(tmp_path)[0].pid is None  # or the first did not
    write_document(tmp_path / "environment._attempt1.json", {"program": {"pid": 10}})
    assert [attempt.pid for attempt in list_attempts(tmp_path)] == [10, 11]


def test_who_rewinds_is_the_process_of_the_attempt_before(tmp_path: Path) -> None:
    end = end_marker(1, "rewound", time=2.0)
    write(tmp_path, row(0, 1.0), end, begin_marker(2, 0, time=2.0, pid=11))
    assert [attempt.pid for attempt in list_attempts(tmp_path)] == [11, 11]
