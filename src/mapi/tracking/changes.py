"""Which runs and rights change, on every replica: who writes says so, who follows is woken here.

A replica sends at most one NOTIFY per run in `_NOTIFY_SECONDS`, in a transaction of its own, and
hears those of all replicas, its own included, on one connection past any pooler. A notice only
wakes: what has changed is read from the log. One that cannot be sent is sent later, after a lost
connection everybody is woken, and the end of a run is told by the transaction that ends it. What a
replica had not told yet when it was killed, followers of the run find by a look of their own
(`mapi.tracking.following`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

import psycopg
from psycopg import sql

from mapi.access.notices import CHANGES_CHANNEL
from mapi.database.door import Reach
from mapi.database.queries import query
from mapi.errors import MapiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mapi.database.door import Database

__all__ = ["Changes", "RunChange", "WakeProject"]

_logger: Final = logging.getLogger("mapi.live")
#: Followers see a change this much later at most, and a run that logs a thousand times a second
#: wakes them five times.
_NOTIFY_SECONDS: Final = 0.2
#: Before notices are sent again that the database did not take; each round that fails doubles it, up
#: to the longest. Who follows is that much late once it is back.
_RESEND_SECONDS: Final = 1.0
_RESEND_SECONDS_MAX: Final = 8.0
#: How long the last notices may take when the server stops.
_LAST_SECONDS: Final = 2.0
#: Before the first attempt to listen again; each that fails doubles it, up to the longest.
_RECONNECT_SECONDS: Final = 1.0
_RECONNECT_SECONDS_MAX: Final = 30.0
#: A connection whose other end is gone without a word is given up after about half a minute.
_KEEPALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}

#: What is followed: one run, or all of a project.
_RunPlace = tuple[int, UUID]
_ProjectPlace = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RunChange:
    """What is heard of a project."""

    run_id: UUID | None = None
    """The run that may have changed; ``None`` is any."""
    is_deleted: bool = False
    """It is gone for good."""


WakeProject: TypeAlias = "Callable[[RunChange], None]"


class Changes:
    """The changes of all runs; one a replica.

    Args:
        database: the door, for notices.
        listen_url: connects past a transaction pooler; without it nobody is woken.
    """

    def __init__(self, database: Database, listen_url: str | None) -> None:
        self._database = database
        self._listen_url = listen_url
        self._touched: dict[int, set[UUID]] = defaultdict(set)
        self._wake_sender = asyncio.Event()
        self._runs: dict[_RunPlace, set[Callable[[], None]]] = defaultdict(set)
        self._projects: dict[_ProjectPlace, set[WakeProject]] = defaultdict(set)
        self._rights: dict[int, set[Callable[[], None]]] = defaultdict(set)
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closed = False
        self._closers: set[Callable[[], None]] = set()

    async def open(self) -> None:
        """Begin to listen and to send."""
        heard = asyncio.Event()
        self._tasks = [asyncio.create_task(self._send())]
        if self._listen_url is not None:
            self._tasks.append(asyncio.create_task(self._listen(self._listen_url, heard)))
            # Nobody who is told that we serve should miss a notice.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(heard.wait(), _RECONNECT_SECONDS)

    async def close(self) -> None:
        """End all streams, tell the other replicas what they have not heard, then stop."""
        self.end_streams()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._send_touched(), _LAST_SECONDS)

    def end_streams(self) -> None:
        """Wake every follower to end: the server is about to stop."""
        self._is_closed = True
        for end in list(self._closers):
            end()

    @contextlib.contextmanager
    def calling_at_the_end(self, end: Callable[[], None]) -> Any:
        """Call ``end`` when streams are to end."""
        self._closers.add(end)
        try:
            yield
        finally:
            self._closers.discard(end)

    def is_closed(self) -> bool:
        """Whether streams are to end."""
        return self._is_closed

    def is_followed(self) -> bool:
        """Whether there is any stream."""
        return bool(self._closers)

    def touch(self, tenant_id: int, run_id: UUID) -> None:
        """Say that a committed write changed a run."""
        self._touched[tenant_id].add(run_id)
        self._wake_sender.set()

    @contextlib.contextmanager
    def following_run(self, tenant_id: int, run_id: UUID, wake: Callable[[], None]) -> Any:
        """Call ``wake`` whenever the run may have changed, and when streams are to end."""
        place = (tenant_id, run_id)
        self._runs[place].add(wake)
        self._closers.add(wake)
        try:
            yield
        finally:
            self._closers.discard(wake)
            self._runs[place].discard(wake)
            if not self._runs[place]:
                del self._runs[place]

    @contextlib.contextmanager
    def following_project(self, tenant_id: int, project_id: int, wake: WakeProject) -> Any:
        """Call ``wake`` with each run of the project that may have changed, or is gone for good."""
        place = (tenant_id, project_id)
        end = _end_of(wake)
        self._projects[place].add(wake)
        self._closers.add(end)
        try:
            yield
        finally:
            self._closers.discard(end)
            self._projects[place].discard(wake)
            if not self._projects[place]:
                del self._projects[place]

    @contextlib.contextmanager
    def following_rights(self, tenant_id: int, wake: Callable[[], None]) -> Any:
        """Call ``wake`` whenever somebody's rights in a tenant may have changed."""
        self._rights[tenant_id].add(wake)
        try:
            yield
        finally:
            self._rights[tenant_id].discard(wake)
            if not self._rights[tenant_id]:
                del self._rights[tenant_id]

    async def _send(self) -> None:
        pause = _RESEND_SECONDS
        while True:
            await self._wake_sender.wait()
            self._wake_sender.clear()
            error = await self._send_touched()
            if error is None:
                pause = _RESEND_SECONDS
                await asyncio.sleep(_NOTIFY_SECONDS)
            else:
                # Once a round, however many tenants wait.
                _logger.warning("notices of changes wait, sent again in %g s: %s", pause, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _RESEND_SECONDS_MAX)
                self._wake_sender.set()

    async def _send_touched(self) -> MapiError | psycopg.Error | None:
        """Send the notices that wait; return why the database did not take one of them."""
        found: MapiError | psycopg.Error | None = None
        for tenant_id in list(self._touched):
            # What is touched while this is sent needs another notice.
            runs = self._touched.pop(tenant_id)
            is_sent = False
            try:
                async with self._database.transaction(Reach(tenant_id)) as connection:
                    await connection.execute(
                        query("live.notify"),
                        {"channel": CHANGES_CHANNEL, "runs": list(runs)},
                    )
                is_sent = True
            except (MapiError, psycopg.Error) as error:
                found = error
            finally:
                if not is_sent:  # cancelled in the midst, too
                    self._touched[tenant_id] |= runs
        return found

    async def _listen(self, url: str, heard: asyncio.Event) -> None:
        pause = _RECONNECT_SECONDS
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    url, autocommit=True, application_name="mapi live", **_KEEPALIVE
                ) as connection:
                    await connection.execute(
                        sql.SQL("listen {}").format(sql.Identifier(CHANGES_CHANNEL))
                    )
                    heard.set()
                    pause = _RECONNECT_SECONDS
                    self._wake_all()
                    async for notice in connection.notifies():
                        self._hear(notice.payload)
            except psycopg.Error as error:
                _logger.warning("changes are not heard, trying again in %g s: %s", pause, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _RECONNECT_SECONDS_MAX)

    def _hear(self, payload: str) -> None:
        told = json.loads(payload)
        tenant_id = told["tenant"]
        if "rights" in told:
            for wake in list(self._rights.get(tenant_id, ())):
                wake()
            return
        run_id = None
        if "run" in told:
            run_id = UUID(told["run"])
            runs = list(self._runs.get((tenant_id, run_id), ()))
        else:  # of which run is not said, so each looks
            runs = [
                wake
                for (tenant, _), wakes in self._runs.items()
                if tenant == tenant_id
                for wake in wakes
            ]
        for wake in runs:
            wake()
        for wake_project in list(self._projects.get((tenant_id, told["project"]), ())):
            wake_project(RunChange(run_id, is_deleted="is_deleted" in told))

    def _wake_all(self) -> None:
        for followers in list(self._runs.values()):
            for wake in list(followers):
                wake()
        for project_followers in list(self._projects.values()):
            for wake_project in list(project_followers):
                wake_project(RunChange())
        for readers in list(self._rights.values()):
            for wake in list(readers):
                wake()


def _end_of(wake: WakeProject) -> Callable[[], None]:
    return lambda: wake(RunChange())
