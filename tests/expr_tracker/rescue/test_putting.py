from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import expr_tracker as et
from expr_tracker.errors import StreamInUseError
from expr_tracker.history import list_attempts, read_history, verify
from expr_tracker.history.status import overview_of
from expr_tracker.rescue import put_back
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import RunFiles, StreamKey, parts_of, sidecar_of
from expr_tracker.store.journal import write_journal
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.markers import begin_marker, end_marker, is_marker, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.expr_tracker.rescue.conftest import CutRun


def resumed(run: CutRun, *, part_lines: int | None = None) -> tuple[list[bytes], list[bytes]]:
    """Write a run of two attempts of which the first lost rows; return those, and the whole file."""
    kept = run.rows(0, 1, 2)
    lost = [*run.rows(3, 4, 5), run.end(1)]
    later = [run.begin(2, from_step=4), *run.rows(4, 5, text="newer"), run.end(2)]
    run.write([*kept, *later], part_lines=part_lines)
    return lost, [*kept, *lost, *later]


def shown(run: CutRun) -> list[tuple[int, str]]:
    return [(row["_step"], row["t"]) for row in read_history(run.directory, -1)]


def test_rows_go_behind_their_attempt_and_replace_no_newer_ones(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    lost, whole = resumed(run)
    report = put_back(run.rescue(lost), run.directory)
    assert run.content() == b"".join(whole)
    assert (report.rows, report.lines, report.lines_before, report.attempt) == (3, 4, 0, 1)
    assert shown(run) == [(0, "x"), (1, "x"), (2, "x"), (3, "x"), (4, "newer"), (5, "newer")]
    assert verify(run.directory).problems == []
    assert [each.status for each in list_attempts(run.directory)] == ["succeeded", "succeeded"]


@pytest.mark.parametrize("part_lines", [None, 1, 2, 3, 4, 5])
def test_parts_stay_and_the_sidecar_fits_wherever_the_rows_belong(
    cut_run: Callable[..., CutRun], part_lines: int | None
) -> None:
    run = cut_run()
    lost, whole = resumed(run, part_lines=part_lines)
    names = sorted(run.snapshot())
    put_back(run.rescue(lost), run.directory)
    assert run.content() == b"".join(whole)
    assert sorted({*run.snapshot()} - {"metrics.lock"}) == names
    report = verify(run.directory)
    assert report.problems == []
    assert report.streams[0].sidecar == "consistent"
    # What is known of a part is known of it with the rows in it.
    for part, file in zip(
        json.loads(sidecar_of(run.path).read_bytes())["parts"],
        sorted(parts_of(run.path).glob("*.jsonl")),
        strict=True,
    ):
        assert part[1] == part[2] == file.stat().st_size
    cut = next(iter(sorted(parts_of(run.path).glob("*.jsonl"))), None)
    if cut is not None:
        os.truncate(cut, cut.stat().st_size - 1)
        assert "is cut" in verify(run.directory).problems[-1]


@pytest.mark.parametrize("part_lines", [None, 1])
def test_a_summary_of_any_version_gives_way_to_the_rows_that_were_put_back(
    cut_run: Callable[..., CutRun], part_lines: int | None
) -> None:
    run = cut_run()
    kept = encode_line({"_step": 0, "_time": run.tick(), "acc": 1})
    lost = [encode_line({"_step": 1, "_time": run.tick(), "acc": 2}), run.end(1)]
    run.write([kept, run.begin(2), *run.rows(5), run.end(2)], part_lines=part_lines)
    write_document(run.files.summary, {"acc": 1, "pin": 3, "_pinned": ["pin"]})
    put_back(run.rescue(lost), run.directory)
    os.utime(run.path, (1, 1))
    assert overview_of(run.directory, ("acc", "pin")).values == {"acc": 2, "pin": 3}


def test_a_second_call_adds_nothing_and_changes_no_byte(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run()
    lost, _ = resumed(run)
    saved = run.rescue(lost)
    kept = saved.read_bytes()
    put_back(saved, run.directory)
    before = run.snapshot()
    again = put_back(saved, run.directory)
    assert (again.rows, again.lines, again.lines_before) == (0, 0, 4)
    assert {**run.snapshot(), "metrics.lock": b""} == {**before, "metrics.lock": b""}
    assert saved.read_bytes() == kept


def test_a_dry_run_says_the_same_and_changes_no_byte(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run()
    lost, _ = resumed(run)
    with run.path.open("ab") as file:
        file.write(b'{"_step": 9')
    saved, before = run.rescue(lost), run.snapshot()
    dry = put_back(saved, run.directory, dry_run=True)
    assert run.snapshot() == before
    assert dry == put_back(saved, run.directory)


@given(
    earlier=st.integers(0, 2),
    kept=st.integers(0, 3),
    lost=st.integers(0, 3),
    rewinds=st.integers(0, 2),
    later=st.integers(0, 2),
    part_lines=st.sampled_from([None, 100]),
    is_old=st.booleans(),
)
def test_the_file_becomes_what_it_had_been_on_a_disk_with_room(
    cut_run_at: type[CutRun],
    earlier: int,
    kept: int,
    lost: int,
    rewinds: int,
    later: int,
    part_lines: int | None,
    is_old: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = cut_run_at(Path(folder, "p", "r"))
        before: list[bytes] = []
        number = 1
        for _ in range(earlier):
            before += [*run.rows(1, 2), run.end(number)]
            number += 1
            before.append(run.begin(number))
        before += run.rows(*range(kept))
        rescued = run.rows(*range(kept, kept + lost))
        first = number
        for _ in range(rewinds):
            rescued += [run.end(number, "rewound"), run.begin(number + 1, 1), *run.rows(1)]
            number += 1
        rescued.append(run.end(number))
        # A resume knows only what is in the file: its number is that of the attempt behind.
        written: list[bytes] = []
        wanted: list[bytes] = []
        seen = first
        for _ in range(later):
            number += 1
            has_marker = bool(before or written)
            if has_marker:
                seen += 1
                time = run.tick()
                written.append(encode_line(begin_marker(seen, None, time=time, pid=7)))
                wanted.append(encode_line(begin_marker(number, None, time=time, pid=7)))
            rows = run.rows(7)
            if not has_marker:  # a first attempt has none, and it is no first one any more
                time = run.now
                wanted.append(encode_line(begin_marker(number, None, time=time, pid=None)))
            time = run.tick()
            written += [*rows, encode_line(end_marker(seen, "failed", time=time))]
            wanted += [*rows, encode_line(end_marker(number, "failed", time=time))]
        run.write([*before, *written], part_lines=part_lines)
        name = "expr-tracker-metrics-k3x9q2ab.jsonl"
        saved = run.old_rescue(rescued, name)
        if not is_old:
            first_line = {"file": str(run.path), "attempt": first, "size": len(b"".join(before))}
            saved.write_bytes(encode_line({"_rescued": first_line}) + saved.read_bytes())
        if is_old and later and not before and not (lost or rewinds):
            return  # an end alone, of an empty file that was resumed: nothing tells it from its own
        put_back(saved, run.directory)
        assert run.content() == b"".join([*before, *rescued, *wanted])
        assert put_back(saved, run.directory).lines == 0
        assert verify(run.directory).problems == []


@dataclass
class Session:
    """One go at a run: what the disk took of it, and where the rest is."""

    lines: list[bytes]
    has_marker: bool
    saved: Path | None = None


def sessions_of(
    run: CutRun, sizes: list[tuple[int, int]], *, part_lines: int | None
) -> list[Session]:
    """Write a run of several sessions; of each the disk takes some lines, and the rest is rescued.

    Args:
        run: the run.
        sizes: of each session the number of its rows, and how many of its lines the disk takes.
        part_lines: the lines of a part, at the end.
    """
    written: list[bytes] = []
    sessions: list[Session] = []
    number, began = 1, None
    for rows, kept in sizes:
        size = len(b"".join(written))
        mine, mine_began = (number + 1, run.now + 1.0) if written else (1, None)
        session = Session([run.begin(mine)] if written else [], has_marker=bool(written))
        session.lines += [*run.rows(*range(rows)), run.end(mine)]
        taken, left = session.lines[:kept], session.lines[kept:]
        written += taken
        if taken:
            number, began, size = mine, mine_began, size + 1
        if left:
            session.saved = run.rescue(left, number=number, began=began, size=size)
        sessions.append(session)
    run.write(written, part_lines=part_lines)
    return sessions


def on_a_disk_with_room(sessions: list[Session]) -> list[bytes]:
    """Return the lines that the sessions make, each numbered behind the one before it."""
    lines = []
    for number, session in enumerate(sessions, 1):
        rows = [json.loads(line) for line in session.lines]
        if number > 1 and not session.has_marker:
            rows.insert(0, begin_marker(number, None, time=rows[0]["_time"], pid=None))
        lines += [encode_line(renumbered(row, number) if is_marker(row) else row) for row in rows]
    return lines


@given(
    sizes=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=5),
    part_lines=st.sampled_from([None, 1, 2, 3, 100]),
    chance=st.randoms(use_true_random=False),
)
@example(sizes=[(3, 0), (3, 2)], part_lines=None, chance=Random(0))
@example(sizes=[(3, 2), (3, 0), (2, 0), (2, 9)], part_lines=2, chance=Random(1))
def test_rescue_files_of_several_sessions_make_the_same_file_in_any_order(
    cut_run_at: type[CutRun],
    sizes: list[tuple[int, int]],
    part_lines: int | None,
    chance: Random,
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", folder)
        run = cut_run_at(Path(folder, "p", "r"))
        sessions = sessions_of(run, sizes, part_lines=part_lines)
        saved = [session.saved for session in sessions if session.saved is not None]
        chance.shuffle(saved)
        for file in saved:
            put_back(file, run.directory)
            assert verify(run.directory).problems == []
        if saved:
            assert run.content() == b"".join(on_a_disk_with_room(sessions))
        for file in saved:
            assert put_back(file, run.directory).lines == 0


def test_a_live_writer_keeps_the_rows_out_and_is_named(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run()
    lost, _ = resumed(run)
    saved, lock = run.rescue(lost), StreamLock(run.files.lock)
    lock.acquire("default")
    before = run.snapshot()
    try:
        for dry_run in (False, True):
            with pytest.raises(StreamInUseError, match=rf"process {os.getpid()} on .* has ended"):
                put_back(saved, run.directory, dry_run=dry_run)
    finally:
        lock.release()
    assert run.snapshot() == before


def test_a_full_disk_is_said_with_what_is_needed_and_changes_nothing(
    cut_run: Callable[..., CutRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cut_run()
    lost, whole = resumed(run)
    saved, before = run.rescue(lost), run.content()

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        needed = f"{len(b''.join(whole))} bytes are needed beside it"
        with pytest.raises(OSError, match=needed) as refused:
            put_back(saved, run.directory)
    assert refused.value.filename == str(run.path)
    assert run.content() == before
    assert not list(run.directory.glob(".*"))
    assert verify(run.directory).problems == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["write", "pread", "ftruncate", "fsync"])
def test_whatever_the_system_refuses_names_a_file_and_what_is_needed(
    cut_run: Callable[..., CutRun], monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    run = cut_run()
    lost, whole = resumed(run)
    torn = b'{"_step": 9'
    with run.path.open("ab") as file:
        file.write(torn)
    saved = run.rescue(lost)

    def refuse(*_args: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        if call == "write":  # what `prepare` ends a line with that has lost its end
            os.truncate(run.path, len(run.content()) - 1)
        with pytest.raises(OSError, match=os.strerror(code)) as refused:
            put_back(saved, run.directory)
    assert refused.value.filename == str(run.path)
    assert ("bytes are needed beside it" in str(refused.value)) == (code != errno.EIO)
    put_back(saved, run.directory)
    assert run.content() == b"".join(whole)


def test_a_torn_tail_and_the_open_row_of_a_killed_resume_stay(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    kept, lost = run.rows(0), [*run.rows(1), run.end(1)]
    run.write([*kept, run.begin(2), *run.rows(2)])
    size = len(run.content())
    with run.path.open("ab") as file:
        file.write(b'{"_step": 3, "_ti')
    write_journal(
        run.files.journal, {"_step": 3, "_time": 1.0, "t": "open"}, ordinal=3, data_size=size
    )
    before = shown(run)
    assert before == [(0, "x"), (2, "x"), (3, "open")]
    put_back(run.rescue(lost), run.directory)
    assert shown(run) == [(0, "x"), (1, "x"), (2, "x"), (3, "open")]
    assert run.path.with_name("metrics.torn").read_bytes() == b'{"_step": 3, "_ti\n'
    assert verify(run.directory).problems == []


def test_a_live_file_that_is_gone_is_made_and_a_link_stays_one(
    cut_run: Callable[..., CutRun], tmp_path: Path
) -> None:
    run = cut_run()
    lost = [*run.rows(1), run.end(1)]
    put_back(run.rescue(lost, size=0), run.directory)
    assert run.content() == b"".join(lost)

    linked = cut_run("linked")
    lost, whole = resumed(linked)
    elsewhere = tmp_path / "elsewhere.jsonl"
    linked.path.rename(elsewhere)
    linked.path.symlink_to(elsewhere)
    elsewhere.chmod(0o640)
    put_back(linked.rescue(lost), linked.directory)
    assert linked.path.is_symlink()
    assert elsewhere.read_bytes() == b"".join(whole)
    assert elsewhere.stat().st_mode & 0o777 == 0o640


def test_what_a_killed_call_left_beside_the_file_is_removed(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    lost, _ = resumed(run)
    (run.directory / ".metrics.jsonl.1.2.abcd.new").write_bytes(b"half")
    put_back(run.rescue(lost), run.directory)
    assert not list(run.directory.glob(".*"))


def test_a_resume_goes_on_behind_the_rows_that_were_put_back(
    cut_run: Callable[..., CutRun], tmp_path: Path
) -> None:
    run = cut_run()
    kept = run.rows(0, 1)
    lost = [*run.rows(2, 3), run.end(1)]
    run.write(kept)
    put_back(run.rescue(lost), run.directory)
    et.init("p", "r", dir=tmp_path, capture=False)
    et.log({"t": "resumed"})
    assert dict(et.summary())["t"] == "resumed"
    et.finish()
    assert shown(run) == [(0, "x"), (1, "x"), (2, "x"), (3, "x"), (4, "resumed")]
    assert [each.number for each in list_attempts(run.directory)] == [1, 2]


def span(start: float) -> bytes:
    row = {"_step": 0, "name": "s", "depth": 0, "track": 0, "start": start, "dur_ms": 500.0}
    return encode_line(row)


def output(time: float, text: str) -> bytes:
    return encode_line({"_time": time, "source": "stdout", "text": text})


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("kind", ["spans", "console"])
def test_spans_and_output_go_where_their_times_are(
    cut_run: Callable[..., CutRun], kind: str, *, is_resumed: bool, is_old: bool
) -> None:
    run = cut_run()
    lines = [span(i) if kind == "spans" else output(i, f"line {i}\n") for i in range(8)]
    path: Path = getattr(run.files, kind)
    path.write_bytes(b"".join([*lines[:3], *(lines[6:] if is_resumed else [])]))
    name = f"expr-tracker-{kind}-k3x9q2ab.jsonl"
    saved = run.old_rescue(lines[3:6], name)
    if not is_old:
        said = {"file": str(path), "attempt": None, "size": len(b"".join(lines[:3]))}
        saved.write_bytes(encode_line({"_rescued": said}) + saved.read_bytes())
    report = put_back(saved, run.directory)
    assert (report.kind, report.rows, report.attempt) == (kind, 3, None)
    assert path.read_bytes() == b"".join(lines if is_resumed else lines[:6])
    assert put_back(saved, run.directory).lines == 0


@pytest.mark.parametrize("kind", ["metrics", "spans"])
def test_what_a_hanging_write_brought_after_all_is_not_there_twice(
    cut_run: Callable[..., CutRun], kind: str
) -> None:
    run = cut_run()
    rows = [*run.rows(0, 1, 2, 3), run.end(1)]
    lines = rows if kind == "metrics" else [span(i) for i in range(5)]
    path: Path = getattr(run.files, kind)
    path.write_bytes(b"".join(lines[:3]))
    saved = run.old_rescue(lines[1:], f"expr-tracker-{kind}-k3x9q2ab.jsonl")
    report = put_back(saved, run.directory)
    assert (report.lines, report.lines_before) == (2, 2)
    assert path.read_bytes() == b"".join(lines)


def killed_at(instant: int, saved: Path, directory: Path) -> bool:
    """Put back in a child that is killed before its n-th call into the system; say whether it was."""
    child = os.fork()
    if child == 0:
        count = 0

        def watch(_frame: object, event: str, called: Any) -> None:
            nonlocal count
            is_call = getattr(called, "__module__", "") in {"posix", "fcntl"}
            if event == "c_call" and (is_call or isinstance(called.__self__, io.IOBase)):
                count += 1
                if count == instant:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(watch)
        try:
            put_back(saved, directory)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def restore(directory: Path, kept: Path) -> None:
    """Make ``directory`` what ``kept`` is; most kills have changed nothing."""

    def outline(folder: Path) -> dict[str, tuple[int, int, int]]:
        return {
            str(path.relative_to(folder)): (
                (found.st_mode, 0, 0)
                if path.is_dir()
                else (found.st_mode, found.st_size, found.st_mtime_ns)
            )
            for path in folder.rglob("*")
            for found in [path.stat()]
        }

    if outline(directory) != outline(kept):
        shutil.rmtree(directory)
        shutil.copytree(kept, directory)


def rows_of(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines() if b'"_step"' in line]


def test_a_kill_between_parts_whose_attempts_rise_leaves_what_the_next_call_finishes(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    sizes = [(2, 0), (2, 9), (1, 9), (1, 9)]
    sessions = sessions_of(run, sizes, part_lines=3)
    assert len(list(parts_of(run.path).iterdir())) >= 2
    (saved,) = [session.saved for session in sessions if session.saved is not None]
    old, new = run.content(), b"".join(on_a_disk_with_room(sessions))
    kept = run.directory.with_name("kept")
    shutil.copytree(run.directory, kept)
    seen, instant = set(), 0
    while True:
        instant += 1
        restore(run.directory, kept)
        if not killed_at(instant, saved, run.directory):
            break
        content = run.content()
        if content in seen:
            continue
        assert rows_of(content) == rows_of(new if content == new else old), instant
        numbers = [each.number for each in list_attempts(run.directory)]
        assert numbers == sorted(set(numbers)), instant
        assert verify(run.directory).problems == [], instant
        seen.add(content)
        put_back(saved, run.directory)
        assert run.content() == new, instant
        assert not list(run.directory.rglob(".*"))
    assert {old, new} < seen


@pytest.mark.parametrize("part_lines", [None, 4])
def test_a_kill_at_any_instant_leaves_the_old_rows_or_the_new_ones(
    cut_run: Callable[..., CutRun], part_lines: int | None
) -> None:
    run = cut_run()
    lost, whole = resumed(run, part_lines=part_lines)
    old, new = run.content(), b"".join(whole)
    saved = run.rescue(lost)
    kept = run.directory.with_name("kept")
    shutil.copytree(run.directory, kept)
    seen, instant = set(), 0
    while True:
        instant += 1
        restore(run.directory, kept)
        if not killed_at(instant, saved, run.directory):
            break
        content = run.content()
        assert content in (old, new), instant
        seen.add(content)
        report = verify(run.directory)
        assert report.problems == [], instant
        rows = report.streams[0].rows
        assert rows == (5 if content == old else 8)
        assert len(read_history(run.directory, -1)) == (5 if content == old else 6)
        put_back(saved, run.directory)
        assert run.content() == new
        assert not list(run.directory.rglob(".*"))
    assert seen == {old, new}
    assert instant > 50


def test_a_stream_and_a_rank_are_told_by_the_rescue_file(cut_run: Callable[..., CutRun]) -> None:
    run = cut_run(key=StreamKey("data-a", 3))
    kept, lost = run.rows(0), [*run.rows(1), run.end(1)]
    run.write(kept)
    other = RunFiles(run.directory).metrics
    other.write_bytes(b"".join(kept))
    for saved in (run.rescue(lost), run.old_rescue(lost)):
        report = put_back(saved, run.directory)
        assert report.path == run.path
    assert run.content() == b"".join([*kept, *lost])
    assert other.read_bytes() == b"".join(kept)


def test_what_was_known_of_damage_is_known_behind_the_rescue(
    cut_run: Callable[..., CutRun],
) -> None:
    run = cut_run()
    run.write(run.rows(*range(300)))
    lines = run.path.read_bytes().splitlines(keepends=True)
    # Ten rows are cut out, and one digit of another is not what was written.
    lines[30] = lines[30].replace(b'"_step":30', b'"_step":31')
    run.path.write_bytes(b"".join(lines[:80] + lines[90:]))
    (before,) = verify(run.directory).streams
    assert (before.missing_rows, before.changed_lines is not None) == (10, True)
    put_back(run.rescue(run.rows(400)), run.directory)
    (after,) = verify(run.directory).streams
    assert after.rows == before.rows + 1
    assert (after.missing_rows, after.changed_lines) == (10, before.changed_lines)
