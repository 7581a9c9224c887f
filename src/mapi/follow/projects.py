"""In which project of the platform a run belongs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mapi.errors import Fault, InvalidError
from mapi.sdk.errors import ForbiddenError
from mapi.series.names import check_title

if TYPE_CHECKING:
    from mapi.sdk.synchronous.client import Client
    from mapi.sdk.synchronous.runs import Runs

__all__ = ["Projects"]


class Projects:
    """Finds the project of a run: the client's, else the token's, else one that is called as the run's.

    Args:
        client: of the platform.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._known: dict[str, Runs] = {}
        self._is_bound: bool | None = None

    def runs_of(self, name: str) -> Runs:
        """Return the runs of the project for a run directory's own one.

        It is made where there is none and the token may; where it may not, the platform says so when the
        run is to be made.

        Raises:
            InvalidError: no project of the platform may be called so.
            ApiError: the platform refuses the question.
            ConnectionFailedError: it does not answer.
        """
        if self.client.project is not None:
            return self.client.runs
        if self._is_bound is None:
            self._is_bound = self.client.session().project is not None
        if self._is_bound:
            return self.client.runs
        wrong = check_title("the name of a project", name)
        if wrong is not None:
            raise InvalidError(
                Fault(
                    "/project", f"{wrong}. Say with --project or MAPI_PROJECT where the run goes"
                )
            )
        if name not in self._known:
            with contextlib.suppress(ForbiddenError):
                self.client.projects.create(name, if_exists="get")
            self._known[name] = self.client.runs.in_project(name)
        return self._known[name]
