# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""The server itself: ``api.server``."""

from __future__ import annotations

from typing import Any

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import is_header
from mapi.sdk.calls import Call
from mapi.sdk.synchronous.resource import Resource

__all__ = ["Installation"]

#: The answer of a server that cannot serve: it has the same form as that of one that can.
_NOT_READY = 503


class Installation(Resource):
    """What a server says of itself."""

    def check_alive(self) -> None:
        """Return if the process answers.

        Raises:
            ConnectionFailedError: it does not.
        """
        self._transport.send(Call("GET", "/healthz", dict[str, str]))

    def readiness(self) -> dict[str, str]:
        """Return how the parts of the server are, by name: ``ready`` or ``failed``."""
        call = Call("GET", "/readyz", dict[str, str], takes=(_NOT_READY,))
        return self._transport.send(call)

    def meters(self, *, token: str | None = None) -> str:
        """Return the meters of the process, in the text form of Prometheus.

        Args:
            token: the operator's (``MAPI_METRICS_TOKEN``): a server that others can reach asks for it.
        """
        if token is not None and not is_header(token):
            raise InvalidError(Fault("/token", "a token is a text of printable ASCII"))
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        call = Call("GET", "/metrics", bytes, headers=headers)
        return (self._transport.send(call)).decode()

    def description(self) -> dict[str, Any]:
        """Return the description of the interface, which is OpenAPI 3.1."""
        return self._get("openapi.json", answer=dict[str, Any])
