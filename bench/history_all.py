"""The whole history of a run of a million rows and five metrics, as each kind of table.

Promise, on a plain file: polars and Arrow at most 1.0 s, pandas 0.3 s more, dicts at most 4 s; the
peak memory of a table at most 3 times the file. With `--patched` every thousandth step was logged
twice and one value is NaN, so that rows have to be merged: polars and Arrow at most 1.6 s.

Each kind is read in a process of its own, whose peak memory the operating system counts
(`ru_maxrss`); what the imports took before is subtracted. `cpu_seconds` tells a slow reader from a
busy machine. The peer has no Arrow tables.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from peer import Target, arguments_of, peer_python, run_pair, run_program

WRITE = r"""
import json, pathlib
import expr_tracker as et

rows = settings["rows"]
et.init(project="bench", name="all", dir=settings["directory"], backends=[])
for index in range(rows):
    value = 1.0 / (index + 1)
    et.log({"train/loss": value, "train/lr": 0.001, "a": value, "b": value, "c": index})
    if settings["patched"] and index % 1000 == 500:
        et.log({"a": 0.5}, step=index, commit=True)
if settings["patched"]:
    et.log({"train/loss": float("nan"), "train/lr": 0.001, "a": 0.5, "b": 0.5, "c": 1})
et.finish()
files = pathlib.Path(settings["directory"]).rglob("metrics*.jsonl")
print()
print(json.dumps({"file_mb": sum(path.stat().st_size for path in files) / 2**20}))
"""

READ = r"""
import importlib, json, resource, sys, time
import expr_tracker as et

kind = settings["kind"]
for name in {"polars": ["polars"], "pandas": ["pandas"], "arrow": ["pyarrow"]}.get(kind, []):
    importlib.import_module(name)
unit = 1 if sys.platform == "darwin" else 2**10


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


before = peak_mb()
start, cpu_start = time.perf_counter(), time.process_time()
table = et.history(-1, run=settings["run"], output_type=kind)
seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
count = table.num_rows if kind == "arrow" else len(table)
assert count == settings["steps"], (count, settings["steps"])
peak = peak_mb() - before
print()
figures = {"seconds": seconds, "cpu_seconds": cpu_seconds}
print(json.dumps({**figures, "peak_mb": peak, "peak_of_file": peak / settings["file_mb"]}))
"""

KINDS = ("polars", "arrow", "pandas", "dict")
SECONDS_PLAIN = {"polars": 1.0, "arrow": 1.0, "pandas": 1.3, "dict": 4.0}
SECONDS_PATCHED = {"polars": 1.6, "arrow": 1.6, "pandas": 1.9, "dict": 4.6}


def written_by(python: Path, directory: Path, *, rows: int, patched: bool) -> dict[str, object]:
    """Write the run with one side and return what reading it needs to know."""
    settings = {"rows": rows, "patched": patched, "directory": str(directory)}
    file_mb = run_program(python, WRITE, settings)["file_mb"]
    run = str(directory / "bench" / "all")
    return {"run": run, "file_mb": file_mb, "steps": rows + int(patched)}


def main() -> None:
    """Run the bench, one line for each kind of table."""
    patched = "--patched" in sys.argv
    if patched:
        sys.argv.remove("--patched")
    options = arguments_of(__doc__, rows=1_000_000, rounds=1)
    limits = SECONDS_PATCHED if patched else SECONDS_PLAIN
    sides = {"ours": Path(sys.executable)}
    if not options.no_peer:
        sides["peer"] = peer_python()
    with tempfile.TemporaryDirectory(prefix="et-bench-") as folder:
        # Each side reads what it wrote itself.
        programs = {}
        for side, python in sides.items():
            settings = written_by(python, Path(folder, side), rows=options.rows, patched=patched)
            programs[side] = f"settings.update({settings!r})\n{READ}"
        for kind in KINDS:
            text = f"<= {limits[kind]} s at 1 M rows"
            targets = [Target("seconds", text, at_most=limits[kind], at_rows=1_000_000)]
            if kind != "dict":
                targets.append(Target("peak_of_file", "peak memory <= 3 x the file", at_most=3))
            run_pair(
                programs["ours"],
                "" if kind == "arrow" else programs.get("peer", ""),
                options.rounds,
                name=f"history_all_{kind}{'_patched' if patched else ''}",
                settings={"rows": options.rows, "kind": kind},
                targets=targets,
            )


if __name__ == "__main__":
    main()
