from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from expr_tracker.artifacts import Artifact, ArtifactStore
from expr_tracker.artifacts.entries import (
    Entry,
    EntryFolder,
    check_entry_path,
    content_digest,
    entries_of_directory,
    entry_from_member,
    have_own_places,
    local_path_of,
    without_password,
)
from expr_tracker.errors import ArtifactError, NameRefusedError

DIGEST = "sha256:" + "0" * 64

# The first text of a fresh checkout costs seconds (the table of characters), and files are slow on
# a busy machine; neither is what is tested.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

PARTS = st.one_of(
    st.sampled_from(
        ["..", ".", "", " ", "...", ".. ", "a", "b", "C:", "nul", "~", "%2e%2e", "..%252f", "v0"]
    ),
    st.text(max_size=12),
    st.text("./\\ :\0ab", max_size=12),
)
PATHS = st.builds(
    lambda separator, parts: separator.join(parts),
    st.sampled_from(["/", "/", "\\", "//"]),
    st.lists(PARTS, min_size=1, max_size=4),
)


def tree(folder: Path) -> set[str]:
    return {os.path.relpath(found, folder) for found in folder.rglob("*")}


@unhurried
@given(path=PATHS, name=st.one_of(st.just("m"), PATHS))
def test_whatever_the_names_nothing_is_written_outside_of_the_store(path: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as base:
        outside = Path(base)
        root = outside / "project" / "artifacts"
        root.mkdir(parents=True)
        source = outside / "source"
        source.write_bytes(b"x")
        before = tree(outside)
        store = ArtifactStore(root)
        target = outside / "download"
        try:
            artifact = store.log(Artifact(name).add_file(source, path))
        except (NameRefusedError, ArtifactError):
            assert tree(outside) == before
            return
        assert artifact.version == 0
        assert artifact.get_path(path).read_bytes() == b"x"
        assert artifact.get_path(path).is_relative_to(root / name / "v0")
        artifact.download(target)
        new = tree(outside) - before
        assert all(
            place.startswith((f"project{os.sep}artifacts{os.sep}", "download")) for place in new
        )
        assert source.read_bytes() == b"x"


@unhurried
@given(path=PATHS)
def test_a_taken_path_lies_below_any_folder(path: str) -> None:
    try:
        checked = check_entry_path(path)
    except NameRefusedError:
        return
    folder = os.path.realpath(tempfile.gettempdir())
    place = os.path.normpath(os.path.join(folder, checked))  # noqa: PTH118 - text only
    assert place.startswith(folder + os.sep)
    # Windows reads these differently.
    assert "\\" not in checked
    assert checked[1:2] != ":"


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "a\\..\\..\\b",
        "C:\\x",
        "C:x",
        "1:x",
        "a\0.png",
        "a\nb",
        ".",
        "",
        "x" * 5000,
        "x" * 256,
        "ok/../ok2",
        "ok//ok2",
        "ok/",
        ".. /x",
        "\ud800",
        3,
        None,
    ],
)
def test_a_path_that_leaves_or_is_none_is_refused(path: object) -> None:
    with pytest.raises(NameRefusedError):
        check_entry_path(path)


@pytest.mark.parametrize(
    "path", ["a", "a/b.pt", "epoch=3-loss:0.2.ckpt", "a%00.png", ".hidden", "..a", "日本/ü", "con"]
)
def test_a_path_that_stays_is_taken_as_it_is(path: str) -> None:
    assert check_entry_path(path) == path
    assert check_entry_path(Path(path)) == path


def test_a_link_in_the_folder_is_not_followed_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "folder" / "inside").mkdir()
    (tmp_path / "folder" / "near").symlink_to("inside")
    folder = EntryFolder(tmp_path / "folder")
    with pytest.raises(ArtifactError, match="leads out of"):
        folder.place("link/x")
    with pytest.raises(ArtifactError, match="leads out of"):
        folder.place_for_writing("link/new/x")
    assert tree(tmp_path / "outside") == set()
    assert folder.place("near/x") == tmp_path / "folder" / "near" / "x"


def test_a_directory_gives_its_files_and_those_behind_links_that_stay_inside(
    tmp_path: Path,
) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "deep" / "b").write_bytes(b"bb")
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "again").symlink_to("sub")
    found = {entry.path: entry.size for entry in entries_of_directory(tmp_path, "")}
    assert found == {"a": 1, "link": 1, "sub/deep/b": 2, "again/deep/b": 2}
    prefixed = [entry.path for entry in entries_of_directory(tmp_path / "sub", "x/y")]
    assert prefixed == ["x/y/deep/b"]


def test_a_directory_that_is_itself_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("real")
    assert [entry.path for entry in entries_of_directory(tmp_path / "link", "")] == ["a"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/etc/hostname", "leads out of the added directory"),
        ("..", "leads out of the added directory"),
        (".", "has no end"),
        ("missing", "link to nothing"),
        ("../folder-beside", "leads out of the added directory"),
    ],
)
def test_a_link_out_of_the_directory_into_itself_or_to_nothing_is_refused(
    tmp_path: Path, target: str, reason: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder-beside").mkdir()
    (tmp_path / "folder" / "link").symlink_to(target)
    with pytest.raises(ArtifactError, match=reason):
        entries_of_directory(tmp_path / "folder", "")


def test_pipes_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").write_bytes(b"a")
    assert [entry.path for entry in entries_of_directory(tmp_path, "")] == ["a"]
    assert "pipe" in caplog.text


def test_too_many_files_are_refused_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("expr_tracker.artifacts.entries.ENTRIES_MAX", 2)
    for number in range(3):
        (tmp_path / str(number)).touch()
    with pytest.raises(ArtifactError, match="more than 2 files"):
        entries_of_directory(tmp_path, "")


@pytest.mark.parametrize(
    "member",
    [
        None,
        [],
        {},
        {"path": "a"},
        {"path": "../a", "size": 1, "digest": DIGEST},
        {"path": "a", "size": -1, "digest": DIGEST},
        {"path": "a", "size": True, "digest": DIGEST},
        {"path": "a", "size": "1", "digest": DIGEST},
        {"path": "a", "size": 1, "digest": "md5:0"},
        {"path": "a", "size": 1, "digest": 3},
        {"path": "a", "size": 1, "digest": None},
        {"path": "a", "ref": 3},
        {"path": 3, "size": 1, "digest": DIGEST},
    ],
)
def test_a_listed_entry_that_breaks_a_rule_is_none(member: object) -> None:
    assert entry_from_member(member) is None


def test_a_listed_entry_is_read_with_either_spelling_of_its_digest() -> None:
    listed: dict[str, Any] = {"path": "a", "size": 1, "digest": "0" * 64, "ref": None}
    entry = entry_from_member(listed)
    assert entry == Entry("a", 1, DIGEST)
    assert entry is not None
    assert entry_from_member(entry.to_dict()) == entry
    assert entry_from_member({"path": "a", "ref": "s3://b/a"}) == Entry("a", ref="s3://b/a")
    of_0_4 = {"path": "a", "size": 0, "digest": "", "ref": "s3://b/a"}
    assert entry_from_member(of_0_4) == Entry("a", 0, ref="s3://b/a")
    assert entry_from_member({**of_0_4, "ref": None}) is None


@unhurried
@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.text())
def test_the_content_digest_ignores_the_order_and_nothing_else(
    pairs: list[tuple[str, str]], kind: str
) -> None:
    entries = [Entry(path, 1, digest) for path, digest in dict(pairs).items()]
    digest = content_digest(kind, entries)
    assert content_digest(kind, entries[::-1]) == digest
    assert content_digest(kind + "x", entries) != digest
    assert content_digest(kind, [*entries, Entry("one more than 4 long", 1, DIGEST)]) != digest
    for entry in entries:
        others = [other for other in entries if other is not entry]
        assert content_digest(kind, [*others, Entry(entry.path, 1, entry.digest, "x")]) != digest


def test_entries_have_places_of_their_own() -> None:
    assert have_own_places([Entry("a/b"), Entry("a/c"), Entry("d")])
    assert not have_own_places([Entry("a"), Entry("a")])
    assert not have_own_places([Entry("a/b"), Entry("a")])


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("/data/x", "/data/x"),
        ("file:///data/a%20b", "/data/a b"),
        ("file://localhost/data/x", "/data/x"),
        ("FILE:///data/x", "/data/x"),
        ("file://other-host/data/x", None),
        ("s3://bucket/x", None),
        ("https://host/x", None),
        ("s3://[no-host/x", None),
        ("file:///C:/data/x", "C:/data/x"),
    ],
)
def test_a_reference_to_this_machine_has_a_path(reference: str, path: str | None) -> None:
    assert local_path_of(reference) == (None if path is None else Path(path))


def test_a_path_of_any_bytes_survives_as_a_reference() -> None:
    path = Path(os.fsdecode(b"/data/\xff ?#%"))
    assert local_path_of(path.as_uri()) == path


def test_what_is_no_uri_is_refused_at_the_call() -> None:
    with pytest.raises(ArtifactError, match="is no URI"):
        Artifact("m").add_reference("s3://[no-host/x")
    with pytest.raises(ArtifactError, match="expected a path or URI"):
        Artifact("m").add_reference("")


def test_a_password_in_a_reference_is_not_kept() -> None:
    assert without_password("s3://user:secret@host/x?y=1") == "s3://user:***@host/x?y=1"
    for plain in ["s3://bucket/x", "https://user@host/x", "/data/a@b:c", "https://h/a:b@c"]:
        assert without_password(plain) == plain
