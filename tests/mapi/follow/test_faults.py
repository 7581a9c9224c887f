"""Whatever a network, a crash or a second push does: the platform shows what the files show, once."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.mapi.callers import make_token
from tests.mapi.follow.histories import Line, append, lines, new_run
from tests.mapi.follow.network import Fate, Network, network
from tests.mapi.follow.reading import in_files, on_platform
from tests.mapi.tenants import make_tenant

import mapi
from expr_tracker.history import producers_of
from expr_tracker.store.reader import whole_rows
from mapi.follow.deliveries import DeliveryError
from mapi.follow.pushing import Pusher, push
from mapi.follow.rows import is_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.database.embedded.server import EmbeddedServer
    from mapi.follow.opened import RunReport


@pytest.fixture(scope="module")
def token(server: EmbeddedServer) -> str:
    return make_token(make_tenant(server))


@pytest.fixture(scope="module")
def between(url: str) -> Iterator[tuple[Network, asyncio.AbstractEventLoop]]:
    with network(url) as found:
        yield found


def pushed(url: str, token: str, path: Path, *, patience_seconds: float = 30.0) -> RunReport:
    """Push as a new program does; where the server is not there for so long, it ends."""
    waiting = threading.Event()

    def pause(seconds: float) -> bool:
        return waiting.wait(seconds / 100)

    with mapi.Client(url, token=token, project="default", timeout_seconds=10, tries=1) as client:
        pusher = Pusher(client, pause=pause, patience_seconds=patience_seconds)
        (report,) = push(pusher, [path])
    return report


def spelled(fields: dict[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True)


def lines_in_files(path: Path) -> list[tuple[str, int, str]]:
    """Return what the rows of a run hold beside numbers, in file order for each producer."""
    found = []
    for producer in producers_of(path, "*"):
        key = producer.key
        for row in whole_rows(producer.path):
            others = {n: v for n, v in row.items() if n[:1] != "_" and not is_point(v)}
            if others:
                found.append((key.stream or "", key.rank, spelled(others)))
    return sorted(found)


def check(api: mapi.Client, run: str, path: Path) -> None:
    assert on_platform(api, run) == in_files(path)
    told = [
        (one.stream, one.rank, spelled(one.fields)) for one in api.runs.lines(run, limit=1_000)
    ]
    assert sorted(told) == lines_in_files(path)


fates = st.lists(st.one_of(st.just(Fate.PASSES), st.sampled_from(Fate)), min_size=4, max_size=15)
#: An example makes a hundred requests: there are few, and none is made smaller for minutes.
few = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.timeout(300)
@few
@given(
    stages=st.lists(st.tuples(lines(), fates, st.booleans()), min_size=1, max_size=3),
)
def test_the_platform_shows_what_the_files_show(
    stages: list[tuple[list[Line], list[Fate], bool]],
    url: str,
    token: str,
    between: tuple[Network, asyncio.AbstractEventLoop],
) -> None:
    """Each stage appends lines and pushes, by itself or two at once, through what the network does."""
    way, loop = between
    with tempfile.TemporaryDirectory() as folder, mapi.Client(url, token=token) as api:
        path = Path(folder) / "r"
        new_run(path)
        known: dict[Any, Any] = {}
        reports: list[RunReport] = []
        for found, foreseen, is_double in stages:
            append(path, found, known)
            way.foresee(foreseen)
            with ThreadPoolExecutor(2) as pool:
                tasks = [pool.submit(pushed, way.url, token, path) for _ in range(1 + is_double)]
                reports = [task.result() for task in tasks]
            assert [report.problems for report in reports] == [[] for _ in reports]
        run = reports[0].run
        assert run is not None
        check(api, run, path)
        asyncio.run_coroutine_threadsafe(way.let_go(), loop).result(30)
        check(api, run, path)


@pytest.mark.timeout(300)
@few
@given(stages=st.lists(st.tuples(lines(), fates), min_size=2, max_size=4))
def test_a_push_that_ends_anywhere_is_completed_by_the_next(
    stages: list[tuple[list[Line], list[Fate]]],
    url: str,
    token: str,
    between: tuple[Network, asyncio.AbstractEventLoop],
) -> None:
    """A push without patience ends at the first thing that fails: as one that is killed there."""
    way, loop = between
    with tempfile.TemporaryDirectory() as folder, mapi.Client(url, token=token) as api:
        path = Path(folder) / "r"
        new_run(path)
        known: dict[Any, Any] = {}
        for found, foreseen in stages:
            append(path, found, known)
            way.foresee(foreseen)
            try:
                pushed(way.url, token, path, patience_seconds=0)
            except DeliveryError:
                continue
        way.foresee([])
        report = pushed(way.url, token, path)
        assert report.problems == []
        assert report.run is not None
        check(api, report.run, path)
        asyncio.run_coroutine_threadsafe(way.let_go(), loop).result(30)
        check(api, report.run, path)
