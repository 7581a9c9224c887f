"""Two replicas on one database: what one is told, the other tells; when one dies, nothing is lost."""

from __future__ import annotations

import json
import queue
import signal
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import DEADLINE_SECONDS, Server, point_at, run_mapi

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.services.postgres import ManagedDatabase

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]


class Reader:
    """Reads an event stream in a thread, to the end of its connection."""

    def __init__(self, server: Server, token: str, path: str, *, last: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        request = urllib.request.Request(server.url + path, headers=headers)
        self._answer = urllib.request.urlopen(request, timeout=DEADLINE_SECONDS)
        self._frames: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.last: str | None = last
        self.bodies: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self._answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name and value:
                    fields[name] = value
                elif not name and fields:
                    self._frames.put(fields)
                    fields = {}
        except OSError:
            pass  # killed in the midst of a line
        finally:
            self._frames.put(None)

    def until(self, is_enough: Callable[[], bool]) -> None:
        """Take frames until it is enough; the stream must not end before."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not is_enough():
            frame = self._frames.get(timeout=max(0.1, deadline - time.monotonic()))
            assert frame is not None, f"the stream ended after {self.bodies}"
            self.last = frame.get("id", self.last)
            self.bodies.append(json.loads(frame["data"]))

    def until_its_end(self) -> None:
        while self._frames.get(timeout=DEADLINE_SECONDS) is not None:
            pass

    def messages(self) -> list[str]:
        return [
            line["message"]
            for body in self.bodies
            if body["type"] == "log"
            for line in body["lines"]
        ]

    def newest_step(self) -> int:
        steps = [
            series["max_step"]
            for body in self.bodies
            if body["type"] == "tracking"
            for series in body["series"]
        ]
        return max(steps, default=-1)


@pytest.fixture
def replicas(
    managed_database: ManagedDatabase, serve: Callable[..., Server], tmp_path: Path
) -> tuple[Server, Server, str]:
    """Two replicas without a balancer, and an admin's token."""
    settings = {
        **managed_database.settings,
        "MAPI_BUNDLES_URL": f"file://{tmp_path}/objects",
        "MAPI_HEARTBEAT_TIMEOUT": "4",
    }
    home = tmp_path / "operator"
    for words in (("migrate",), ("admin", "tenant", "create", "team")):
        done = run_mapi(home, *words, **settings)
        assert done.returncode == 0, done.stderr
    made = run_mapi(
        home, "admin", "token", "create", "t", "--tenant", "team", "--scope", "admin", **settings
    )
    token = made.stdout.strip()
    one, two = (serve(tmp_path / f"replica{number}", **settings) for number in range(2))
    return one, two, token


def log(server: Server, token: str, run: str, *messages: str) -> None:
    lines = [{"message": message, "level": "info"} for message in messages]
    status, answer = server.ask("POST", f"/v1/runs/{run}/logs", {"lines": lines}, token=token)
    assert status == 200, answer


def test_a_reader_at_one_replica_hears_what_is_written_at_the_other(
    replicas: tuple[Server, Server, str],
) -> None:
    one, two, token = replicas
    _, made = one.ask("POST", "/v1/runs", {}, token=token)
    run = made["id"]
    reader = Reader(two, token, f"/v1/runs/{run}/events")
    table = Reader(two, token, "/v1/events")
    reader.until(lambda: bool(reader.bodies))
    table.until(lambda: bool(table.bodies))
    for step in range(5):
        assert one.ask("POST", f"/v1/runs/{run}/metrics", point_at(step), token=token)[0] == 200
    log(one, token, run, "hello")
    assert one.ask("PATCH", f"/v1/runs/{run}", {"status": "failed"}, token=token)[0] == 200
    reader.until(lambda: any(body.get("status") == "failed" for body in reader.bodies))
    reader.until(lambda: reader.newest_step() == 4 and reader.messages() == ["hello"])
    table.until(lambda: any(run in body["runs"] for body in table.bodies))
    _, curve = two.ask("GET", f"/v1/runs/{run}/metrics/points?key=loss", token=token)
    assert [point[0] for point in curve["points"]] == list(range(5))


def test_a_reader_whose_replica_is_killed_goes_on_at_the_other_and_misses_nothing(
    replicas: tuple[Server, Server, str],
) -> None:
    one, two, token = replicas
    _, made = two.ask("POST", "/v1/runs", {}, token=token)
    run = made["id"]
    first = Reader(one, token, f"/v1/runs/{run}/events")
    first.until(lambda: bool(first.bodies))
    log(two, token, run, "a", "b")
    log(one, token, run, "c")
    first.until(lambda: len(first.messages()) == 3)
    one.end(signal.SIGKILL)
    first.until_its_end()
    # Nobody follows meanwhile.
    log(two, token, run, "d", "e")
    assert two.ask("POST", f"/v1/runs/{run}/metrics", point_at(7), token=token)[0] == 200
    second = Reader(two, token, f"/v1/runs/{run}/events", last=first.last)
    second.until(lambda: len(second.messages()) >= 2 and second.newest_step() == 7)
    log(two, token, run, "f")
    second.until(lambda: second.messages()[-1] == "f")
    assert first.messages() + second.messages() == ["a", "b", "c", "d", "e", "f"]
    table = Reader(two, token, "/v1/events", last="1")
    table.until(lambda: bool(table.bodies))
    # A project has no sequence: whoever comes back reads its table anew.
    assert table.bodies[0]["is_partial"] is True


def test_the_jobs_of_a_killed_replica_are_done_by_the_other(
    replicas: tuple[Server, Server, str], managed_database: ManagedDatabase
) -> None:
    import psycopg

    one, two, token = replicas
    # As if it had died in the midst of the job, which it did not end.
    with psycopg.connect(managed_database.superuser_url, autocommit=True) as connection:
        connection.execute(
            "insert into mapi.turns values ('heartbeats', gen_random_uuid(), now() + '2 s')"
            " on conflict (name) do update set holder = excluded.holder, until = excluded.until"
        )
    one.end(signal.SIGKILL)
    _, made = two.ask("POST", "/v1/runs", {}, token=token)
    reader = Reader(two, token, f"/v1/runs/{made['id']}/events")
    reader.until(lambda: any(body.get("status") == "lost" for body in reader.bodies))
