"""Everything about runs: ``api.runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.sdk.asynchronous.run import AsyncRun
from mapi.sdk.asynchronous.run_log import AsyncRunLog
from mapi.sdk.asynchronous.run_readings import AsyncRunReadings
from mapi.sdk.asynchronous.run_records import AsyncRunRecords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time

__all__ = ["AsyncRuns"]


class AsyncRuns(AsyncRunRecords, AsyncRunLog, AsyncRunReadings):
    """Runs: make, find, write, read, compare."""

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
            parent: the run above it.
            started: when it began, where that is past.

        Returns:
            The run, to be used with ``async with``.

        Raises:
            InvalidError: a part breaks its rule.
            StateConflictError: the experiment is archived.
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
        )
        return AsyncRun(self, facts)
