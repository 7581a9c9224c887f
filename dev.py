#!/usr/bin/env python3
"""The one door to working on this project: ``python3 dev.py COMMAND``.

It parses and calls `.ci/tooling`; CI runs the same commands. The standard library is enough for all
of it, so that a fresh machine with Python and git can begin here.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent / ".ci"))

from tooling.checks import run_checks
from tooling.environment import (
    OLDEST_PYTHON,
    ROOT,
    VENV,
    DevError,
    ensure_environment,
    program_of,
    run,
    say,
)
from tooling.locks import lock
from tooling.pages import build_pages
from tooling.services import ensure_services
from tooling.showing import shown
from tooling.tests import run_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


#: Folders above that of a run's images and tables, below the root of all runs.
MEDIA_DEPTH = 2


def written_since(started: float, folder: Path) -> list[Path]:
    """Return the files below a folder that changed after a moment (epoch seconds), by name."""
    if not folder.exists():
        return []
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if path.stat().st_mtime >= started)


def command_demo(_options: argparse.Namespace, _rest: list[str]) -> int:
    """Run the examples with the pages over them, and show what they wrote."""
    python = ensure_environment("demo")
    started = time.time()
    with shown(ROOT / "runs") as wait:
        run_examples(python)
        show_written(written_since(started - 1, ROOT / "runs"))
        wait()
    return 0


def run_examples(python: Path) -> None:
    """Run the examples one after the other.

    Raises:
        DevError: One of them failed.
    """
    pipeline = ["examples/multiprocess_pipeline.py", "--dir", "runs"]
    pipeline += ["--trace", "runs/pipeline-trace.json", "--plot", "runs/pipeline.png"]
    digits = ["examples/train_digits.py", "--dir", "runs", "--plot", "runs/digits.png"]
    for example in (pipeline, digits):
        say(" ".join(example))
        code = run([python, *example])
        if code != 0:
            raise DevError(f"{example[0]} ended with exit code {code}; its output is above")


def show_written(written: Sequence[Path]) -> None:
    """Print what a demo wrote, a line for each folder, and how to look at it."""
    folders: dict[Path, list[Path]] = {}
    media: Counter[Path] = Counter()
    for path in written:
        below = path.relative_to(ROOT / "runs").parts  # PROJECT, NAME, media, ...
        if len(below) > MEDIA_DEPTH and below[MEDIA_DEPTH] == "media":
            media[ROOT.joinpath("runs", *below[:MEDIA_DEPTH])] += 1
        else:
            folders.setdefault(path.parent, []).append(path)
    print("\nWritten:")
    for folder, paths in folders.items():
        if folder == ROOT / "runs":
            for path in paths:
                print(f"  {path.relative_to(ROOT)}  ({path.stat().st_size:,} bytes)")
        else:
            size_bytes = sum(path.stat().st_size for path in paths)
            more = f"; {media[folder]} images and tables in media/" if media[folder] else ""
            print(
                f"  {folder.relative_to(ROOT)}/  ({len(paths)} files, {size_bytes:,} bytes{more})"
            )
    print("\nNow look at them:")
    for line in ways_to_look(folders):
        print(f"  {line}")


def ways_to_look(folders: dict[Path, list[Path]]) -> Iterator[str]:
    """Yield a command for every run among the folders, then the files to open."""
    et = program_of(VENV, "et").relative_to(ROOT)
    yield f"{et} ui runs"
    for folder, paths in folders.items():
        streams = sorted(path.name.split(".")[1] for path in paths if is_metrics(path))
        if streams:
            # The middle part is the stream, or already the ending for the default stream.
            option = "" if "jsonl" in streams else f" --stream {streams[0]}"
            yield f"{et} history {folder.relative_to(ROOT)}{option}"
    for path in folders.get(ROOT / "runs", []):
        if path.suffix == ".png":
            yield f"open {path.relative_to(ROOT)} in an image viewer"
        elif path.name.endswith("trace.json"):
            yield f"open {path.relative_to(ROOT)} in a trace viewer (Perfetto, chrome://tracing)"


def is_metrics(path: Path) -> bool:
    """Say whether a file holds the rows of a stream."""
    return path.name.startswith("metrics.") and path.suffix == ".jsonl"


def command_pages(_options: argparse.Namespace, _rest: list[str]) -> int:
    """Build the pages that `mapi serve` shows, if their sources have changed."""
    ensure_environment("dev")
    return build_pages()


def command_docs(options: argparse.Namespace, _rest: list[str]) -> int:
    """Build the documentation, or serve it while it is written."""
    python = ensure_environment("dev")
    if options.serve:
        return run([python, "-m", "mkdocs", "serve"])
    code = run([python, "-m", "mkdocs", "build", "--strict"])
    if code == 0:
        print("site/index.html")
    return code


def command_bench(options: argparse.Namespace, _rest: list[str]) -> int:
    """Run bench scripts, one JSON line each."""
    scripts = {path.stem: path for path in sorted((ROOT / "bench").glob("*.py"))}
    scripts.pop("peer", None)
    if options.list:
        print("\n".join(scripts))
        return 0
    unknown = [name for name in options.names if name not in scripts]
    if unknown:
        raise DevError(f"no bench is called {', '.join(unknown)}; there are: {', '.join(scripts)}")
    python = ensure_environment("dev")
    passed_on = [f"--rows={options.rows}"] if options.rows else []
    passed_on += [f"--rounds={options.rounds}"] if options.rounds else []
    codes = [run([python, scripts[name], *passed_on]) for name in options.names or scripts]
    # A bench that a signal ended has a negative code.
    return int(any(codes))


def command_test(options: argparse.Namespace, rest: list[str]) -> int:
    """Run the tests, the fast ones first, and end with one line that adds them up."""
    python = ensure_environment("dev")
    try:
        ensure_services()
    except DevError as error:
        # The tests that need one fail and say so; the others have their say as well.
        say(str(error))
    return run_tests(python, rest, coverage=options.coverage)


def command_check(options: argparse.Namespace, _rest: list[str]) -> int:
    """Run every check, all of them even after a failure, and say which failed."""
    return run_checks(options.names)


def command_lock(options: argparse.Namespace, _rest: list[str]) -> int:
    """Resolve pyproject.toml into requirements/*.txt again."""
    lock(upgrade=options.upgrade)
    return 0


INTRODUCTION = """\
The commands for working on expr-tracker. Each makes the environment it needs in .venv from the
hash-pinned locks in requirements/, the first time only; all you need is Python 3.11 or newer.

  python3 dev.py demo     see what it does: two examples, live in a browser, a plot and a timeline
  python3 dev.py test     all tests, the fast ones first; arguments go to pytest
  python3 dev.py check    everything else that has to hold: style, types, imports, docs, the wheel
"""


def add_bench_options(bench: argparse.ArgumentParser) -> None:
    """Add what `dev.py bench` takes."""
    bench.add_argument("names", nargs="*", metavar="BENCH", help="run only these")
    bench.add_argument("--rows", metavar="N", help="rows a script logs (default: the script's)")
    bench.add_argument("--rounds", metavar="N", help="rounds of each side (default: the script's)")
    bench.add_argument("--list", action="store_true", help="print the names and stop")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("dev.py", description=INTRODUCTION, formatter_class=raw)
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def add(
        function: Callable[[argparse.Namespace, list[str]], int], text: str
    ) -> argparse.ArgumentParser:
        name = function.__name__.replace("command_", "")
        summary = (function.__doc__ or "").rstrip(".")
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary}.\n\n{text}",
            formatter_class=raw,
            # pytest's --co must not be read as our --coverage.
            allow_abbrev=False,
        )
        command.set_defaults(function=function, takes_rest=name == "test")
        return command

    add(
        command_demo,
        "Opens the pages over runs/ (without a screen it prints where they are), runs an example of\n"
        "eight processes and a training, and lists what they wrote. At a terminal the pages stay until\n"
        "Ctrl-C. Uses the small lock, requirements/demo.txt.",
    )
    test = add(
        command_test,
        "Everything else on the line goes to pytest:\n\n"
        "  dev.py test                       all tests\n"
        "  dev.py test -x -k journal         stop at the first failure of tests named so\n"
        "  dev.py test tests/ci              one folder\n"
        "  dev.py test -m acceptance         only whole programs\n"
        "  dev.py test -p no:randomly        in file order\n\n"
        "Tests run in random order; the seed is printed, and `--randomly-seed=N` repeats the order.\n"
        "Without arguments some run beside others, whose output comes behind theirs, and what asks a\n"
        "database once more on PostgreSQL 15. The last line adds all up. No test executed is a failure.\n"
        "Debian's PostgreSQL, PgBouncer and Ceph are fetched into .services if they are not installed.",
    )
    test.add_argument("--coverage", action="store_true", help="measure and report coverage")
    check = add(
        command_check,
        "Without names all checks run, each even if one before it failed:\n\n"
        "  ruff format lints codespell imports types locks docs pages wheel\n\n"
        "`dev.py check ruff types` runs two of them.",
    )
    check.add_argument("names", nargs="*", metavar="CHECK", help="run only these")
    add(
        command_pages,
        "Builds web/ into src/mapi/web/, with the Node.js that the environment holds; packages come from\n"
        "npm's registry, the first time only. `mapi serve` has the pages when it starts again.",
    )
    docs = add(command_docs, "Builds site/ and fails on a dead link; --serve rebuilds on change.")
    docs.add_argument("--serve", action="store_true", help="serve on this machine while writing")
    add_bench_options(
        add(
            command_bench,
            "Each script measures one promise against the peer package in the same run, and prints one\n"
            "JSON line; `python bench/NAME.py --help` says what. The peer is installed in a cache of its\n"
            "own. A quick look: `dev.py bench log_5 span --rows 20000 --rounds 1`.",
        )
    )
    locks = add(
        command_lock,
        "Resolves the dependencies, extras and groups of pyproject.toml into requirements/dev.txt,\n"
        "and its subset requirements/demo.txt, with hashes. Pins that still fit are kept.",
    )
    locks.add_argument("--upgrade", action="store_true", help="take newer versions of everything")
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(str(part) for part in OLDEST_PYTHON)
        print(
            f"dev.py: this is Python {sys.version.split()[0]} ({sys.executable}); the project needs "
            f"{wanted} or newer. Call it with such a one: python{wanted} dev.py",
            file=sys.stderr,
        )
        return 2
    top = parser()
    options, rest = top.parse_known_args(arguments)
    if rest and not options.takes_rest:
        top.error(f"unknown argument {rest[0]}; `dev.py COMMAND --help` lists what it takes")
    try:
        return int(options.function(options, rest))
    except DevError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
