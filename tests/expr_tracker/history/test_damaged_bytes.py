"""One byte of a metrics file that flips costs at most one row, and every reader says how many."""

from __future__ import annotations

import json
import logging
import math
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import damage as damage_module
from expr_tracker.history import export, follow, read_history, verify
from expr_tracker.history.damage import Damage
from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.joined import is_whole_with
from expr_tracker.store.lines import encode_line
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import save_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from expr_tracker.history import StreamReport

Row = dict[str, Any]

LINES: list[Row] = [
    {"_step": 0, "_time": 1.5, "loss": 0.25},
    {"_step": 1, "_time": 2.0, "loss": math.nan, "text": "a\n{é"},
    {"_step": 12, "_time": 3.0, "loss": {"a": [1, {"b": -2}], "c": {}}},
    {"_attempt": 2, "_time": 4.0, "_pid": 7, "_from_step": 12},
    {"_step": 12, "_time": 5.0, "hist": [{"_step": 3}, {"x": None}]},
    {"_step": 13, "_time": 6.0},
    {"_step": 13, "loss": 1e-5},
    {"_attempt_end": 2, "_status": "succeeded", "_time": 7.0},
]
ROWS = [row for row in LINES if "_step" in row]
CONTENT = b"".join(map(encode_line, LINES))
ENDS = [place for place, byte in enumerate(CONTENT) if byte == 10]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFiles]:
    files = RunFiles(tmp_path / "run")
    files.directory.mkdir()
    write_once(files.identity, {"id": "1", "created": 5.0})
    logger = logging.getLogger("expr_tracker")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # thousands of warnings otherwise
    yield files
    logger.setLevel(level)


def flipped(place: int, byte: int) -> bytes:
    return CONTENT[:place] + bytes((byte,)) + CONTENT[place + 1 :]


def line_at(place: int) -> int:
    return CONTENT.count(b"\n", 0, place)


def polled(files: RunFiles) -> tuple[list[Row], int, int]:
    follower = follow(files.directory)
    rows = follower.poll()
    return rows, follower.unreadable, follower.joined


def stream_of(files: RunFiles) -> StreamReport:
    (stream,) = verify(files.directory).streams
    return stream


def keys(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def steps_by_reader(files: RunFiles) -> dict[str, list[int]]:
    found = {
        "rows": [row["_step"] for row in read_history(files.directory, -1)],
        "arrow": read_history(files.directory, -1, output_type="arrow")
        .column("_step")
        .to_pylist(),
        "newest": [row["_step"] for row in read_history(files.directory, 1000)],
    }
    output = files.directory.parent / "out.jsonl"
    export(files.directory, output, stream=None)
    found["export"] = [json.loads(line)["_step"] for line in output.read_bytes().splitlines()]
    return found


def test_any_bit_that_flips_costs_one_row_at_most_and_is_reported_as_one(run: RunFiles) -> None:
    whole = list(map(keys, ROWS))
    for place, byte in enumerate(CONTENT):
        for value in {*(byte ^ 1 << bit for bit in range(8)), 10, 32} - {byte}:
            where = (place, value)
            content = flipped(place, value)
            run.metrics.write_bytes(content)
            rows, unreadable, joined = polled(run)
            with LineFile(run.metrics) as file:
                torn = file.torn_bytes > 0
                index = StreamIndex()
                index.scan(file)
            lost = len(ROWS) - len(rows)
            damaged = LINES[line_at(place)]
            is_row = "_step" in damaged
            assert lost in ((0, 1) if is_row else (0,)), where
            assert unreadable + torn == lost if is_row else unreadable + torn <= 1, where
            assert index.rows == len(rows), where
            assert index.lines == content.count(b"\n"), where
            others = [each for row, each in zip(ROWS, whole, strict=True) if row is not damaged]
            read = list(map(keys, rows))
            assert [each for each in read if each in others] == others, where
            if byte == 10 and not torn:
                assert (lost, joined) == (0, 1), where
                assert read == whole, where
            else:
                assert joined == 0, where


@pytest.mark.parametrize("place", ENDS[:-1])
def test_rows_are_whole_whatever_byte_took_the_place_of_a_line_end(
    run: RunFiles, place: int
) -> None:
    run.metrics.write_bytes(CONTENT)
    sound = stream_of(run)
    expected = read_history(run.directory, -1)
    with LineFile(run.metrics) as file:
        index = StreamIndex(block_lines=2)
        index.scan(file)
        save_index(index, file, {})
    sidecar = run.metrics.with_name("metrics.meta.json").read_bytes()
    for value in {*range(0, 256, 5), *b' ,\n\r\t{}[]"', 0xFF, 0xE2} - {10}:
        run.metrics.write_bytes(flipped(place, value))
        for has_sidecar in (False, True):
            path = run.metrics.with_name("metrics.meta.json")
            path.write_bytes(sidecar) if has_sidecar else path.unlink(missing_ok=True)
            stream = stream_of(run)
            assert (stream.rows, stream.unreadable, stream.foreign) == (len(ROWS), 0, 0)
            assert stream.joined_lines == [line_at(place) + 1]
            assert stream.sha256 == sound.sha256
            assert [(a.number, a.rows) for a in stream.attempts] == [(1, 3), (2, 3)]
            assert keys(read_history(run.directory, -1)) == keys(expected)
            for row in expected:
                bounds = (row["_step"], row["_step"] + 1)
                assert keys(read_history(run.directory, step_range=bounds)) == keys([row])
                assert keys(read_history(run.directory, 1, step_range=(None, bounds[1]))) == keys(
                    [row]
                )
            assert list(steps_by_reader(run).values()) == [[0, 1, 12, 13]] * 4


def test_a_line_broken_in_two_is_one_line_that_is_lost(
    run: RunFiles, caplog: pytest.LogCaptureFixture
) -> None:
    broken = 0
    for place in range(ENDS[1] + 1, ENDS[2]):
        run.metrics.write_bytes(flipped(place, 10))
        stream = stream_of(run)
        broken += flipped(place, 10).count(b"\n\n") == 0
        assert (stream.rows, stream.unreadable) == (len(ROWS) - 1, 1), place
        assert stream.unreadable_lines[0] in (3, 4)
        assert set(map(tuple, steps_by_reader(run).values())) == {(0, 1, 12, 13)}
    assert broken > 20
    logging.getLogger("expr_tracker").setLevel(logging.WARNING)
    read_history(run.directory)
    assert "1 damaged line was skipped" in caplog.text


def test_two_damaged_lines_side_by_side_are_two() -> None:
    content = b'{"_step":1,"loss":x}\n{"_step":2,"loss":y}\nnonsense\nmore}\n'
    damage = Damage()
    at = 0
    for line in content.splitlines(keepends=True):
        damage.add_unreadable(at, len(line))
        at += len(line)
    assert len(damage.unreadable(lambda start, stop: content[start:stop])) == 4


def test_the_bytes_parsed_to_find_halves_are_limited_and_each_line_counts_by_itself_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head, tail = b'{"_step":1,"a":"te', b't"}'
    content = (head + b"\n" + tail + b"\n") * 50
    pair, parsed = len(head) + len(tail) + 2, 0

    def whole_with(byte: int, head: bytes, tail: bytes) -> bool:
        nonlocal parsed
        parsed += len(head) + len(tail)
        return is_whole_with(byte, head, tail)

    def lost(limit: int) -> int:
        monkeypatch.setattr(damage_module, "_PARSED_BYTES_MAX", limit)
        monkeypatch.setattr(damage_module, "is_whole_with", whole_with)
        damage = Damage()
        for number in range(50):
            damage.add_unreadable(number * pair, len(head) + 1)
            damage.add_unreadable(number * pair + len(head) + 1, len(tail) + 1)
        return len(damage.unreadable(lambda start, stop: content[start:stop]))

    assert lost(1 << 20) == 50
    whole, parsed = parsed, 0
    assert 50 < lost(whole // 2) < 100
    assert parsed < whole * 0.6


def test_verify_says_which_line_end_is_damaged_and_that_nothing_is_lost(run: RunFiles) -> None:
    run.metrics.write_bytes(flipped(ENDS[1], 0x4A))
    assert verify(run.directory).problems == [
        "default: lines with a damaged end: 2 (nothing is lost: the rows that it joins are read)"
    ]
