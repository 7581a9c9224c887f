"""The index of a metrics file as the document that stands in its sidecar.

Sidecar, schema 5::

    {"schema": 5, "size": BYTES, "lines": N, "rows": N,
     "last_step": STEP, "max_step": STEP, "attempt_max_step": STEP,
     "last_time": SECONDS, "sorted": BOOL, "has_duplicate_steps": BOOL, "unreadable": N,
     "tail": CRC32_OF_THE_LAST_64_BYTES, "block_lines": LINES_OF_A_BLOCK,
     "open_block": [LOWEST_STEP, LINE, OFFSET, HIGHEST_STEP],
     "index": [[LOWEST_STEP, LINE, OFFSET, HIGHEST_STEP], ...],
     "attempts": [[NUMBER, FROM_STEP, OFFSET, TIME, PID, STATUS, END_TIME,
                   CLOCK_BACK_SECONDS], ...],
     "parts": [[NUMBER, BYTES, COVERED_BYTES, LINES, ROWS, LOWEST_STEP, HIGHEST_STEP], ...],
     "live_size": BYTES_OF_THE_LIVE_FILE,
     "checkpoints": [[OFFSET, CRC32_OF_THE_BYTES_BEFORE], ...], "missing_rows": N,
     "changed_lines": [FIRST, LAST] | null,
     "check": CRC32_OF_THE_MEMBERS_ABOVE, "run": {...}}

``parts`` are the set-aside parts (`expr_tracker.store.parts`), those included that were missing
when it was written; a reader reports which of them are gone. It may be older than the newest part.
``missing_rows`` are rows that an earlier sidecar covered and the file has no longer, ``changed_lines``
those among which bytes were found changed before the file was rewritten. They and ``checkpoints``
(`expr_tracker.store.checkpoints`) may be absent.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.index import Attempt, StreamIndex
from expr_tracker.store.lines import encode_finite
from expr_tracker.store.parts import PART_NUMBER_MAX, Part
from expr_tracker.store.seconds import seconds_in

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.store.index import Zone

__all__ = ["document_of", "index_from", "size_said_before"]

SCHEMA: Final = 5


def document_of(index: StreamIndex, run: Row, tail: int) -> Row:
    """Return the sidecar's contents.

    Args:
        index: what to write.
        run: project, name and start of the run, for people who open the file.
        tail: `tail_checksum` of the covered bytes.
    """
    closed, of_open = index.zones()
    document: Row = {
        "schema": SCHEMA,
        "size": index.size,
        "lines": index.lines,
        "rows": index.rows,
        "last_step": index.last_step,
        "max_step": index.max_step,
        "attempt_max_step": index.attempt_max_step,
        "last_time": index.last_time,
        "sorted": index.is_sorted,
        "has_duplicate_steps": index.has_repeats,
        "unreadable": index.unreadable,
        "tail": tail,
        "block_lines": index.block_lines,
        "open_block": list(of_open),
        "index": [list(block) for block in closed],
        "attempts": [list(vars(attempt).values()) for attempt in index.attempts],
        "parts": [list(vars(part).values()) for part in index.parts],
        "live_size": index.live_size,
        "checkpoints": [list(one) for one in index.checkpoints],
        "missing_rows": index.missing_rows,
        "changed_lines": index.changed_lines,
    }
    return {**document, "check": _checksum(document), "run": run}


def index_from(document: Row) -> StreamIndex:
    """Return the index that a sidecar holds.

    Raises:
        ValueError: it is of another schema or not whole.
    """
    if document.get("schema") != SCHEMA:
        raise ValueError(f"schema {document.get('schema')!r}, not {SCHEMA}")
    if document.get("check") != _checksum(document):
        raise ValueError("its members are not those that were written")
    try:
        index = StreamIndex(
            size=_count(document["size"]),
            lines=_count(document["lines"]),
            rows=_count(document["rows"]),
            last_step=_step(document["last_step"]),
            max_step=_step(document["max_step"]),
            attempt_max_step=_step(document["attempt_max_step"]),
            last_time=_seconds(document["last_time"]),
            is_sorted=bool(document["sorted"]),
            has_repeats=bool(document["has_duplicate_steps"]),
            unreadable=_count(document["unreadable"]),
            attempts=[_attempt(*attempt) for attempt in document["attempts"]] or [Attempt()],
            parts=[_part(*part) for part in document["parts"]],
            live_size=_count(document["live_size"]),
            checkpoints=[
                (_count(offset), _count(checksum))
                for offset, checksum in document.get("checkpoints", [])
            ],
            missing_rows=_count(document.get("missing_rows", 0)),
            changed_lines=_lines(document.get("changed_lines")),
        )
        index.take_zones(
            [_zone(zone) for zone in document["index"]],
            _zone(document["open_block"]),
            _count(document["block_lines"]),
        )
    except (KeyError, TypeError, IndexError, OverflowError) as error:
        if is_from_signal(error):
            raise
        raise ValueError(f"not a whole index: {error!r}") from None
    return index


def size_said_before(document: Row) -> int | None:
    """Return the bytes that a sidecar of an older version covers; ``None``: it is of none.

    Those versions had other members, and a ``size`` in every one.
    """
    schema, size = document.get("schema"), document.get("size")
    is_older = type(schema) is int and 0 < schema < SCHEMA
    return size if is_older and type(size) is int and size >= 0 else None


def _checksum(document: Row) -> int:
    """Return the CRC-32 of the members: a damaged offset would hide rows without a word."""
    return zlib.crc32(
        encode_finite({k: v for k, v in document.items() if k not in {"check", "run"}})
    )


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is no count")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _zone(members: Any) -> Zone:
    low, first, start, high = members
    return _whole(low), _count(first), _count(start), _whole(high)


def _lines(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    first, last = value
    return _count(first), _count(last)


def _step(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _count_or_none(value: Any) -> int | None:
    return None if value is None else _count(value)


def _seconds(value: Any) -> float | None:
    seconds = seconds_in(value)
    if seconds is None and value is not None:
        raise TypeError(f"{value!r} is no number of seconds")
    return seconds


def _attempt(  # noqa: PLR0913, PLR0917 - the members of one list of the sidecar
    number: Any, from_step: Any, offset: Any, time: Any, pid: Any, status: Any, end_time: Any,
    clock_back: Any,
) -> Attempt:  # fmt: skip
    if status is not None and not isinstance(status, str):
        raise TypeError(f"{status!r} is no status")
    return Attempt(
        number=_whole(number),
        from_step=_step(from_step),
        offset=_count(offset),
        time=_seconds(time),
        pid=_step(pid),
        status=status,
        end_time=_seconds(end_time),
        clock_back=_seconds(clock_back),
    )


def _part(  # noqa: PLR0913, PLR0917 - as `_attempt`
    number: Any, size: Any, covered: Any, lines: Any, rows: Any, low: Any, high: Any
) -> Part:
    if not 1 <= _count(number) <= PART_NUMBER_MAX:
        raise ValueError(f"{number} is no number of a part")
    return Part(
        number=number,
        size=_count(size),
        covered=_count(covered),
        lines=_count_or_none(lines),
        rows=_count_or_none(rows),
        low=_step(low),
        high=_step(high),
    )
