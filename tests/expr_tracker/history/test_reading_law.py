"""The law of reading: whatever the file holds, the answer is that of a naive reader in memory."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from expr_tracker.history import HistoryStore, read_history
from expr_tracker.history import retrieval as retrieval_module
from expr_tracker.history.location import producers_of
from expr_tracker.history.retrieval import rows_by_step
from expr_tracker.history.source import Source
from expr_tracker.history.view import View
from expr_tracker.nonfinite import with_nonfinite
from expr_tracker.options import Options
from expr_tracker.store import index as index_module
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import encode_line
from expr_tracker.store.live import LiveSnapshot
from expr_tracker.store.reader import LineFile
from expr_tracker.store.sidecar import load_index, read_sidecar, save_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
LAW = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# --- the naive reader ----------------------------------------------------------------------------


def naive_object(text: bytes) -> Row | None:
    try:
        row = json.loads(text)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def naive_objects(content: bytes) -> Iterator[Row]:
    """Yield the object of every line; both of a line in which two whole lines are joined."""
    for raw in content.split(b"\n")[:-1]:
        line = raw.lstrip(b"\0")
        row = naive_object(line)
        if row is not None:
            yield row
            continue
        for at in range(1, len(line)):
            first = naive_object(line[:at])
            second = naive_object(line[at:]) or naive_object(line[at + 1 :])
            if first is not None and second is not None:
                if all(
                    type(each.get("_step", each.get("_attempt"))) is int
                    for each in (first, second)
                ):
                    yield from (first, second)
                break


def naive_lines(content: bytes) -> list[tuple[int, int | None, int, Row]]:
    """Return (place, from_step of its attempt, attempt number, row) of every whole good line."""
    found: list[tuple[int, int | None, int, Row]] = []
    number, place = 1, 0
    cut: int | None = None
    for row in naive_objects(content):
        step = row.get("_step")
        if isinstance(step, int) and -(2**63) <= step < 2**63:
            with_nonfinite(row)
            found.append((place, cut, number, row))
        elif isinstance(row.get("_attempt"), int):
            number, place, cut = row["_attempt"], place + 1, row.get("_from_step")
    return found


def naive(  # noqa: C901, PLR0912 - plain on purpose: it is what the law is measured by
    content: bytes,
    n: int | None,
    *,
    bounds: tuple[int | None, int | None] | None = None,
    attempt: int | str | None = None,
    open_row: Row | None = None,
) -> list[Row]:
    lines = naive_lines(content)
    cuts: dict[int, int] = {}
    place, markers = 0, []
    for row in naive_objects(content):
        if "_step" not in row and isinstance(row.get("_attempt"), int):
            place += 1
            markers.append((place, row["_attempt"], row.get("_from_step")))
    for at in range(place + 1):
        later = [step for other, _, step in markers if other > at and step is not None]
        if later:
            cuts[at] = min(later)
    newest = markers[-1][1] if markers else 1
    shown: list[tuple[Any, Row]] = []
    for at, _, number, row in lines:
        step = row["_step"]
        if attempt is None and at in cuts and step >= cuts[at]:
            continue
        if isinstance(attempt, int) and number != attempt:
            continue
        shown.append(((number, step) if attempt == "all" else step, row))
    if open_row is not None and (attempt in (None, "all") or attempt == newest):
        step = open_row["_step"]
        shown.append(((newest, step) if attempt == "all" else step, open_row))
    low, high = bounds or (None, None)

    def is_inside(key: Any) -> bool:
        step = key[1] if attempt == "all" else key
        return (low is None or step >= low) and (high is None or step < high)

    shown = [(key, row) for key, row in shown if is_inside(key)]
    if n is None:
        keys = {key for key, _ in shown}
    elif bounds is not None:
        keys = set(sorted({key for key, _ in shown})[max(0, len({k for k, _ in shown}) - n) :])
    else:
        keys = set(list(dict.fromkeys(key for key, _ in reversed(shown)))[:n])
    merged: dict[Any, Row] = {}
    for key, row in shown:
        if key in keys:
            before = merged.get(key, {})
            merged[key] = {**before, **row}
            if "_time" in before:
                merged[key]["_time"] = before["_time"]
    rows = [merged[key] for key in sorted(merged)]
    if attempt == "all":
        rows = [{**merged[key], "_attempt": key[0]} for key in sorted(merged)]
    return rows


# --- what a file can hold ------------------------------------------------------------------------

numbers = st.one_of(
    st.floats(width=64), st.integers(-5, 5), st.sampled_from([2**53 + 1, -(2**63), 2**64, 10**400])
)
plain = st.one_of(numbers, st.floats(), st.none())
values = st.one_of(
    plain, st.booleans(), st.sampled_from(["", "text", "x,\n\"'", "\ud800"]), st.lists(numbers)
)
names = st.sampled_from(["loss", "train/acc", "a b", 'q"\\', "é"])
steps = st.integers(-2, 12)
rows = st.builds(
    lambda step, time, data: {"_step": step, "_time": time, **data},
    steps,
    st.floats(0, 2e9),
    st.dictionaries(names, values, max_size=3),
)
damage = st.sampled_from(
    [b"", b'{"_step":3,"loss":', b"\0\0\0", b"nonsense", b"[1,2]", b'{"a":1}{"_step":1}',
     b'{"_step":5,"loss":1}{"_step":6,"loss":1}', b'{"_step":5,"loss":1} {"_step":6,"loss":1}',
     b'{"_step":2,"loss":1}\xe2{"_step":-1,"loss":{"a":{}}}', b'{"_step":2}j{"_step":"2"}',
     b'{"_step":4,"loss":1}J{"_attempt":9,"_from_step":3}', b'{"_step":4}J{"_step":5,"loss":}',
     b'{"_attempt":9,"_from_step":3}}{"_step":4,"loss":1}', b'{"other":1}', b"\xff\xfe", b'{"_step":"4"}',
     b'{"_step":99999999999999999999,"loss":1}', b'{"_step":7,\r"loss":1} ']
)  # fmt: skip


@st.composite
def contents(draw: st.DrawFn, metric_rows: st.SearchStrategy[Row] = rows) -> bytes:
    pieces = []
    number = 1
    ascending = draw(st.booleans())
    step = 0
    for _ in range(draw(st.integers(0, 30))):
        kind = draw(st.sampled_from(["row"] * 8 + ["damage", "nul", "attempt", "rewind", "end"]))
        if kind == "damage":
            pieces.append(draw(damage) + b"\n")
        elif kind in {"attempt", "rewind"}:
            number += 1
            marker = {"_attempt": number, "_time": 1.0}
            if kind == "rewind":
                marker["_from_step"] = draw(steps)
            pieces.append(encode_line(marker))
        elif kind == "end":
            pieces.append(encode_line({"_attempt_end": number, "_status": "succeeded"}))
        else:
            row = draw(metric_rows)
            if ascending:
                row = {**row, "_step": step}
                step += draw(st.integers(1, 2))
            pieces.append((b"\0\0" if kind == "nul" else b"") + encode_line(row))
    if draw(st.booleans()):
        pieces.append(draw(st.sampled_from([b'{"_step":1,"lo', b"\0" * 40, b"{"])))
    return b"".join(pieces)


questions = st.fixed_dictionaries(
    {
        "n": st.sampled_from([None, 1, 2, 3, 7, 50]),
        "bounds": st.sampled_from([None, None, (None, 5), (3, None), (2, 8), (4, 4), (9, 1)]),
        "attempt": st.sampled_from([None, None, 1, 2, "all"]),
    }
)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Make blocks of two lines and short tails, so that a short file has old blocks to look into."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "BLOCK_LINES", 2)
        patch.setattr(retrieval_module, "_TAIL_BYTES_MIN", 1)
        patch.setattr(StreamIndex, "__init__", _with_small_blocks(StreamIndex.__init__))
        yield


def _with_small_blocks(init: Callable[..., None]) -> Callable[..., None]:
    def small(self: StreamIndex, *args: Any, **keywords: Any) -> None:
        keywords.setdefault("block_lines", 2)
        init(self, *args, **keywords)

    return small


@contextmanager
def written(content: bytes, sidecar_at: float | None = None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "metrics.jsonl"
        if sidecar_at is not None:
            lines = content.split(b"\n")
            part = b"\n".join(lines[: int(len(lines) * sidecar_at)])
            path.write_bytes(part + b"\n" if part else b"")
            with LineFile(path) as file:
                save_index(load_index(file, read_sidecar(file.path)), file, {})
        path.write_bytes(content)
        yield path
    finally:
        shutil.rmtree(folder)


def same(one: Any, other: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and takes NaN for itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def exists(content: bytes, attempt: int | str | None) -> bool:
    return attempt != 2 or b'"_attempt":2' in content


# --- the laws ------------------------------------------------------------------------------------


@LAW
@given(contents(), questions, st.sampled_from([None, 0.0, 0.5, 1.0]))
def test_a_file_reads_as_the_naive_reader_says(
    content: bytes, question: Row, sidecar_at: float | None
) -> None:
    attempt = question["attempt"]
    if not exists(content, attempt):
        return
    expected = naive(content, question["n"], bounds=question["bounds"], attempt=attempt)
    with small_blocks(), written(content, sidecar_at) as path:
        got = read_history(path, question["n"], step_range=question["bounds"], attempt=attempt)
    assert same(got, expected), (got, expected)


@LAW
@given(contents(), questions, st.integers(0, 6), st.none() | rows)
def test_a_live_stream_reads_as_the_naive_reader_says(
    content: bytes, question: Row, waiting: int, open_row: Row | None
) -> None:
    attempt = question["attempt"]
    lines = [line + b"\n" for line in content.split(b"\n")[:-1]]
    in_file, pending = lines[: len(lines) - waiting], lines[len(lines) - waiting :]
    if waiting > len(lines):
        in_file, pending = [], lines
    whole = b"".join(lines)
    if not exists(whole, attempt):
        return
    expected = naive(
        whole, question["n"], bounds=question["bounds"], attempt=attempt, open_row=open_row
    )
    with small_blocks(), written(b"".join(in_file)) as path:
        with LineFile(path) as file:
            index = load_index(file, read_sidecar(file.path))
        snapshot = LiveSnapshot(index, pending, open_row)
        store = HistoryStore(path, lambda: snapshot, lambda _: None, Options(), guard=lambda: None)
        got = store.query(question["n"], step_range=question["bounds"], attempt=attempt)
    assert same(got, expected), (got, expected)


@LAW
@given(contents())
def test_rows_by_step_are_the_whole_history(content: bytes) -> None:
    with small_blocks(), written(content) as path:
        (producer,) = producers_of(path)
        with Source.offline(producer) as source:
            batches = list(rows_by_step(source, View(source.index.attempts, None)))
    assert same([row for batch in batches for row in batch], naive(content, None))
