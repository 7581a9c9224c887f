"""The structs of administration: projects, members, tokens, limits, usage, retention, audit, health."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import Budget, ComponentState, Role, Scope
from mapi.wire.runs import ProjectName

__all__ = [
    "AuditEntry",
    "AuditPage",
    "BudgetUse",
    "CorrectionBody",
    "Deleted",
    "Health",
    "ImportAnswer",
    "LimitsAnswer",
    "LimitsBody",
    "MemberBody",
    "MemberFacts",
    "MemberPage",
    "ProjectBudget",
    "ProjectCreate",
    "ProjectFacts",
    "ProjectPage",
    "RetentionAnswer",
    "RetentionRow",
    "RetentionRule",
    "RunBudgets",
    "TokenCreate",
    "TokenFacts",
    "TokenMade",
    "TokenPage",
    "UsageAnswer",
    "UsageRow",
]

#: A number, or the word for no limit at all.
LimitValue: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)] | Literal["unlimited"]
_Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=250)]
_Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class ProjectCreate(Request, kw_only=True):
    """`POST /v1/projects`."""

    name: Annotated[ProjectName, Meta(description="Unique in the tenant.")]


class ProjectFacts(Answer, kw_only=True):
    """One project."""

    name: Annotated[str, Meta(description="Unique in the tenant.")]
    created: Annotated[datetime, Meta(description="When it was made.")]
    role: Annotated[Role | None, Meta(description="What the caller is in it.")] = None


class ProjectPage(Answer, kw_only=True):
    """`GET /v1/projects`."""

    projects: Annotated[list[ProjectFacts], Meta(description="By name.")]


class MemberBody(Request, kw_only=True):
    """`PUT /v1/members`."""

    user: Annotated[_Name, Meta(description="The user's name.")]
    role: Annotated[Role, Meta(description="What the user may do.")]
    project: Annotated[
        ProjectName | None, Meta(description="Null: in every project of the tenant.")
    ] = None


class MemberFacts(Answer, kw_only=True):
    """One membership."""

    user: Annotated[str, Meta(description="The user's name.")]
    role: Annotated[Role, Meta(description="What the user may do.")]
    project: Annotated[str | None, Meta(description="Null: in every project.")]
    created: Annotated[datetime, Meta(description="Since when.")]


class MemberPage(Answer, kw_only=True):
    """`GET /v1/members`."""

    members: Annotated[list[MemberFacts], Meta(description="By user.")]


class TokenCreate(Request, kw_only=True):
    """`POST /v1/tokens`."""

    name: Annotated[_Name, Meta(description="What it is for.")]
    scopes: Annotated[
        list[Scope], Meta(min_length=1, max_length=16, description="What it may do.")
    ]
    project: Annotated[ProjectName | None, Meta(description="Null: all it may see.")] = None
    expires: Annotated[
        Annotated[datetime, Meta(tz=True)] | None, Meta(description="Null: never.")
    ] = None
    is_service: Annotated[
        bool, Meta(description="Belongs to nobody; its scopes are its rights.")
    ] = False


class TokenFacts(Answer, kw_only=True):
    """One token, without its secret."""

    id: Annotated[str, Meta(description="The part that is no secret.")]
    name: Annotated[str, Meta(description="What it is for.")]
    scopes: Annotated[list[Scope], Meta(description="What it may do.")]
    user: Annotated[str | None, Meta(description="Whose it is; null: a service.")]
    project: Annotated[str | None, Meta(description="Null: all it may see.")]
    created: Annotated[datetime, Meta(description="When it was made.")]
    expires: Annotated[datetime | None, Meta(description="Null: never.")]
    last_used: Annotated[datetime | None, Meta(description="Null: never.")]
    revoked: Annotated[datetime | None, Meta(description="Since then it is worth nothing.")]


class TokenMade(TokenFacts, kw_only=True):
    """A new token; the only answer that holds the secret."""

    token: Annotated[str, Meta(description="Shown this once.")]


class TokenPage(Answer, kw_only=True):
    """`GET /v1/tokens`."""

    tokens: Annotated[list[TokenFacts], Meta(description="Newest first.")]


class LimitsBody(Request, kw_only=True):
    """`PUT /v1/limits`: of the tenant, or of one project."""

    tracking: Annotated[
        dict[Budget, LimitValue | None],
        Meta(description="By budget; null goes back to what stands above."),
    ]
    project: Annotated[ProjectName | None, Meta(description="Null: the tenant's.")] = None


class LimitsAnswer(Answer, kw_only=True):
    """`GET /v1/limits`: what holds for a run of the project, after merging."""

    tracking: Annotated[dict[str, LimitValue], Meta(description="By budget.")]
    requests: Annotated[dict[str, int], Meta(description="Sizes and counts of one request.")]


class BudgetUse(Answer, kw_only=True):
    """How a run stands with one budget."""

    used: Annotated[
        int | None, Meta(description="What is kept; null where each series or item is measured.")
    ]
    limit: Annotated[LimitValue, Meta(description="How much may be.")]
    dropped: Annotated[int, Meta(description="What it had no room for.")] = 0


class RunBudgets(Answer, kw_only=True):
    """`GET /v1/runs/{id}/budgets`."""

    budgets: Annotated[dict[Budget, BudgetUse], Meta(description="By budget.")]


class ProjectBudget(Answer, kw_only=True):
    """How the runs of a project stand with one budget, each of which may use all of it."""

    used: Annotated[
        int | None,
        Meta(
            description="The most that one run has used; null where each series or item is measured."
        ),
    ]
    limit: Annotated[
        LimitValue,
        Meta(description="How much a run may, unless it was made with a limit of its own."),
    ]
    dropped: Annotated[int, Meta(description="What it had no room for, of all runs.")]
    full_runs: Annotated[int, Meta(description="Of how many runs it dropped something.")]


class UsageRow(Answer, kw_only=True):
    """What one project takes."""

    project: Annotated[str, Meta(description="The project's name.")]
    runs: Annotated[int, Meta(description="Runs, those in the trash too.")]
    rows: Annotated[dict[str, int], Meta(description="Rows by kind.")]
    size_bytes: Annotated[dict[str, int], Meta(description="Bytes by kind; of points about.")]
    media_items: Annotated[int, Meta(description="Media items.")]
    media_bytes: Annotated[int, Meta(description="Bytes of their content.")]
    budgets: Annotated[
        dict[Budget, ProjectBudget],
        Meta(description="How near its runs are to what each of them may keep."),
    ]


class UsageAnswer(Answer, kw_only=True):
    """`GET /v1/usage`."""

    projects: Annotated[list[UsageRow], Meta(description="By name.")]
    measured: Annotated[datetime, Meta(description="When it was counted.")]


class RetentionRule(Answer, kw_only=True):
    """Which runs of a project are kept whatever their age."""

    number: Annotated[int, Meta(description="Names it in `mapi admin retention`.")]
    project: Annotated[str, Meta(description="Whose runs.")]
    filter: Annotated[str, Meta(description="Those that match; empty: all.")]
    best: Annotated[int | None, Meta(description="So many of them; null: all.")]
    sort: Annotated[str, Meta(description="In which order they are the best.")]
    kept_runs: Annotated[int, Meta(description="How many it keeps now.")]


class RetentionRow(Answer, kw_only=True):
    """What a pass of retention would delete of one project now."""

    project: Annotated[str, Meta(description="The project's name.")]
    purged_runs: Annotated[int, Meta(description="Runs whose days in the trash are over.")]
    pruned_runs: Annotated[
        int, Meta(description="Old runs that lose points with a step, log lines and spans.")
    ]
    kept_runs: Annotated[int, Meta(description="Old runs that would, and that a rule keeps.")]
    points: Annotated[int, Meta(description="Points.")]
    log_lines: Annotated[int, Meta(description="Log lines.")]
    spans: Annotated[int, Meta(description="Spans.")]
    media_items: Annotated[int, Meta(description="Media items.")]
    rows: Annotated[int, Meta(description="All of these and the purged runs themselves.")]
    size_bytes: Annotated[int, Meta(description="Of media exactly, of rows about.")]


class RetentionAnswer(Answer, kw_only=True):
    """`GET /v1/retention`: how long what is kept, and what goes now."""

    trash_days: Annotated[int, Meta(description="How long a deleted run can be restored.")]
    tracking_days: Annotated[
        int | None,
        Meta(
            description="How long after the end of a run its points, log lines and spans stay; null: for ever."
        ),
    ]
    media_days: Annotated[
        int | None,
        Meta(description="How long after the end of a run its media stay; null: for ever."),
    ]
    rules: Annotated[list[RetentionRule], Meta(description="By project and number.")]
    projects: Annotated[
        list[RetentionRow],
        Meta(
            description="By name; those of which a pass would delete or keep nothing are left out."
        ),
    ]
    measured: Annotated[datetime, Meta(description="When it was counted.")]


class AuditEntry(Answer, kw_only=True):
    """Who did what."""

    id: Annotated[int, Meta(description="Rises.")]
    time: Annotated[datetime, Meta(description="When.")]
    principal: Annotated[str, Meta(description="Who.")]
    action: Annotated[str, Meta(description="What was done, a noun and a verb: `run.purge`.")]
    object: Annotated[str, Meta(description="To what.")]
    fields: Annotated[dict[str, Any], Meta(description="With which values.")]


class AuditPage(Answer, kw_only=True):
    """`GET /v1/audit`."""

    entries: Annotated[list[AuditEntry], Meta(description="Newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Null at the end.")] = None


class CorrectionBody(Request, kw_only=True):
    """An authorised, audited delete: a point range, a series, a param or a media item."""

    reason: Annotated[str, Meta(min_length=1, max_length=2_000, description="Kept in the audit.")]
    key: Annotated[_Text | None, Meta(description="Of a series.")] = None
    labels: Annotated[dict[str, str], Meta(description="Of a series.")] = field(
        default_factory=dict
    )
    from_step: Annotated[
        Annotated[int, Meta(ge=-1, le=2**63 - 1)] | None, Meta(description="The first; null: all.")
    ] = None
    to_step: Annotated[
        Annotated[int, Meta(ge=-1, le=2**63 - 1)] | None, Meta(description="The last; null: all.")
    ] = None
    param: Annotated[_Text | None, Meta(description="A param's key.")] = None
    media: Annotated[_Text | None, Meta(description="A media item's id.")] = None


class Deleted(Answer, kw_only=True):
    """What a delete took away."""

    rows: Annotated[int, Meta(description="Rows of the log.")]
    freed_bytes: Annotated[int, Meta(description="Of media exactly, of rows about.")]


class ImportAnswer(Answer, kw_only=True):
    """`POST /v1/import`."""

    runs: Annotated[list[str], Meta(description="Ids, as they were exported.")]
    rows: Annotated[
        dict[str, int],
        Meta(description="What the file holds, by kind; what was here already is counted too."),
    ]
    warnings: Annotated[list[str], Meta(description="What a person should know.")] = field(
        default_factory=list
    )


class Health(Answer, kw_only=True):
    """`GET /readyz`."""

    state: Annotated[ComponentState, Meta(description="Of the whole.")]
    components: Annotated[dict[str, ComponentState], Meta(description="Of each part.")]
    version: Annotated[str, Meta(description="Of the server.")]
