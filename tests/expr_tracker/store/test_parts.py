"""What is known of set-aside parts, and that whatever is gone of them is reported, and only that."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expr_tracker.store.files import parts_of, sidecar_of
from expr_tracker.store.lines import encode_line
from expr_tracker.store.parts import (
    LostPart,
    Part,
    lost_parts,
    lost_parts_text,
    next_number,
    part_name,
)
from expr_tracker.store.place import set_part_aside
from expr_tracker.store.reader import part_paths, whole_rows
from expr_tracker.store.sidecar import parts_said

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.expr_tracker.store.conftest import Desk

LINE = len(encode_line({"_step": 0, "t": "x"}))


def lost_of(path: Path) -> list[LostPart]:
    parts, live_size = parts_said(path)
    return lost_parts(path, parts, live_size=live_size)


def remove(path: Path, *numbers: int) -> None:
    for number in numbers:
        (parts_of(path) / part_name(number)).unlink()


def rows_by_part(path: Path) -> dict[int, list[int]]:
    return {
        int(part.stem): [row["_step"] for row in whole_rows(part)] for part in part_paths(path)[0]
    }


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(st.integers(0, 8), min_size=1, max_size=30),
    resumed_at=st.integers(0, 30),
    data=st.data(),
)
def test_any_subset_of_parts_that_is_removed_is_reported_exactly(
    desk_at: type[Desk], steps: list[int], resumed_at: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        for part in (steps[:resumed_at], steps[resumed_at:]):
            desk = desk_at(path, max_file_bytes=3 * LINE)
            desk.put(*part)
            desk.writer.close({})
        held = rows_by_part(path)
        assert lost_of(path) == []
        gone = data.draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
        remove(path, *gone)
        lost = lost_of(path)
        assert [each.name for each in lost] == [part_name(number) for number in sorted(gone)]
        for each in lost:
            assert each.left is None
            assert each.part is not None
            mine = held[each.part.number]
            assert each.part.rows == each.part.lines == len(mine)
            assert each.part.low is not None
            assert each.part.high is not None
            assert each.part.low <= min(mine)
            assert max(mine) <= each.part.high
        # Whoever goes on is told, gives no number again, and the loss stays known.
        resumed = desk_at(path, max_file_bytes=3 * LINE)
        assert ("lost rows" in resumed.said()) == bool(gone)
        resumed.put(*range(100, 110))
        resumed.writer.close({})
        assert [each.name for each in lost_of(path)] == [each.name for each in lost]
        left = [step for number in held if number not in gone for step in held[number]]
        assert resumed.steps()[: len(left)] == left


def test_all_that_is_removed_with_the_folder_is_reported(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(7))
    desk.writer.close({})
    shutil.rmtree(parts_of(desk.path))
    assert str(lost_of(desk.path)[0]) == (
        "000001.jsonl is missing, with it 2 rows of steps within 0 to 1"
    )
    assert len(lost_of(desk.path)) == 3


def test_a_part_that_was_cut_is_reported_with_what_is_left(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(5))
    desk.writer.close({})
    part = parts_of(desk.path) / "000002.jsonl"
    os.truncate(part, LINE)
    (lost,) = lost_of(desk.path)
    assert (lost.name, lost.lost, lost.left) == ("000002.jsonl", LINE, LINE)
    assert str(lost).startswith(f"000002.jsonl is cut: {LINE} of its {2 * LINE} bytes are gone")
    again = make(max_file_bytes=2 * LINE)
    again.put(5)
    again.writer.close({})
    assert lost_of(desk.path)[0].lost == LINE


def test_the_live_file_of_a_rotated_stream_is_reported_too(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(5))
    desk.writer.close({})
    desk.path.unlink()
    assert [str(each) for each in lost_of(desk.path)] == [
        f"metrics.jsonl is missing, {LINE} bytes"
    ]


@pytest.mark.parametrize("rotations", [1, 2])
def test_parts_that_the_sidecar_does_not_know_yet_are_no_loss(
    make: Callable[..., Desk], rotations: int
) -> None:
    """A process may die between setting a part aside and writing that down."""
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(3))
    desk.writer.save_index({})
    desk.put(*range(3, 3 + 2 * rotations))
    assert len(part_paths(desk.path)[0]) == 1 + rotations
    assert lost_of(desk.path) == []


def test_a_death_between_the_renaming_and_the_new_file_is_no_loss(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(4))
    desk.writer.save_index({})
    set_part_aside(desk.path, [])
    desk.path.unlink()
    assert lost_of(desk.path) == []


def test_without_a_sidecar_a_gap_in_the_numbers_is_a_loss(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=LINE)
    desk.put(*range(6))
    desk.writer.close({})
    sidecar_of(desk.path).unlink()
    remove(desk.path, 1, 3)
    assert [str(each) for each in lost_of(desk.path)] == [
        "000001.jsonl is missing, with an unknown number of rows",
        "000003.jsonl is missing, with an unknown number of rows",
    ]


def test_a_sidecar_that_is_damaged_proves_nothing(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=LINE)
    desk.put(*range(4))
    desk.writer.close({})
    shutil.rmtree(parts_of(desk.path))
    sidecar = sidecar_of(desk.path)
    sidecar.write_bytes(sidecar.read_bytes().replace(b'"live_size":', b'"live_size":1'))
    assert lost_of(desk.path) == []


def test_a_stream_whose_files_are_all_gone_begins_anew(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=LINE)
    desk.put(*range(4))
    desk.writer.close({})
    shutil.rmtree(parts_of(desk.path))
    desk.path.unlink()
    again = make(max_file_bytes=LINE)
    assert again.said() == ""
    again.put(0, 1)
    again.writer.close({})
    assert lost_of(desk.path) == []


def test_a_part_that_is_removed_while_the_run_is_live_is_said_once(
    make: Callable[..., Desk],
) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(7))
    remove(desk.path, 2)
    desk.writer.check_place()
    assert desk.said().count("000002.jsonl is missing, with it 2 rows") == 1
    desk.writer.check_place()
    assert desk.said() == ""
    assert desk.writer.index.rows == 5
    desk.put(*range(7, 12))
    desk.writer.close({})
    assert desk.steps() == [0, 1, 4, 5, 6, 7, 8, 9, 10, 11]
    assert [each.name for each in lost_of(desk.path)] == ["000002.jsonl"]
    assert desk.notices.counts("degraded") == {"lost parts of metrics.jsonl": 1}


def test_parts_that_came_back_are_whole_again(make: Callable[..., Desk], tmp_path: Path) -> None:
    desk = make(max_file_bytes=2 * LINE)
    desk.put(*range(7))
    desk.writer.close({})
    parts_of(desk.path).rename(tmp_path / "away")
    make(max_file_bytes=2 * LINE).writer.close({})
    assert len(lost_of(desk.path)) == 3
    (tmp_path / "away").rename(parts_of(desk.path))
    again = make(max_file_bytes=2 * LINE)
    assert again.writer.index.rows == 7
    again.writer.close({})
    assert lost_of(desk.path) == []


def test_a_number_of_a_part_that_is_gone_is_not_given_again(path: Path) -> None:
    assert next_number(path, []) == 1
    assert next_number(path, [Part(4, 10, 0)]) == 5


def test_many_lost_parts_are_counted_and_ten_named() -> None:
    text = lost_parts_text([LostPart(part_name(number), None, None) for number in range(1, 14)])
    assert text.count("jsonl") == 10
    assert text.endswith("; and 3 more parts")


@pytest.mark.parametrize("name", ["999999.jsonl", "99999999.jsonl"])
def test_a_stray_file_with_a_high_number_is_one_gap_and_no_long_wait(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    desk = make(max_file_bytes=LINE)
    desk.put(0, 1, 2)
    desk.writer.close({})
    (parts_of(desk.path) / name).write_bytes(b"")
    looked_at = 0

    def count(*arguments: Any) -> os.stat_result:
        nonlocal looked_at
        looked_at += 1
        return stat(*arguments)

    stat = os.stat
    monkeypatch.setattr(os, "stat", count)
    (lost,) = lost_of(desk.path)
    assert looked_at < 100
    last = int(name.removesuffix(".jsonl")) - 1
    first = 3 if len(name) == 12 else 1
    assert lost.count == last - first + 1
    assert f"{last}.jsonl are missing" in lost_parts_text([lost])


def test_no_loss_is_reported_while_the_writer_sets_parts_aside(make: Callable[..., Desk]) -> None:
    desk = make(max_file_bytes=LINE)
    desk.put(0)

    def write() -> None:
        for step in range(400):
            desk.put(step % 10)
            desk.writer.save_index({})

    thread = threading.Thread(target=write)
    thread.start()
    looks = 0
    while thread.is_alive():
        assert lost_of(desk.path) == []
        looks += 1
    thread.join()
    assert looks > 1
    assert len(parts_said(desk.path)[0]) == 400
