"""What is written about a run besides what it measures, and what must never be written.

`configuration` makes a plain dict of whatever users configure with; `environment` looks at code,
packages and machine within a deadline (`programs` asks git); `redaction` takes secrets out of
both, on the rules of `secret_names`, `text_pairs` and `token_shapes`. Nothing here opens a file of
a run. Names are loaded when they are first used: a configuration needs no `subprocess`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expr_tracker.capture.configuration import config_from
    from expr_tracker.capture.environment import capture_environment
    from expr_tracker.capture.redaction import LineRedactor, redact, redact_argv, redact_text

__all__ = [
    "LineRedactor",
    "capture_environment",
    "config_from",
    "redact",
    "redact_argv",
    "redact_text",
]

_MODULES = {
    "LineRedactor": "redaction",
    "capture_environment": "environment",
    "config_from": "configuration",
    "redact": "redaction",
    "redact_argv": "redaction",
    "redact_text": "redaction",
}


# Not for type checkers: to them every misspelled name would be `Any`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value
