"""Files that are not the ones that were delivered: cut, rewritten, swapped. Nothing is there twice or missing."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.follow.faulty import Faulty, fates, few
from tests.mapi.follow.histories import new_run
from tests.mapi.follow.network import Fate

from mapi.follow.numbers import MARKED_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    import mapi

FILES = ("metrics.jsonl", "spans.jsonl", "console.jsonl")
BEGUN = 1.7e9

#: What becomes of a file's lines.
Change = tuple[str, int, list[int]]
numbers = st.lists(st.integers(0, 3), max_size=4)
changes = st.tuples(
    st.sampled_from(["append", "append", "cut", "insert", "drop", "replace", "turn"]),
    st.integers(0, 9),
    numbers,
)


def line_of(name: str, number: int) -> str:
    """Return one of few lines: of any two of a number nothing differs."""
    time = BEGUN + number
    rows: dict[str, dict[str, Any]] = {
        "metrics.jsonl": {
            "_step": number,
            "_time": time,
            "loss": number / 2,
            "note": "x" * number,
        },
        "spans.jsonl": {"name": "s", "start": time, "dur_ms": 5.0, "depth": 0, "track": 0},
        "console.jsonl": {"_time": time, "source": "stdout", "text": f"line {number}"},
    }
    return json.dumps(rows[name])


def changed(lines: list[str], change: Change, make: Callable[[int], str]) -> list[str]:
    what, at, found = change
    more = [make(number) for number in found]
    at = min(at, len(lines))
    return {
        "append": [*lines, *more],
        "cut": lines[:at],
        "insert": [*lines[:at], *more, *lines[at:]],
        "drop": [*lines[:at], *lines[at + 1 :]],
        "replace": more,
        "turn": lines[::-1],
    }[what]


def there(api: mapi.Client, run: str) -> dict[str, Counter[str]]:
    """Return how often the platform has what each line of a file becomes."""
    lines = api.runs.lines(run, limit=1_000)
    return {
        "metrics.jsonl": Counter(one.message for one in lines if one.message.startswith("step")),
        "spans.jsonl": Counter(str(one.start_ns) for one in api.runs.spans(run)),
        "console.jsonl": Counter(one.message for one in lines if one.message.startswith("line")),
    }


def named(name: str, line: str) -> str:
    row = json.loads(line)
    if name == "metrics.jsonl":
        return f"step {row['_step']}: note"
    return str(round(row["start"] * 1e9)) if name == "spans.jsonl" else row["text"]


@pytest.mark.timeout(300)
@few
@given(
    stages=st.lists(
        st.tuples(st.sampled_from(FILES), changes, st.booleans(), fates), min_size=2, max_size=5
    )
)
def test_each_line_that_a_file_ever_held_is_there_as_often_as_it_held_it(
    stages: list[tuple[str, Change, bool, list[Fate]]], faulty: Faulty
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_run(path)
        files: dict[str, list[str]] = {name: [line_of(name, 0)] for name in FILES}
        held: dict[str, Counter[str]] = {name: Counter() for name in FILES}
        run = ""
        first = ("metrics.jsonl", ("append", 0, [1, 2]), False, list[Fate]())
        for name, change, is_double, foreseen in [first, *stages]:
            files[name] = changed(files[name], change, partial(line_of, name))
            for one, lines in files.items():
                (path / one).write_text("".join(f"{line}\n" for line in lines))
                held[one] |= Counter(named(one, line) for line in lines)
            run = faulty.push(path, foreseen, is_double=is_double)
            assert there(faulty.api, run) == held
        faulty.let_go()
        assert there(faulty.api, run) == held


def test_a_file_that_lost_its_end_and_went_on_has_all_lines_there_once(
    faulty: Faulty, tmp_path: Path
) -> None:
    """What a power loss takes from a file was delivered, and the run that goes on writes as many bytes."""
    path = tmp_path / "r"
    new_run(path)
    rows = {
        name: [
            json.dumps(json.loads(line_of(name, 1)) | {"_time": BEGUN + at, "start": BEGUN + at})
            for at in range(1_000, 1_400)
        ]
        for name in FILES
    }
    for name, lines in rows.items():
        (path / name).write_text("".join(f"{line}\n" for line in lines[:200]))
        assert (path / name).stat().st_size > MARKED_BYTES
    faulty.push(path, [])
    for name, lines in rows.items():
        kept = [*lines[:150], *lines[250:300]]
        content = "".join(f"{line}\n" for line in kept)
        assert len(content) == (path / name).stat().st_size, "a line ends where one ended"
        (path / name).write_text(content)
    faulty.push(path, [])
    run = faulty.push(path, [])
    found = there(faulty.api, run)
    assert found["spans.jsonl"].total() == len(found["spans.jsonl"]) == 250
    assert found["console.jsonl"].total() == 250
    assert found["metrics.jsonl"].total() == 250


def test_values_of_a_metrics_file_that_was_rewritten_are_those_of_the_file(
    faulty: Faulty, tmp_path: Path
) -> None:
    path = tmp_path / "r"
    new_run(path)
    before = [{"_step": step, "_time": BEGUN + step, "loss": 0.25} for step in range(300)]
    after = [row | {"loss": 0.75} for row in before]
    for rows in (before, after):
        (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = faulty.push(path, [])
        points = faulty.api.runs.points(run, "loss")
        assert [*points.values] == [row["loss"] for row in rows]
