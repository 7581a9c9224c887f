"""``/v1/runs/{id}/metrics``: curves out."""

from typing import Annotated, Any

from litestar import Request, get
from litestar.params import Parameter, QueryParameter

from mapi.access.identifiers import RUN, uuid_from_text
from mapi.access.rights import Principal
from mapi.api.rights import RIGHT
from mapi.database.door import Database
from mapi.errors import Fault, InvalidError
from mapi.series.names import canonical_labels, check_key, check_labels
from mapi.tracking.batch import Series
from mapi.tracking.curves import find_parts, read_points
from mapi.tracking.runs import project_of
from mapi.wire.enums import Scope
from mapi.wire.metric_columns import SCALAR_STEP
from mapi.wire.metrics import Curve, CurvePoint
from mapi.wire.values import values_to_wire

__all__ = ["points"]

_STEP_STOP = 2**63 - 1
_POINTS_MAX = 10_000
_LABEL = "label."


@get("/v1/runs/{run:str}/metrics/points", opt={RIGHT: Scope.READ}, summary="Read a curve")
async def points(  # noqa: PLR0913, PLR0917 - the query's own parameters, given by name
    request: Request[Principal, Any, Any],
    database: Database,
    run: str,
    key: str,
    start: Annotated[int, QueryParameter(name="from", ge=SCALAR_STEP)] = SCALAR_STEP,
    stop: Annotated[int | None, QueryParameter(name="to", ge=0)] = None,
    attempt: Annotated[int | None, Parameter(ge=1)] = None,
    limit: Annotated[int, Parameter(ge=1, le=_POINTS_MAX)] = _POINTS_MAX,
) -> Curve:
    """Return the points of one series, exactly as logged, by step."""
    labels = {
        name.removeprefix(_LABEL): value
        for name, value in request.query_params.items()
        if name.startswith(_LABEL)
    }
    for pointer, wrong in (
        ("/query/key", check_key(key)),
        ("/query/label", check_labels(labels, reserved=True)),
    ):
        if wrong is not None:
            raise InvalidError(Fault(pointer, wrong))
    series = Series(key, canonical_labels(labels))
    async with database.transaction(request.user.reach) as connection:
        run_id = uuid_from_text(RUN, run)
        await project_of(connection, run_id)
        parts = await find_parts(connection, run_id, series, attempt=attempt)
        found = await read_points(
            connection, parts, start=start, stop=_STEP_STOP if stop is None else stop, limit=limit
        )
    values = values_to_wire([one.value for one in found])
    return Curve(
        key=key,
        labels=labels,
        attempt=attempt,
        points_total=len(found),
        points=[
            CurvePoint(None if one.step == SCALAR_STEP else one.step, one.time_us, value)
            for one, value in zip(found, values, strict=True)
        ],
    )
