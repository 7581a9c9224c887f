"""What a process and all below it cost, read from ``/proc``; and waiting for a server to answer."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

#: A server that needs longer to answer or to end is broken.
PATIENCE_SECONDS = 120


def below(pid: int) -> list[int]:
    """Return a process and all that it started, down to the last."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name stands in brackets and may hold anything, brackets too.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def busy_seconds(pid: int) -> float:
    """Return the processor time of a process and all below it, of those that ended too."""
    ticks = 0
    for one in below(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Return what a process and all below it hold: what several share counts once (PSS)."""
    total_kb = 0
    for one in below(pid):
        with contextlib.suppress(OSError):
            total_kb += pss_kb(Path(f"/proc/{one}/smaps_rollup").read_text())
    return round(total_kb / 1024, 1)


def pss_kb(text: str) -> int:
    """Return the proportional set size that an ``smaps_rollup`` states, in kB."""
    found = re.search(r"^Pss:\s+(\d+) kB$", text, re.MULTILINE)
    return 0 if found is None else int(found[1])


def free_port() -> int:
    """Return a port of loopback that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[str], *, log: Path) -> None:
    """Return as soon as an address answers 200.

    Raises:
        RuntimeError: the process ended before, or does not answer; with the end of its log.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with (
            contextlib.suppress(OSError),  # an error of urllib is one too
            urllib.request.urlopen(url, timeout=5) as answer,  # noqa: S310 - ours, on loopback
        ):
            if answer.status == 200:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise RuntimeError(f"no answer from {url} (exit code {process.poll()}):\n{said}")
        time.sleep(0.02)


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a process behind the block, and whatever it leaves behind."""
    try:
        yield
    finally:
        family = below(process.pid)
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        finally:
            for one in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, 9)
