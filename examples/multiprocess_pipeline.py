"""Four data producers and four trainers, eight processes in one run: who waits for whom?

Each process writes a stream of its own (``produce-0`` ... ``train-3``), so none needs to know of
the others' steps. A producer may be at most ``--staleness`` batches ahead of what the trainers took
from it. The spans show which side holds up the other::

    python examples/multiprocess_pipeline.py --produce-ms 10 --train-ms 40   # backpressure
    python examples/multiprocess_pipeline.py --produce-ms 40 --train-ms 10   # starvation

It prints the time by span, checks the bound against what was recorded, and writes a timeline for
https://ui.perfetto.dev.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import multiprocessing.connection
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import expr_tracker as et
from expr_tracker.trace import StreamTime, build_trace, summarize, write_trace

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

PROJECT = "pipeline"
PRODUCERS = TRAINERS = 4
#: Numbers in a batch: enough to be data, little enough to fit in a pipe.
BATCH_SIZE = 64
#: A side that waits for a tenth of its time is held up by the other; less is start and chance.
WAITING_SHARE = 0.10
#: How well the clocks of two processes agree.
CLOCK_TOLERANCE_US = 50.0
#: How often the progress line is drawn, in seconds.
PROGRESS_SECONDS = 0.1
#: What every matplotlib can draw, whatever else is installed.
PICTURES = (".png", ".pdf", ".svg")


class RefusedError(Exception):
    """The tracker or the system would not do what the command line asks for."""


@dataclass
class Pipeline:
    """What the processes share."""

    queue: Any
    slots: list[Any]
    """By producer: how many more batches it may put in."""
    taken: list[Any]
    """By producer: how many of its batches trainers took."""
    start_line: Any
    """All processes leave it together."""
    trained: Any
    """Batches trained in all."""
    refusals: Any
    """Why a process could not begin; the first reason is enough."""


@dataclass(frozen=True)
class Work:
    """What the command line asks for."""

    directory: str
    name: str
    produce_seconds: float
    train_seconds: float
    batches: int
    staleness: int


def produce(worker: int, pipeline: Pipeline, work: Work) -> None:
    """Read, decode and enqueue batches, in the stream ``produce-<worker>``."""
    with et.init(
        PROJECT, work.name, dir=work.directory, stream=f"produce-{worker}", capture=False
    ):
        generator = random.Random(worker)
        pipeline.start_line.wait()
        for number in range(work.batches):
            with et.span("produce", producer=worker, batch=number):
                with et.span("read"):
                    time.sleep(0.6 * work.produce_seconds)
                    raw = generator.randbytes(BATCH_SIZE)
                with et.span("decode"):
                    time.sleep(0.4 * work.produce_seconds)
                    batch = [byte / 255 for byte in raw]
                with et.span("enqueue", producer=worker, batch=number):
                    pipeline.slots[worker].acquire()
                    ahead = number + 1 - pipeline.taken[worker].value
                    pipeline.queue.put((worker, number, batch))
            et.log({"ahead": ahead})


def train(worker: int, pipeline: Pipeline, work: Work) -> None:
    """Take batches and step, in the stream ``train-<worker>``."""
    with et.init(PROJECT, work.name, dir=work.directory, stream=f"train-{worker}", capture=False):
        weight = 0.0
        pipeline.start_line.wait()
        while True:
            with et.span("step"):
                with et.span("wait_for_batch") as wait:
                    item = pipeline.queue.get()
                    if item is not None:
                        wait.set(producer=item[0], batch=item[1])
                if item is None:
                    return
                producer, _, batch = item
                # After the span: whoever gets this slot can be seen to get it later.
                with pipeline.taken[producer].get_lock():
                    pipeline.taken[producer].value += 1
                pipeline.slots[producer].release()
                with et.span("forward"):
                    time.sleep(0.4 * work.train_seconds)
                    error = sum(batch) / len(batch) - weight
                with et.span("backward"):
                    time.sleep(0.6 * work.train_seconds)
                    weight += 0.1 * error
            et.log({"loss": error * error})
            with pipeline.trained.get_lock():
                pipeline.trained.value += 1


def run_worker(target: Any, worker: int, *, pipeline: Pipeline, work: Work) -> None:
    """Run one side; what the tracker refuses goes to the parent, who says it once for all."""
    try:
        target(worker, pipeline, work)
    except (et.errors.TrackerError, OSError) as error:
        pipeline.refusals.put(reason(error))
        sys.exit(2)


def reason(error: Exception) -> str:
    """Return an error as one line; of the system's without its number."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def make_pipeline(context: BaseContext, staleness: int) -> Pipeline:
    """Return the shared state of one run."""
    return Pipeline(
        queue=context.SimpleQueue(),
        slots=[context.Semaphore(staleness) for _ in range(PRODUCERS)],
        taken=[context.Value("q", 0) for _ in range(PRODUCERS)],
        start_line=context.Barrier(PRODUCERS + TRAINERS),
        trained=context.Value("q", 0),
        refusals=context.SimpleQueue(),
    )


class Crew:
    """The eight processes: started together, waited for together, ended together if one dies."""

    def __init__(self, context: BaseContext, pipeline: Pipeline, work: Work) -> None:
        self._pipeline = pipeline
        self._progress = Progress(PRODUCERS * work.batches)

        def process(target: Any, name: str, worker: int) -> BaseProcess:
            made: BaseProcess = context.Process(  # type: ignore[attr-defined]
                target=run_worker,
                name=f"{name}-{worker}",
                args=(target, worker),
                kwargs={"pipeline": pipeline, "work": work},
            )
            return made

        self._producers = [process(produce, "produce", worker) for worker in range(PRODUCERS)]
        self._trainers = [process(train, "train", worker) for worker in range(TRAINERS)]
        self._everyone = self._producers + self._trainers

    def run(self) -> None:
        """Start the processes and return when all have ended.

        Raises:
            RuntimeError: one died; its traceback is on standard error.
            RefusedError: one could not begin.
        """
        try:
            self._start()
            self._wait(self._producers)
            for _ in self._trainers:
                self._pipeline.queue.put(None)
            self._wait(self._trainers)
        finally:
            self._progress.close()
            for process in self._everyone:
                if process.is_alive():
                    process.terminate()
            for process in self._everyone:
                if process.pid is not None:
                    process.join()

    def _start(self) -> None:
        # Ctrl-C reaches every process of the terminal. They inherit the block, so that it ends the
        # parent alone, who ends them in order; what came meanwhile comes with the unblocking.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for process in self._everyone:
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def _wait(self, awaited: list[BaseProcess]) -> None:
        while any(process.exitcode is None for process in awaited):
            running = [process.sentinel for process in self._everyone if process.exitcode is None]
            multiprocessing.connection.wait(running, timeout=PROGRESS_SECONDS)
            self._progress.show(self._pipeline.trained.value)
            for process in self._everyone:
                if process.exitcode:
                    if not self._pipeline.refusals.empty():
                        raise RefusedError(self._pipeline.refusals.get())
                    raise RuntimeError(f"{process.name} died: {_cause(process.exitcode)}.")


def _cause(exit_code: int) -> str:
    if exit_code < 0:
        return f"signal {signal.Signals(-exit_code).name}, exit code {exit_code}"
    return f"exit code {exit_code}"


class Progress:
    """One line that tells how far the trainers are; in a log file, a line each quarter."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._is_terminal = sys.stderr.isatty()
        self._quarter = 0

    def show(self, done: int) -> None:
        """Draw the line."""
        text = f"{done}/{self._total} batches trained"
        if self._is_terminal:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        elif 4 * done // self._total > self._quarter:
            self._quarter = 4 * done // self._total
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        if self._is_terminal:
            print(file=sys.stderr)


@dataclass(frozen=True)
class Side:
    """One half of the pipeline, as the report names it."""

    label: str
    root: str
    """Its root span."""
    waiting: str
    """The span in which it waits for the other half."""
    mark: str
    """What it suffers from when it waits."""


PRODUCING = Side("producers", "produce", "enqueue", "backpressure")
TRAINING = Side("trainers", "step", "wait_for_batch", "starvation")


def held_up_seconds(side: Side, spans: list[dict[str, Any]]) -> float:
    """Return how long a side waited for the other while both were at work.

    The first wait of a process is that for the pipeline to fill, and one that brings no batch is that
    for the others to end: neither says that the other side is too slow.
    """
    waits: dict[str, list[float]] = {}
    for span in sorted(spans, key=lambda span: span["ts"]):
        if span["name"] == f"{side.root}/{side.waiting}" and "producer" in span["args"]:
            waits.setdefault(span["cat"], []).append(span["dur"] / 1e6)
    return sum(sum(seconds[1:]) for seconds in waits.values())


def report(side: Side, times: StreamTime, spans: list[dict[str, Any]]) -> None:
    """Print where one side's time went, biggest first."""
    seconds = sum(path.seconds for path in times.paths if path.path == side.root)
    is_held_up = held_up_seconds(side, spans) >= WAITING_SHARE * seconds
    print(f"  {side.label}  {seconds:.2f}s in {side.root}")
    for path in times.paths:
        parent, _, name = path.path.rpartition("/")
        if parent == side.root:
            mark = f"  <- {side.mark}" if is_held_up and name == side.waiting else ""
            print(f"    {name:<15} {path.seconds:5.2f}s {path.share:6.1%}{mark}")
    print()


@dataclass(frozen=True)
class Depth:
    """How many batches of one producer were in the queue after a moment."""

    moment_us: float
    producer: int
    batches: int


def depths_from(spans: list[dict[str, Any]]) -> list[Depth]:
    """Return the queue's depth over time, by producer, from the spans that fill and empty it.

    A slot is given back after the span that took its batch, so the enqueue span that gets the slot
    ends later than that one, and a batch that is taken while its enqueue span still ends counts as
    none, not as less than none.
    """
    moves: list[tuple[float, int, int]] = []
    for span in spans:
        end = span["ts"] + span["dur"]
        name, about = span["name"], span["args"]
        if name == "produce/enqueue":
            moves.append((end, 1, about["producer"]))
        elif name == "step/wait_for_batch" and "producer" in about:
            moves.append((end - CLOCK_TOLERANCE_US, -1, about["producer"]))
    batches = [0] * PRODUCERS
    depths = []
    for moment, change, producer in sorted(moves):
        batches[producer] += change
        depths.append(Depth(moment, producer, max(batches[producer], 0)))
    return depths


def plot(spans: list[dict[str, Any]], depths: list[Depth], output: Path) -> None:
    """Draw the timeline's lanes, and the queue's depth below, as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MaxNLocator

    lanes = sorted({span["cat"] for span in spans}, reverse=True)
    names = [
        "produce/read", "produce/decode", "produce/enqueue",
        "step/wait_for_batch", "step/forward", "step/backward",
    ]  # fmt: skip
    figure, (timeline, queue) = plt.subplots(
        2, 1, figsize=(11, 6), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    for color, name in zip(plt.colormaps["tab10"].colors, names, strict=False):  # type: ignore[attr-defined]
        for lane, stream in enumerate(lanes):
            bars = [
                (span["ts"] / 1e6, span["dur"] / 1e6)
                for span in spans
                if span["cat"] == stream and span["name"] == name
            ]
            label = name.split("/")[1] if lane == 0 else None
            timeline.broken_barh(bars, (lane - 0.4, 0.8), facecolors=color, label=label)
    timeline.set_yticks(range(len(lanes)), lanes)
    timeline.legend(ncols=len(names), loc="upper center", bbox_to_anchor=(0.5, 1.12))
    depth, times, totals = [0] * PRODUCERS, [0.0], [0]
    for change in depths:
        depth[change.producer] = change.batches
        times.append(change.moment_us / 1e6)
        totals.append(sum(depth))
    queue.step(times, totals, where="post")
    queue.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    queue.set_ylabel("batches queued")
    queue.set_xlabel("seconds")
    figure.savefig(output)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Run the pipeline and say where the time went.

    Returns:
        0; 1 if the bound was broken, a process died or a file could not be written; 2 if the command
        line asks for what cannot be; 130 if it was interrupted.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    name = options.name or time.strftime(f"pipeline-%Y%m%d-%H%M%S-{os.getpid()}")
    directory = Path(options.dir) / PROJECT / name
    trace = options.trace or directory / "trace.json"
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib: pip install matplotlib")
    work = Work(
        directory=options.dir,
        name=name,
        produce_seconds=options.produce_ms / 1e3,
        train_seconds=options.train_ms / 1e3,
        batches=options.batches,
        staleness=options.staleness,
    )
    context: BaseContext = multiprocessing.get_context(options.start_method)
    began = time.time()
    try:
        for output in filter(None, (options.trace, options.plot)):
            _check_output(output, Path(options.dir))
        Crew(context, make_pipeline(context, work.staleness), work).run()
        # A run of that name may have been here before: only this one's spans.
        return show(directory, work, since=(began, None), trace=trace, picture=options.plot)
    except RefusedError as error:
        parser.error(str(error))
    except (RuntimeError, et.errors.TrackerError, OSError) as error:
        print(f"Error: {reason(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Interrupted. What was logged is in {directory}", file=sys.stderr)
        return 130


def show(
    directory: Path,
    work: Work,
    *,
    since: tuple[float, None],
    trace: Path,
    picture: Path | None,
) -> int:
    """Print where the time went, write the timeline and the picture, and check the bound."""
    spans = [
        event
        for event in build_trace(directory, time_range=since)["traceEvents"]
        if event["ph"] == "X"
    ]
    print(f"\n{directory}\n")
    sides = {side.label: side for side in summarize(directory, time_range=since, group=True)}
    report(PRODUCING, sides["produce"], spans)
    report(TRAINING, sides["train"], spans)

    count = write_trace(directory, trace, time_range=since, metrics=["ahead", "loss"])
    print(f"  {count} spans in {trace}: open it in https://ui.perfetto.dev")
    depths = depths_from(spans)
    if picture is not None:
        plot(spans, depths, picture)
        print(f"  picture in {picture}")
    return _check_bound(spans, depths, work)


def _check_bound(spans: list[dict[str, Any]], depths: list[Depth], work: Work) -> int:
    expected = PRODUCERS * work.batches
    trained = sum(span["name"] == "step/backward" for span in spans)
    highest = max((depth.batches for depth in depths), default=0)
    is_kept = highest <= work.staleness and trained == expected
    print(
        f"  {trained} of {expected} batches trained; a producer was at most {highest} ahead, "
        f"the bound is {work.staleness}: {'it holds' if is_kept else 'BROKEN'}"
    )
    return 0 if is_kept else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--produce-ms", type=_positive, default=10.0, help="to make a batch (default: %(default)s)"
    )
    parser.add_argument(
        "--train-ms",
        type=_positive,
        default=40.0,
        help="to train on a batch (default: %(default)s)",
    )
    parser.add_argument(
        "--batches", type=_count, default=12, help="of each producer (default: %(default)s)"
    )
    parser.add_argument(
        "--staleness",
        type=_count,
        default=2,
        help="batches that a producer may be ahead (default: %(default)s)",
    )
    parser.add_argument("--dir", default="runs", help="root of the runs (default: %(default)s)")
    parser.add_argument("--name", help="the run's name; made from the time by default")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="where the timeline goes (default: trace.json in the run)",
    )
    parser.add_argument(
        "--plot",
        type=_picture,
        metavar="FILE",
        help="a picture of the timeline, with matplotlib",
    )
    parser.add_argument(
        "--start-method",
        choices=multiprocessing.get_all_start_methods(),
        help="of processes (default: Python's)",
    )
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no time above 0")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count from 1")
    return number


def _check_output(path: Path, root: Path) -> None:
    """Refuse a file that could not be written, before the work and not after it.

    Raises:
        RefusedError: it could not. The folder of all runs is made by the first of them.
    """
    if not path.parent.is_dir() and path.parent != root:
        raise RefusedError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise RefusedError(f"{path} is a folder; name a file in it")
    place = path if path.exists() else path.parent
    if place.exists() and not os.access(place, os.W_OK):
        raise RefusedError(f"{path} may not be written")


def _picture(text: str) -> Path:
    if Path(text).suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text}: a picture ends with {', '.join(PICTURES)}")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
