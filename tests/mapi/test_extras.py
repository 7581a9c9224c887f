"""The command that adds an extra fits how the program is installed, and is one that pip takes."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mapi.errors import InvalidError
from mapi.extras import install_command
from mapi.sdk.tables import pandas_frame, polars_frame
from mapi.tracking.point_tables import require_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


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


def test_what_lacks_a_library_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for frame, extra in ((pandas_frame, "pandas"), (polars_frame, "polars")):
        with pytest.raises(ImportError) as missing:
            frame([])
        assert str(missing.value) == f"to_{extra} needs {extra}: {install_command(extra)}"
    with pytest.raises(InvalidError) as refused:
        require_parquet()
    assert install_command("arrow") in refused.value.faults[0].message
