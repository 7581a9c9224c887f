"""`et.log` while a backend is fed whose server is gone, hangs, fails, or answers.

Promise: with a server that is dead in whichever way, p99 is under 5 ms and within twice of what it is
without a backend; `finish` keeps its limit. A row is logged every half millisecond, so that the
attempts to reach the server fall between the calls as they do in a training loop. The last program is
fed to a `mapi serve` that works, which promises nothing. ``--rounds`` repeats all of it; there is no peer.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from peer import Figures, Target, arguments_of, medians, report, run_program
from servers.platform import platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = r"""
import array, json, os, time
import expr_tracker as et

rows, clock = settings["rows"], time.perf_counter_ns
arguments = {"mapi": {"url": settings["url"], "token": settings["token"]}}
backends = ["mapi"] if settings["url"] else []
et.init(project="bench", name="outage", dir=root, backends=backends, backend_kwargs=arguments)
# What init does once (looking at the environment, say) is not what is measured here.
time.sleep(1)
took = array.array("q", bytes(8 * rows))
for index in range(rows):
    row = {"train/loss": 1 / (index + 1), "train/lr": 0.001, "a": 1.5, "b": 2.5, "c": 3.5}
    start = clock()
    et.log(row)
    took[index] = clock() - start
    time.sleep(0.0005)
start = clock()
et.finish()
figures = {"p50_us": microseconds(took, 0.5), "p99_us": microseconds(took, 0.99),
           "max_us": microseconds(took, 1.0), "finish_s": (clock() - start) / 1e9}
print()
print(json.dumps(figures))
"""

#: What a dead server does with a connection that was taken up.
_DEADS: dict[str, Callable[[socket.socket, threading.Event], object]] = {
    "silent": lambda _, ends: ends.wait(600),
    "failing": lambda connection, _: connection.sendall(
        b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"
    ),
}


def drip(connection: socket.socket, ends: threading.Event) -> None:
    """Send a byte a second."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not ends.wait(1):
        connection.sendall(b" ")


@contextlib.contextmanager
def dead_server(talk: Callable[[socket.socket, threading.Event], object]) -> Iterator[str]:
    """Yield the address of a server that reads requests and then does that."""
    ends = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                while connection.recv(1 << 16):
                    talk(connection, ends)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=serve, args=[connection], daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ends.set()
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def nobody() -> Iterator[str]:
    """Yield an address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


def measured(rows: int, url: str, token: str) -> Figures:
    """Return the figures of one program."""
    return run_program(Path(sys.executable), PROGRAM, {"rows": rows, "url": url, "token": token})


def one_round(rows: int, root: Path) -> dict[str, Figures]:
    """Return the figures of each kind of server, and of none."""
    found = {"without": measured(rows, "", "")}
    with nobody() as url:
        found["refused"] = measured(rows, url, "none")
    for name, talk in {**_DEADS, "dripping": drip}.items():
        with dead_server(talk) as url:
            found[name] = measured(rows, url, "none")
    with platform(root / "home") as server:
        found["live"] = measured(rows, server.url, server.token)
    return found


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=10_000, rounds=1)
    rounds: list[dict[str, Figures]] = []
    with tempfile.TemporaryDirectory(prefix="et-bench-") as directory:
        # The database's own user walks through it.
        Path(directory).chmod(0o755)
        rounds += [one_round(options.rows, Path(directory)) for _ in range(options.rounds)]
    figures = {name: medians([one[name] for one in rounds]) for name in rounds[0]}
    ours: Figures = {}
    targets: list[Target] = []
    for name, found in figures.items():
        ours |= {f"{name}_{figure}": value for figure, value in found.items()}
        if name in {"without", "live"}:
            continue
        ours[f"{name}_ratio"] = round(found["p99_us"] / figures["without"]["p99_us"], 2)
        targets += [
            Target(f"{name}_p99_us", f"{name}: p99 <= 5 ms", at_most=5_000),
            Target(
                f"{name}_ratio",
                f"{name}: p99 <= 2 x of no backend",
                at_most=2,
                at_rows=10_000,
            ),
            Target(f"{name}_finish_s", f"{name}: finish <= 10 s", at_most=10.5),
        ]
    report(
        "backend_outage",
        options.rounds,
        settings={"rows": options.rows},
        ours=ours,
        peer={},
        targets=targets,
    )


if __name__ == "__main__":
    main()
