"""Measure us beside the peer, in the same minutes on the same machine.

The peer is `expr-tracker` 0.4.1, the release whose API ours keeps. It is installed from the package
index into an environment of its own, in a cache outside of this project, and only used through its
documented functions. A bench is two small programs (mostly the same text), run in turns in
processes of their own; each prints one JSON object of figures as its last line. The medians of the
rounds, their ratio and the target become one JSON line.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PEER = "expr-tracker==0.4.1"
#: Both sides must meet the same versions, or the frame library would be measured, not the tracker.
SHARED_PACKAGES = ("numpy", "pandas", "polars")
#: Nothing here should take longer; a hang must not hold a CI machine.
PROGRAM_TIMEOUT_SECONDS = 900

#: What every program begins with.
PRELUDE = """
def microseconds(took, share):
    ordered = sorted(took)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000
"""

Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    """What the project promises about one figure."""

    figure: str
    #: The promise in words, with its number.
    text: str
    #: Ours must not be above this, in the figure's unit.
    at_most: float | None = None
    #: The peer's figure divided by ours must not be below this.
    ratio_at_least: float | None = None
    #: The number of rows that the promise speaks of; a shorter run can neither keep nor break it.
    at_rows: int = 0


def cache_directory() -> Path:
    """Return where the peer's environment is kept between runs."""
    named = os.environ.get("ET_BENCH_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "expr-tracker-bench"


def peer_python() -> Path:
    """Return the interpreter of the peer's environment, which is made on the first call."""
    wanted = [PEER] + [f"{name}=={importlib.metadata.version(name)}" for name in SHARED_PACKAGES]
    environment = cache_directory() / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = environment / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return python
    print(f"bench: installing {' '.join(wanted)} into {environment}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, *wanted], check=True)
    stamp.write_text(json.dumps(wanted))
    return python


def run_program(python: Path, code: str, settings: Mapping[str, object]) -> Figures:
    """Run one program in a process of its own and return its figures.

    Args:
        python: The interpreter, which decides whose `expr_tracker` is imported.
        code: The program; it finds `settings`, `root` (an empty directory of its own) and
            `microseconds(nanoseconds, share)`, a quantile, and prints a JSON object last.
        settings: Numbers for the program.

    Raises:
        RuntimeError: It failed, or its last line is no JSON object.
    """
    with tempfile.TemporaryDirectory(prefix="et-bench-") as root:
        prelude = f"settings = {dict(settings)!r}\nroot = {root!r}\n{PRELUDE}"
        # PYTHONPATH could make both sides import the same tracker. Byte code is kept, as pip does when
        # it installs: else one side would be compiled anew by every process, the other not.
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("ET_", "WANDB_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"))
        }
        done = subprocess.run(
            [python, "-c", prelude + code],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROGRAM_TIMEOUT_SECONDS,
            check=False,
        )
    try:
        figures = json.loads(done.stdout.splitlines()[-1])
        return {name: float(value) for name, value in figures.items()}
    except (IndexError, ValueError, AttributeError) as error:
        raise RuntimeError(
            f"a bench program under {python} ended with exit code {done.returncode} and without "
            f"figures; it said:\n{done.stderr[-2000:]}"
        ) from error


def medians(rounds: list[Figures]) -> Figures:
    """Return the median of each figure that every round has."""
    return {name: round(statistics.median(one[name] for one in rounds), 4) for name in rounds[0]}


def verdict(
    ours: Figures, ratio: Figures, target: Target, *, rows: float = math.inf
) -> dict[str, object]:
    """Say whether a promise was kept, and by which figure.

    It is neither kept nor broken (None) when the run was shorter than the promise speaks of, or the
    promise is about the ratio and the peer did not run.
    """
    kept: bool | None = True
    if target.at_most is not None:
        kept = ours[target.figure] <= target.at_most
    if target.ratio_at_least is not None and kept:
        found = ratio.get(target.figure)
        kept = None if found is None else found >= target.ratio_at_least
    if rows < target.at_rows:
        kept = None
    return {
        "figure": target.figure,
        "target": target.text,
        "ours": ours[target.figure],
        "ratio": ratio.get(target.figure),
        "kept": kept,
    }


def run_pair(
    ours_code: str,
    peer_code: str,
    rounds: int,
    *,
    name: str,
    settings: Mapping[str, object],
    targets: list[Target],
) -> dict[str, object]:
    """Run both programs in turns, print one JSON line and return it.

    Args:
        ours_code: The program for our interpreter, which is this one.
        peer_code: The program for the peer's interpreter; "" leaves the peer out.
        rounds: How often each runs; the medians are reported.
        name: The bench's name in the line.
        settings: Passed to both programs.
        targets: What is promised.
    """
    sides: dict[str, list[Figures]] = {"ours": [], "peer": []}
    theirs = peer_python() if peer_code else None
    for turn in range(rounds):
        order = [("ours", Path(sys.executable), ours_code)]
        if theirs is not None:
            order.append(("peer", theirs, peer_code))
        # Who goes first changes, so that a machine that warms up or slows down favours nobody.
        for side, python, code in order if turn % 2 == 0 else reversed(order):
            sides[side].append(run_program(python, code, settings))
    ours = medians(sides["ours"])
    peer = medians(sides["peer"]) if sides["peer"] else {}
    return report(name, rounds, settings=settings, ours=ours, peer=peer, targets=targets)


def report(
    name: str,
    rounds: int,
    *,
    settings: Mapping[str, object],
    ours: Figures,
    peer: Figures,
    targets: list[Target],
) -> dict[str, object]:
    """Print the JSON line of a measurement and return it; `peer` is empty where it did not run."""
    # Every figure is a cost, so more is worse and the ratio says how many times ours fits.
    ratio = {key: round(peer[key] / ours[key], 2) for key in ours if key in peer and ours[key] > 0}
    rows = float(str(settings.get("rows", math.inf)))
    line = {
        "bench": name,
        "rounds": rounds,
        "settings": dict(settings),
        "ours": ours,
        "peer": peer,
        "ratio": ratio,
        "targets": [verdict(ours, ratio, target, rows=rows) for target in targets],
    }
    print(json.dumps(line), flush=True)
    return line


def arguments_of(
    documentation: str | None,
    *,
    rows: int | None,
    rounds: int,
    add: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """Parse the arguments that every bench takes.

    Args:
        documentation: The script's docstring, shown by ``--help``.
        rows: The default of ``--rows``; None where the bench logs none and ignores it.
        rounds: The default of ``--rounds``.
        add: Adds what only this bench takes.
    """
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rows_help = argparse.SUPPRESS if rows is None else "rows logged (default: %(default)s)"
    parser.add_argument("--rows", type=int, default=rows, help=rows_help)
    parser.add_argument(
        "--rounds",
        type=int,
        default=rounds,
        help="how often each side runs; medians are reported (default: %(default)s)",
    )
    parser.add_argument("--no-peer", action="store_true", help="measure our side only")
    if add is not None:
        add(parser)
    return parser.parse_args()
