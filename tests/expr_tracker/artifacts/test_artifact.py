from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from expr_tracker.artifacts import Artifact, ArtifactStore, verification
from expr_tracker.artifacts.copying import Content, digest_of
from expr_tracker.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    ArtifactNotLoggedError,
    NameRefusedError,
)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two files, one of them in a folder."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(b"a")
    (folder / "sub" / "b").write_bytes(b"bb")
    return folder


def test_adding_chains_and_names_what_will_be_stored(data: Path) -> None:
    artifact = (
        Artifact("m", "model", "text", {"rows": 3}, ["best"])
        .add_file(data / "a")
        .add_file(data / "a", name="other/name")
        .add_dir(data)
        .add_dir(data / "sub", name="copy")
        .add_reference("s3://bucket/x/y.bin?version=3")
    )
    assert artifact.files() == ["a", "copy/b", "other/name", "sub/b", "y.bin"]
    assert artifact.qualified_name == "m"
    assert artifact.to_dict() | {"entries": 5} == {
        "name": "m",
        "version": None,
        "type": "model",
        "description": "text",
        "metadata": {"rows": 3},
        "aliases": ["best"],
        "digest": None,
        "created_at": None,
        "run": None,
        "step": None,
        "entries": 5,
    }
    assert [entry.size for entry in artifact.entries] == [1, 2, 1, 2, None]


def test_logging_gives_it_version_digest_and_place(store: ArtifactStore, data: Path) -> None:
    artifact = Artifact("m").add_dir(data)
    assert store.log(artifact, step=7) is artifact
    assert artifact.qualified_name == "m:v0"
    assert artifact.dir == store.root / "m" / "v0"
    assert artifact.step == 7
    assert artifact.digest is not None
    assert artifact.digest.startswith("sha256:")
    assert all(entry.digest is not None for entry in artifact.entries)


def test_adding_to_a_version_begins_the_next(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_file(data / "a"))
    artifact.add_file(data / "sub" / "b")
    assert artifact.to_dict()["version"] is None
    assert artifact.to_dict()["digest"] is None
    with pytest.raises(ArtifactNotLoggedError):
        artifact.download()
    store.log(artifact)
    assert artifact.version == 1
    assert artifact.files() == ["a", "b"]
    again = store.use("m:v0").add_file(data / "sub" / "b")
    assert store.log(again).version == 1


@pytest.mark.parametrize("swapped", ["a", "sub"])
def test_a_link_that_appears_after_a_directory_was_added_is_not_followed_out(
    store: ArtifactStore, data: Path, swapped: str
) -> None:
    artifact = Artifact("m").add_dir(data)
    outside = data.parent / "outside"
    outside.mkdir()
    (outside / "b").write_bytes(b"precious")
    (data / swapped).rename(data.parent / "old")
    (data / swapped).symlink_to(outside / "b" if swapped == "a" else outside)
    with pytest.raises(ArtifactError, match="leads out of"):
        store.log(artifact)
    assert store.list() == []


def test_before_logging_there_are_no_paths(data: Path) -> None:
    artifact = Artifact("m").add_file(data / "a")
    with pytest.raises(RuntimeError, match="log it first"):
        artifact.download()
    with pytest.raises(RuntimeError, match="log it first"):
        artifact.get_path("a")


def test_sources_that_are_not_there_are_refused_at_the_call(data: Path) -> None:
    artifact = Artifact("m")
    with pytest.raises(FileNotFoundError, match=r"No file at .* There are: a, sub\."):
        artifact.add_file(data / "missing")
    with pytest.raises(ArtifactError, match="use add_dir"):
        artifact.add_file(data)
    with pytest.raises(NotADirectoryError, match="use add_file"):
        artifact.add_dir(data / "a")
    with pytest.raises(NotADirectoryError, match="There are: sub"):
        artifact.add_dir(data / "missing")
    assert artifact.files() == []


@pytest.mark.parametrize("name", ["../x", "/x", "a\\b", "", "a/../../x", "x\0"])
def test_entry_names_that_escape_are_refused_by_every_way_in(data: Path, name: str) -> None:
    artifact = Artifact("m")
    with pytest.raises(NameRefusedError):
        artifact.add_file(data / "a", name=name)
    with pytest.raises(NameRefusedError):
        artifact.add_dir(data, name=name)
    with pytest.raises(NameRefusedError):
        artifact.add_reference("s3://b/x", name=name)
    with pytest.raises(NameRefusedError):
        artifact.add_reference(data, name=name)
    assert artifact.files() == []


def test_two_files_for_one_place_are_refused_and_nothing_is_half_added(data: Path) -> None:
    artifact = Artifact("m").add_file(data / "a", name="b")
    with pytest.raises(ArtifactError, match="was added already"):
        artifact.add_dir(data / "sub")
    with pytest.raises(ArtifactError, match="below the file 'b'"):
        artifact.add_file(data / "a", name="b/c")
    artifact.add_dir(data, name="folder")
    with pytest.raises(ArtifactError, match="is a folder"):
        artifact.add_file(data / "a", name="folder/sub")
    (data / "sub" / "c").write_bytes(b"c")
    with pytest.raises(ArtifactError, match="was added already"):
        artifact.add_dir(data / "sub")
    assert artifact.files() == ["b", "folder/a", "folder/sub/b"]
    # The same file once more is no conflict.
    artifact.add_file(data / "a", name="b")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "../m"},
        {"name": "m", "type": 3},
        {"name": "m", "metadata": [1]},
        {"name": "m", "aliases": ["v1"]},
        {"name": "m", "aliases": [3]},
    ],
)
def test_arguments_that_break_a_rule_are_refused_at_the_call(arguments: dict[str, object]) -> None:
    with pytest.raises((NameRefusedError, ArtifactError)):
        Artifact(**arguments)  # type: ignore[arg-type]


def test_get_path_finds_stored_files_and_helps_with_others(
    store: ArtifactStore, data: Path
) -> None:
    artifact = store.log(Artifact("m").add_dir(data))
    assert artifact.get_path("sub/b").read_bytes() == b"bb"
    with pytest.raises(ArtifactNotFoundError, match="Did you mean 'sub/b'"):
        artifact.get_path("sub/bb")
    (artifact.dir or Path()).joinpath("a").write_bytes(b"longer")
    with pytest.raises(ArtifactError, match="has 6 bytes"):
        artifact.get_path("a")


@pytest.mark.parametrize("is_reference", [False, True], ids=["stored", "reference"])
def test_get_path_refuses_a_file_of_the_same_size_that_is_not_what_was_logged(
    store: ArtifactStore, data: Path, *, is_reference: bool
) -> None:
    artifact = Artifact("m")
    store.log(artifact.add_reference(data / "a") if is_reference else artifact.add_dir(data))
    place = artifact.get_path("a")
    before = place.stat()
    place.write_bytes(b"x")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    for found in (artifact, store.find("m"), store.use("m")):
        with pytest.raises(ArtifactError, match="m:v0: 'a' has changed"):
            found.get_path("a")
    place.write_bytes(b"a")
    assert artifact.get_path("a") == place
    place.unlink()
    with pytest.raises(ArtifactError, match="m:v0: 'a'"):
        artifact.get_path("a")


def test_a_reference_that_had_no_content_when_it_was_logged_is_handed_out_as_it_is(
    store: ArtifactStore, data: Path
) -> None:
    artifact = store.log(Artifact("m").add_reference(data / "later"))
    assert artifact.get_path("later") == data / "later"


def test_get_path_reads_a_file_again_only_when_it_looks_changed(
    store: ArtifactStore, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def count(file: Path, *arguments: Any, **more: Any) -> Content:
        read.append(file.name)
        return digest_of(file, *arguments, **more)

    monkeypatch.setattr(verification, "digest_of", count)
    artifact = store.log(Artifact("m").add_dir(data))
    place = artifact.get_path("a")
    artifact.get_path("a")
    assert read == ["a", "a"], "what changed just now may change again and look the same"
    monkeypatch.setattr(verification, "_TIME_GRAIN_NS", 0)
    for _ in range(3):
        artifact.get_path("a")
        artifact.get_path("sub/b")
    assert read[2:] == ["a", "b"]
    os.utime(place, ns=(5, 5))
    artifact.get_path("a")
    assert read[4:] == ["a"]


def test_download_gives_the_stored_folder_or_a_copy(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_dir(data))
    assert artifact.download() == artifact.dir
    target = data.parent / "new" / "folder"
    assert artifact.download(target) == target
    assert (target / "sub" / "b").read_bytes() == b"bb"
    assert sorted(found.name for found in target.rglob("*")) == ["a", "b", "sub"]


def test_a_download_that_was_cut_short_goes_on(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_dir(data))
    target = artifact.download(data.parent / "target")
    kept = (target / "a").stat().st_ino
    (target / "sub" / "b").write_bytes(b"b")
    artifact.download(target)
    assert (target / "a").stat().st_ino == kept
    assert (target / "sub" / "b").read_bytes() == b"bb"


def test_a_download_is_not_led_out_of_its_folder(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_dir(data))
    outside = data.parent / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"precious")
    target = data.parent / "target"
    target.mkdir()
    (target / "sub").symlink_to(outside)
    (target / "a").symlink_to(outside / "a")
    with pytest.raises(ArtifactError, match="leads out of"):
        artifact.download(target)
    assert (outside / "a").read_bytes() == b"precious"
    assert [found.name for found in outside.iterdir()] == ["a"]


def test_a_file_changed_in_the_store_is_named(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_dir(data))
    stored = artifact.get_path("sub/b")
    stored.write_bytes(b"xx")
    for target in (None, data.parent / "target"):
        with pytest.raises(ArtifactError, match=r"m:v0: 'sub/b'.*has changed"):
            artifact.download(target)
    stored.unlink()
    stored.symlink_to("/etc/hostname")
    for target in (None, data.parent / "target"):
        with pytest.raises(ArtifactError, match=r"m:v0: 'sub/b'"):
            artifact.download(target)
    assert not (data.parent / "target" / "sub" / "b").exists()


def test_local_references_are_hashed_when_logged_and_brought_by_download(
    store: ArtifactStore, data: Path
) -> None:
    artifact = store.log(
        Artifact("m")
        .add_reference(data / "a", name="one")
        .add_reference((data / "sub").as_uri(), name="more")
    )
    assert list((store.root / "m" / "v0").iterdir()) == []
    assert artifact.get_path("one") == data / "a"
    folder = store.use("m").download()
    assert folder == artifact.dir
    assert (folder / "one").read_bytes() == b"a"
    assert (folder / "more" / "b").read_bytes() == b"bb"
    assert (artifact.download(data.parent / "target") / "one").read_bytes() == b"a"


def test_a_reference_whose_file_has_changed_or_gone_is_named(
    store: ArtifactStore, data: Path
) -> None:
    artifact = store.log(Artifact("m").add_reference(data / "a"))
    (data / "a").write_bytes(b"x")
    with pytest.raises(ArtifactError, match="has changed"):
        artifact.download()
    (data / "a").unlink()
    with pytest.raises(ArtifactError, match="is gone"):
        artifact.download()
    assert store.log(Artifact("m").add_reference(data / "a")).version == 1


def test_a_remote_reference_is_a_name_only(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_reference("s3://key:secret@bucket/w.bin"))
    target = data.parent / "target"
    for place in (None, target):
        with pytest.raises(ArtifactError, match=r"'w.bin' is a reference to s3://.*client of you"):
            artifact.download(place)
    assert not target.exists()
    with pytest.raises(ArtifactError, match="not on this machine"):
        artifact.get_path("w.bin")
    assert b"secret" not in (store.root / "index.jsonl").read_bytes()


def test_files_beside_a_remote_reference_are_handed_out_and_it_is_named(
    store: ArtifactStore, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data / "b").write_bytes(b"beside")
    draft = Artifact("m").add_file(data / "a").add_reference(data / "b")
    artifact = store.log(draft.add_reference("s3://bucket/w.bin").add_reference("s3://bucket/v"))
    for place in (None, data.parent / "target"):
        caplog.clear()
        folder = artifact.download(place)
        assert {name: (folder / name).read_bytes() for name in ("a", "b")} == {
            name: (data / name).read_bytes() for name in ("a", "b")
        }
        assert not (folder / "w.bin").exists()
        (said,) = caplog.messages
        assert "is a reference to s3://bucket/" in said
        assert "(and 1 more)" in said


def test_a_local_reference_may_wait_for_its_file(store: ArtifactStore, data: Path) -> None:
    artifact = store.log(Artifact("m").add_reference(data / "later"))
    assert artifact.entries[0].digest is None
    with pytest.raises(ArtifactError, match="is gone"):
        artifact.download()
    (data / "later").write_bytes(b"now")
    assert (artifact.download() / "later").read_bytes() == b"now"


def test_a_file_name_that_is_no_text_survives(store: ArtifactStore, tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).write_bytes(b"x")
    store.log(folder, "m")
    assert [entry.size for entry in ArtifactStore(store.root).use("m").entries] == [1]
    assert len(list(ArtifactStore(store.root).use("m").download().iterdir())) == 1
