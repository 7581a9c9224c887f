"""Everything about runs: ``api.runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.sdk.arguments import text_of
from mapi.sdk.asynchronous.run import AsyncRun
from mapi.sdk.asynchronous.run_attempts import AsyncRunAttempts
from mapi.sdk.asynchronous.run_comparison import AsyncRunComparison
from mapi.sdk.asynchronous.run_corrections import AsyncRunCorrections
from mapi.sdk.asynchronous.run_events import AsyncRunEvents
from mapi.sdk.asynchronous.run_files import AsyncRunFiles
from mapi.sdk.asynchronous.run_log import AsyncRunLog
from mapi.sdk.asynchronous.run_media import AsyncRunMedia
from mapi.sdk.asynchronous.run_queue import AsyncRunQueue
from mapi.sdk.asynchronous.run_readings import AsyncRunReadings
from mapi.sdk.asynchronous.run_records import AsyncRunRecords
from mapi.sdk.calls import id_of
from mapi.wire.runs import RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time

__all__ = ["AsyncRuns"]


class AsyncRuns(
    AsyncRunRecords,
    AsyncRunLog,
    AsyncRunMedia,
    AsyncRunAttempts,
    AsyncRunReadings,
    AsyncRunEvents,
    AsyncRunComparison,
    AsyncRunFiles,
    AsyncRunCorrections,
    AsyncRunQueue,
):
    """Runs: make, find, write, read, follow, compare, export."""

    def in_project(self, project: str) -> AsyncRuns:
        """Return the runs of another project, asked for over the same connections."""
        return type(self)(self._transport, text_of(project, at="/project"))

    async def create(  # noqa: PLR0913 - its parts, given by name
        self,
        *,
        name: str | None = None,
        note: str | None = None,
        params: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        experiment: Named | None = None,
        external_id: str | None = None,
        parent: Named | None = None,
        started: Time | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> AsyncRun:
        """Make a run, once, however often the request has to be sent.

        Args:
            name: what people call it; at most 200 characters.
            note: Markdown; at most 20 000 characters.
            params: what it was run with; each is written once.
            tags: texts by key.
            experiment: the id or the exact name of the experiment that it belongs to.
            external_id: what you call it: unique in the project, and the same again gives the run
                that has it.
            parent: the run of the project above it.
            started: when it began, where that is past.
            spec: what a runner is to execute, with a ``kind`` of Fit, Score or Workflow; the run
                waits for one, which says how it ended.

        Returns:
            The run, to be used with ``async with``.

        Raises:
            InvalidError: a part breaks its rule.
            StateConflictError: the experiment is archived, or the run of this external id is in the
                trash.
        """
        facts = await self._create(
            name=name,
            note=note,
            params=params,
            tags=tags,
            experiment=experiment,
            external_id=external_id,
            parent=parent,
            started=started,
            spec=spec,
        )
        return AsyncRun(self, facts)

    async def retry(self, run: Named) -> AsyncRun:
        """Make a run that tries again what another one was to do, in its experiment.

        It has the name, the note, the tags, the parent and the spec, and begins an empty log.

        Returns:
            The new run, whose ``facts.retry_of`` is the other one, to be used with ``async with``.

        Raises:
            StateConflictError: the other run still goes on, is in the trash, or its experiment is
                archived.
        """
        facts = await self._post("runs", id_of(run), "retry", answer=RunFacts, makes=True)
        return AsyncRun(self, facts)
