"""The commands of the guide's page on pushing run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from tests.mapi.callers import make_token

import expr_tracker as et
from expr_tracker.cli import main

if TYPE_CHECKING:
    import pytest
    from tests.mapi.tenants import Tenant

    import mapi

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "push.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
MADE = """\
import expr_tracker as et
et.init(project="demo", name="first")
for step in range(100):
    et.log({"loss": 1 / (step + 1)}, step=step)
et.finish()
"""
SHELL = """\
set -euo pipefail
et() { "$PYTHON" -m expr_tracker "$@"; }
"""


def test_the_page_runs(url: str, tenant: Tenant, tmp_path: Path, api: mapi.Client) -> None:
    api.projects.create("team")
    environment = {
        **os.environ,
        "MAPI_URL": url,
        "MAPI_TOKEN": make_token(tenant),
        "PYTHON": sys.executable,
    }
    commands = "".join(BLOCK.findall(PAGE.read_text()))
    outputs = []
    for command in ([sys.executable, "-c", MADE], ["bash", "-c", SHELL + commands]):
        done = subprocess.run(
            command,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append(done.stdout.splitlines())
    (live,) = PYTHON.findall(PAGE.read_text())
    done = subprocess.run(
        [sys.executable, "-c", live],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert f"{url}/runs/run_" in done.stdout
    assert "'delivered': 100, 'waiting': 0, 'dropped': 0, 'last_error': None" in done.stdout
    assert done.stderr == ""
    first, other, again, *verified = outputs[1]
    assert first.startswith("runs/demo/first: succeeded, run_")
    assert first.endswith("in demo, 100 points new")
    assert other.endswith("in team, 100 points new")
    assert again.endswith("in demo, nothing new; there already: 100 points")
    assert verified[-2:] == ["equal to what the platform has", "ok"]


def test_the_examples_of_the_help_run(
    url: str, tenant: Tenant, tmp_path: Path, api: mapi.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.projects.create("team")
    run = et.init(project="llm", name="sft-1", dir=tmp_path / "runs", capture=False)
    run.log({"loss": 1.0})
    run.finish()
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))
    text = CliRunner().invoke(main, ["push", "--help"]).stdout
    lines = [line.strip() for line in text.partition("Options:")[0].splitlines()]
    examples = [line.partition("  ")[0] for line in lines if line.startswith("et ")]
    assert len(examples) >= 2
    # One that goes on until Ctrl-C is a test of its own (`tests/acceptance`).
    for example in (one for one in examples if "--watch" not in one):
        done = CliRunner().invoke(main, example.split()[1:])
        assert done.exit_code == 0, done.output
