"""Whether the process lives, and whether it can serve."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from mapi.api.authentication import PUBLIC
from mapi.api.description import ANSWERS
from mapi.database.door import Database
from mapi.errors import UnavailableError

__all__ = ["alive", "ready"]


@get("/healthz", opt={PUBLIC: True}, summary="Is the process alive?")
async def alive() -> dict[str, str]:
    """Answer, which is all that is asked."""
    return {"status": "alive"}


@get("/readyz", opt={PUBLIC: True, ANSWERS: (200, 503)}, summary="Can it serve?")
async def ready(database: NamedDependency[Database]) -> Response[dict[str, Any]]:
    """Ask the database for an answer."""
    try:
        async with database.outside() as connection:
            await connection.execute("select 1")
    except UnavailableError:
        return Response({"database": "failed"}, status_code=503)
    return Response({"database": "ready"})
