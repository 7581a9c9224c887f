"""A backup of a server that serves on: what it restores is whole."""

from __future__ import annotations

import hashlib
import threading
import urllib.request
from typing import TYPE_CHECKING

import pytest
from tests.acceptance.platform_servers import Server, point_at, run_mapi
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

#: Items that stay, so that the copy takes a while, and items that are replaced all the time.
_STAY, _REPLACED = 150, 20


def send(server: Server, run: str, key: str, content: bytes) -> int:
    request = urllib.request.Request(
        f"{server.url}/v1/runs/{run}/media?key={key}&step=0",
        data=content,
        headers={
            "Authorization": f"Bearer {server.token}",
            "Content-Type": "application/vnd.mapi.table+json",
        },
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(answer.status)


def table(number: int) -> bytes:
    return b'{"columns": ["a"], "data": [[%d]]}' % number


def test_a_backup_while_media_are_replaced_and_runs_are_purged_restores_every_byte(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    server = serve()
    _, made = server.ask("POST", "/v1/runs", {})
    run = made["id"]
    for number in range(_STAY):
        send(server, run, f"stays_{number}", table(number))
    doomed = []
    for number in range(10):
        _, one = server.ask("POST", "/v1/runs", {"name": f"doomed {number}"})
        send(server, one["id"], "sample", table(number))
        server.ask("DELETE", f"/v1/runs/{one['id']}")
        doomed.append(one["id"])
    is_over = threading.Event()
    replaced = [0]

    def replace() -> None:
        while not is_over.is_set():
            number = replaced[0]
            assert (
                send(server, run, f"replaced_{number % _REPLACED}", table(1_000 + number)) == 201
            )
            if number % 10 == 0 and doomed:
                server.ask("POST", f"/v1/runs/{doomed.pop()}/purge")
            replaced[0] += 1

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        until(lambda: replaced[0] > 2 * _REPLACED, "media are being replaced")
        before = replaced[0]
        done = run_mapi(server.home, "backup", str(tmp_path / "backup.tar"))
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        assert replaced[0] > before, "nothing was replaced meanwhile"
    finally:
        is_over.set()
        writer.join()
    assert server.ask("POST", f"/v1/runs/{run}/metrics", point_at(0))[0] == 200
    assert server.end() == 0

    home = tmp_path / "restored"
    done = run_mapi(home, "restore", str(tmp_path / "backup.tar"))
    assert done.returncode == 0, done.stderr
    # The token of the home that was backed up is no part of the backup: another is made.
    token = run_mapi(home, "admin", "token", "create", "t", "--scope", "admin").stdout.strip()
    restored = serve(home)
    status, page = restored.ask("GET", f"/v1/runs/{run}/media?limit=500", token=token)
    assert status == 200, page
    assert len(page["media"]) == _STAY + _REPLACED
    for item in page["media"]:
        request = urllib.request.Request(
            f"{restored.url}/v1/runs/{run}/media/{item['id']}/content",
            headers={"Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            content = answer.read()
        assert hashlib.sha256(content).hexdigest() == item["sha256"]
