"""Small JSON documents that are replaced whole: summary, config, environment, index, journal.

A reader sees the old document or the new one, never a part: the new one is written beside it and
renamed over it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from expr_tracker.row import Row, with_nonfinite, without_nonfinite
from expr_tracker.surrogates import storable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["beside", "read_document", "replacing", "write_document", "write_once"]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside ``path`` to write to; what is there at the end takes its place whole.

    Of several that do this at the same time each replaces the file, and the last one stays.

    Raises:
        OSError: it could not be put in place. Then, and on an error within, what stood at ``path``
            stays and nothing is left beside it.
    """
    temporary = beside(path)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_document(path: Path, document: Row, *, indent: int | None = 2) -> None:
    """Replace ``path`` by ``document`` in one step.

    Non-finite numbers are kept the way lines keep them (``_nonfinite``).

    Raises:
        OSError: the document could not be written; the old one stays.
    """
    content = _content(document, indent)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, document: Row) -> Row:
    """Write ``document`` unless ``path`` exists; return what stands there in the end.

    Of processes that do this at the same time exactly one wins, and all return its document.

    Raises:
        OSError: neither written nor readable.
    """
    temporary = beside(path)
    content = _content(document, None)
    try:
        temporary.write_bytes(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:
            # File systems without hard links: O_EXCL still lets one process win.
            try:
                with path.open("xb") as file:
                    file.write(temporary.read_bytes())
            except FileExistsError:
                pass
    finally:
        temporary.unlink(missing_ok=True)
    return read_document(path) or document


def read_document(path: Path) -> Row | None:
    """Return the document at ``path``; ``None`` where it is missing or not a JSON object."""
    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return with_nonfinite(document) if isinstance(document, dict) else None


def _content(document: Row, indent: int | None) -> bytes:
    strict = without_nonfinite(document)
    try:
        return json.dumps(strict, ensure_ascii=False, indent=indent).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(storable(strict), ensure_ascii=False, indent=indent).encode() + b"\n"


def beside(path: Path) -> Path:
    """Return a temporary name that no other process or thread uses, on this host or another."""
    own = f"{os.getpid()}.{threading.get_ident()}.{os.urandom(4).hex()}"
    return path.with_name(f".{path.name}.{own}.new")
