"""The structs that set runs side by side or sum them up in groups."""

from typing import Annotated

from msgspec import Meta, field

from mapi.wire.decoding import Answer
from mapi.wire.media import MediaFacts
from mapi.wire.metrics import Curve, SeriesSummary
from mapi.wire.runs import Pruned, RunRow
from mapi.wire.values import WireValue

__all__ = [
    "COMPARED_RUNS_MAX",
    "COMPARED_RUNS_MIN",
    "ComparedParam",
    "ComparedSeries",
    "Comparison",
    "GroupPoint",
    "RunGroup",
    "RunGroups",
]

#: One run is no comparison; more than ten columns nobody reads.
COMPARED_RUNS_MIN = 2
COMPARED_RUNS_MAX = 10


class ComparedSeries(Answer, kw_only=True):
    """One series in each of the runs."""

    key: Annotated[str, Meta(description="The key of the metric.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]
    summaries: Annotated[list[SeriesSummary | None], Meta(description="One a run; null: none.")]
    curves: Annotated[list[Curve | None], Meta(description="One a run, in buckets.")] = field(
        default_factory=list
    )


class ComparedParam(Answer, kw_only=True):
    """One param in each of the runs."""

    key: Annotated[str, Meta(description="Its key.")]
    texts: Annotated[list[str | None], Meta(description="One a run; null: none.")]
    is_different: Annotated[bool, Meta(description="A missing one counts as different.")]


class Comparison(Answer, kw_only=True):
    """`GET /v1/run-compare`."""

    runs: Annotated[list[RunRow], Meta(description="In the order asked for.")]
    series: Annotated[list[ComparedSeries], Meta(description="By key, then labels.")]
    params: Annotated[list[ComparedParam], Meta(description="By key.")]
    tags: Annotated[list[ComparedParam], Meta(description="By key.")]
    media: Annotated[list[list[MediaFacts]], Meta(description="One list a run.")] = field(
        default_factory=list
    )
    pruned: Annotated[
        list[Pruned | None],
        Meta(description="What retention has deleted of each run; null: nothing."),
    ] = field(default_factory=list)
    curves_omitted: Annotated[
        int, Meta(description="Series whose curves were too many; ask for them with `keys`.")
    ] = 0
    is_partial: Annotated[
        bool, Meta(description="The runs have more series or media: ask with `keys`.")
    ] = False


class GroupPoint(Answer, kw_only=True):
    """A group's values at one step."""

    step: Annotated[int | None, Meta(description="A step that members have; null for scalars.")]
    count: Annotated[int, Meta(description="Members with a finite value there.")]
    nonfinite_count: Annotated[int, Meta(description="Members with NaN or an infinity there.")] = 0
    mean: Annotated[float | None, Meta(description="Of the finite ones; null without any.")]
    std: Annotated[
        float | None,
        Meta(description="Of the sample: sqrt(sum((x - mean)^2) / (n - 1)); null below two."),
    ]
    min: Annotated[float | None, Meta(description="Of those.")]
    max: Annotated[float | None, Meta(description="Of those.")]


class RunGroup(Answer, kw_only=True):
    """Runs that have the same values of what they are grouped by."""

    by: Annotated[dict[str, WireValue | str | None], Meta(description="Field to value.")]
    runs: Annotated[list[str], Meta(description="Every member.")]
    points: Annotated[list[GroupPoint], Meta(description="By step; none with `stat`.")]
    summary: Annotated[
        GroupPoint | None,
        Meta(description="Over what `stat` says of the series of each member; null without it."),
    ] = None
    runs_pruned: Annotated[
        int,
        Meta(
            description="Members with points of the series in the range that retention has deleted: they are missing in `points`."
        ),
    ] = 0


class RunGroups(Answer, kw_only=True):
    """`GET /v1/run-groups`."""

    groups: Annotated[list[RunGroup], Meta(description="By value.")]
    runs_total: Annotated[
        int, Meta(description="Members of all groups, those without the series too.")
    ]
    runs_without: Annotated[int, Meta(description="Runs that lack the series.")]
