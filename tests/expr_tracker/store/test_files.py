"""File names: what may become one, and how names are taken apart again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.errors import NameRefusedError
from expr_tracker.store.files import (
    RunFiles,
    StreamKey,
    check_name,
    check_stream,
    is_own_file,
    kept_of,
    parts_of,
    path_within,
    sidecar_of,
    stream_keys,
    torn_of,
)

BAD_STREAMS = [
    "",
    "-a",
    "_a",
    "a.b",
    "a b",
    "a\n",
    "\na",
    "a/b",
    "../a",
    "a\\b",
    "ä",
    "日本",
    "a\0",
    "a\u2028",
    "rank0",
    "rank12",
    "RANK1",
    "default",
    "default.",
    "Rank٣",
    "x" * 129,
    ".",
    "..",
    "٣",
    5,
    b"data",
    ["data"],
    True,
]


@pytest.mark.parametrize("stream", BAD_STREAMS, ids=repr)
def test_a_stream_that_could_not_be_told_apart_in_a_file_name_is_refused(stream: object) -> None:
    with pytest.raises(NameRefusedError, match="stream="):
        check_stream(stream)


@pytest.mark.parametrize(
    "stream", [None, "a", "data", "A-1_b", "7", "rank", "rank1a", "ranks-2", "x" * 128]
)
def test_a_plain_stream_is_taken(stream: str | None) -> None:
    assert check_stream(stream) == stream


@pytest.mark.parametrize(
    "stream", [name for name in BAD_STREAMS if isinstance(name, str)], ids=repr
)
def test_a_name_that_a_refusal_suggests_is_taken(stream: str) -> None:
    with pytest.raises(NameRefusedError) as refusal:
        check_stream(stream)
    text = str(refusal.value)
    if "Try '" in text:
        suggested = text.rsplit("Try '", 1)[1].split("'", maxsplit=1)[0]
        assert check_stream(suggested) == suggested


@pytest.mark.parametrize(
    "name", ["artifacts", "Artifacts", ".hidden", ".artifacts", ".con", ". x", ".run-1"]
)
@pytest.mark.parametrize("kind", ["project", "run"])
def test_a_name_that_a_search_for_runs_skips_is_refused_with_one_that_it_finds(
    kind: str, name: str
) -> None:
    with pytest.raises(NameRefusedError, match=rf"^{kind} name .*Try '") as refusal:
        check_name(kind, name)
    suggested = str(refusal.value).rsplit("Try '", 1)[1].split("'", maxsplit=1)[0]
    assert check_name(kind, suggested) == suggested


@pytest.mark.parametrize("name", ["artifacts", ".hidden"])
def test_an_artifact_is_not_searched_for_and_may_have_any_folder_name(name: str) -> None:
    assert check_name("artifact", name) == name


ESCAPES = [
    "",
    ".",
    "..",
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a/../../b",
    "a\\..\\..\\b",
    "C:\\x",
    "a\0.png",
    "a\nb",
    "a\x7f",
    "\ud800",
    " a",
    "a ",
    "a.",
    "...",
    "con",
    "NUL.txt",
    "com1",
    "Lpt9.log",
    "x" * 256,
    "é" * 128,
    5,
    None,
    b"a",
    Path("a"),
]


@pytest.mark.parametrize("name", ESCAPES, ids=lambda name: repr(name)[:20])
def test_a_name_that_is_no_folder_everywhere_is_refused(name: object) -> None:
    with pytest.raises(NameRefusedError, match=r"^run name") as refusal:
        check_name("run", name)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "run-1",
        "Größe 7",
        "日本",
        "a.b",
        "artifacts-1",
        "%2e%2e%2fx",
        "x" * 255,
        "console",
        "com",
        "com10",
    ],
)
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert check_name("project", name) == name


@given(st.text())
def test_whatever_is_taken_stays_one_folder_below_its_parent(name: str) -> None:
    try:
        check_name("run", name)
    except NameRefusedError:
        return
    root = Path("/root-of-runs")
    child = root / name
    assert child.parent == root
    assert child.resolve().parent == root
    assert len(child.parts) == 3


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


@pytest.mark.parametrize("key", [StreamKey(), StreamKey("data", 3)])
def test_every_file_of_a_run_is_known_as_its_own(tmp_path: Path, key: StreamKey) -> None:
    files = RunFiles(tmp_path, key)
    paths = [value for name in vars(RunFiles) if isinstance(value := getattr(files, name), Path)]
    assert len(paths) > 8
    metrics = files.metrics
    paths += [sidecar_of(metrics), torn_of(metrics), parts_of(metrics) / "000001.jsonl"]
    paths += [kept_of(files.config, 1), kept_of(files.environment, 12)]
    paths += [files.media / "ab" / "x.png", tmp_path / "media" / ".." / "Metrics.jsonl"]
    for path in paths:
        assert is_own_file(path, tmp_path), path
        assert is_own_file(path, metrics), path
        assert is_own_file(path, parts_of(metrics)), path
    for name in ["out.jsonl", "trace.json", "metrics.parquet", "metrics.csv", "notes/x.jsonl"]:
        assert not is_own_file(tmp_path / name, tmp_path), name


def test_a_file_is_another_runs_own_where_that_run_has_its_identity(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert not is_own_file(other / "spans.jsonl", tmp_path / "run")
    (other / "run.json").touch()
    (tmp_path / "link").symlink_to(other)
    assert is_own_file(tmp_path / "link" / "spans.jsonl", tmp_path / "run")
    foreign = tmp_path / "foreign.jsonl"
    assert is_own_file(foreign, foreign)


def test_no_name_leads_out_of_a_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").touch()
    (home / "out").symlink_to(tmp_path)
    (home / "in").symlink_to(home / "media")
    (home / "loop").symlink_to(home / "loop")
    assert path_within(home, "in/a") == home.resolve() / "media" / "a"
    for name in ["out/secret", "../secret", "/etc/passwd", ".", "", "a\0b", "in/../../secret"]:
        assert path_within(home, name) is None, name


def test_no_stream_has_documents_under_the_names_of_replaced_ones(tmp_path: Path) -> None:
    kept = kept_of(RunFiles(tmp_path).config, 1)
    assert kept.name == "config._attempt1.json"
    stream = kept.name.removeprefix("config.").removesuffix(".json")
    with pytest.raises(NameRefusedError):
        check_stream(stream)
    kept.touch()
    kept.with_suffix(".jsonl").touch()
    assert stream_keys(tmp_path, "config") == []


NOT_ON_WINDOWS = ["a:b", "a*", 'a"', "a?", "a|b", "<a>", "C:x", "2024-05-01T12:00:00"]


@pytest.mark.parametrize("name", NOT_ON_WINDOWS)
def test_a_run_may_have_any_name_that_the_file_system_takes(name: str) -> None:
    assert check_name("run", name) == name


@pytest.mark.parametrize("name", NOT_ON_WINDOWS)
def test_an_artifact_has_a_name_that_every_file_system_takes(name: str) -> None:
    with pytest.raises(NameRefusedError, match="Windows refuses them"):
        check_name("artifact", name)
