from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.errors import NameRefusedError
from expr_tracker.store.files import (
    RunFiles,
    StreamKey,
    kept_of,
    parts_of,
    sidecar_of,
    stream_keys,
    torn_of,
)
from expr_tracker.store.names import check_stream

streams = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)


@given(streams, st.integers(0, 10_000))
def test_a_file_s_name_gives_its_producer_back(stream: str | None, rank: int) -> None:
    try:
        check_stream(stream)
    except NameRefusedError:
        return
    key = StreamKey(stream, rank)
    files = RunFiles(Path("r"), key)
    assert StreamKey.from_file(files.metrics.name) == key
    assert StreamKey.from_file(files.spans.name, "spans") == key
    assert StreamKey.from_file(files.metrics.name, "spans") is None
    assert StreamKey.from_file(sidecar_of(files.metrics).name) is None
    assert StreamKey.from_file(torn_of(files.metrics).name) is None
    assert StreamKey.from_file(parts_of(files.metrics).name) is None


def test_no_two_files_of_a_producer_share_a_name() -> None:
    files = RunFiles(Path("r"), StreamKey("data", 3))
    paths = [
        getattr(files, name) for name, kind in vars(RunFiles).items() if isinstance(kind, property)
    ]
    assert len(set(paths)) == len(paths)
    own = [path for path in paths if path not in {files.identity, files.media, files.artifacts}]
    assert all(".data.rank3." in path.name for path in own)


@pytest.mark.parametrize(
    ("key", "label"),
    [
        (StreamKey(), "default"),
        (StreamKey("data"), "data"),
        (StreamKey(None, 2), "default rank 2"),
        (StreamKey("data", 1), "data rank 1"),
    ],
)
def test_a_producer_has_a_name_for_people(key: StreamKey, label: str) -> None:
    assert key.label == label


def test_the_producers_of_a_folder_are_listed_default_first_and_foreign_files_left_out(
    tmp_path: Path,
) -> None:
    for name in [
        "metrics.zeta.jsonl",
        "metrics.rank10.jsonl",
        "metrics.rank2.jsonl",
        "metrics.jsonl",
        "metrics.alpha.rank1.jsonl",
        "metrics.alpha.jsonl",
        "spans.other.jsonl",
        "metrics.jsonl.parts",
        "metrics..jsonl",
        "metrics.a.b.jsonl",
        "Metrics.x.jsonl",
        "metrics.meta.json",
    ]:
        (tmp_path / name).touch()
    assert stream_keys(tmp_path) == [
        StreamKey(),
        StreamKey(None, 2),
        StreamKey(None, 10),
        StreamKey("alpha"),
        StreamKey("alpha", 1),
        StreamKey("zeta"),
    ]
    assert stream_keys(tmp_path, "spans") == [StreamKey("other")]
    assert stream_keys(tmp_path / "missing") == []


@pytest.mark.parametrize("part", ["000001.jsonl", "00000002.jsonl"])
def test_a_file_that_was_set_aside_counts_by_its_parts(tmp_path: Path, part: str) -> None:
    folder = parts_of(RunFiles(tmp_path, StreamKey("data", 1)).metrics)
    folder.mkdir()
    (folder / "notes.jsonl").touch()
    assert stream_keys(tmp_path) == []
    (folder / part).touch()
    assert stream_keys(tmp_path) == [StreamKey("data", 1)]
    assert stream_keys(tmp_path, "spans") == []
    assert stream_keys(tmp_path, "spans", "metrics") == [StreamKey("data", 1)]


def test_a_foreign_file_where_parts_would_be_is_no_stream_and_hides_none(tmp_path: Path) -> None:
    parts_of(RunFiles(tmp_path, StreamKey("data")).metrics).touch()
    assert stream_keys(tmp_path) == []
    RunFiles(tmp_path).metrics.touch()
    parts_of(RunFiles(tmp_path).metrics).touch()
    assert stream_keys(tmp_path) == [StreamKey()]


def test_no_stream_has_documents_under_the_names_of_replaced_ones(tmp_path: Path) -> None:
    kept = kept_of(RunFiles(tmp_path).config, 1)
    assert kept.name == "config._attempt1.json"
    stream = kept.name.removeprefix("config.").removesuffix(".json")
    with pytest.raises(NameRefusedError):
        check_stream(stream)
    kept.touch()
    kept.with_suffix(".jsonl").touch()
    assert stream_keys(tmp_path, "config") == []
