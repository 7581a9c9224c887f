"""The server's log: one JSON object a line, on standard error.

No line holds a secret or a body: requests are told by their route's template (identifiers and
filters are users' words), and the text of an error is cut, with tokens taken out. Of what the
database says only the first sentence is kept, because its details quote rows.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
import psycopg

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["JsonLines", "write_log_to"]

_TOKEN: Final = re.compile(r"mapi_([0-9a-f]{12})_[A-Za-z0-9_-]+")
_PASSWORD: Final = re.compile(r"(password=|://[^:/@\s]+:)[^@\s]+", re.IGNORECASE)
#: An error may quote what was sent.
_MESSAGE_LENGTH_MAX: Final = 500
_FRAMES_MAX: Final = 30
#: What a line may carry besides its message.
_FIELDS: Final = (
    "request_id",
    "method",
    "route",
    "status",
    "duration_ms",
    "received_bytes",
    "sent_bytes",
    "client",
    "tenant",
    "token",
)


class JsonLines(logging.Formatter):
    """Writes a record as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _without_secrets(record.getMessage()),
        }
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            line |= _told(record.exc_info[1])
        return msgspec.json.encode(line).decode()


def write_log_to(stream: TextIO | None = None, *, level: str) -> logging.Handler:
    """Send the program's log to a stream.

    Args:
        stream: by default standard error.
        level: ``info`` or ``warning``.

    Returns:
        What was added to the loggers.
    """
    writer = logging.StreamHandler(stream or sys.stderr)
    writer.setFormatter(JsonLines())
    for name, lowest in (
        ("mapi", level.upper()),
        ("uvicorn.error", "WARNING"),
        ("psycopg.pool", "ERROR"),
    ):
        logger = logging.getLogger(name)
        logger.addHandler(writer)
        logger.setLevel(lowest)
        logger.propagate = False
    return writer


def _told(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_MAX:]
    said = error.diag.message_primary or "" if isinstance(error, psycopg.Error) else str(error)
    return {
        "error": type(error).__qualname__,
        "reason": _without_secrets(said),
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }


def _without_secrets(text: str) -> str:
    text = _TOKEN.sub(r"mapi_\1_***", text)
    return _PASSWORD.sub(r"\1***", text)[:_MESSAGE_LENGTH_MAX]
