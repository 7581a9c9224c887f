"""``/metrics``: for Prometheus.

It tells of the server, not of a tenant, so no tenant's token opens it: it is open where the server
listens on loopback only, and needs the operator's own token elsewhere.
"""

import hmac

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.di import NamedDependency

from mapi.access.rights import Principal
from mapi.api.authentication import PUBLIC
from mapi.api.entrance import Entrance
from mapi.api.meters import Meters
from mapi.database.door import Database
from mapi.errors import AuthenticationError

__all__ = ["meters_text"]

#: The framework adds the encoding of what begins with `text/`.
_TYPE = "text/plain; version=0.0.4"


@get("/metrics", opt={PUBLIC: True}, summary="Read the meters", media_type=_TYPE)
async def meters_text(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Principal, str, State],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
    meters: NamedDependency[Meters],
) -> Response[bytes]:
    """Return counts and times in Prometheus' text format."""
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    wanted = entrance.metrics_token
    is_known = (
        wanted is not None
        and scheme.lower() == "bearer"
        and hmac.compare_digest(sent.strip().encode(), wanted.encode())
    )
    if not (entrance.metrics_open or is_known):
        raise AuthenticationError(
            "The meters need the operator's token: set MAPI_METRICS_TOKEN and send it as "
            "'Authorization: Bearer ...'."
        )
    return Response(meters.text(database), media_type=_TYPE)
