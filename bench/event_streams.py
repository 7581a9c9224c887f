"""200 open event streams while a client logs: how late the frames are. MLflow's server has none.

Twenty runs have their streams open while one client logs 100 points a call into one run after the
other, without a pause. A point carries the time at which it was sent; a frame names the newest time of
each series it tells of. What lies between them is the frame's delay, the client's way and the five
frames a second that a run has included. Promise: 500 ms at the 95th percentile. ``--rows`` is the
number of calls.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from peer import Figures, Target, arguments_of, report
from servers.platform import Platform, platform

import mapi

STREAMS = 200
RUNS = 20
#: A frame may hold the heads of many series.
LINE_BYTES_MAX = 1 << 22

WRITER = """
import sys, time
import mapi
url, token, calls, *runs = sys.argv[1:]
with mapi.Client(url, token=token) as api:
    for number in range(int(calls)):
        now = time.time_ns() // 1000
        first = number // len(runs) * 100
        api.runs.log_series(
            runs[number % len(runs)], "loss", [0.5] * 100,
            steps=list(range(first, first + 100)), times=[now] * 100,
        )
"""


def delays_ms(line: bytes, now: float) -> list[float]:
    """Return how late a line of a stream tells of each series, in ms; [] where it is no such frame."""
    if not line.startswith(b"data: "):
        return []
    frame = json.loads(line.removeprefix(b"data: "))
    heads = frame.get("series", []) if frame["type"] == "tracking" else []
    return [1000 * (now - datetime.fromisoformat(head["last_time"]).timestamp()) for head in heads]


async def follow(
    where: Platform, run: str, *, opened: asyncio.Semaphore, found: list[float]
) -> None:
    """Read a run's stream until it is cancelled."""
    address = urlsplit(where.url)
    reader, writer = await asyncio.open_connection(
        address.hostname, address.port, limit=LINE_BYTES_MAX
    )
    try:
        request = f"GET /v1/runs/{run}/events HTTP/1.1\r\nHost: {address.netloc}\r\n"
        writer.write(f"{request}Authorization: Bearer {where.token}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(f"no stream: {head!r}")
        # It begins with where things stand; only then does it wait for what is new.
        while not (await reader.readline()).startswith(b"data: "):
            pass
        opened.release()
        while line := await reader.readline():
            found += delays_ms(line, time.time())
    finally:
        writer.close()


async def measure(where: Platform, runs: list[str], *, calls: int) -> Figures:
    """Open the streams, log, and return the delays of the frames that came."""
    opened, found = asyncio.Semaphore(0), list[float]()
    readers = [
        asyncio.create_task(follow(where, runs[at % len(runs)], opened=opened, found=found))
        for at in range(STREAMS)
    ]
    try:
        for _ in readers:
            await asyncio.wait_for(opened.acquire(), 60)
        start = time.perf_counter()
        command = [sys.executable, "-c", WRITER, where.url, where.token, str(calls), *runs]
        process = await asyncio.create_subprocess_exec(*command)
        assert await process.wait() == 0
        took = time.perf_counter() - start
        await asyncio.sleep(1)  # what is still on its way
    finally:
        for reader in readers:
            reader.cancel()
        ended = await asyncio.gather(*readers, return_exceptions=True)
    failures = [one for one in ended if not isinstance(one, asyncio.CancelledError)]
    if failures:
        raise RuntimeError(f"streams ended by themselves: {failures}")
    ordered = sorted(found)
    return {
        "p50_ms": round(ordered[len(ordered) // 2], 1),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 1),
        "frames": len(ordered),
        "points_per_second": round(100 * calls / took),
    }


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=2_000, rounds=1)
    with tempfile.TemporaryDirectory(prefix="et-bench-") as directory:
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        with platform(root / "home") as where:
            with mapi.Client(where.url, token=where.token) as api:
                runs = [api.runs.create(name=f"run {at}").id for at in range(RUNS)]
            figures = asyncio.run(measure(where, runs, calls=options.rows))
    report(
        "event_streams",
        1,
        settings={"rows": options.rows, "streams": STREAMS, "runs": RUNS},
        ours=figures,
        peer={},
        targets=[Target("p95_ms", "<= 500 ms", at_most=500, at_rows=1_000)],
    )


if __name__ == "__main__":
    main()
