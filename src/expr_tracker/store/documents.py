"""Small JSON documents that are replaced whole: summary, config, environment, index, journal.

A reader sees the old document or the new one, never a part: the new one is written beside it and
renamed over it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.nonfinite import with_nonfinite, without_nonfinite
from expr_tracker.store.lines import is_out_of_stack
from expr_tracker.store.regular import read_regular
from expr_tracker.surrogates import storable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from expr_tracker.row import Row

__all__ = [
    "NO_ROOM",
    "beside",
    "damaged_of",
    "mend",
    "read_document",
    "replacing",
    "write_document",
    "write_once",
]

#: The system's answers to a write that has no room: on the disk, or for the user.
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_OF_THE_FILE: Final = NO_ROOM | {errno.EFBIG}
#: How long a file that another process has just made may take to be filled, where it could not be
#: linked into its place whole.
_WRITING_SECONDS_MAX: Final = 1.0
_POLL_SECONDS: Final = 0.01


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside ``path`` to write to; what is there at the end takes its place whole.

    Of several that do this at the same time each replaces the file, and the last one stays.

    Raises:
        OSError: it could not be put in place; it names ``path``, not the file beside it. Then, and on
            an error within, what stood at ``path`` stays and nothing is left beside it.
    """
    temporary = beside(path)
    try:
        with _named(path, temporary):
            yield temporary
            temporary.replace(path)
    except BaseException:
        with suppress_own(OSError):
            temporary.unlink()
        raise


@contextlib.contextmanager
def _named(path: Path, temporary: Path) -> Iterator[None]:
    """Make an error of the system name the file that was asked for, not the one beside it or none.

    Without a name, only a lack of room and a size beyond the limit are the file's for sure: all else may
    be that of one it is made of.
    """
    try:
        yield
    except OSError as error:
        is_nameless = error.filename is None and error.errno in _OF_THE_FILE
        if error.filename not in {temporary, str(temporary)} and not is_nameless:
            raise
        if is_from_signal(error):
            raise
        # A new one: of two names the second cannot be taken back, "'/a/b' -> None".
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_document(path: Path, document: Row, *, indent: int | None = 2) -> None:
    """Replace ``path`` by ``document`` in one step.

    Non-finite numbers are kept the way lines keep them (``_nonfinite``).

    Raises:
        OSError: the document could not be written; the old one stays.
    """
    content = _content(document, indent)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, document: Row) -> Row | None:
    """Write ``document`` unless ``path`` exists; return what stands there in the end.

    Of processes that do this at the same time exactly one wins, and all return its document.

    Returns:
        The document; ``None`` where what stands there is none: `mend` is for that.

    Raises:
        OSError: neither written nor readable.
    """
    # On a full disk, what is there is no reason to fail. What is damaged may be half written, below.
    if (found := read_document(path)) is not None:
        return found
    temporary = beside(path)
    content = _content(document, None)
    seconds = 0.0
    try:
        with _named(path, temporary):
            temporary.write_bytes(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError as error:
            if is_from_signal(error):
                raise
            # File systems without hard links: O_EXCL still lets one process win.
            try:
                with path.open("xb") as file:
                    _fill_or_remove(file, path, content)
            except FileExistsError:
                seconds = _WRITING_SECONDS_MAX
    finally:
        with suppress_own(OSError):
            temporary.unlink()
    return _when_written(path, document, seconds)


def _fill_or_remove(file: BinaryIO, path: Path, content: bytes) -> None:
    """Write what a file that was just made holds; a part of it would pass for damage."""
    try:
        with _named(path, path):
            file.write(content)
            file.flush()
    except OSError:
        with suppress_own(OSError):
            path.unlink()
        raise


def _when_written(path: Path, document: Row, seconds: float) -> Row | None:
    """Return what stands at ``path`` once it is a document, for which ``seconds`` are waited."""
    until = time.monotonic() + seconds
    while True:
        try:
            found = _decoded(read_regular(path))
        except FileNotFoundError:  # it was removed meanwhile
            return document
        if found is not None or time.monotonic() >= until:
            return found
        time.sleep(_POLL_SECONDS)


def mend(path: Path, document: Row) -> Row:
    """Put ``document`` in the place of a file that is none; return what stands there in the end.

    Of processes that do this at the same time exactly one wins, and all return its document. What
    stood there is kept in a file beside it (`damaged_of`), unless it was empty.

    Raises:
        OSError: it could not be written.
    """
    agreed = path.with_name(f".{path.name}.mended")
    chosen = write_once(agreed, document)
    damaged = read_regular(path)
    # Whoever removes `agreed` has put it in place before: another process may be through with it.
    found = _decoded(damaged)
    if found is None:
        found = document if chosen is None else chosen
        if damaged:
            # Renamed into its place: written to, a pipe there would wait and a link lead elsewhere.
            with replacing(damaged_of(path)) as temporary:
                temporary.write_bytes(damaged)
        write_document(path, found, indent=None)
    agreed.unlink(missing_ok=True)
    return found


def damaged_of(path: Path) -> Path:
    """Return where `mend` keeps what stood at ``path``."""
    return path.with_name(f"{path.name}.damaged")


def read_document(path: Path) -> Row | None:
    """Return the document at ``path``; ``None`` where it is missing or not a JSON object."""
    try:
        return _decoded(read_regular(path))
    except OSError as error:
        if is_from_signal(error):
            raise
        return None


def _decoded(content: bytes) -> Row | None:
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        # A document is not damaged because the caller's stack is nearly used up.
        if is_from_signal(error) or is_out_of_stack(error, content):
            raise
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
