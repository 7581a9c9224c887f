# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""Groups of runs under a name: ``api.experiments``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from mapi.sdk.arguments import query_of
from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, checked_text, given
from mapi.sdk.synchronous.resource import Resource
from mapi.wire.experiments import (
    ExperimentCreate,
    ExperimentFacts,
    ExperimentPage,
    ExperimentPatch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.sdk.calls import Named

__all__ = ["Experiments"]

_PAGE = 200


class Experiments(Resource):
    """Experiments: make, find, change, archive."""

    def create(
        self, name: str, *, description: str = "", if_exists: Literal["fail", "get"] = "fail"
    ) -> ExperimentFacts:
        """Make an experiment.

        Args:
            name: unique in the project.
            description: Markdown.
            if_exists: ``get`` returns the one of the same name as it is.

        Raises:
            NameTakenError: there is one of the same name.
        """
        checked_text(name=name)
        sent = given(name=name, description=description, project=self._project)
        return self._post(
            "experiments",
            answer=ExperimentFacts,
            body=checked(sent, ExperimentCreate),
            makes=True,
            query=query_of(if_exists=if_exists),
        )

    def get(self, experiment: Named) -> ExperimentFacts:
        """Return one experiment."""
        name = id_of(experiment, what="experiment")
        return self._get("experiments", name, answer=ExperimentFacts)

    def page(
        self, *, archived: bool | None = None, limit: int = 50, cursor: str | None = None
    ) -> ExperimentPage:
        """Return one page of experiments, the newest first; `list` goes through all of them."""
        query = query_of(project=self._project, archived=archived, limit=limit, cursor=cursor)
        return self._get("experiments", answer=ExperimentPage, query=query)

    def list(self, *, archived: bool | None = None) -> Iterator[ExperimentFacts]:
        """Yield the experiments of the project, the newest first.

        Args:
            archived: only those that are, or are not.
        """
        cursor: str | None = None
        while True:
            page = self.page(archived=archived, limit=_PAGE, cursor=cursor)
            for one in page.experiments:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    def update(
        self,
        experiment: Named,
        *,
        name: str | UnsetType = UNSET,
        description: str | UnsetType | None = UNSET,
        if_match: str | None = None,
    ) -> ExperimentFacts:
        """Change the name or the description; what is not named stays.

        Args:
            experiment: which.
            name: unique in the project.
            description: Markdown; `None` empties it.
            if_match: the ``etag`` that was read; with another one by now, nothing changes.
        """
        patch = {"name": name, "description": description}
        said = {key: value for key, value in patch.items() if value is not UNSET}
        return self._patch(
            "experiments",
            id_of(experiment, what="experiment"),
            answer=ExperimentFacts,
            body=checked(said, ExperimentPatch),
            if_match=if_match,
        )

    def archive(self, experiment: Named) -> ExperimentFacts:
        """Let an experiment take no new runs."""
        name = id_of(experiment, what="experiment")
        return self._post("experiments", name, "archive", answer=ExperimentFacts)

    def unarchive(self, experiment: Named) -> ExperimentFacts:
        """Let an experiment take new runs again."""
        name = id_of(experiment, what="experiment")
        return self._post("experiments", name, "unarchive", answer=ExperimentFacts)

    def delete(self, experiment: Named, *, if_match: str | None = None) -> None:
        """Delete an experiment and its saved views; its runs stay, in no experiment."""
        self._delete("experiments", id_of(experiment, what="experiment"), if_match=if_match)
