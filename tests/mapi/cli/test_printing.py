"""What lists show whole, what they cut, and how they write numbers."""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_token

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant

_LONG = "a sentence that goes on for much longer than forty characters"


def on_terminal(url: str, token: str, *words: str) -> str:
    """Return what a command prints on a terminal of 400 columns."""
    ours, theirs = pty.openpty()
    try:
        program = "import sys; from mapi.cli import main; main(sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**os.environ, "MAPI_URL": url, "MAPI_TOKEN": token, "COLUMNS": "400"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            check=True,
            text=True,
        )
    finally:
        os.close(theirs)
    assert done.stderr == ""
    found = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other end is closed
        while data := os.read(ours, 65_536):
            found += data
    os.close(ours)
    return found.decode()


def test_ids_are_whole_everywhere_and_texts_where_nobody_looks(
    mapi: Any, url: str, tenant: Tenant, run: str
) -> None:
    view = mapi("views", "create", _LONG).out.strip()
    mapi("runs", "edit", run, "--status", "failed", "--reason", _LONG)
    for words in (("views", "ls"), ("runs", "life", run)):
        assert _LONG in mapi(*words).out
        shown = on_terminal(url, make_token(tenant), *words)
        assert _LONG[:30] in shown
        assert _LONG not in shown
        assert "…" in shown
    assert len(view) > 40
    assert view in on_terminal(url, make_token(tenant), "views", "ls")


def test_a_list_that_ends_before_its_end_says_so(mapi: Any) -> None:
    for at in range(3):
        mapi("runs", "create", "--name", f"r{at}")
    for form in ("table", "csv", "json"):
        said = mapi("runs", "ls", "--limit", "2", "--format", form)
        assert said.err == "(there are more than these 2: --limit N or --all)\n"
        assert "r1" in said.out
        assert "r0" not in said.out
    assert mapi("runs", "ls", "--limit", "3").err == ""
    said = mapi("runs", "ls", "--all", "--limit", "2")
    assert "r0" in said.out
    assert said.err == ""


def test_a_run_is_shown_with_the_name_of_its_experiment(mapi: Any) -> None:
    experiment = mapi("experiments", "create", "learning rates").out.strip()
    run = mapi("runs", "create", "--experiment", "learning rates").out.strip()
    shown = mapi("runs", "show", run).out
    assert f"experiment  learning rates ({experiment})\n" in shown


def test_a_run_is_shown_with_the_numbers_that_lists_have(mapi: Any, run: str) -> None:
    mapi("runs", "log-metric", run, "loss=0.12000000000000001", "bad=nan", "--step", "0")
    mapi("runs", "log-metric", run, "third=0.333333333333")
    mapi("runs", "rm", run)
    shown = mapi("runs", "show", run).out
    assert "loss = 0.12 at step 0 (1 point, min 0.12, max 0.12)" in shown
    assert "bad = NaN at step 0 (1 point)" in shown
    assert "third = 0.333333\n" in shown
    assert "\ntrashed " in shown
    mapi("runs", "restore", run)
    assert "trashed" not in mapi("runs", "show", run).out


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_bash_takes_a_completed_series_as_one_word(
    mapi: Any, run: str, url: str, tenant: Tenant, tmp_path: Path, quote: str
) -> None:
    mapi("runs", "log-metric", run, "seen=1", "--label", "split=val", "--label", """fold=a $b's""")
    label = """"a $b's\""""
    program = tmp_path / "mapi"
    program.write_text(f"#!{sys.executable}\nfrom mapi.cli import main\nmain()\n")
    program.chmod(0o755)
    lines = mapi("completion", "bash").out
    asked = f"{quote}metrics.se"
    script = f"""{lines}
COMP_WORDS=(mapi runs ls --columns {shlex.quote(asked)}) COMP_CWORD=4
_mapi_completion {shlex.quote(str(program))}
eval "printf '[%s]' {quote.replace('"', chr(92) + '"')}${{COMPREPLY[0]}}{quote.replace('"', chr(92) + '"')}"
"""
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "MAPI_URL": url, "MAPI_TOKEN": make_token(tenant)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"[metrics.seen{{fold={label},split=val}}]", ""), done
