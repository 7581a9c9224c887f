"""The zone map: it covers exactly the file, its zones are right, and a wrong sidecar is no harm."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.store import index as index_module
from expr_tracker.store import index_document
from expr_tracker.store import sidecar as sidecar_module
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.files import sidecar_of
from expr_tracker.store.index import Attempt, StreamIndex
from expr_tracker.store.index_document import document_of, index_from
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.markers import begin_marker, end_marker
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import load_index, read_sidecar, save_index

if TYPE_CHECKING:
    from pathlib import Path

steps = st.integers(-3, 12) | st.sampled_from([-(2**63), 2**63 - 1, 1000])
rows = st.builds(
    lambda step, value: encode_line({"_step": step, "_time": 1.5, "x": value}), steps, steps
)
markers = st.builds(
    lambda number, from_step: encode_line(
        {"_attempt": number, "_from_step": from_step, "_time": 2.0, "_pid": 7}
    ),
    st.integers(2, 5),
    st.none() | steps,
) | st.just(encode_line({"_attempt_end": 1, "_status": "failed", "_time": 3.0}))
foreign = st.sampled_from(
    [
        b"\n",
        b"garbage\n",
        b"[1, 2]\n",
        b'{"a": 1}\n',
        b'{"x": 1, "_step": 4}\n',
        b'{"_step": "5"}\n',
        b'{"_step": 99999999999999999999}\n',
        b'{"_step": ' + b"9" * 5000 + b"}\n",
        b'\0\0\0{"_step": 6}\n',
        b"\0\0\0\0\n",
        b'{"_step": 7, "x": \n',
        b'{"_step": true}\n',
    ]
)
files = st.lists(rows | rows | rows | markers | foreign, max_size=60)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index") / "metrics.jsonl"


@pytest.fixture(autouse=True, scope="module")
def _small_blocks() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "BLOCK_LINES", 2)
        patch.setattr(index_module, "BLOCKS_MAX", 4)
        yield


def fresh() -> StreamIndex:
    """Return an empty index whose blocks close after two lines."""
    return StreamIndex(block_lines=2)


def scanned(path: Path, stop: int | None = None) -> StreamIndex:
    index = fresh()
    with LineFile(path) as file:
        if stop is not None:
            file.size = stop
        index.scan(file)
    return index


def step_of(line: bytes) -> int | None:
    """Return the step of a line, as the format says; ``None`` for anything but a metric row."""
    row = decode_line(line.strip(b"\0\n")) or {}
    step = row.get("_step")
    return int(step) if isinstance(step, int) and -(2**63) <= step < 2**63 else None


def assert_covers(index: StreamIndex, lines: list[bytes]) -> None:
    """Compare every block with the lines of the file it stands for."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    assert index.size == starts[-1]
    at = 0
    for block in index.blocks():
        assert block.start == at
        assert block.stop >= block.start
        inside = lines[starts.index(block.start) : starts.index(block.stop)]
        found = [step for step in map(step_of, inside) if step is not None]
        if found:
            assert (block.low, block.high) == (min(found), max(found))
        else:
            assert block.low > block.high
        at = block.stop
    assert at == index.size


@given(files)
def test_blocks_cover_exactly_the_file_and_their_zones_are_right(
    path: Path, lines: list[bytes]
) -> None:
    path.write_bytes(b"".join(lines) + b'{"_step": 1, torn')
    index = scanned(path)
    assert_covers(index, lines)
    found = [step for step in map(step_of, lines) if step is not None]
    assert index.lines == len(lines)
    assert index.rows == len(found)
    assert index.max_step == (max(found) if found else None)
    assert index.last_step == (found[-1] if found else None)
    unreadable = [
        line for line in lines if line != b"\n" and decode_line(line.strip(b"\0\n")) is None
    ]
    assert index.unreadable == len(unreadable)


@given(files)
def test_few_blocks_stay_however_long_the_file_grows(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(lines))
    assert len(list(scanned(path).blocks())) <= index_module.BLOCKS_MAX + 1


def test_blocks_of_a_long_file_are_alike_so_that_none_costs_much_more_than_another() -> None:
    index = fresh()
    for step in range(1_000):
        index.note_row(step, 10)
    lines = [(block.stop - block.start) // 10 for block in index.blocks()][:-1]
    assert len(lines) > 1
    assert max(lines) <= 2 * min(lines)


@given(files, st.none() | steps, st.none() | steps)
def test_the_blocks_between_two_steps_are_those_whose_zone_meets_them(
    path: Path, lines: list[bytes], low: int | None, high: int | None
) -> None:
    path.write_bytes(b"".join(lines))
    index = scanned(path)
    met = [
        block
        for block in index.blocks()
        if block.low <= block.high
        and (low is None or block.high >= low)
        and (high is None or block.low <= high)
    ]
    found = list(index.blocks_between(low, high))
    assert [block for block in found if block.low <= block.high] == met
    assert found == sorted(found, key=lambda block: block.start)
    if low is None and high is None:
        assert [b for b in found if b.start < b.stop] == [
            b for b in index.blocks() if b.start < b.stop
        ]


@given(st.lists(steps, max_size=40))
def test_order_and_repeats_are_noticed(path: Path, sequence: list[int]) -> None:
    path.write_bytes(b"".join(encode_line({"_step": step}) for step in sequence))
    index = scanned(path)
    assert index.is_sorted == (sequence == sorted(sequence))
    if len(set(sequence)) < len(sequence):
        assert index.has_repeats


@given(files)
def test_what_a_writer_notes_is_what_a_reader_scans(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(lines))
    noted = fresh()
    for line in lines:
        row = decode_line(line.strip(b"\0\n"))
        step = step_of(line)
        if row is None and line != b"\n":
            noted.unreadable += 1
        if step is None:
            noted.note_marker(row or {}, len(line))
        else:
            noted.note_row(step, len(line))
    assert noted == scanned(path)


@given(files, st.data())
def test_scanning_in_two_goes_is_scanning_once(
    path: Path, lines: list[bytes], data: st.DataObject
) -> None:
    path.write_bytes(b"".join(lines))
    first = data.draw(st.integers(0, len(lines)))
    index = scanned(path, stop=sum(map(len, lines[:first])))
    with LineFile(path) as file:
        index.scan(file)
    assert index == scanned(path)


@given(files, st.data())
def test_a_sidecar_of_any_age_and_the_rest_of_the_file_give_the_scanned_index(
    path: Path, lines: list[bytes], data: st.DataObject
) -> None:
    covered = data.draw(st.integers(0, len(lines)))
    path.write_bytes(b"".join(lines[:covered]))
    with LineFile(path) as file:
        save_index(scanned(path), file, {"name": "n"})
    path.write_bytes(b"".join(lines))
    with LineFile(path) as file:
        loaded = load_index(file, read_sidecar(file.path))
    assert_covers(loaded, lines)
    assert replace(loaded, block_lines=2) == replace(scanned(path), block_lines=2)


# -- sidecars that are wrong -----------------------------------------------------------------------------


def sample() -> list[bytes]:
    """Return the lines of a file with rows, a marker and an end."""
    lines = [encode_line({"_step": step, "_time": float(step)}) for step in range(9)]
    lines.append(encode_line({"_attempt": 2, "_from_step": 4, "_time": 9.5, "_pid": 1}))
    lines += [encode_line({"_step": step, "_time": 10.0 + step}) for step in range(4, 8)]
    lines.append(encode_line({"_attempt_end": 2, "_status": "succeeded", "_time": 20.0}))
    return lines


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(sample()))
    with LineFile(path) as file:
        save_index(scanned(path), file, {"project": "p", "name": "n"})
    return path


def loaded_blocks(path: Path) -> StreamIndex:
    """Return the loaded index, blocks of two lines where it had to be scanned anew."""
    with LineFile(path) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sidecar_module, "StreamIndex", _Fresh)
        return load_index(file, read_sidecar(file.path))


class _Fresh(StreamIndex):
    """An index that begins with small blocks, as `fresh` does."""

    def __init__(self, *arguments: Any, **members: Any) -> None:
        super().__init__(*arguments, **{"block_lines": 2, **members})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamIndex) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def mutations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the document once with every value, nested ones too, changed or taken away."""
    found = []

    def walk(place: Any, trail: str) -> None:
        members = place.items() if isinstance(place, dict) else enumerate(place)
        for key, value in list(members):
            here = f"{trail}/{key}"
            if here == "/run":
                continue
            others: list[Any] = [None, "text", -1, 5, True, [], 2**70]
            for other in others:
                if other == value and type(other) is type(value):
                    continue
                place[key] = other
                found.append((f"{here}={other!r}", copy.deepcopy(document)))
            place[key] = value
            if isinstance(value, (dict, list)):
                walk(value, here)
            if isinstance(place, dict):
                del place[key]
                found.append((f"{here} missing", copy.deepcopy(document)))
                place[key] = value

    walk(document, "")
    return found


def test_a_damaged_sidecar_never_fails_nor_changes_the_index(sampled: Path) -> None:
    expected = scanned(sampled)
    document = json.loads(sidecar_of(sampled).read_bytes())
    damaged = mutations(document)
    assert len(damaged) > 300
    for name, wrong in damaged:
        write_document(sidecar_of(sampled), wrong, indent=None)
        assert vars(loaded_blocks(sampled)) == vars(expected), name


def test_a_whole_sidecar_is_used(sampled: Path) -> None:
    document = read_document(sidecar_of(sampled))
    assert document is not None
    assert index_from(document) == scanned(sampled)
    assert document["run"] == {"project": "p", "name": "n"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema": 2}', b"\xff"])
def test_what_is_no_sidecar_is_ignored(sampled: Path, content: bytes) -> None:
    sidecar_of(sampled).write_bytes(content)
    assert vars(loaded_blocks(sampled)) == vars(scanned(sampled))


WRONG: dict[str, Any] = {
    "last_step": True,
    "last_time": "now",
    "attempts": [[1, None, "0", None, None, None, None, None]],
    "parts": [["1", 2, 2, None, None, None, None]],
    "open_block": [0, 0, None, 0],
}


@pytest.mark.parametrize("member", [*WRONG, "a part of no number", "a part of any number"])
def test_a_sidecar_whose_members_are_of_other_types_is_ignored(sampled: Path, member: str) -> None:
    document = read_document(sidecar_of(sampled))
    assert document is not None
    if member in WRONG:
        document[member] = WRONG[member]
    else:
        document["parts"] = [[0 if "no" in member else 10**15, 2, 2, None, None, None, None]]
    document["check"] = index_document._checksum(document)
    write_document(sidecar_of(sampled), document)
    assert vars(loaded_blocks(sampled)) == vars(scanned(sampled))


def test_the_sidecar_of_another_file_tells_that_it_is_another_one_and_nothing_else(
    sampled: Path,
) -> None:
    lines = [line.replace(b'_time":1', b'_time":7') for line in sample()]
    lines[-1] = lines[-1].replace(b"20.0", b"21.0")
    sampled.write_bytes(b"".join(lines))
    found = loaded_blocks(sampled)
    assert found.checkpoints, "they tell that it is another one"
    found.checkpoints = []
    assert vars(found) == vars(scanned(sampled))


def test_a_sidecar_that_covers_more_than_the_file_has_says_only_what_is_missing(
    sampled: Path,
) -> None:
    before = scanned(sampled).rows
    sampled.write_bytes(b"".join(sample()[:5]))
    found = loaded_blocks(sampled)
    assert found.missing_rows == before - found.rows > 0
    found.missing_rows = 0
    assert vars(found) == vars(scanned(sampled))


def test_a_sidecar_that_is_behind_is_not_scanned_again(
    sampled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_size = sampled.stat().st_size
    with sampled.open("ab") as file:
        file.write(encode_line({"_step": 50}))
    starts = []
    real = LineFile.chunks

    def chunks(self: LineFile, start: int = 0, stop: int | None = None) -> Any:
        starts.append(start)
        return real(self, start, stop)

    monkeypatch.setattr(LineFile, "chunks", chunks)
    with LineFile(sampled) as file_:
        assert load_index(file_, read_sidecar(file_.path)).last_step == 50
    assert starts == [old_size]


# -- attempts -------------------------------------------------------------------------------------------


def test_attempts_are_listed_with_their_ends(sampled: Path) -> None:
    first, second = scanned(sampled).attempts
    assert (first.number, first.offset, first.status) == (1, 0, None)
    assert second == Attempt(
        2, 4, sum(map(len, sample()[:9])), 9.5, 1, status="succeeded", end_time=20.0
    )


@pytest.mark.parametrize(("from_step", "next_highest"), [(None, 8), (4, 3), (0, -1), (100, 99)])
def test_the_highest_step_of_an_attempt_begins_anew_only_with_a_from_step(
    from_step: int | None, next_highest: int
) -> None:
    index = fresh()
    for step in range(9):
        index.note_row(step, 10)
    index.note_marker({"_attempt": 2, "_from_step": from_step}, 10)
    assert index.attempt_max_step == next_highest
    assert index.max_step == 8


def test_a_copy_does_not_change_with_the_original() -> None:
    index = fresh()
    for step in range(5):
        index.note_row(step, 10)
    before = index.copy()
    kept = copy.deepcopy(vars(before))
    for step in range(5, 30):
        index.note_row(step, 10)
    index.note_marker({"_attempt_end": 1, "_status": "failed"}, 10)
    assert vars(before) == kept


def rewound(count: int) -> StreamIndex:
    """Return the index of a stream that was rewound ``count`` times."""
    index = fresh()
    for number in range(count):
        index.note_row(number, 10)
        ended = end_marker(number + 1, "succeeded", time=1.7e9 + number / 7)
        index.note_marker(ended, 10)
        index.note_marker(begin_marker(number + 2, number, time=1.7e9 + number / 7, pid=1), 10)
    return index


def test_a_copy_shares_its_attempts_for_it_is_made_while_log_waits() -> None:
    index = rewound(3)
    before = index.copy()
    assert all(mine is its for mine, its in zip(index.attempts, before.attempts, strict=True))
    index.note_marker({"_attempt_end": 4, "_status": "failed", "_time": 5.0}, 10)
    assert (before.attempts[-1].status, index.attempts[-1].status) == (None, "failed")


def test_a_marker_that_is_noted_again_after_an_exception_begins_one_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = rewound(1)
    marker = begin_marker(3, None, time=5.0, pid=1)

    def interrupt(self: StreamIndex, size: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StreamIndex, "note_line", interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.note_marker(marker, 10)
    index.note_marker(marker, 10)
    assert [attempt.number for attempt in index.attempts] == [1, 2, 3]


def test_an_end_is_that_of_its_number_wherever_it_stands() -> None:
    index = StreamIndex()
    index.note_row(0, 10)
    index.note_marker(begin_marker(2, 0, time=1.0, pid=7), 10)
    index.note_marker(end_marker(1, "rewound", time=2.0), 10)
    assert [(each.number, each.status) for each in index.attempts] == [(1, "rewound"), (2, None)]


def test_an_end_whose_beginning_is_lost_is_that_of_the_newest() -> None:
    index = StreamIndex()
    index.note_row(0, 10)
    index.note_marker(end_marker(2, "failed", time=3.0), 10)
    assert [each.status for each in index.attempts] == ["failed"]


def test_an_attempt_takes_few_bytes_of_the_sidecar_and_comes_back_whole() -> None:
    index = rewound(1_000)
    document = document_of(index, {}, 0)
    assert len(encode_line({"attempts": document["attempts"]})) < 80 * 1_001
    read = index_from(decode_line(encode_line(document)) or {})
    assert read.attempts == index.attempts


@given(files)
def test_without_zones_every_row_is_in_a_block_of_any_question(
    path: Path, lines: list[bytes]
) -> None:
    path.write_bytes(b"".join(lines))
    size = path.stat().st_size
    index = fresh().without_zones(size)
    for low, high in ((None, None), (0, 0), (-(2**63), -(2**63)), (2**63 - 1, None)):
        blocks = [(block.start, block.stop) for block in index.blocks_between(low, high)]
        assert blocks == ([(0, size)] if size else [])
    index.note_row(5, 10)
    index.note_row(6, 10)
    index.note_row(7, 10)
    assert index.size == size + 30
    assert {block.start for block in index.blocks_between(0, 0)} >= {0}


def test_a_file_without_a_sidecar_is_scanned_once_and_then_only_what_was_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar_module, "_REMEMBERED_BYTES_MIN", 0)
    scanned = 0
    note_row = StreamIndex.note_row

    def count(self: StreamIndex, step: int, size: int) -> None:
        nonlocal scanned
        scanned += 1
        note_row(self, step, size)

    monkeypatch.setattr(StreamIndex, "note_row", count)
    path = tmp_path / "metrics.jsonl"

    def load(content: bytes) -> tuple[StreamIndex, int]:
        nonlocal scanned
        path.write_bytes(content)
        scanned = 0
        with LineFile(path) as file:
            index = load_index(file, read_sidecar(file.path))
        looked_at, scanned = scanned, 0
        whole = StreamIndex()
        with LineFile(path) as file:
            whole.scan(file)
        assert index == whole
        return index, looked_at

    lines = [encode_line({"_step": step, "_time": 1.5}) for step in range(40)]
    assert load(b"".join(lines[:20]))[1] == 20
    assert load(b"".join(lines))[1] == 20
    assert load(b"".join(lines))[1] == 0
    other = [encode_line({"_step": step, "_time": 2.5}) for step in range(50)]
    assert load(b"".join(other))[1] == 50
