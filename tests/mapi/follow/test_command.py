"""The command `et push`: what it prints, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.mapi.callers import make_token

import expr_tracker as et
from expr_tracker.cli import main

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant


@pytest.fixture
def push(url: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))

    def called(*words: str) -> Any:
        return CliRunner().invoke(main, ["push", *words])

    return called


def written(root: Path, name: str) -> Path:
    run = et.init(project="p", name=name, dir=root, capture=False)
    run.log({"loss": 1.0, "note": "a\0b"}, step=-1)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    return Path(run.dir)


def test_a_run_that_is_not_whole_costs_the_others_nothing_and_the_command_its_exit_code(
    push: Any, tmp_path: Path
) -> None:
    written(tmp_path, "good")
    torn = written(tmp_path, "torn") / "metrics.jsonl"
    torn.write_bytes(torn.read_bytes() + b'{"_step": 1')
    done = push(str(tmp_path), str(tmp_path / "nothing"))
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert "p/good: succeeded, run_" in "".join(lines)
    assert any("wrong: " in line and "a torn last line of 11 bytes" in line for line in lines)
    assert any("note: default: 1 point left out" in line for line in lines)
    assert any("U+FFFD" in line for line in lines)
    assert done.stderr.startswith("Not whole on the platform: ")
    assert str(tmp_path / "nothing") in done.stderr
    assert "good" not in done.stderr


def test_what_is_sent_again_and_was_there_is_told_as_such(push: Any, tmp_path: Path) -> None:
    written(tmp_path, "good")
    assert "1 point, 1 line new\n" in push(str(tmp_path)).stdout
    assert "nothing new\n" in push(str(tmp_path)).stdout
    again = push(str(tmp_path), "--again").stdout
    assert "nothing new; there already: 1 point\n" in again


def test_a_project_that_is_not_there_is_one_line_for_its_run(push: Any, tmp_path: Path) -> None:
    written(tmp_path, "good")
    done = push(str(tmp_path), "--project", "nowhere")
    assert done.exit_code == 1
    assert ": there is no project 'nowhere' that you can see; make it with `mapi" in done.stdout
    assert "/project" not in done.stdout


def test_a_token_that_is_none_ends_the_command_with_one_line(
    push: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "good")
    monkeypatch.setenv("MAPI_TOKEN", "mapi_abcdefgh_none")
    done = push(str(tmp_path))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("Error: ")


def test_a_library_that_is_missing_is_named_with_the_extra_that_has_it(tmp_path: Path) -> None:
    written(tmp_path, "good")
    code = (
        "import sys; sys.modules['httpcore'] = None\n"
        "from expr_tracker.cli import main; main(['push', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: et push needs httpcore: ")
    assert "client" in done.stderr
    assert done.stderr.count("\n") == 1
