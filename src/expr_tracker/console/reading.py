r"""What a run printed, read back: as it was, or as a terminal would show it in the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import RunNotFoundError
from expr_tracker.store.files import RunFiles, StreamKey, stream_keys
from expr_tracker.store.names import check_stream
from expr_tracker.store.producers import existing_run
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.sidecar import warn_of_lost_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["collapse", "console_file", "read_console"]

#: What moves or erases: a return, a backspace, "erase in line" and other control sequences
#: (ECMA-48, 8.3.41 EL; 5.4). Runs of anything else are text.
_CONTROL: Final = re.compile(
    r"(?P<move>[\r\b])|\x1b\[(?P<erase>[012]?)K"
    r"|\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,1024}(?:\x07|\x1b\\)|[@-Z^_=>])?"
)


def collapse(text: str) -> str:
    r"""Return what a terminal shows of ``text`` in the end: the last state of a progress bar.

    Carriage returns and backspaces move back, what follows writes over; "erase in line" erases. A
    text without returns and backspaces is returned as it is, colours included; in others, colours
    and other control sequences are left out, because what they coloured is written over.
    """
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_collapsed(line) for line in text.split("\n"))


def _collapsed(line: str) -> str:
    # "\r\n" and a return at the very end change nothing that is seen.
    if "\r" not in line.rstrip("\r") and "\b" not in line:
        return line.rstrip("\r")
    shown: list[str] = []
    cursor = position = 0
    for match in _CONTROL.finditer(line):
        cursor = _write_over(shown, cursor, line[position : match.start()])
        position = match.end()
        if match["move"] == "\r":
            cursor = 0
        elif match["move"] == "\b":
            cursor = max(0, cursor - 1)
        elif match["erase"] is not None:
            _erase(shown, cursor, match["erase"])
    _write_over(shown, cursor, line[position:])
    return "".join(shown)


def _write_over(shown: list[str], cursor: int, run: str) -> int:
    if run and cursor > len(shown):
        shown += " " * (cursor - len(shown))
    shown[cursor : cursor + len(run)] = run
    return cursor + len(run)


def _erase(shown: list[str], cursor: int, extent: str) -> None:
    """Erase to the end, from the start, or all of the line; the cursor stays where it is."""
    if extent in {"", "0"}:
        del shown[cursor:]
    elif extent == "2" or cursor >= len(shown):
        shown.clear()
    else:
        # With the place of the cursor itself (ECMA-48, 8.3.41).
        shown[: cursor + 1] = " " * (cursor + 1)


def console_file(run: Path, stream: str | None = None, rank: int | None = None) -> Path:
    """Return the console file of one stream of a run.

    Args:
        run: the run's directory, or a console file (returned as it is).
        stream: the stream; ``None`` is the default producer.
        rank: the rank; ``None`` is the lowest.

    Raises:
        NameRefusedError: the stream's name cannot be one.
        RunNotFoundError: there is no such run, or nothing of that stream and rank was captured.
    """
    run = existing_run(run)
    if not run.is_dir():
        _check_console_file(run)
        return run
    wanted = check_stream(stream)
    keys = stream_keys(run, "console")
    for key in keys:
        if key.stream == wanted and rank in {None, key.rank}:
            return RunFiles(run, key).console
    if not keys:
        raise RunNotFoundError(
            f"{run}: nothing was captured. Use et.init(..., capture_console=True)."
        )
    names = ", ".join(key.label for key in keys)
    raise RunNotFoundError(
        f"{run}: no captured output of that stream and rank. There is: {names}."
    )


def _check_console_file(path: Path) -> None:
    """Refuse a file that is no console file by its name nor by anything in it."""
    if StreamKey.from_file(path.name, "console") is not None:
        return
    if any(isinstance(row.get("text"), str) and "source" in row for row in whole_rows(path)):
        return
    raise RunNotFoundError(
        f"{path} is not a console file: it has no output. Pass a run's directory, or one of its "
        "files console*.jsonl."
    )


def read_console(path: Path, *, raw: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the lines of a console file: ``_time``, ``source`` and ``text``.

    Unreadable and foreign lines are left out.

    Args:
        path: the file.
        raw: keep carriage returns; otherwise each text is collapsed.

    Raises:
        FileNotFoundError: there is no such file.
    """
    rows = whole_rows(path)
    warn_of_lost_parts(path)
    for row in rows:
        if not isinstance(row.get("text"), str):
            continue
        if not raw:
            row["text"] = collapse(row["text"])
        yield row
