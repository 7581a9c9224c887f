"""Server and database are killed in the midst of requests with keys: each makes one thing or none."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import DEADLINE_SECONDS, Server
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

#: How many answers are heard before the kill: it falls into the midst of others.
_HEARD = 60
#: What is made, by its path.
_PATHS = ("/v1/runs", "/v1/tokens", "/v1/experiments")
_SENDERS_OF_EACH = 2


def body_of(path: str, key: str) -> dict[str, Any]:
    return {"name": key, **({"scopes": ["runs:read"]} if path == "/v1/tokens" else {})}


class Senders:
    """Make things, each with a key that is its name too, until the server is gone."""

    def __init__(self, server: Server, token: str) -> None:
        self.server, self.token = server, token
        self.sent: list[tuple[str, str]] = []
        self.answered: dict[str, str] = {}
        """The ids, by key."""
        self._threads = [
            threading.Thread(target=self._send, args=[path], daemon=True)
            for path in _PATHS
            for _ in range(_SENDERS_OF_EACH)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, path: str, key: str) -> tuple[int, Any]:
        return self.server.ask(
            "POST",
            path,
            body_of(path, key),
            token=self.token,
            headers={"Idempotency-Key": key},
        )

    def _send(self, path: str) -> None:
        while True:
            key = f"made {uuid.uuid4()}"
            self.sent.append((path, key))
            try:
                status, answer = self.ask(path, key)
            except (OSError, http.client.HTTPException):
                return
            if status == 503:
                return  # the database went before the server
            assert status == 201, answer
            self.answered[key] = answer["id"]

    def wait(self) -> None:
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
            assert not thread.is_alive()


def test_a_key_that_was_not_answered_makes_one_thing_when_it_is_sent_again(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    body = {"name": "the senders'", "scopes": ["admin"]}
    token = server.ask("POST", "/v1/tokens", body)[1]["token"]
    for kills_database in (False, True):
        senders = Senders(server, token)
        until(lambda: len(senders.answered) >= _HEARD, f"{_HEARD} things")  # noqa: B023
        postmaster = server.postmaster()
        server.end(signal.SIGKILL)
        if kills_database:
            os.kill(postmaster, signal.SIGKILL)
        senders.wait()

        senders.server = server = serve(server.home)
        assert len(senders.answered) < len(senders.sent)
        for path, key in senders.sent:
            status, answer = senders.ask(path, key)
            assert status == 201, answer
            assert senders.answered.setdefault(key, answer["id"]) == answer["id"]
        for path in _PATHS:
            wanted = {key for its_path, key in senders.sent if its_path == path}
            found = Counter(names(server, path))
            assert {name: found[name] for name in wanted} == dict.fromkeys(wanted, 1), path


def names(server: Server, path: str) -> list[str]:
    """Return the names of all that there is, page by page."""
    found: list[str] = []
    cursor = ""
    while True:
        query = "" if path == "/v1/tokens" else f"?limit=500{cursor}"
        status, page = server.ask("GET", path + query)
        assert status == 200, page
        found += [one["name"] for one in page[path.rpartition("/")[2]]]
        if page.get("next_cursor") is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"
