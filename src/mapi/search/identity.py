"""How the identifiers of runs and experiments are spelled: a prefix and a UUID."""

from __future__ import annotations

import re
import uuid
from typing import Final

__all__ = ["EXPERIMENT_PREFIX", "RUN_PREFIX", "canonical_id", "uuid_from_text"]

RUN_PREFIX: Final = "run_"
EXPERIMENT_PREFIX: Final = "exp_"
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")


def uuid_from_text(text: str, prefix: str) -> uuid.UUID | None:
    """Return the UUID of an identifier, given with its prefix or without, or ``None``."""
    own = text.removeprefix(prefix)
    return uuid.UUID(own) if _UUID.fullmatch(own) else None


def canonical_id(text: str, prefix: str) -> str:
    """Return an identifier in the one spelling that answers have; any other text as it is."""
    found = uuid_from_text(text, prefix)
    return text if found is None else f"{prefix}{found}"
