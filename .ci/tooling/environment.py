"""The environment in ``.venv``: made from a hash-pinned lock, and made anew only when that changes.

It also owns how programs of that environment are started. It does not resolve anything: that is
`tooling.locks`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
#: What the environment was made from; equal means nothing is left to do.
STAMP = VENV / "expr-tracker-environment.json"
PYPROJECT = ROOT / "pyproject.toml"
REQUIREMENTS = ROOT / "requirements"
OLDEST_PYTHON = (3, 11)


class DevError(Exception):
    """The command cannot go on; the message says what is wrong and what to do."""


def say(text: str) -> None:
    """Print one line of progress to stderr at once, so stdout stays the tools' own."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def python_of(environment: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    windows = os.name == "nt"
    return environment / ("Scripts/python.exe" if windows else "bin/python")


def program_of(environment: Path, name: str) -> Path:
    """Return a console script of a virtual environment."""
    suffix = ".exe" if os.name == "nt" else ""
    return python_of(environment).with_name(name + suffix)


def run(command: Sequence[str | Path], **options: object) -> int:
    """Run a program at the root of the project and return its exit code."""
    sys.stdout.flush()
    options.setdefault("cwd", ROOT)
    return subprocess.call([str(part) for part in command], **options)  # type: ignore[arg-type]


def make_venv(path: Path) -> None:
    """Create a virtual environment.

    Raises:
        DevError: This Python cannot make one.
    """
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode == 0:
        return
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    said = (made.stdout + made.stderr).strip()
    raise DevError(
        f"{sys.executable} could not make a virtual environment in {path}: {said}\n"
        "If venv or ensurepip is missing (Debian and Ubuntu ship them apart), install them: "
        f"apt-get install python{version}-venv"
    )


def pip_install(python: Path, arguments: Sequence[str], *, log: Path, expected: int) -> None:
    """Run ``pip install`` with a counter instead of pages of output; all of it goes to `log`.

    Args:
        python: The interpreter that is installed into.
        arguments: What follows ``pip install``.
        log: Where the full output goes.
        expected: How many packages will be collected, for the counter.

    Raises:
        DevError: pip failed; the message ends with pip's last lines.
    """
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    seen = 0
    lines: list[str] = []
    with subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith(("Collecting ", "Requirement already satisfied")):
                seen += 1
                # Every tenth keeps a CI log short and still shows that something moves.
                if seen % 10 == 0:
                    say(f"  {seen} of about {expected} packages")
            elif line.startswith("Installing collected"):
                say("  unpacking")
    log.write_text("".join(lines), encoding="utf-8")
    if process.returncode != 0:
        tail = "".join(lines[-15:])
        raise DevError(
            f"pip could not install {' '.join(arguments)} (exit code {process.returncode}):\n{tail}"
            f"The whole output is in {log}. If no package could be reached, check the network and "
            "`pip config list`; if a hash differs, the package index served another file."
        )


def read_pyproject() -> dict[str, Any]:
    """Return pyproject.toml as a dictionary."""
    import tomllib  # noqa: PLC0415 - Python 3.11; main() has refused anything older

    return tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))


def wanted_stamp(lock: str) -> dict[str, str]:
    """Return what an environment of this lock is made from."""
    document = read_pyproject()
    return {
        "lock": lock,
        "digest": hashlib.sha256((REQUIREMENTS / f"{lock}.txt").read_bytes()).hexdigest(),
        # The editable install stores the version, the console script and the extras.
        "project": json.dumps({key: document[key] for key in ("build-system", "project")}),
        # A system upgrade puts another Python behind the same link, with nothing installed for it.
        "python": os.path.realpath(python_of(VENV)),
        # A virtual environment holds its own path; a moved one is made anew.
        "path": str(VENV),
    }


def read_stamp() -> dict[str, str]:
    """Return what the environment was made from; empty if unknown."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_usable(python: Path) -> bool:
    """Say whether the interpreter starts, is new enough and has pip."""
    code = f"import pip, sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    try:
        tried = subprocess.run([str(python), "-c", code], capture_output=True, check=False)
    except OSError:
        return False
    return tried.returncode == 0


def ensure_environment(lock: str) -> Path:
    """Make ``.venv`` hold the packages of a lock and the project; instant when it already does.

    Args:
        lock: "demo" or "dev". An environment of "dev" also serves "demo", its subset.

    Returns:
        The environment's interpreter.
    """
    python = python_of(VENV)
    stamp = read_stamp()
    serving = "dev" if stamp.get("lock") == "dev" else lock
    if stamp == wanted_stamp(serving) and python.exists():
        return python
    started = time.monotonic()
    requirements = REQUIREMENTS / f"{serving}.txt"
    count = requirements.read_text(encoding="utf-8").count("==")
    if not is_usable(python) or stamp.get("path", str(VENV)) != str(VENV):
        say(f"making {VENV.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        make_venv(VENV)
    STAMP.unlink(missing_ok=True)  # an install that is interrupted must not look finished
    say(f"installing {count} packages from requirements/{serving}.txt (a minute or two, once)")
    locked = ["--require-hashes", "-r", str(requirements)]
    pip_install(python, locked, log=VENV / "install.log", expected=count)
    project = ["--no-deps", "--no-build-isolation", "-e", str(ROOT)]
    pip_install(python, project, log=VENV / "install-project.log", expected=1)
    STAMP.write_text(json.dumps(wanted_stamp(serving), indent=2), encoding="utf-8")
    say(f"environment ready after {time.monotonic() - started:.0f} s")
    return python
