"""Following a file: every row once, whatever happens to the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from expr_tracker.history import follow
from expr_tracker.history import follower as follower_module
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def line(step: int) -> bytes:
    return encode_line({"_step": step, "_time": 0.0, "loss": step / 2})


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def steps(rows: list[dict[str, Any]]) -> list[int]:
    return [row["_step"] for row in rows]


def test_a_file_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    follower = follow(tmp_path / "run", "data")
    assert follower.poll() == []
    (tmp_path / "run").mkdir()
    assert follower.poll() == []
    append(tmp_path / "run" / "metrics.data.jsonl", line(0))
    assert steps(follower.poll()) == [0]
    assert follower.poll() == []


def test_a_follower_from_the_end_sees_only_what_comes(tmp_path: Path) -> None:
    append(tmp_path / "metrics.jsonl", line(0))
    follower = follow(tmp_path, from_end=True)
    append(tmp_path / "metrics.jsonl", line(1))
    assert steps(follower.poll()) == [1]


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=12))
def test_any_cut_of_the_writing_gives_every_row_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    content = b"".join(line(step) for step in range(8))
    path = tmp_path_factory.mktemp("run") / "metrics.jsonl"
    follower = follow(path)
    seen = []
    at = 0
    for cut in [*cuts, len(content)]:
        append(path, content[at : at + cut])
        at = min(len(content), at + cut)
        seen += steps(follower.poll())
    assert seen == list(range(8))


def test_a_rotated_file_is_followed_into_the_next(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, line(0))
    follower = follow(tmp_path)
    assert steps(follower.poll()) == [0]
    append(path, line(1))
    (tmp_path / "metrics.jsonl.parts").mkdir()
    path.rename(tmp_path / "metrics.jsonl.parts" / "000001.jsonl")
    append(path, line(2))
    assert steps(follower.poll()) == [1, 2]
    assert follower.restarts == 0


def test_a_file_cut_short_is_followed_from_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"".join(map(line, range(4))))
    follower = follow(path)
    follower.poll()
    path.write_bytes(b"".join(map(line, range(2))))
    assert follower.poll() == []
    append(path, line(7))
    assert steps(follower.poll()) == [7]
    assert follower.restarts == 1


def test_a_file_cut_and_grown_again_is_read_from_where_it_agrees(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    follower = follow(path)
    for step in range(4):
        append(path, line(step))
        follower.poll()
    path.write_bytes(b"".join(map(line, [0, 1, 5, 6, 7, 8])))
    assert steps(follower.poll()) == [5, 6, 7, 8]


def test_a_replaced_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, b"".join(map(line, range(4))))
    follower = follow(path)
    follower.poll()
    path.write_bytes(line(9))
    assert steps(follower.poll()) == [9]
    assert follower.restarts == 1


def test_markers_are_passed_over_and_damage_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, line(0) + b'{"_attempt":2}\n' + b"damage\n" + line(1))
    follower = follow(path)
    assert steps(follower.poll()) == [0, 1]
    assert follower.unreadable == 1


def test_a_late_follower_reads_in_bounded_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "_LOOK_BYTES_MAX", 1 << 20)
    path = tmp_path / "metrics.jsonl"
    append(path, b"".join(map(line, range(60_000))))
    follower = follow(path)
    seen = steps(follower.poll())
    assert follower.is_behind
    assert len(seen) < 60_000
    looks = 1
    while len(seen) < 60_000 and looks < 10:
        seen += steps(follower.poll())
        looks += 1
    assert looks >= 2
    assert seen == list(range(60_000))
    assert not follow(path, from_end=True).is_behind
