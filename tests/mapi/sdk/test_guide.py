"""The blocks of the guide's page on the client run as they stand, in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mapi.callers import make_token

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "client.md"
BLOCK = re.compile(r"^```(?P<kind>py|sh)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
SHELL = """\
set -euo pipefail
mapi() { "$PYTHON" -c 'from mapi.cli import main; main()' "$@"; }
"""


def blocks(kind: str) -> str:
    return "\n".join(
        match["text"] for match in BLOCK.finditer(PAGE.read_text()) if match["kind"] == kind
    )


def test_the_page_runs(url: str, tenant: Tenant, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MAPI_URL": url,
        "MAPI_TOKEN": make_token(tenant),
        "PYTHON": sys.executable,
    }
    outputs = {}
    for name, command in (
        ("python", [sys.executable, "-W", "error", "-c", blocks("py")]),
        ("shell", ["bash", "-c", SHELL + blocks("sh")]),
    ):
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
        outputs[name] = done.stdout
    assert "the nearest is train_loss" in outputs["python"]
    assert "first 0.01" in outputs["python"]
    assert "[100.0, 150.0]" in outputs["python"]
    assert "{'params.optimizer': 'adam'} 100 0.4 None 1" in outputs["python"]
    assert "point.delete" in outputs["python"]
    assert (tmp_path / "run.jsonl").exists()
    assert "metric      loss{split=val} = 0.5 at step 10" in outputs["shell"]


def test_every_method_of_the_page_exists() -> None:
    import mapi

    api = mapi.AsyncClient("http://x", token="t")
    for path in re.findall(r"\bapi\.((?:\w+\.)?\w+)", PAGE.read_text()):
        found: Any = api
        for name in path.split("."):
            assert hasattr(found, name), path
            found = getattr(found, name)


def test_every_part_of_the_client_stands_in_the_reference() -> None:
    from tests.test_reference import directives
    from tests.test_reference import found as object_at

    import mapi

    shown = {object_at(path) for path in directives()}
    api = mapi.Client("http://x", token="t")
    parts = {type(part) for name, part in vars(api).items() if not name.startswith("_")}
    assert {mapi.Client, mapi.Run, mapi.Producer, *parts} <= shown
    described = mapi.Client.__doc__ or ""
    for name in vars(api):
        assert name.startswith("_") or f"        {name}: " in described, name


def test_every_method_says_what_it_does() -> None:
    import mapi

    api = mapi.Client("http://x", token="t")
    for name, part in vars(api).items():
        for method in dir(part):
            if not name.startswith("_") and not method.startswith("_"):
                assert (getattr(part, method).__doc__ or "").strip(), f"api.{name}.{method}"
