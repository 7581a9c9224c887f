"""Make the run folders of this version, with what reading them has to answer.

::

    python tests/conformance/make.py              # below tests/conformance/<version>/
    python tests/conformance/make.py --into DIR

Every folder ``<version>/<case>/run`` was written by the library of that version; ``answers.json``
beside it holds what `answers` got then. `test_conformance` reads all of them with the library as it
is now: a folder of an earlier version, once released, is never made again.

The same code makes the same bytes: a case runs in a process of its own, whose clock stands still
until the case turns it, and whose process id, host, random ids and threads have fixed names.
"""

from __future__ import annotations

import argparse
import base64
import json
import logging
import math
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

HERE: Final = Path(__file__).parent
STARTED: Final = 1_700_000_000.0
#: A picture of two pixels; what zlib makes of an array differs between its versions.
PIXELS: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg+A8AAQIBAEK+vGgAAAAASUVORK5CYII="
)
Row = dict[str, Any]


class Time:
    """The time of the process that makes a case; it passes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds

    def install(self) -> None:
        """Take the place of the clock, and fix what else differs from one process to the next."""
        time.time = lambda: STARTED + self.seconds
        time.time_ns = lambda: round((STARTED + self.seconds) * 1e9)
        time.monotonic = lambda: 1000.0 + self.seconds
        time.monotonic_ns = lambda: round((1000.0 + self.seconds) * 1e9)
        os.getpid = lambda: 4242
        os.uname = lambda: os.uname_result(("system", "host", "1", "1", "machine"))
        numbers = iter(range(1, 1000))
        uuid.uuid4 = lambda: uuid.UUID(int=next(numbers))

        from expr_tracker.spans import span

        span.get_ident = lambda: 1  # type: ignore[attr-defined]


# --- the cases: each writes one run, as a program would ------------------------------------------


def plain(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    for step in range(12):
        clock.passes(0.25)
        et.log({"train/loss": 1 / (1 + step), "epoch": step // 4})
    et.finish()


def values(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    et.log({"loss": 1.5, "count": 1, "flag": True, "note": "ä日😀\n\"'", "none": None})
    clock.passes(1)
    et.log({"loss": math.nan, "count": 2**53 + 1, "hist": [1, 2.5, math.inf], "note": "\ud800"})
    et.log({"loss": -math.inf, "count": 2**70, "deep": {"a": {"b": [None, math.nan]}}})
    et.log({"loss": "diverged", "flag": 7, "": 0, 'od"d/na~me': math.inf, "a,b": 0.1 + 0.2})
    et.log({"count": 0.5, "none": [], "flag": False})
    et.finish()


def patches(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    for step in (0, 1, 5, 3, -2, 3, 9):
        clock.passes(1)
        et.log({"loss": float(step)}, step=step, commit=True)
    et.log({"acc": 0.5}, step=1, commit=True)
    et.log({"loss": math.nan, "acc": 0.75}, step=5, commit=True)
    et.log({"a": 1}, commit=False)
    et.log({"b": 2})
    et.finish()


def producers(run: str, clock: Time) -> None:
    import expr_tracker as et

    for stream, rank in ((None, "0"), ("data", "0"), (None, "1"), ("data", "2")):
        os.environ["RANK"] = rank
        et.init("conformance", run_dir=run, capture=False, stream=stream, config={"rank": rank})
        for step in range(3):
            clock.passes(0.5)
            et.log({"ms" if stream else "loss": step + 0.5 + int(rank)})
        et.finish()


def attempts(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    for step in range(6):
        clock.passes(1)
        et.log({"loss": float(step)})
    et.finish(exit_code=1)
    clock.passes(10)
    et.init("conformance", run_dir=run, capture=False, resume_step=3)
    for _ in range(4):
        clock.passes(1)
        et.log({"loss": 0.25})
    et.rewind(5)
    et.log({"loss": 0.125, "back": True})
    et.finish()
    clock.passes(10)
    et.init("conformance", run_dir=run, capture=False)
    et.log({"loss": 0.0})
    et.finish()


def rotation(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False, max_file_bytes=400)
    for step in range(20):
        clock.passes(1)
        et.log({"loss": step / 8, "text": "x" * step})
    et.log({"late": 1}, step=2, commit=True)
    et.finish()


def torn_tail(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    for step in range(3):
        clock.passes(0.25)
        et.log({"loss": float(step)})
    with Path(run, "metrics.jsonl").open("ab") as file:
        file.write(b'{"_step":3,"_time":1700000000.75,"lo')
    os._exit(0)


def damage(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    et.log({"loss": 0.0})
    with Path(run, "metrics.jsonl").open("ab") as file:
        file.write(b'no line of ours\n\0\0\0\n{"_step":0}{"_step":0}\n\n{"foreign":1}\n')
    clock.passes(0.25)
    et.log({"loss": 1.0})
    os._exit(0)


def open_row(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    et.log({"loss": 1.0})
    et.log({"loss": 0.5, "bad": math.nan}, step=4)
    clock.passes(5)
    # The keeper writes them in one round, in this order.
    kept = [Path(run, "metrics.open.json"), Path(run, "metrics.meta.json")]
    waiting = threading.Event()
    for _ in range(1000):
        if all(path.exists() for path in kept):
            os._exit(0)
        waiting.wait(0.01)
    os._exit(1)


def spans(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False, span_count=True)
    for step in range(2):
        with et.span("step", epoch=step, bad=math.nan):
            clock.passes(0.125)
            with et.span("load/file"):
                clock.passes(0.5)
            try:
                with et.span("train", plugins=[lambda _: {"tokens": 7}]):
                    clock.passes(0.25)
                    int("seen")
            except ValueError:
                pass
        et.log({"loss": 1.0})
    et.finish()


def documents(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init(
        "conformance",
        run_dir=run,
        capture=False,
        config={"lr": 0.1, "deep": {"a": [1, None]}, "bad": math.inf},
        notes="a note",
        tags=["x", "y"],
    )
    et.define_metric("loss", unit="nats", goal="minimize")
    et.log({"loss": 2.0, "bad": math.nan})
    et.summary()["best"] = 1.0
    clock.passes(1)
    et.log({"loss": 3.0, "best": 9.0})
    et.finish()


def media(run: str, clock: Time) -> None:
    import expr_tracker as et

    et.init("conformance", run_dir=run, capture=False)
    et.log({"picture": et.Image(base64.b64decode(PIXELS))})
    clock.passes(1)
    et.log({"table": et.Table(["a", "b"], [[1, "x"], [math.nan, None]])})
    et.finish()


def artifacts(run: str, clock: Time) -> None:
    import expr_tracker as et

    made = Path(run).parent / "model.txt"
    et.init("conformance", run_dir=run, capture=False)
    for content in ("one", "two"):
        made.write_text(content)
        clock.passes(1)
        et.log_artifact(made, name="model", type="model", aliases=[content])
    made.unlink()
    et.use_artifact("model:one")
    et.log({"loss": 1.0})
    et.finish()


CASES: Final[dict[str, Callable[[str, Time], None]]] = {
    case.__name__: case
    for case in (
        plain, values, patches, producers, attempts, rotation, torn_tail, damage, open_row, spans,
        documents, media, artifacts,
    )
}  # fmt: skip

# --- the answers ----------------------------------------------------------------------------------

QUESTIONS: Final[tuple[Row, ...]] = (
    {"n": -1},
    {"n": 3},
    {"n": -1, "step_range": [2, 6]},
    {"n": 2, "step_range": [None, 5], "include_meta": False},
    {"n": -1, "metrics": ["*loss", "absent"], "fill_missing": True},
    {"n": -1, "metrics": ["acc", "flag", "back"], "dropna": True},
    {"n": -1, "attempt": "all"},
    {"n": -1, "attempt": 1},
    {"n": -1, "stream": "*"},
)


def strict(value: Any) -> Any:
    """Return a value as JSON holds it: what it has no number for stands as ``{"float": NAME}``."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    return [strict(item) for item in value] if isinstance(value, (list, tuple)) else value


def answers(run: Path) -> Row:
    """Return what the library that is imported says of a run."""
    from expr_tracker.history import list_attempts, list_streams, read_history, status_of
    from expr_tracker.store.documents import read_document
    from expr_tracker.trace import build_trace

    found: Row = {"streams": list_streams(run), "status": status_of(run), "questions": []}
    found["attempts"] = [
        [each.number, each.from_step, each.time, each.pid, each.status, each.end_time]
        for each in list_attempts(run)
    ]
    for question in QUESTIONS:
        # Only where it makes a difference, so that the files stay short.
        rows = read_history(run, **question)
        if question == {"n": -1} or rows != read_history(run, -1):
            types = read_history(run, output_type="arrow", **question).schema
            found["questions"].append(
                {
                    "question": question,
                    "rows": strict(rows),
                    "types": {field.name: str(field.type) for field in types},
                }
            )
    if any(run.glob("spans*.jsonl")):
        found["trace"] = strict(build_trace(run))
    for path in sorted(run.glob("*.json")):
        if path.name.partition(".")[0] in {"summary", "config", "about"}:
            found[path.name] = strict(read_document(path))
    if (run / "artifacts").is_dir():
        found["files"] = {
            str(path.relative_to(run)): path.read_text()
            for path in sorted(run.glob("artifacts/*/v*/*"))
        }
    return found


def version() -> str:
    """Return the version whose format this is, without what changes no format."""
    import expr_tracker as et

    return ".".join(et.__version__.split(".")[:2])


def make(into: Path, name: str) -> None:
    """Make one case below a folder."""
    case = into / name
    (case / "run").mkdir(parents=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ET_", "RANK"))}
    command = [sys.executable, __file__, "--case", name, "--into", str(case / "run")]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the case {name} failed:\n{done.stderr}")
    write_answers(case)


def write_answers(case: Path) -> None:
    """Write what reading a case answers now."""
    text = json.dumps(answers(case / "run"), ensure_ascii=False, indent=1, allow_nan=False)
    # Older lines may hold half a surrogate pair, which is read as what it is.
    (case / "answers.json").write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="by default the folder of this version")
    parser.add_argument("--case", choices=CASES, help="write this case's run, nothing else")
    options = parser.parse_args()
    logging.getLogger("expr_tracker").setLevel(logging.ERROR)  # a torn tail is what it is for
    if options.case:
        clock = Time()
        clock.install()
        CASES[options.case](str(options.into), clock)
        return
    into = options.into or HERE / version()
    for name in CASES:
        shutil.rmtree(into / name, ignore_errors=True)
        make(into, name)


if __name__ == "__main__":
    main()
