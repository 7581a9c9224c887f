"""The command that adds an extra fits how the program is installed, and is one that pip takes."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from expr_tracker.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
#: Those of this machine; each has signs of its own that a bare word must not have.
SHELLS = [one for one in ("sh", "bash", "zsh", "fish") if shutil.which(one)]


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (None, "pip install 'expr-tracker[platform]==9.1'"),
        ({"url": "file:///a%20b", "dir_info": {}}, "pip install '/a b[platform]'"),
        (
            {"url": "file:///clone", "dir_info": {"editable": True}},
            "pip install -e '/clone[platform]'",
        ),
        (
            {"url": "file:///a/e.whl", "archive_info": {}},
            "pip install 'expr-tracker[platform] @ file:///a/e.whl'",
        ),
        (
            {"url": "https://a.b/c", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
            "pip install 'expr-tracker[platform] @ git+https://a.b/c@12ab'",
        ),
    ],
)
def test_an_extra_comes_from_where_the_program_came(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, direct_url: Any, command: str
) -> None:
    about = tmp_path / "expr_tracker-9.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: expr-tracker\nVersion: 9.1\n")
    if direct_url is not None:
        (about / "direct_url.json").write_text(json.dumps(direct_url))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert metadata.version("expr-tracker") == "9.1"
    assert install_command("platform") == command


def documented_lines() -> Iterator[str]:
    for page in ("README.md", "docs/platform/installing.md", "docs/guide/client.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        yield from re.findall(r"pip install [^\n`]+", text)


@pytest.mark.parametrize("line", sorted({*documented_lines(), install_command("client")}))
def test_a_documented_install_line_finds_this_version_in_a_clone(line: str) -> None:
    """Without its dependencies, which are another index's to have; nothing is installed."""
    words = shlex.split(line)[2:]
    options = ("--dry-run", "--no-deps", "--no-index", "--no-build-isolation")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stdout + done.stderr
    assert f"Processing {ROOT}" in done.stdout or f"Obtaining file://{ROOT}" in done.stdout


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 5}'], ids=str)
def test_a_damaged_record_of_the_origin_costs_no_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    about = tmp_path / "expr_tracker-9.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: expr-tracker\nVersion: 9.1\n")
    (about / "direct_url.json").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert install_command("gpu") == "pip install 'expr-tracker[gpu]==9.1'"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("folder", ["plain", "a b", "it's $HOME", "ünïcode `x`", "~[a]*?!"])
def test_a_shell_hands_the_command_on_as_it_is_meant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shell: str, folder: str
) -> None:
    about = tmp_path / "expr_tracker-9.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: expr-tracker\nVersion: 9.1\n")
    origin = {"url": f"file:///{quote(folder)}", "dir_info": {"editable": True}}
    (about / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    command = install_command("gpu").removeprefix("pip install")
    said = subprocess.run(
        [shell, "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"-e\n/{folder}[gpu]\n"
