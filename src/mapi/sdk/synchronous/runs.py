# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""Everything about runs: ``api.runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.sdk.arguments import text_of
from mapi.sdk.calls import id_of
from mapi.sdk.synchronous.run import Run
from mapi.sdk.synchronous.run_attempts import RunAttempts
from mapi.sdk.synchronous.run_comparison import RunComparison
from mapi.sdk.synchronous.run_corrections import RunCorrections
from mapi.sdk.synchronous.run_events import RunEvents
from mapi.sdk.synchronous.run_files import RunFiles
from mapi.sdk.synchronous.run_log import RunLog
from mapi.sdk.synchronous.run_media import RunMedia
from mapi.sdk.synchronous.run_queue import RunQueue
from mapi.sdk.synchronous.run_readings import RunReadings
from mapi.sdk.synchronous.run_records import RunRecords
from mapi.wire.runs import RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time

__all__ = ["Runs"]


class Runs(
    RunRecords,
    RunLog,
    RunMedia,
    RunAttempts,
    RunReadings,
    RunEvents,
    RunComparison,
    RunFiles,
    RunCorrections,
    RunQueue,
):
    """Runs: make, find, write, read, follow, compare, export."""

    def in_project(self, project: str) -> Runs:
        """Return the runs of another project, asked for over the same connections."""
        return type(self)(self._transport, text_of(project, at="/project"))

    def create(  # noqa: PLR0913 - its parts, given by name
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
    ) -> Run:
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
            The run, to be used with ``with``.

        Raises:
            InvalidError: a part breaks its rule.
            StateConflictError: the experiment is archived, or the run of this external id is in the
                trash.
        """
        facts = self._create(
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
        return Run(self, facts)

    def retry(self, run: Named) -> Run:
        """Make a run that tries again what another one was to do, in its experiment.

        It has the name, the note, the tags, the parent and the spec, and begins an empty log.

        Returns:
            The new run, whose ``facts.retry_of`` is the other one, to be used with ``with``.

        Raises:
            StateConflictError: the other run still goes on, is in the trash, or its experiment is
                archived.
        """
        facts = self._post("runs", id_of(run), "retry", answer=RunFacts, makes=True)
        return Run(self, facts)
