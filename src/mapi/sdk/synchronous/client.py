# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""The client: ``mapi.Client()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from mapi.errors import SettingError
from mapi.sdk.agent import agent
from mapi.sdk.calls import Call
from mapi.sdk.deadlines import TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX
from mapi.sdk.repeating import TRIES_MAX
from mapi.sdk.server import find_server
from mapi.sdk.synchronous.administration import Projects, Search, Tokens
from mapi.sdk.synchronous.experiments import Experiments
from mapi.sdk.synchronous.runs import Runs
from mapi.sdk.synchronous.transport import Transport
from mapi.sdk.synchronous.views import Views
from mapi.wire.sessions import SessionFacts

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Client"]


class Client:
    """Asks one server, as one token, about one project.

    On the machine of a server that `mapi serve` runs there is nothing to say: `mapi.Client()`
    finds it. Else `mapi login` keeps address and token once, and ``MAPI_URL``, ``MAPI_TOKEN`` and
    ``MAPI_PROJECT`` win over it, as arguments win over them.

    A call has one time limit for all of its tries. It is tried again where that is safe, and raises
    a `mapi.ClientError` when there is no answer, or none that was asked for.

    Args:
        url: the server's address.
        token: of the server.
        project: where to work; by default the token's own.
        timeout_seconds: of one call, all tries and pauses included.
        tries: of one call, 1 to 8; 1 tries nothing again.

    Attributes:
        runs: make, find, write, read and compare runs.
        experiments: groups of runs.
        views: saved searches.
        tokens: who may do what.
        projects: where runs belong.
        search: how a filter is read.

    Raises:
        SettingError: nothing says where the server is.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        project: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        tries: int = TRIES_MAX,
    ) -> None:
        if not 0 < timeout_seconds <= TIMEOUT_SECONDS_MAX:
            raise SettingError(
                f"timeout_seconds={timeout_seconds!r}: above 0, and at most "
                f"{TIMEOUT_SECONDS_MAX:g}."
            )
        if not 1 <= tries <= TRIES_MAX:
            raise SettingError(f"tries={tries!r}: 1 to {TRIES_MAX}.")
        server = find_server(url=url, token=token, project=project)
        self._transport = Transport(
            server, timeout_seconds=timeout_seconds, agent=agent(), tries=tries
        )
        self.runs = Runs(self._transport, server.project)
        self.experiments = Experiments(self._transport, server.project)
        self.views = Views(self._transport, server.project)
        self.tokens = Tokens(self._transport, server.project)
        self.projects = Projects(self._transport, server.project)
        self.search = Search(self._transport, server.project)

    def __repr__(self) -> str:
        server = self._transport.server
        return f"<{type(self).__name__} {server.url} project={server.project!r}>"

    @property
    def url(self) -> str:
        """The server's address."""
        return self._transport.server.url

    @property
    def project(self) -> str | None:
        """Where it works; `None` is the token's own."""
        return self._transport.server.project

    def session(self) -> SessionFacts:
        """Return who you are to the server, and what you may do."""
        return self._transport.send(Call("GET", "/v1/session", SessionFacts))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        self.close()
