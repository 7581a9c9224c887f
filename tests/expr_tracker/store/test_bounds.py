from __future__ import annotations

from pathlib import Path

import pytest

from expr_tracker.store.bounds import is_own_file, path_within
from expr_tracker.store.files import (
    RunFiles,
    StreamKey,
    kept_of,
    parts_of,
    sidecar_of,
    torn_of,
)


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
