"""Everything that has to hold besides the tests, as a table of checks by name."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tooling.environment import (
    REQUIREMENTS,
    ROOT,
    VENV,
    DevError,
    ensure_environment,
    make_venv,
    pip_install,
    program_of,
    python_of,
    read_pyproject,
    run,
    say,
)
from tooling.locks import stale_locks, stanzas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: Run by the interpreter that the wheel was installed for, from outside of the tree.
USE_OF_A_WHEEL = """\
import expr_tracker, mapi, pathlib, sys
for package in (expr_tracker, mapi):
    place = pathlib.Path(package.__file__).parent
    assert place.is_relative_to(sys.prefix), f"{place} is not the installed wheel"
    assert (place / "py.typed").exists(), f"{place} has no py.typed"
for name in expr_tracker.__all__:
    getattr(expr_tracker, name)
pages = pathlib.Path(mapi.__file__).parent / "web"
assert (pages / "index.html").exists(), f"{pages} has no pages"
"""


def check_locks() -> int:
    """Check that the locks belong to pyproject.toml."""
    problems = stale_locks()
    for problem in problems:
        print(problem)
    return len(problems)


def check_docs() -> int:
    """Build the documentation strictly, without leaving it behind; say why it fails."""
    return build_docs(python_of(VENV), ROOT)


def build_docs(python: Path, root: Path) -> int:
    """Build the documentation of ``root`` and throw it away; a warning is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        # Not --quiet: it takes the warnings away before --strict can count them.
        build: list[str | Path] = [python, "-m", "mkdocs", "build", "--strict"]
        log = Path(folder) / "build.log"
        with log.open("w") as output:
            code = run(
                [*build, "--site-dir", Path(folder) / "site"],
                cwd=root,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        if code != 0:
            print(log.read_text())
        return code


def check_wheel() -> int:
    """Build the wheel and use it as someone who installed it: no extras, outside of the tree."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        build: list[str | Path] = [python_of(VENV), "-m", "build", "--wheel", "--no-isolation"]
        log = temporary / "build.log"
        with log.open("w") as output:
            code = run([*build, "--outdir", temporary], stdout=output, stderr=subprocess.STDOUT)
        if code != 0:
            print(log.read_text())
            return code
        (wheel,) = temporary.glob("*.whl")
        make_venv(temporary / "venv")
        python = python_of(temporary / "venv")
        core = temporary / "core.txt"
        core.write_text(core_requirements(), encoding="utf-8")
        pip_install(
            python, ["--require-hashes", "-r", str(core)], log=temporary / "core.log", expected=2
        )
        pip_install(python, ["--no-deps", str(wheel)], log=temporary / "wheel.log", expected=1)
        return (
            run([python, "-I", "-c", USE_OF_A_WHEEL], cwd=temporary)
            or run([python, "-m", "pip", "check", "--disable-pip-version-check"], cwd=temporary)
            or run([program_of(temporary / "venv", "et"), "--version"], cwd=temporary)
        )


def core_requirements() -> str:
    """Return the locked requirements of a plain install, without any extra."""
    locked = stanzas((REQUIREMENTS / "dev.txt").read_text(encoding="utf-8"))
    dependencies = read_pyproject()["project"]["dependencies"]
    names = [re.split(r"[^A-Za-z0-9._-]", text)[0] for text in dependencies]
    # click's only dependency, and only on Windows; its marker leaves it out elsewhere.
    return "".join(locked[name] for name in [*names, "colorama"])


def checks() -> dict[str, Callable[[], int]]:
    """Return every check by name, the quick ones first."""
    python = python_of(VENV)

    def tool(*command: str) -> Callable[[], int]:
        return lambda: run([python, "-m", *command])

    return {
        "ruff": tool("ruff", "check", "--quiet", "."),
        "format": tool("ruff", "format", "--check", "--quiet", "."),
        "lints": lambda: run([python, ".ci/lints"]),
        "codespell": tool("codespell_lib"),
        "imports": lambda: run([program_of(VENV, "lint-imports"), "--no-cache"]),
        "types": tool("mypy"),
        "locks": check_locks,
        "docs": check_docs,
        # Before the wheel, which takes what this has built.
        "pages": lambda: run([python, ".ci/tooling/pages.py"]),
        "wheel": check_wheel,
    }


def run_checks(names: Sequence[str]) -> int:
    """Run checks, all of them even after a failure, and say which failed.

    Args:
        names: Which; none stands for all.

    Raises:
        DevError: A name is no check.
    """
    available = checks()
    unknown = [name for name in names if name not in available]
    if unknown:
        raise DevError(
            f"no check is called {', '.join(unknown)}; there are: {', '.join(available)}"
        )
    # Only now: a mistyped name must not install anything.
    ensure_environment("dev")
    failed = []
    chosen = names or list(available)
    for name in chosen:
        started = time.monotonic()
        say(f"check {name}")
        try:
            code = available[name]()
        except DevError as error:
            print(error)
            code = 1
        say(f"check {name}: {'ok' if code == 0 else 'FAILED'}, {time.monotonic() - started:.1f} s")
        if code != 0:
            failed.append(name)
    verdict = f"{len(failed)} failed: {', '.join(failed)}" if failed else "all ok"
    say(f"{len(chosen)} checks, {verdict}")
    return 1 if failed else 0
