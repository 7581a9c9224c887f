"""The structs of runs: creating, reading, changing, searching, attempts and heartbeats."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import Answer, Request, decode
from mapi.wire.enums import LifeKind, RunKind, RunStatus, Source, WarningCode
from mapi.wire.metrics import AttemptNumber, Rank, Step, StreamName
from mapi.wire.values import WireValue

__all__ = [
    "CURSOR_LENGTH_MAX",
    "AttemptBody",
    "AttemptEnd",
    "AttemptFacts",
    "AttemptList",
    "Cursor",
    "EndReason",
    "ExternalId",
    "Heartbeat",
    "LifeEntry",
    "ProjectName",
    "Pruned",
    "RunCreate",
    "RunFacts",
    "RunFields",
    "RunId",
    "RunLife",
    "RunName",
    "RunNote",
    "RunPage",
    "RunPatch",
    "RunRow",
    "RunSearch",
    "SeriesField",
    "decode_run_create",
]

ProjectName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
#: `run_` and a UUID; the few characters more are for other spellings of one.
RunId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
#: What a cursor can grow to: a filter of 4 096 characters of up to 4 bytes and six texts of 256,
#: should none of it compress.
CURSOR_LENGTH_MAX = 40_000
Cursor: TypeAlias = Annotated[str, Meta(min_length=1, max_length=CURSOR_LENGTH_MAX)]
RunName: TypeAlias = Annotated[str, Meta(max_length=200)]
RunNote: TypeAlias = Annotated[str, Meta(max_length=20_000)]
ExternalId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
EndReason: TypeAlias = Annotated[str, Meta(max_length=2_000)]
#: A filter's limit in the search language; a longer one is refused there with an offset.
_FilterText: TypeAlias = Annotated[str, Meta(max_length=16_384)]


class RunCreate(Request, kw_only=True):
    """`POST /v1/runs`: a run that is logged from outside, or one to execute from a spec."""

    project: Annotated[ProjectName | None, Meta(description="By default the token's.")] = None
    kind: Annotated[
        RunKind | None, Meta(description="By default the spec's, or `external` without one.")
    ] = None
    name: Annotated[RunName, Meta(description="What people call it.")] = ""
    note: Annotated[RunNote, Meta(description="Markdown.")] = ""
    params: Annotated[
        dict[str, Any],
        Meta(description="Texts, or any other JSON, whose text is kept."),
    ] = field(default_factory=dict)
    tags: Annotated[dict[str, str], Meta(description="By key.")] = field(default_factory=dict)
    external_id: Annotated[
        ExternalId | None,
        Meta(description="Unique in the project: the same again answers the run that has it."),
    ] = None
    experiment: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="Id or exact name."),
    ] = None
    parent: Annotated[
        RunId | None, Meta(description="The run of the project that it belongs below.")
    ] = None
    started: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="When it began, where that is past; of an external run."),
    ] = None
    spec: Annotated[
        dict[str, Any] | None,
        Meta(description="What to execute; its own `kind` is Fit, Score or Workflow."),
    ] = None


class _KindFirst(msgspec.Struct):
    kind: RunKind | None = None


class _AnyKind(msgspec.Struct):
    kind: Any = None


#: What a spec can ask for.
_EXECUTED = (RunKind.FIT, RunKind.SCORE, RunKind.WORKFLOW)


def decode_run_create(body: bytes, *, bytes_max: int) -> RunCreate:
    """Return the run to create, with its kind.

    A wrong kind is told before anything else of the body: who sends a document of a kind that is no
    run should read that, not of its fields.

    Raises:
        InvalidError: a rule is broken.
    """
    try:
        decode(body, _KindFirst, bytes_max=bytes_max)
    except InvalidError as error:
        if error.faults[0].pointer == "/kind":
            _refuse_sweep(msgspec.json.decode(body, type=_AnyKind).kind, "/kind")
        raise
    sent = decode(body, RunCreate, bytes_max=bytes_max)
    if sent.spec is None:
        if sent.kind not in {None, RunKind.EXTERNAL}:
            raise InvalidError(
                Fault(
                    "/spec",
                    f"a run of kind {sent.kind} needs a spec; without one it is external",
                )
            )
        sent.kind = RunKind.EXTERNAL
        return sent
    sent.kind = _kind_of_spec(sent.kind, sent.spec)
    if sent.started is not None:
        raise InvalidError(
            Fault("/started", "a run that is executed begins when a runner takes it; leave it out")
        )
    return sent


def _refuse_sweep(kind: object, at: str) -> None:
    if isinstance(kind, str) and kind.lower() == "sweep":
        raise InvalidError(
            Fault(
                at,
                "'Sweep' is no kind any more: send a workflow with a search.grid node, whose "
                "points are the runs of the sweep",
                expected=tuple(_EXECUTED),
            )
        )


def _kind_of_spec(kind: RunKind | None, spec: dict[str, Any]) -> RunKind:
    """Return the kind of a run that a spec describes; where both say one, they agree."""
    words = tuple(one.value.capitalize() for one in _EXECUTED)
    said = spec.get("kind")
    _refuse_sweep(said, "/spec/kind")
    if kind is not None and kind not in _EXECUTED:
        raise InvalidError(
            Fault("/kind", f"a run of kind {kind} has no spec", expected=tuple(_EXECUTED))
        )
    if said is None and kind is not None:
        return kind
    named = dict(zip(words, _EXECUTED, strict=True))
    found = named.get(said.capitalize()) if isinstance(said, str) else None
    if found is None:
        raise InvalidError(
            Fault(
                "/spec/kind",
                f"a spec says what it is: one of {', '.join(words)}, not {str(said)[:80]!r}",
                expected=words,
            )
        )
    if kind not in {None, found}:
        raise InvalidError(Fault("/kind", f"the run is to be a {kind}, but its spec is a {found}"))
    return found


class RunPatch(Request, kw_only=True):
    """`PATCH /v1/runs/{id}`: a merge patch; null removes."""

    name: Annotated[RunName | UnsetType | None, Meta(description="Null empties it.")] = UNSET
    note: Annotated[RunNote | UnsetType | None, Meta(description="Null empties it.")] = UNSET
    experiment: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType | None,
        Meta(description="Id or exact name; null takes it out of its experiment."),
    ] = UNSET
    status: Annotated[
        RunStatus | UnsetType, Meta(description="Of external runs only; others are executed.")
    ] = UNSET
    reason: Annotated[
        EndReason | UnsetType | None, Meta(description="Why it ended: `signal`, a message.")
    ] = UNSET
    finished: Annotated[
        Annotated[datetime, Meta(tz=True)] | UnsetType,
        Meta(description="When it ended, where that is past; with a final status."),
    ] = UNSET


_Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Pruned(Answer, kw_only=True):
    """What retention has deleted of a run for its age, in all."""

    time: Annotated[
        Annotated[datetime, Meta(tz=True)], Meta(description="When it did so for the last time.")
    ]
    points: Annotated[_Count, Meta(description="Their summaries stay.")] = 0
    log_lines: Annotated[_Count, Meta(description="How many.")] = 0
    spans: Annotated[_Count, Meta(description="How many.")] = 0
    media_items: Annotated[_Count, Meta(description="How many.")] = 0


class RunFacts(Answer, kw_only=True):
    """One run."""

    id: Annotated[str, Meta(description="`run_` and a UUID of version 7.")]
    project: Annotated[str, Meta(description="The project's name.")]
    kind: Annotated[RunKind, Meta(description="What it is.")]
    status: Annotated[RunStatus, Meta(description="Where it stands.")]
    name: Annotated[str, Meta(description="What people call it.")]
    note: Annotated[str, Meta(description="Markdown.")]
    reason: Annotated[str | None, Meta(description="Why it ended.")]
    experiment: Annotated[str | None, Meta(description="The experiment's id.")]
    parent: Annotated[str | None, Meta(description="The run above.")]
    retry_of: Annotated[str | None, Meta(description="The run that this one tries again.")] = None
    user: Annotated[str, Meta(description="Who made it.")]
    external_id: Annotated[str | None, Meta(description="What its writer calls it.")]
    created: Annotated[datetime, Meta(description="When the platform heard of it.")]
    started: Annotated[datetime | None, Meta(description="When it began.")]
    finished: Annotated[datetime | None, Meta(description="When it ended.")]
    duration_seconds: Annotated[
        float | None,
        Meta(
            description="From start to end; of one that goes on to now, of a lost one to its last sign."
        ),
    ]
    attempts: Annotated[int, Meta(description="How many it has.")]
    trashed: Annotated[datetime | None, Meta(description="When it went to the trash.")] = None
    spec: Annotated[dict[str, Any] | None, Meta(description="What was executed.")] = None
    dropped: Annotated[dict[str, int], Meta(description="What budgets dropped, by budget.")] = (
        field(default_factory=dict)
    )
    pruned: Annotated[
        Pruned | None,
        Meta(description="What retention deleted; null: nothing. `…/life` says when and why."),
    ] = None
    etag: Annotated[
        str, Meta(description="The version, for `If-Match`; covers what PATCH can change.")
    ]


class Heartbeat(Answer, kw_only=True):
    """`POST /v1/runs/{id}/heartbeat`."""

    status: Annotated[RunStatus, Meta(description="A client that reads `cancelled` stops.")]
    due_seconds: Annotated[
        float, Meta(description="Send the next one after so many seconds, or sooner.")
    ] = 15.0


class LifeEntry(Answer, kw_only=True):
    """Something that happened in the life of a run."""

    id: Annotated[int, Meta(description="Rises; `after=` takes it.")]
    time: Annotated[datetime, Meta(description="When.")]
    kind: Annotated[LifeKind, Meta(description="What.")]
    user: Annotated[str, Meta(description="Who did it; empty: the platform.")]
    before: Annotated[str | None, Meta(description="The status, name or experiment before.")] = (
        None
    )
    after: Annotated[str | None, Meta(description="The status, name or experiment since.")] = None
    reason: Annotated[str | None, Meta(description="Why, where that was said.")] = None
    code: Annotated[WarningCode | None, Meta(description="Of a warning.")] = None
    message: Annotated[
        str, Meta(description="Of a warning or a pruning; its text grows with its counts.")
    ] = ""
    counts: Annotated[
        dict[str, int],
        Meta(
            description="What was dropped, by budget; or pruned: `points`, `log_lines`, `spans`, `media_items`."
        ),
    ] = field(default_factory=dict)
    days: Annotated[
        int | None, Meta(description="Of a pruning: the run had ended longer ago.")
    ] = None


class RunLife(Answer, kw_only=True):
    """`GET /v1/runs/{id}/life`."""

    entries: Annotated[list[LifeEntry], Meta(description="Oldest first.")]
    is_complete: Annotated[bool, Meta(description="False: more follow behind the last one.")]


class RunRow(Answer, kw_only=True):
    """A run in a search's answer."""

    id: Annotated[str, Meta(description="`run_` and a UUID.")]
    kind: Annotated[RunKind, Meta(description="What it is.")]
    status: Annotated[RunStatus, Meta(description="Where it stands.")]
    name: Annotated[str, Meta(description="What people call it.")]
    experiment: Annotated[str | None, Meta(description="The experiment's id.")]
    user: Annotated[str, Meta(description="Who made it.")]
    created: Annotated[datetime, Meta(description="When the platform heard of it.")]
    started: Annotated[datetime | None, Meta(description="When it began.")]
    finished: Annotated[datetime | None, Meta(description="When it ended.")]
    values: Annotated[
        list[WireValue | str | None],
        Meta(description="In the order of the columns; null where the run has none."),
    ] = field(default_factory=list)


class RunPage(Answer, kw_only=True):
    """`GET /v1/runs`."""

    runs: Annotated[list[RunRow], Meta(description="In the order of the sort.")]
    columns: Annotated[list[str], Meta(description="In their canonical spelling.")]
    filter_canonical: Annotated[str, Meta(description="The filter, fully bracketed.")]
    next_cursor: Annotated[str | None, Meta(description="Null at the end.")] = None
    total: Annotated[int | None, Meta(description="How many match, where asked for.")] = None
    warnings: Annotated[
        list[str],
        Meta(
            description="Of names in the sort that no run has; without runs, in the filter too; and "
            "of columns `AT` that lack the points of old runs."
        ),
    ] = field(default_factory=list)


class RunSearch(Request, kw_only=True):
    """`POST /v1/runs/search`: the query of `GET /v1/runs` as a body, for what no URL holds."""

    project: Annotated[ProjectName | None, Meta(description="By default the token's.")] = None
    filter: Annotated[
        _FilterText | Annotated[list[_FilterText], Meta(max_length=50)] | None,
        Meta(description="One text or several, all of which hold."),
    ] = None
    sort: Annotated[_FilterText | None, Meta(description="At most 3 fields.")] = None
    columns: Annotated[_FilterText | None, Meta(description="At most 50 fields.")] = None
    limit: Annotated[int, Meta(ge=1, le=500, description="Runs of one page.")] = 50
    cursor: Annotated[Cursor | None, Meta(description="From the page before.")] = None
    view: Annotated[
        Annotated[str, Meta(max_length=64)] | None,
        Meta(description="A saved view: its filter holds too; sort and columns given here win."),
    ] = None
    total: Annotated[bool, Meta(description="Count all that match.")] = False
    trashed: Annotated[bool, Meta(description="Those in the trash, and no others.")] = False


class SeriesField(Answer, kw_only=True):
    """One series that runs of the project have."""

    key: Annotated[str, Meta(description="The key of the metric.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]


class RunFields(Answer, kw_only=True):
    """`GET /v1/runs/fields`: what a filter can name in the project."""

    metrics: Annotated[list[SeriesField], Meta(description="By key, then labels.")]
    label_values: Annotated[dict[str, list[str]], Meta(description="By name of the label.")]
    params: Annotated[list[str], Meta(description="Keys.")]
    tags: Annotated[list[str], Meta(description="Keys.")]
    attributes: Annotated[list[str], Meta(description="What every run has.")] = field(
        default_factory=list
    )
    experiments: Annotated[list[str], Meta(description="Names, archived ones too.")] = field(
        default_factory=list
    )
    is_complete: Annotated[bool, Meta(description="False: more begin with the prefix.")]


class AttemptBody(Request, kw_only=True):
    """`POST /v1/runs/{id}/attempts`: a stream and rank goes at the run once more."""

    stream: Annotated[StreamName, Meta(description="Empty is the default one.")] = ""
    rank: Annotated[Rank, Meta(description="The rank.")] = 0
    number: Annotated[AttemptNumber, Meta(description="1 for the first.")]
    from_step: Annotated[
        Step | None, Meta(description="From here on it takes the place of what was before.")
    ] = None
    started: Annotated[
        Annotated[datetime, Meta(tz=True)] | None, Meta(description="By default now.")
    ] = None


class AttemptEnd(Request, kw_only=True):
    """`PATCH /v1/runs/{id}/attempts`: how one ended."""

    stream: Annotated[StreamName, Meta(description="Empty is the default one.")] = ""
    rank: Annotated[Rank, Meta(description="The rank.")] = 0
    number: Annotated[AttemptNumber, Meta(description="1 for the first.")]
    status: Annotated[RunStatus, Meta(description="How it ended.")]
    finished: Annotated[
        Annotated[datetime, Meta(tz=True)] | None, Meta(description="By default now.")
    ] = None


class AttemptFacts(Answer, kw_only=True):
    """One attempt of a stream and rank."""

    stream: Annotated[str, Meta(description="Empty is the default one.")]
    rank: Annotated[int, Meta(description="The rank.")]
    number: Annotated[int, Meta(description="1 for the first.")]
    from_step: Annotated[int | None, Meta(description="Where it took over.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    started: Annotated[datetime, Meta(description="When it began.")]
    finished: Annotated[datetime | None, Meta(description="When it ended.")]
    status: Annotated[RunStatus | None, Meta(description="Null while it goes on.")]


class AttemptList(Answer, kw_only=True):
    """`GET /v1/runs/{id}/attempts`."""

    attempts: Annotated[
        list[AttemptFacts], Meta(description="Registered ones, by stream, rank and number.")
    ]
