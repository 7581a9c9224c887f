"""``et artifact``, called the way a shell does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from expr_tracker.artifacts import Artifact, ArtifactStore
from expr_tracker.cli.artifact import command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "runs" / "llm"
    store = ArtifactStore(project / "artifacts", None, "sft-1")
    for number in range(2):
        (tmp_path / "model.pt").write_bytes(b"%d" % number * 2000)
        store.log(
            tmp_path / "model.pt",
            type="model",
            aliases=["best"],
            metadata={"acc": float("nan")},
            step=number,
        )
    store.log(Artifact("data").add_reference("s3://bucket/data.csv"))
    return project


def et(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def refused(*arguments: str | Path) -> str:
    result = et(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_list_shows_every_version(project: Path) -> None:
    result = et("list", project)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["artifact", "data:v0", "model:v0", "model:v1"]
    assert lines[3].endswith("best")
    assert "2.0 KiB" in lines[3]
    assert "sft-1" in lines[3]


def test_list_can_be_narrowed_and_printed_as_json(project: Path) -> None:
    rows = json.loads(et("list", project, "model", "--format", "json").stdout)
    assert [(row["version"], row["files"], row["size"]) for row in rows] == [
        (0, 1, 2000),
        (1, 1, 2000),
    ]
    assert rows[0]["_nonfinite"] == {"/metadata/acc": "NaN"}
    assert len(et("list", project, "--type", "dataset").stdout.splitlines()) == 2
    assert et("list", project, "--type", "other").stdout == "No artifacts.\n"


def test_columns_stay_in_line_beside_wide_characters(project: Path, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"x")
    store = ArtifactStore(project / "artifacts", None, "训练")
    store.log(Artifact("模型").add_file(tmp_path / "model.pt"), aliases=["best"])
    title, *lines = et("list", project).stdout.splitlines()
    # An ideograph takes two cells.
    wide = next(line for line in lines if "模型" in line)
    cells = wide.replace("模型", "####").replace("训练", "####")
    assert cells.index("best") == title.index("aliases")
    assert all(re.search(r"B +\d{4}(-\d\d){2} \d\d(:\d\d){2}  ", line) for line in lines)


def test_json_has_texts_as_they_are(project: Path) -> None:
    noted = Artifact("noted", metadata={"note": "ü"}).add_reference("s3://bucket/data.csv")
    ArtifactStore(project / "artifacts", None, "r").log(noted)
    assert '"note": "ü"' in et("show", project, "noted", "--format", "json").stdout
    assert '"note": "ü"' in et("list", project, "noted", "--format", "json").stdout
    assert '{"note":"ü"}' in et("show", project, "noted").stdout


def test_show_prints_one_version_with_its_entries(project: Path) -> None:
    lines = et("show", project / "sft-1", "model:best").stdout.splitlines()
    assert lines[0] == "artifact    model:v1"
    assert "2.0 KiB  model.pt" in lines[-1]
    assert "-> s3://bucket/data.csv" in et("show", project, "data").stdout
    row = json.loads(et("show", project, "model:v0", "--format", "json").stdout)
    assert row["entries"][0]["path"] == "model.pt"


def test_get_copies_to_a_folder(project: Path, tmp_path: Path) -> None:
    result = et("get", project, "model:v0", "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert (tmp_path / "out" / "model.pt").read_bytes() == b"0" * 2000
    assert "model:v0: 1 files checked" in result.stdout


def test_get_without_a_folder_makes_one_here(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert et("get", project, "model").exit_code == 0
    assert (tmp_path / "model-v1" / "model.pt").read_bytes() == b"1" * 2000


def test_verify_says_what_was_read_and_what_is_damaged(project: Path) -> None:
    result = et("verify", project)
    assert result.exit_code == 0
    assert result.stdout == (
        "3 version(s), 2 file(s), 3.9 KiB: all as logged; 1 reference(s) have no digest.\n"
    )
    (project / "artifacts" / "model" / "v0" / "model.pt").write_bytes(b"x" * 2000)
    damaged = et("verify", project, "model")
    assert damaged.exit_code == 1
    assert damaged.stdout.startswith("model:v0: 'model.pt' has changed")
    assert "1 file(s) are not what was logged" in damaged.stderr
    assert et("verify", project, "model:v1").exit_code == 0
    assert "has changed" in refused("get", project, "model:v0", "-o", project / "out")


def test_errors_are_one_line_and_exit_code_2(project: Path, tmp_path: Path) -> None:
    assert "Did you mean 'model'" in refused("show", project, "modell")
    assert "no version or alias 'v9'" in refused("get", project, "model:v9")
    assert "no version or alias 'prod'" in refused("verify", project, "model:prod")
    assert "would leave" in refused("show", project, "..")
    assert "No artifact 'x'" in refused("list", project, "x")
    assert "No artifacts at" in refused("list", tmp_path / "missing")
    assert "client of your own" in refused("get", project, "data", "-o", tmp_path / "out")
    (tmp_path / "file").write_bytes(b"")
    assert "Error" in refused("get", project, "model", "-o", tmp_path / "file" / "sub")


def test_where_may_be_a_path_below_the_root_of_all_runs(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ET_DIR", raising=False)
    assert len(et("list", "llm").stdout.splitlines()) == 4
    monkeypatch.setenv("ET_DIR", str(project.parent))
    monkeypatch.chdir("/")
    assert len(et("list", "llm").stdout.splitlines()) == 4


def test_a_terminal_obeys_nothing_that_others_wrote(project: Path) -> None:
    index = project / "artifacts" / "index.jsonl"
    index.write_text(index.read_text().replace('"sft-1"', '"\\u001b[31msft-1"'))
    for arguments in (("list", project), ("show", project, "model")):
        output = et(*arguments).stdout
        assert "\x1b" not in output
        assert "\\x1b[31msft-1" in output


def test_every_command_has_help() -> None:
    assert sorted(command.commands) == ["get", "list", "show", "verify"]
    for name, subcommand in command.commands.items():
        assert subcommand.help, name
        assert et(name, "--help").exit_code == 0
