"""A real training: handwritten digits, a data worker of its own, evaluation, mistakes, curves.

One process prepares batches (stream ``data``: its own steps, its own spans), one trains a small
neural network (the default producer). The evaluation runs at its own cadence and joins the rows of
the training steps. At the end a table shows the digits that the network reads wrong, as images, and
the curves are read back from the history and drawn.

    python examples/train_digits.py --plot runs/digits.png
"""

import argparse
import importlib.util
import multiprocessing
import queue
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import expr_tracker as et

BATCH = 64
CLASSES = np.arange(10)


def load() -> tuple[Any, Any, Any, Any]:
    """Return training and held-out images ``[N, 8, 8]`` in [0, 1] and their labels ``[N]``."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = digits.images / 16.0
    return train_test_split(  # type: ignore[no-any-return]
        images, digits.target, test_size=0.3, random_state=0, stratify=digits.target
    )


def make_batches(batches: Any, count: int, arguments: argparse.Namespace) -> None:
    """Put ``count`` augmented batches into the queue: the data worker's process."""
    random = np.random.default_rng(1)
    with et.init(
        project="digits",
        name=arguments.name,
        dir=arguments.dir,
        stream="data",
        resume_step=0,
        capture=False,
    ):
        images, _, labels, _ = load()
        for _ in range(count):
            with et.span("produce"):
                with et.span("pick"):
                    chosen = random.integers(len(images), size=BATCH)
                with et.span("augment"):
                    batch = images[chosen] * random.uniform(0.8, 1.2, size=(BATCH, 1, 1))
                    batch = np.clip(batch + random.normal(0, 0.08, batch.shape), 0, 1)
                with et.span("enqueue"):
                    batches.put((batch.reshape(BATCH, -1), labels[chosen]))
            et.log({"data/ink": batch.mean(), "data/images": BATCH})


def start(worker: Any) -> None:
    """Start the data worker with Ctrl-C blocked: it reaches the training, which ends the worker."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        worker.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def train(batches: Any, worker: Any, arguments: argparse.Namespace) -> None:
    """Train on the queue's batches and evaluate every ``--eval-every`` steps."""
    from sklearn.neural_network import MLPClassifier

    _, held_out, _, truth = load()
    flat = held_out.reshape(len(held_out), -1)
    warnings.filterwarnings("error", "Training interrupted by user")
    model = MLPClassifier(hidden_layer_sizes=(48,), learning_rate_init=1e-2, random_state=0)
    for step in range(arguments.steps):
        with et.span("step"):
            with et.span("wait_for_batch"):
                images, labels = next_batch(batches, worker)
            with et.span("fit"):
                fit(model, images, labels)
        if (step + 1) % arguments.eval_every == 0 or step + 1 == arguments.steps:
            with et.span("evaluate"):
                odds = model.predict_proba(flat)
            right = odds.argmax(axis=1) == truth
            loss = -np.log(np.clip(odds[np.arange(len(truth)), truth], 1e-12, 1)).mean()
            et.log({"eval/accuracy": right.mean(), "eval/loss": loss}, step=step)
            show_progress(step + 1, arguments.steps, right.mean())
        et.log({"train/loss": model.loss_}, step=step, commit=True)
    log_mistakes(model.predict_proba(flat), held_out, truth, step=arguments.steps - 1)


def fit(model: Any, images: Any, labels: Any) -> None:
    """Fit one batch; of Ctrl-C scikit-learn makes a warning, and would train on."""
    try:
        model.partial_fit(images, labels, classes=CLASSES)
    except UserWarning as warning:
        raise KeyboardInterrupt from warning


def next_batch(batches: Any, worker: Any) -> Any:
    """Return the next batch; a worker that died is an error, not a wait for ever."""
    while True:
        try:
            return batches.get(timeout=1)
        except queue.Empty:
            if not worker.is_alive():
                sys.exit(f"the data worker ended with {worker.exitcode} before the training did")


def log_mistakes(odds: Any, images: Any, truth: Any, *, step: int) -> None:
    """Log the digits that were read wrong, the most confident mistakes first."""
    read = odds.argmax(axis=1)
    wrong = np.flatnonzero(read != truth)
    wrong = wrong[np.argsort(-odds[wrong, read[wrong]])][:24]
    table = et.Table(
        columns=["digit", "truth", "read as", "confidence"],
        data=[
            [et.Image(images[i]), int(truth[i]), int(read[i]), float(odds[i, read[i]])]
            for i in wrong
        ],
    )
    # A later value of the last step: a second line of it, merged when read.
    et.log({"eval/mistakes": table}, step=step, commit=True)


def show_progress(done: int, steps: int, accuracy: float) -> None:
    """Draw one line that says how far the training is."""
    width = 30
    bar = "#" * (done * width // steps)
    end = "\n" if done == steps or not sys.stderr.isatty() else "\r"
    print(f"[{bar:<{width}}] {done}/{steps} accuracy {accuracy:.3f}", end=end, file=sys.stderr)


def draw(run: Path, output: Path) -> None:
    """Draw the curves from the run's own files."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    train_rows = et.history(-1, run=run, metrics=["train/loss"], dropna=True)
    eval_rows = et.history(
        -1, run=run, metrics=["eval/loss", "eval/accuracy"], dropna=True, fill_missing=True
    )
    steps = [row["_step"] for row in eval_rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.plot(
        [row["_step"] for row in train_rows],
        [row["train/loss"] for row in train_rows],
        color="#9aa7b8",
        linewidth=1,
        label="train/loss",
    )
    left.plot(steps, [row["eval/loss"] for row in eval_rows], color="#c2410c", label="eval/loss")
    left.set(xlabel="step", ylabel="loss", yscale="log", title="Loss")
    left.legend(frameon=False)
    accuracy = [row["eval/accuracy"] for row in eval_rows]
    right.plot(steps, accuracy, color="#1d4ed8", marker=".")
    right.annotate(
        f"{accuracy[-1]:.1%}", (steps[-1], accuracy[-1]), (-6, -14), textcoords="offset points",
        ha="right",
    )  # fmt: skip
    right.set(xlabel="step", ylabel="accuracy", title="Held-out accuracy")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(output, dpi=120)
    plt.close(figure)


def count(text: str) -> int:
    """Return a number from 1."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count from 1")
    return int(text)


def picture(text: str) -> Path:
    """Return the path of a picture of a kind that every matplotlib draws."""
    if Path(text).suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise argparse.ArgumentTypeError(f"{text}: a picture ends with .png, .pdf or .svg")
    return Path(text)


def main() -> None:
    """Run the data worker and the training, then draw what was logged."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="runs", help="the root of all runs (default: runs)")
    parser.add_argument("--name", default="mlp", help="the run's name (default: mlp)")
    parser.add_argument("--steps", type=count, default=400, help="training steps (default: 400)")
    parser.add_argument("--eval-every", type=count, default=20, help="steps between evaluations")
    parser.add_argument("--plot", type=picture, help="draw the curves into this picture")
    arguments = parser.parse_args()
    if arguments.plot is not None and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib: pip install matplotlib")

    if arguments.plot is not None:
        arguments.plot.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    batches: Any = context.Queue(maxsize=8)
    worker = context.Process(
        target=make_batches,
        args=(batches, arguments.steps, arguments),
        name="data",
        # A training that fails must not wait for a worker that waits for the training.
        daemon=True,
    )
    with et.init(
        project="digits",
        name=arguments.name,
        dir=arguments.dir,
        # Run once more, the new curves take the place of the old ones, which stay readable.
        resume_step=0,
        config={**vars(arguments), "plot": None, "model": "MLP 64-48-10", "batch": BATCH},
    ) as run:
        start(worker)
        train(batches, worker, arguments)
    worker.join(timeout=30)
    if worker.exitcode != 0:
        sys.exit(f"the data worker ended with {worker.exitcode}")

    rows = et.history(1, run=run.dir, metrics=["eval/accuracy"], dropna=True)
    rows = rows or et.history(-1, run=run.dir, metrics=["eval/accuracy"], dropna=True)[-1:]
    print(f"held-out accuracy {rows[-1]['eval/accuracy']:.3f} after {arguments.steps} steps")
    if arguments.plot is not None:
        draw(Path(run.dir), arguments.plot)
        print(f"curves: {arguments.plot}")
    print(f"rows:   et history {run.dir}")


if __name__ == "__main__":
    try:
        main()
    except (et.errors.TrackerError, OSError) as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
