"""A program of each side in turns, and one JSON line for each peer with figures, ratios, targets."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from peer import Figures, Target, medians, report, run_program

from servers.mlflow import mlflow, mlflow_python, mlflow_version, postgres_address, sqlite_address
from servers.platform import Platform, platform
from servers.processes import busy_seconds

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

#: What the tables of points take, indexes included: those of rows, or those of compacted chunks.
TABLES_BYTES = (
    "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r'"
    " and relnamespace = 'mapi'::regnamespace and relname like 'run_metric_{}%'"
)


@dataclass(frozen=True)
class Side:
    """A server, and the interpreter whose programs talk to it.

    Attributes:
        name: how it is called in the line.
        python: of the program.
        is_ours: whether the program is ours.
        settings: what the program needs to find the server.
        pid: of the server.
        points_bytes: returns what its points take on disk now, indexes included.
        chunks_bytes: returns what those take that were compacted; MLflow has none.
    """

    name: str
    python: Path
    is_ours: bool
    settings: dict[str, Any]
    pid: int
    points_bytes: Callable[[], int]
    chunks_bytes: Callable[[], int] = int


@dataclass(frozen=True)
class Pair:
    """The same work, once for our client and once for MLflow's.

    Each program finds ``settings`` and prints a JSON object of figures last. It may end with
    ``units``, how much work it did: the server's processor time is reported per unit.
    """

    name: str
    ours: str
    mlflow: str


@contextlib.contextmanager
def both(options: Namespace) -> Iterator[list[Side]]:
    """Run our server and, unless ``--no-peer``, MLflow's on SQLite and on our PostgreSQL."""
    with (
        tempfile.TemporaryDirectory(prefix="et-bench-") as directory,
        contextlib.ExitStack() as undo,
    ):
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        ours = undo.enter_context(platform(root / "home"))
        sides = [side_of(ours)]
        if not options.no_peer:
            python = mlflow_python()
            stores: tuple[tuple[str, str, Callable[[], int]], ...] = (
                ("sqlite", sqlite_address(root), lambda: file_bytes(root)),
                (
                    "postgresql",
                    postgres_address(ours.superuser_url()),
                    lambda: answered(ours, "select pg_database_size('mlflow')"),
                ),
            )
            for name, address, size in stores:
                theirs = undo.enter_context(mlflow(root / name, address))
                settings = {"url": theirs.url}
                called = f"mlflow {mlflow_version()} on {name}"
                sides.append(
                    Side(
                        called,
                        python,
                        is_ours=False,
                        settings=settings,
                        pid=theirs.pid,
                        points_bytes=size,
                    )
                )
        yield sides


def file_bytes(folder: Path) -> int:
    """Return what MLflow's SQLite file takes, with what stands beside it."""
    return sum(path.stat().st_size for path in folder.glob("mlflow.db*"))


def answered(ours: Platform, query: str) -> int:
    """Return the one number that a query of our database's owner answers."""
    with psycopg.connect(ours.superuser_url(), autocommit=True) as connection:
        found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return int(found[0])


def side_of(ours: Platform) -> Side:
    """Return our server as a side."""
    return Side(
        "ours",
        Path(sys.executable),
        is_ours=True,
        settings={"url": ours.url, "token": ours.token, "home": str(ours.home)},
        pid=ours.pid,
        points_bytes=lambda: answered(ours, TABLES_BYTES.format("points")),
        chunks_bytes=lambda: answered(ours, TABLES_BYTES.format("chunks")),
    )


def take_turns(
    sides: Sequence[Side], pair: Pair, rounds: int, *, settings: Mapping[str, object]
) -> dict[str, Figures]:
    """Run the programs round by round; return each side's medians by its name.

    Who goes first changes, so that a machine that warms up or slows down favours nobody.
    """
    found: dict[str, list[Figures]] = {side.name: [] for side in sides}
    for turn in range(rounds):
        for side in sides if turn % 2 == 0 else reversed(sides):
            code = pair.ours if side.is_ours else pair.mlflow
            busy = busy_seconds(side.pid)
            figures = run_program(side.python, code, {**settings, **side.settings})
            busy = busy_seconds(side.pid) - busy
            units = figures.pop("units", None)
            if units:
                figures["server_us_per_unit"] = 1e6 * busy / units
            found[side.name].append(figures)
    return {name: medians(one) for name, one in found.items()}


def report_turns(
    sides: Sequence[Side],
    pair: Pair,
    rounds: int,
    *,
    settings: Mapping[str, object],
    targets: list[Target],
) -> None:
    """Run the programs in turns; print one line for each peer, or one without."""
    figures = take_turns(sides, pair, rounds, settings=settings)
    ours = figures.pop("ours")
    for name, peer in figures.items() or [("", {})]:
        report(
            pair.name,
            rounds,
            settings={**settings, **({"peer": name} if name else {})},
            ours=ours,
            peer=peer,
            targets=targets,
        )
