"""Errors of one file or one run, as a report names them.

What a file holds may be whatever any program wrote. Where it meets a defect of ours, that is a problem of
this file as well: it is told with its type and where it came up, and costs the other files nothing.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from expr_tracker.errors import TrackerError
from expr_tracker.texts import reason_of, type_name
from mapi.errors import InvalidError, MapiError
from mapi.sdk.errors import ApiError

__all__ = ["is_foreseen", "said"]


def is_foreseen(error: Exception) -> bool:
    """Say whether an error is one that files, disks and servers cause, and no defect of ours."""
    return isinstance(error, (TrackerError, OSError, MapiError))


def said(error: Exception) -> str:
    """Return an error as a report says it, which names the file where that helps."""
    if not is_foreseen(error):
        frames = traceback.extract_tb(error.__traceback__)
        where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        return f"{type_name(error)}{where}: {reason_of(error)} (unexpected: please report it)"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    if isinstance(error, (InvalidError, ApiError)):
        # Whoever said which project wrote no body that a pointer could lead into.
        match error.faults:
            case [fault] if fault.pointer == "/project":
                return fault.message
    return str(error)
