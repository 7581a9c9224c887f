"""Checkpoints: a changed byte is found, and between which offsets; taking more of them reads on."""

from __future__ import annotations

import itertools
import zlib
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.store.checkpoints import extended, first_change
from expr_tracker.store.reader import LineFile

if TYPE_CHECKING:
    from pathlib import Path

LINE = b'{"_step":1,"loss":0.25,"text":"%s"}\n'


def written(path: Path, lines: int) -> bytes:
    content = b"".join(LINE % (b"%d" % number * 20) for number in range(lines))
    path.write_bytes(content)
    return content


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.data())
def test_wherever_a_byte_changes_it_is_found_in_its_stretch(
    tmp_path_factory: object, sizes: list[int], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("run") / "metrics.jsonl"  # type: ignore[attr-defined]
    known: list[tuple[int, int]] = []
    total, content = 0, b""
    for size in sizes:
        total += size
        content = written(path, total)
        with LineFile(path) as file:
            known = extended(known, file, file.size)
    assert known[-1] == (len(content), zlib.crc32(content))
    with LineFile(path) as file:
        assert first_change(known, file) is None
    at = data.draw(st.integers(0, len(content) - 2))  # the last line end would be a torn line
    changed = bytearray(content)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(changed))
    with LineFile(path) as file:
        found = first_change(known, file)
    assert found is not None
    assert found[0] <= at < found[1]
    assert found[1] - found[0] <= 4096


def test_a_long_file_has_a_few_hundred_evenly(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    content = written(path, 60_000)
    with LineFile(path) as file:
        once = extended([], file, file.size)
        part = extended([], file, file.size // 3)
        again = extended(extended(part, file, file.size // 2), file, file.size)
    for found in (once, again):
        offsets = [0, *(offset for offset, _ in found)]
        widths = [stop - start for start, stop in itertools.pairwise(offsets)]
        assert len(found) <= 256
        assert max(widths) <= 4 * len(content) / 256
        assert all(zlib.crc32(content[:offset]) == checksum for offset, checksum in found)


def test_what_was_checked_before_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    content = written(path, 5_000)
    with LineFile(path) as file:
        known = extended([], file, file.size)
    # Were it read again, this would become the truth.
    path.write_bytes(b"x" + content[1:] + LINE % b"more")
    with LineFile(path) as file:
        more = extended(known, file, file.size)
        assert first_change(more, file) == (0, 4096)
