"""What the platform writes stands in its home: nothing is left anywhere else, killed or not."""

from __future__ import annotations

import os
import signal
import stat
from typing import TYPE_CHECKING

import pytest
from tests.acceptance.platform_servers import point_at, run_mapi

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.platform_servers import Server

pytestmark = pytest.mark.acceptance


def files_below(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


def test_a_server_leaves_nothing_outside_of_its_home(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    outside = {name: tmp_path / name for name in ("h", "t")}
    for folder in outside.values():
        folder.mkdir()
    variables = {"HOME": str(outside["h"]), "TMPDIR": str(outside["t"])}
    kept = [name for name in os.environ if name.startswith("XDG_")]
    variables |= dict.fromkeys(kept, str(outside["h"]))
    server = serve(None, **variables)
    # While it runs: the one directory of the database's socket.
    (socket,) = outside["t"].iterdir()
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    _, run = server.ask("POST", "/v1/runs", {})
    assert server.ask("POST", f"/v1/runs/{run['id']}/metrics", point_at(1))[0] == 200
    copy = tmp_path / "copy.tar"
    assert run_mapi(server.home, "backup", str(copy), **variables).returncode == 0
    exported = run_mapi(
        server.home, "runs", "export", run["id"], "-o", str(tmp_path / "run.jsonl"), **variables
    )
    assert exported.returncode == 0, exported.stderr
    server.end(signal.SIGKILL)
    assert serve(None, **variables).end() == 0
    restored = run_mapi(tmp_path / "restored", "restore", str(copy), **variables)
    assert restored.returncode == 0, restored.stderr
    assert {name: files_below(folder) for name, folder in outside.items()} == {"h": [], "t": []}
