"""Captured output and spans through a network that fails: each line of their files once, as it was."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.mapi.follow.faulty import Faulty, fates, few
from tests.mapi.follow.histories import BEGUN, KEYS, new_run
from tests.mapi.follow.network import Fate

from expr_tracker.store.files import RunFiles, StreamKey
from mapi.follow.deliveries import DeliveryError
from mapi.wire.times import time_to_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mapi
    from mapi.wire.notes import LogLineFacts, SpanFacts

#: Whose line it is, of which kind, and its row.
Written = tuple[StreamKey, str, dict[str, Any]]

#: Few that differ: lines that are the same are lines of their own.
printed = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["a", "10%\r50%", ""]),
        "source": st.sampled_from(["stdout", "stderr"]),
    },
    optional={"_time": st.integers(0, 3).map(lambda second: BEGUN + second)},
)
spanned = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["step", "step/forward"]),
        "start": st.integers(0, 3).map(lambda second: BEGUN + second),
        "dur_ms": st.integers(0, 2).map(float),
        "depth": st.just(0),
        "track": st.just(1),
    },
    optional={"_step": st.integers(0, 2)},
)
written = st.lists(
    st.tuples(
        st.sampled_from(KEYS[:2]),
        st.one_of(
            st.tuples(st.just("console"), printed),
            st.tuples(st.just("spans"), spanned),
        ),
    ).map(lambda one: (one[0], *one[1])),
    max_size=12,
)


def file_of(path: Path, key: StreamKey, kind: str) -> Path:
    files = RunFiles(path, key)
    return files.lines_of("console" if kind == "console" else "spans")


def write(path: Path, found: Sequence[Written], *, in_front: bool) -> None:
    """Append lines to their files, or put them in front, which makes other files of those."""
    for key, kind, row in found:
        file = file_of(path, key, kind)
        line = json.dumps(row).encode() + b"\n"
        before = file.read_bytes() if file.exists() else b""
        file.write_bytes(line + before if in_front else before + line)


def rows_of(path: Path, key: StreamKey, kind: str) -> list[dict[str, Any]]:
    file = file_of(path, key, kind)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def time_of(row: dict[str, Any]) -> int | None:
    return round(row["_time"] * 1e6) if "_time" in row else None


def lines_of(api: mapi.Client, run: str, key: StreamKey) -> list[LogLineFacts]:
    whose = (key.stream or "", key.rank)
    return [one for one in api.runs.lines(run, limit=1_000) if (one.stream, one.rank) == whose]


def spans_of(api: mapi.Client, run: str, key: StreamKey) -> list[SpanFacts]:
    return [*api.runs.spans(run, stream=key.stream or "", rank=key.rank)]


def check(api: mapi.Client, run: str, path: Path, *, is_ordered: bool) -> None:
    """Check that each line of the files is there once, and nothing else."""
    for key in KEYS[:2]:
        rows = rows_of(path, key, "console")
        wanted = [(row["text"], row["source"]) for row in rows]
        found = lines_of(api, run, key)
        contents = [(one.message, one.fields["source"]) for one in found]
        assert Counter(contents) == Counter(wanted)
        assert contents == wanted or not is_ordered
        timed = Counter(
            (row["text"], row["source"], time_of(row)) for row in rows if "_time" in row
        )
        there = Counter((one.message, one.fields["source"], time_to_us(one.time)) for one in found)
        assert timed <= there
        spans = Counter(
            (row["name"], round(row["start"] * 1e9), round(row["dur_ms"] * 1e6), row.get("_step"))
            for row in rows_of(path, key, "spans")
        )
        kept = Counter(
            (one.name, one.start_ns, one.duration_ns, one.step) for one in spans_of(api, run, key)
        )
        assert kept == spans


def all_of(api: mapi.Client, run: str) -> tuple[list[Any], ...]:
    return tuple(
        list(found)
        for key in KEYS[:2]
        for found in (lines_of(api, run, key), spans_of(api, run, key))
    )


HELD: list[Written] = [
    (StreamKey(), "console", {"text": "a", "source": "stdout"}),
    (StreamKey(), "spans", {"name": "s", "start": BEGUN, "dur_ms": 1.0, "depth": 0, "track": 1}),
]


@pytest.mark.timeout(300)
@few
# Each request comes once more, when what is behind it is there; and each first try comes last.
@example(
    stages=[(HELD, [Fate.COPIED] * 30, False, False), (HELD, [Fate.COPIED] * 30, True, False)]
)
@example(stages=[(HELD, [Fate.HELD, Fate.PASSES] * 15, False, True), (HELD, [], True, False)])
@given(
    stages=st.lists(
        st.tuples(written, fates, st.booleans(), st.booleans()), min_size=1, max_size=3
    )
)
def test_each_line_is_there_once_whatever_comes_late_or_twice(
    stages: list[tuple[list[Written], list[Fate], bool, bool]], faulty: Faulty
) -> None:
    """Each stage writes lines, behind the others or before, and pushes, by itself or two at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_run(path)
        run = ""
        is_ordered = True
        for found, foreseen, in_front, is_double in stages:
            write(path, found, in_front=in_front)
            is_ordered = is_ordered and not in_front
            run = faulty.push(path, foreseen, is_double=is_double)
            check(faulty.api, run, path, is_ordered=is_ordered)
        before = all_of(faulty.api, run)
        faulty.let_go()
        # Not one has another time, nor is there one more.
        assert all_of(faulty.api, run) == before


@pytest.mark.timeout(300)
@few
@given(stages=st.lists(st.tuples(written, fates), min_size=2, max_size=4))
def test_a_push_of_lines_that_ends_anywhere_is_completed_by_the_next(
    stages: list[tuple[list[Written], list[Fate]]], faulty: Faulty
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_run(path)
        for found, foreseen in stages:
            write(path, found, in_front=False)
            try:
                faulty.push(path, foreseen, patience_seconds=0)
            except DeliveryError:
                continue
        run = faulty.push(path, [])
        check(faulty.api, run, path, is_ordered=True)
        before = all_of(faulty.api, run)
        faulty.let_go()
        assert all_of(faulty.api, run) == before
