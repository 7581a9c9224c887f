"""Pushes through a network that fails: what the property tests of the bridge have in common."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.mapi.follow.network import Fate

import mapi
from mapi.follow.pushing import Pusher, push

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.mapi.follow.network import Network

    from mapi.follow.opened import PushReport

__all__ = ["Faulty", "fates", "few"]

fates = st.lists(st.one_of(st.just(Fate.PASSES), st.sampled_from(Fate)), min_size=4, max_size=15)
#: An example makes a hundred requests: there are few, and none is made smaller for minutes.
few = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Faulty:
    """A platform behind a network.

    Args:
        way: the network.
        loop: that it runs in.
        api: a client beside it.
        token: of the pushes.
    """

    def __init__(
        self, way: Network, loop: asyncio.AbstractEventLoop, *, api: mapi.Client, token: str
    ) -> None:
        self.api = api
        self._way = way
        self._loop = loop
        self._token = token

    def push(
        self,
        path: Path,
        foreseen: Sequence[Fate],
        *,
        is_double: bool = False,
        patience_seconds: float = 30.0,
    ) -> str:
        """Push a run as new programs do, through what the network does then; return its id.

        Args:
            path: of its directory.
            foreseen: what becomes of the next requests.
            is_double: whether two programs push it at once.
            patience_seconds: how long they try while nothing gets through.

        Raises:
            DeliveryError: it ended on the way.
        """
        self._way.foresee(foreseen)
        with ThreadPoolExecutor(2) as pool:
            tasks = [
                pool.submit(self._pushed, path, patience_seconds) for _ in range(1 + is_double)
            ]
            reports = [task.result() for task in tasks]
        assert [report.problems for report in reports] == [[] for _ in reports]
        run = reports[0].run
        assert run is not None
        return run

    def let_go(self) -> None:
        """Let everything through that the network holds back still."""
        asyncio.run_coroutine_threadsafe(self._way.let_go(), self._loop).result(30)

    def _pushed(self, path: Path, patience_seconds: float) -> PushReport:
        waiting = threading.Event()

        def pause(seconds: float) -> bool:
            return waiting.wait(seconds / 100)

        with mapi.Client(
            self._way.url, token=self._token, project="default", timeout_seconds=10, tries=1
        ) as client:
            pusher = Pusher(client, pause=pause, patience_seconds=patience_seconds)
            (report,) = push(pusher, [path])
        return report
