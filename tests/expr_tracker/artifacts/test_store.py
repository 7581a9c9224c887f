from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from expr_tracker.artifacts import Artifact, ArtifactStore, find_store
from expr_tracker.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    ArtifactNotLoggedError,
    NameRefusedError,
)
from expr_tracker.store.lines import decode_line
from expr_tracker.testing import ManualClock


class Warnings:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, kind: str, text: str) -> None:
        del kind
        self.texts.append(text)


@pytest.fixture
def warnings() -> Warnings:
    return Warnings()


@pytest.fixture
def store(tmp_path: Path, warnings: Warnings) -> ArtifactStore:
    return ArtifactStore(
        tmp_path / "p" / "artifacts",
        tmp_path / "p" / "run" / "artifacts.jsonl",
        "run",
        warn=warnings,
        clock=ManualClock(1234.5),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.pt"
    path.write_bytes(b"0")
    return path


def lines(path: Path) -> list[dict[str, Any] | None]:
    return [decode_line(line) for line in path.read_bytes().splitlines()]


def log_versions(store: ArtifactStore, file: Path, count: int) -> None:
    for number in range(count):
        file.write_bytes(b"%d" % number)
        store.log(file)


def test_a_path_is_named_by_its_stem_and_numbered_by_its_content(
    store: ArtifactStore, file: Path
) -> None:
    first = store.log(file)
    assert (first.name, first.type, first.version) == ("model", "dataset", 0)
    assert store.log(file).version == 0
    file.write_bytes(b"1")
    second = store.log(str(file), type="model", metadata={"epoch": 1})
    assert (second.version, second.type) == (1, "model")
    file.write_bytes(b"0")
    assert store.log(file).version == 0
    assert [artifact.qualified_name for artifact in store.list()] == ["model:v0", "model:v1"]


def test_the_index_line_and_the_lineage_are_as_specified(
    store: ArtifactStore, file: Path, tmp_path: Path
) -> None:
    store.log(file, "m", "model", ["best"], {"acc": 0.5}, step=3)
    store.use("m:best", step=4)
    (row,) = lines(store.root / "index.jsonl")
    assert row is not None
    (entry,) = row.pop("entries")
    assert row.pop("digest").startswith("sha256:")
    assert row == {
        "name": "m",
        "version": "v0",
        "type": "model",
        "description": None,
        "metadata": {"acc": 0.5},
        "aliases": ["best"],
        "created_at": 1234.5,
        "run": "run",
        "step": 3,
        "reused": False,
    }
    digest = "sha256:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
    assert entry == {"path": "model.pt", "size": 1, "digest": digest, "ref": None}
    assert (store.root / "m" / "v0" / "model.pt").read_bytes() == b"0"
    note = {"_time": 1234.5, "name": "m", "version": "v0", "type": "model"}
    assert lines(tmp_path / "p" / "run" / "artifacts.jsonl") == [
        note | {"action": "log", "step": 3},
        note | {"action": "use", "step": 4},
    ]


def test_a_file_that_changes_after_it_was_added_is_stored_under_what_was_copied(
    store: ArtifactStore, file: Path
) -> None:
    artifact = Artifact("m").add_file(file)
    file.write_bytes(b"changed")
    store.log(artifact)
    assert store.verify("m").size_bytes == 7
    assert store.use("m").entries[0].size == 7
    file.write_bytes(b"later")
    assert (artifact.download() / "model.pt").read_bytes() == b"changed"


def test_a_file_that_changes_while_it_is_copied_is_reported(
    store: ArtifactStore, file: Path, warnings: Warnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.write

    def write_and_change(descriptor: int, data: bytes) -> int:
        written = original(descriptor, data)
        if bytes(data) == b"0":
            file.write_bytes(b"longer")
        return written

    monkeypatch.setattr(os, "write", write_and_change)
    store.log(file)
    monkeypatch.undo()
    assert any("was written to while" in text for text in warnings.texts)
    assert store.verify().problems == ()


def test_an_alias_moves_as_an_event_also_back(store: ArtifactStore, file: Path) -> None:
    store.log(file, "m", aliases=["best"])
    file.write_bytes(b"1")
    assert store.log(file, "m", aliases=["best", "prod"]).aliases == ["best", "prod"]
    assert store.use("m:best").version == 1
    file.write_bytes(b"0")
    back = store.log(file, "m", aliases="best")
    assert (back.version, back.aliases) == (0, ["best"])
    assert store.use("m:best").version == 0
    assert store.use("m:prod").aliases == ["prod"]
    fresh = ArtifactStore(store.root)
    assert fresh.use("m:best").version == 0
    assert fresh.use("m").version == 1


def test_a_stored_version_gets_an_alias_without_a_copy(
    store: ArtifactStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_versions(store, file, 2)
    monkeypatch.setattr(
        "expr_tracker.artifacts.registry.Staging.create", lambda root: pytest.fail(str(root))
    )
    assert store.log(store.use("model:v0"), aliases=["prod"]).aliases == ["prod"]
    assert store.use("model:prod").version == 0


def test_a_new_version_is_not_made_from_damaged_files(store: ArtifactStore, file: Path) -> None:
    store.log(file, "m")
    held = store.use("m")
    held.get_path("model.pt").write_bytes(b"X")
    for mode in ("copy", "link", "reference"):
        with pytest.raises(ArtifactError, match="has changed"):
            store.log(held, "other", mode=mode)
    with pytest.raises(ArtifactError, match="has changed"):
        store.log(held, type="model")
    # What was refused did not change the object either.
    assert (held.qualified_name, held.type) == ("m:v0", "dataset")
    assert [artifact.qualified_name for artifact in store.list()] == ["m:v0"]


def test_an_old_object_does_not_steal_aliases_back(store: ArtifactStore, file: Path) -> None:
    store.log(file, "m", aliases=["best"])
    held = store.use("m")
    file.write_bytes(b"1")
    store.log(file, "m", aliases=["best"])
    store.log(held, aliases=["first"])
    assert store.use("m:best").version == 1
    assert store.use("m:first").version == 0


def test_an_alias_that_is_set_already_writes_no_line(store: ArtifactStore, file: Path) -> None:
    for _ in range(3):
        store.log(file, aliases=["best"])
    assert len(lines(store.root / "index.jsonl")) == 1


@pytest.mark.parametrize("alias", ["v7", "LATEST", "a:b", ""])
def test_a_refused_alias_leaves_no_trace(
    store: ArtifactStore, file: Path, tmp_path: Path, alias: str
) -> None:
    artifact = Artifact("m").add_file(file)
    artifact.aliases.append(alias)
    for what in (artifact, file):
        with pytest.raises(ArtifactError, match="alias"):
            store.log(what, aliases=[alias])
    with pytest.raises(ArtifactError, match="alias"):
        store.log(artifact)
    assert not (tmp_path / "p").exists()


def test_using_by_latest_version_and_alias(store: ArtifactStore, file: Path) -> None:
    log_versions(store, file, 12)
    store.log(store.use("model:v3"), aliases=["best"])
    for text, version in [
        ("model", 11),
        ("model:latest", 11),
        ("model:v3", 3),
        ("model:V3", 3),
        ("model:best", 3),
    ]:
        assert store.use(text).version == version
    assert store.use(store.use("model:v5")).version == 5


def test_what_is_not_there_is_answered_with_what_is(store: ArtifactStore, file: Path) -> None:
    with pytest.raises(FileNotFoundError, match="It has none yet"):
        store.use("model")
    log_versions(store, file, 30)
    store.log(file, aliases=["best"])
    with pytest.raises(ArtifactNotFoundError, match=r"No artifact 'modl'.*mean 'model'"):
        store.use("modl")
    with pytest.raises(ArtifactNotFoundError, match=r"'bets'.*mean 'best'.*Its aliases are best"):
        store.use("model:bets")
    with pytest.raises(ArtifactNotFoundError, match=r"10 more and v10, v11,.* v29\."):
        store.use("model:v99")
    for text in ["../model", "model:", "/model:v1"]:
        with pytest.raises(NameRefusedError):
            store.use(text)
    with pytest.raises(ArtifactNotLoggedError):
        store.use(Artifact("model"))


def test_another_type_is_refused_as_a_value_error(store: ArtifactStore, file: Path) -> None:
    store.log(file, type="model")
    assert store.use("model", type="model").version == 0
    with pytest.raises(ValueError, match="has type 'model', not 'dataset'"):
        store.use("model", type="dataset")


@pytest.mark.parametrize("damage", ["gone", "shorter", "link", "folder"])
def test_a_damaged_file_is_noticed_when_the_version_is_used(
    store: ArtifactStore, file: Path, damage: str
) -> None:
    stored = store.log(file, "m").get_path("model.pt")
    stored.unlink()
    if damage == "shorter":
        stored.write_bytes(b"")
    elif damage == "link":
        # Its own size, the length of the text, is the file's.
        stored.symlink_to("x")
    elif damage == "folder":
        stored.mkdir()
    with pytest.raises(ArtifactError, match=r"m:v0: 'model.pt'"):
        store.use("m")


def test_a_tampered_file_is_named_by_verify_and_repaired_by_logging_again(
    store: ArtifactStore, file: Path, warnings: Warnings
) -> None:
    log_versions(store, file, 3)
    store.find("model:v1").get_path("model.pt").write_bytes(b"X")
    with pytest.raises(ArtifactError, match=r"model:v1: 'model.pt' has changed"):
        store.verify()
    with pytest.raises(ArtifactError, match="model:v1"):
        store.verify("model")
    assert store.verify("model:v2").file_count == 1
    assert [problem.artifact for problem in store.examine().problems] == ["model:v1"]
    file.write_bytes(b"1")
    assert store.log(file).version == 1
    assert any("is repaired" in text for text in warnings.texts)
    assert store.verify().version_count == 3


def test_a_missing_version_folder_is_repaired_too(store: ArtifactStore, file: Path) -> None:
    stored = store.log(file, "m").get_path("model.pt")
    stored.unlink()
    stored.parent.rmdir()
    store.log(file, "m")
    assert store.use("m").download().joinpath("model.pt").read_bytes() == b"0"


def test_link_shares_the_file_and_notices_a_later_write(store: ArtifactStore, file: Path) -> None:
    artifact = store.log(file, mode="link")
    assert artifact.get_path("model.pt").samefile(file)
    file.write_bytes(b"1")
    with pytest.raises(ArtifactError, match="has changed"):
        artifact.download()


def test_link_copies_where_there_are_no_links(
    store: ArtifactStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    artifact = store.log(file, mode="link")
    assert not artifact.get_path("model.pt").samefile(file)
    assert store.verify().problems == ()


def test_link_of_a_link_stores_the_file(store: ArtifactStore, file: Path) -> None:
    link = file.with_name("last.pt")
    link.symlink_to(file.name)
    stored = store.log(link, mode="link").get_path("last.pt")
    assert not stored.is_symlink()


def test_reference_stores_nothing_and_knows_the_content(store: ArtifactStore, file: Path) -> None:
    artifact = store.log(file, mode="reference")
    assert list((store.root / "model" / "v0").iterdir()) == []
    assert artifact.entries[0].ref == file.as_uri()
    assert store.verify().file_count == 1
    assert (store.use("model").download() / "model.pt").read_bytes() == b"0"
    file.write_bytes(b"1")
    assert [problem.path for problem in store.examine().problems] == ["model.pt"]
    assert store.log(file, mode="reference").version == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"mode": "move"}, "mode='move'"),
        ({"metadata": [1]}, "metadata="),
        ({"type": ""}, "type="),
        ({"name": "../m"}, "artifact name"),
        ({"name": ""}, "artifact name"),
        ({"metadata": {"big": "x" * 2**20}}, "the limit is 1048576"),
    ],
)
def test_bad_arguments_raise_at_the_call(
    store: ArtifactStore, file: Path, arguments: dict[str, Any], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        store.log(file, **arguments)
    assert store.list() == []


def test_what_is_no_artifact_or_path_is_refused(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected an Artifact"):
        store.log(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        store.log(tmp_path / "missing")
    with pytest.raises(ArtifactError, match="empty path"):
        store.log("")


def test_metadata_keeps_what_json_has_no_number_for(store: ArtifactStore, file: Path) -> None:
    artifact = store.log(file, metadata={"a": float("inf"), "b": {"c": (1, 2)}, "d": Path("/x")})
    expected = {"a": float("inf"), "b": {"c": [1, 2]}, "d": "/x"}
    assert artifact.metadata == expected
    assert ArtifactStore(store.root).find("model").metadata == expected


def test_other_metadata_for_known_content_is_not_lost_in_silence(
    store: ArtifactStore, file: Path, warnings: Warnings
) -> None:
    store.log(file, metadata={"epoch": 1})
    assert store.log(file, metadata={"epoch": 2}).metadata == {"epoch": 1}
    assert any("keeps the metadata" in text for text in warnings.texts)


def test_a_name_that_differs_by_case_only_is_refused(store: ArtifactStore, file: Path) -> None:
    store.log(file, "Model")
    with pytest.raises(ArtifactError, match="'Model' exists"):
        store.log(file, "model")


def test_an_artifact_folder_that_leads_elsewhere_is_not_written(
    store: ArtifactStore, file: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    store.root.mkdir(parents=True)
    (store.root / "model").symlink_to(outside)
    with pytest.raises(ArtifactError, match="leads out of"):
        store.log(file)
    assert list(outside.iterdir()) == []


def test_a_directory_that_holds_the_store_does_not_swallow_it(
    store: ArtifactStore, file: Path, tmp_path: Path, warnings: Warnings
) -> None:
    store.log(file)
    artifact = store.log(tmp_path, "all")
    assert [name for name in artifact.files() if "artifacts/" in name] == []
    assert "model.pt" in artifact.files()
    assert any("artifact store itself" in text for text in warnings.texts)
    # A stored version that the user names is no accident.
    assert store.log(store.find("model").download(), "copy").files() == ["model.pt"]


def test_a_store_that_cannot_be_written_does_not_stop_the_program(
    tmp_path: Path, file: Path, warnings: Warnings
) -> None:
    (tmp_path / "blocked").write_bytes(b"a file where the folder should be")
    store = ArtifactStore(
        tmp_path / "blocked" / "artifacts", tmp_path / "lineage", "run", warn=warnings
    )
    artifact = store.log(file)
    assert artifact.version is None
    assert store.failure_count == 1
    assert "'model' is not stored" in warnings.texts[0]
    with pytest.raises(RuntimeError, match="the warning says why"):
        artifact.download()


def test_a_lineage_that_cannot_be_written_costs_only_itself(
    tmp_path: Path, file: Path, warnings: Warnings
) -> None:
    store = ArtifactStore(tmp_path / "artifacts", tmp_path, "run", warn=warnings)
    assert store.log(file).version == 0
    assert store.failure_count == 1
    assert len(warnings.texts) == 1


FULL_DISK = """
import resource, sys
from pathlib import Path
from expr_tracker.artifacts import ArtifactStore
base = Path(sys.argv[1])
store = ArtifactStore(base / "artifacts", warn=lambda kind, text: print(text))
resource.setrlimit(resource.RLIMIT_FSIZE, (3 * 2**20, 3 * 2**20))
assert store.log(base / "small").version == 0
assert store.log(base / "big").version is None
assert store.failure_count == 1
assert store.log(base / "small").version == 0
"""


def test_a_disk_that_fills_up_while_copying_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "big").write_bytes(b"x" * 4 * 2**20)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'big' is not stored" in done.stdout
    assert list((tmp_path / "artifacts" / ".incoming").iterdir()) == []
    assert not (tmp_path / "artifacts" / "big").exists()


FORKED = """
import os, sys
from pathlib import Path
from expr_tracker.artifacts import ArtifactStore
from expr_tracker.errors import ForkedObjectError
base = Path(sys.argv[1])
store = ArtifactStore(base / "artifacts")
artifact = store.log(base / "model.pt")
child = os.fork()
if child == 0:
    refused = 0
    for call in (
        lambda: store.log(base / "model.pt"),
        lambda: store.use("model"),
        lambda: store.find("model"),
        lambda: store.list(),
        lambda: store.verify(),
        lambda: store.examine(),
    ):
        try:
            call()
        except ForkedObjectError as error:
            refused += str(os.getppid()) in str(error)
    assert artifact.download().is_dir()
    assert ArtifactStore(base / "artifacts").use("model").version == 0
    os._exit(refused)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_is_refused_and_makes_a_store_of_its_own(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(file.parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "6"


def test_a_store_is_found_from_project_run_and_itself(store: ArtifactStore, file: Path) -> None:
    store.log(file)
    project = store.root.parent
    for place in (store.root, project, project / "run", str(project)):
        assert find_store(place).root == store.root
    with pytest.raises(ArtifactNotFoundError, match=r"expected an index\.jsonl"):
        find_store(project.parent)


def test_a_bad_line_is_warned_about_once_and_never_raised(
    store: ArtifactStore, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log_versions(store, file, 2)
    index = store.root / "index.jsonl"
    index.write_bytes(b'{"digest": 3}\n[1]\n' + index.read_bytes())
    reader = ArtifactStore(store.root)
    for _ in range(3):
        assert reader.use("model").version == 1
    assert caplog.text.count("2 line(s)") == 1


def test_a_version_whose_line_was_lost_keeps_its_files(store: ArtifactStore, file: Path) -> None:
    log_versions(store, file, 2)
    index = store.root / "index.jsonl"
    index.write_bytes(index.read_bytes().splitlines(keepends=True)[0] + b"damaged\n")
    file.write_bytes(b"new")
    assert store.log(file).version == 2
    assert (store.root / "model" / "v1" / "model.pt").read_bytes() == b"1"


def test_no_secret_reaches_the_index_wherever_it_was_given(tmp_path: Path) -> None:
    def redact(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: redact(member) for name, member in value.items()}
        return value.replace("secret", "***") if isinstance(value, str) else value

    store = ArtifactStore(tmp_path / "secret" / "artifacts", redact=redact)
    (tmp_path / "secret.txt").write_bytes(b"x")

    def made() -> Artifact:
        artifact = Artifact("a", description="a secret", metadata={"own": {"key": "secret"}})
        artifact.add_reference("https://host/x?key=secret", name="remote")
        return artifact.add_reference(tmp_path / "secret.txt", name="local")

    artifact = store.log(made(), metadata={"more": "secret"})
    (row,) = lines(store.root / "index.jsonl")
    assert row is not None
    assert (row["description"], row["metadata"]) == (
        "a ***",
        {"own": {"key": "***"}, "more": "***"},
    )
    # A path of this machine is how the file is found again.
    refs = {entry["path"]: entry["ref"] for entry in row["entries"]}
    assert refs == {
        "remote": "https://host/x?key=***",
        "local": (tmp_path / "secret.txt").as_uri(),
    }
    assert artifact.metadata == row["metadata"]
    assert store.log(made(), metadata={"more": "secret"}).version == 0
    assert ArtifactStore(store.root).find("a").description == "a ***"
