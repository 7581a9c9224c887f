"""Every closed list of words of the platform; errors, the search language and the docs read it here.

A word that is not in its list is refused with the list. To add one is additive, to take one away
breaks stored rows and clients.
"""

from enum import StrEnum

__all__ = [
    "Budget",
    "CandidateKind",
    "ComponentState",
    "EventKind",
    "ExportFormat",
    "FrameType",
    "LifeKind",
    "LogLevel",
    "MediaFormat",
    "ProblemCode",
    "Role",
    "RunKind",
    "RunStatus",
    "Scope",
    "SeriesStat",
    "Source",
    "StopCode",
    "WarningCode",
]


class RunKind(StrEnum):
    """What a run is."""

    FIT = "fit"
    SCORE = "score"
    NODE = "node"
    WORKFLOW = "workflow"
    EXTERNAL = "external"  # logged from outside: a notebook, a script, `et`, an MLflow client


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # it went silent; it comes back when it speaks

    @property
    def is_final(self) -> bool:
        """Whether nothing more is expected of the run; its log can still be written."""
        return self in {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED}


class CandidateKind(StrEnum):
    """What could stand at a place of an unfinished search."""

    FIELD = "field"  # an attribute, or the beginning of a family: `metrics.`
    WORD = "word"  # a keyword, a statistic, a member of a closed list
    SIGN = "sign"
    METRIC = "metric"
    PARAM = "param"
    TAG = "tag"
    LABEL = "label"
    VALUE = "value"


class LogLevel(StrEnum):
    """How much a log line matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Source(StrEnum):
    """Which way a value came into the log."""

    RUNNER = "runner"  # signed by a runner and verified
    API = "api"


class MediaFormat(StrEnum):
    """What a media item is; decided by its first bytes, never by what the sender says."""

    PNG = "png"
    JPEG = "jpeg"
    TABLE = "table"


class Role(StrEnum):
    """What a member may do in a project; each includes the ones before."""

    VIEWER = "viewer"
    RUNNER = "runner"
    ADMIN = "admin"


class Scope(StrEnum):
    """What a token may do."""

    READ = "runs:read"
    WRITE = "runs:write"
    EXECUTE = "runs:execute"  # a runner host: only /v1/runner
    ADMIN = "admin"


class ProblemCode(StrEnum):
    """What went wrong, for programs; the SDK's exceptions mirror it."""

    BODY_UNREADABLE = "BODY_UNREADABLE"  # 400: no JSON
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    PARAM_CONFLICT = "PARAM_CONFLICT"
    STATE_CONFLICT = "STATE_CONFLICT"
    NAME_TAKEN = "NAME_TAKEN"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED"  # 428: If-Match has to be sent
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    ADDRESS_TOO_LONG = "ADDRESS_TOO_LONG"
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    HOST_UNKNOWN = "HOST_UNKNOWN"  # 421: the Host header names another server
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    SCHEMA_INVALID = "SCHEMA_INVALID"
    IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
    RATE_LIMITED = "RATE_LIMITED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"  # a defect of ours


class WarningCode(StrEnum):
    """What a run is warned of."""

    TRACKING_BUDGET = "TRACKING_BUDGET"
    MEDIA_BUDGET = "MEDIA_BUDGET"
    MEDIA_REJECTED = "MEDIA_REJECTED"


class LifeKind(StrEnum):
    """What happened in the life of a run."""

    STATUS = "status"
    RENAMED = "renamed"
    MOVED = "moved"  # into an experiment, out of it, or into another one
    TRASHED = "trashed"
    RESTORED = "restored"
    PRUNED = "pruned"  # retention deleted points, spans, log lines or media for their age
    WARNING = "warning"


class Budget(StrEnum):
    """What a run may keep; the words under which limits are set and drops are counted."""

    SERIES = "series"
    POINTS_PER_SERIES = "points_per_series"
    POINTS = "points"
    PARAMS = "params"
    TAGS = "tags"
    LOG_LINES = "log_lines"
    LOG_BYTES = "log_bytes"
    SPANS = "spans"
    SPAN_BYTES = "span_bytes"
    MEDIA_ITEM_BYTES = "media_item_bytes"
    MEDIA_ITEMS = "media_items"
    MEDIA_BYTES = "media_bytes"


class SeriesStat(StrEnum):
    """What a summary says of a series; a filter names it after the series."""

    LAST = "last"
    MIN = "min"
    MAX = "max"
    COUNT = "count"
    MEAN = "mean"
    NONFINITE = "nonfinite"
    MIN_STEP = "min_step"
    MAX_STEP = "max_step"


class FrameType(StrEnum):
    """What a frame of an event stream tells of."""

    STATUS = "status"
    TRACKING = "tracking"
    LOG = "log"
    WARNING = "warning"
    DELETED = "deleted"  # the last one


class EventKind(StrEnum):
    """What a signed report of a runner holds."""

    STATUS = "status"
    PROGRESS = "progress"
    METRICS = "metrics"
    PARAMS = "params"
    TAGS = "tags"
    LOG = "log"
    MEDIA = "media"
    OUTPUT = "output"
    RESULT = "result"


class StopCode(StrEnum):
    """Why the process in the box ended."""

    OK = "OK"
    MODEL_ERROR = "MODEL_ERROR"
    SANDBOX_VIOLATION = "SANDBOX_VIOLATION"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    CPU_LIMIT = "CPU_LIMIT"
    WALL_LIMIT = "WALL_LIMIT"
    DISK_LIMIT = "DISK_LIMIT"
    CANCELLED = "CANCELLED"
    LOST = "LOST"


class ExportFormat(StrEnum):
    """What an export is written as."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


class ComponentState(StrEnum):
    """How a part of the server is."""

    READY = "ready"
    FAILED = "failed"
