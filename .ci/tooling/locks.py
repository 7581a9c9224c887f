"""The locks in ``requirements/``: pyproject.toml resolved, with hashes, for every platform at once.

Invariants: a lock stores a digest of what it was made from; `demo` is a subset of `dev`; no line
names a package index or a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tooling.environment import (
    REQUIREMENTS,
    DevError,
    make_venv,
    pip_install,
    program_of,
    python_of,
    read_pyproject,
    run,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Lock name -> what it resolves. `dev` comes first: `demo` is held to its pins.
LOCKS = {
    "dev": ["--all-extras", "--group", "dev"],
    "demo": ["--extra", "plot", "--extra", "system", "--extra", "platform", "--group", "demo"],
}
UV_REQUIREMENT = "uv==0.13.9"
#: A bad release is usually found and withdrawn within a week; until then we do not take it.
COOLDOWN_DAYS = 7
DIGEST_LINE = re.compile(r"^# inputs: sha256:([0-9a-f]{64})$", re.MULTILINE)


def inputs_digest() -> str:
    """Return a digest of everything in pyproject.toml that decides what the locks hold."""
    document = read_pyproject()
    project = document["project"]
    inputs = {
        "requires-python": project["requires-python"],
        "dependencies": project["dependencies"],
        "extras": project["optional-dependencies"],
        "groups": document["dependency-groups"],
        "locks": LOCKS,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def stanzas(lock_text: str) -> dict[str, str]:
    """Split a lock into package name -> its requirement with its hashes.

    Args:
        lock_text: The text of a ``requirements/*.txt``.
    """
    found: dict[str, str] = {}
    for match in re.finditer(
        r"^([A-Za-z0-9._-]+)==.*\n(?:[ ]+--hash.*\n?)+", lock_text, re.MULTILINE
    ):
        name = re.sub(r"[-_.]+", "-", match.group(1)).lower()
        found[name] = match.group(0).rstrip().rstrip("\\") + "\n"
    return found


def without_marker(stanza: str) -> str:
    """Return a requirement without the systems that it is for: fewer of them want a subset."""
    return re.sub(r" ; [^\\\n]*", " ", stanza, count=1)


def stale_locks() -> list[str]:
    """Return a sentence for each lock that does not belong to pyproject.toml as it is."""
    wanted = inputs_digest()
    problems = []
    pins: dict[str, dict[str, str]] = {}
    for name in LOCKS:
        text = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
        pins[name] = stanzas(text)
        stored = DIGEST_LINE.search(text)
        if stored is None or stored.group(1) != wanted:
            problems.append(
                f"requirements/{name}.txt was made from other inputs than pyproject.toml has now; "
                "run `python3 dev.py lock` and keep the result"
            )
    problems.extend(
        f"requirements/demo.txt holds {name} otherwise than requirements/dev.txt; the first must "
        "be a subset of the second: run `python3 dev.py lock`"
        for name, stanza in pins["demo"].items()
        if without_marker(pins["dev"].get(name, "")) != without_marker(stanza)
    )
    return problems


def resolve(uv: Path, name: str, *, output: Path, constraints: Iterable[Path]) -> str:
    """Resolve one lock and return its lines; `output` is where the resolver reads and writes it."""
    command: list[str | Path] = [
        uv,
        *("pip", "compile", "pyproject.toml", *LOCKS[name]),
        # One lock for every platform and every Python we support, with one version of each package.
        *("--universal", "--fork-strategy", "fewest", "--python-version", "3.11"),
        # Neither a package index nor a path of this machine may enter the repository.
        *(
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
            "--no-emit-package",
            "expr-tracker",
        ),
        *("--exclude-newer", f"{COOLDOWN_DAYS} days", "--quiet"),
        "--output-file",
        output,
    ]
    for path in constraints:
        command += ["--constraints", path]
    environment = {**os.environ, "UV_NO_CONFIG": "1"}
    if run(command, env=environment, stdout=subprocess.DEVNULL) != 0:
        raise DevError(
            f"uv could not resolve requirements/{name}.txt; its reason is printed above"
        )
    return output.read_text(encoding="utf-8")


def lock(*, upgrade: bool) -> None:
    """Resolve pyproject.toml into requirements/*.txt again."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        say(f"installing {UV_REQUIREMENT} for this once")
        make_venv(temporary / "uv")
        pip_install(
            python_of(temporary / "uv"), [UV_REQUIREMENT], log=temporary / "uv.log", expected=1
        )
        done: list[Path] = []
        REQUIREMENTS.mkdir(exist_ok=True)
        for name in LOCKS:
            output = temporary / f"{name}.txt"
            target = REQUIREMENTS / f"{name}.txt"
            # An existing lock is kept as far as it fits, so that a diff shows what was asked for.
            if target.exists() and not upgrade:
                shutil.copy(target, output)
            body = resolve(
                program_of(temporary / "uv", "uv"), name, output=output, constraints=done
            )
            header = (
                "# Made by `python3 dev.py lock` from pyproject.toml; not edited by hand.\n"
                f"# inputs: sha256:{inputs_digest()}\n"
            )
            target.write_text(header + body, encoding="utf-8")
            done.append(output)
            say(f"requirements/{name}.txt: {len(stanzas(body))} packages")
