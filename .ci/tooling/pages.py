"""The pages: their types, rules, tests and build, and how much of it the first page loads."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# Run within the environment it finds its own room; imported, the room is there.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tooling.environment import ROOT, VENV, DevError, python_of, say

#: Scripts of the first page, compressed: what a browser reads before anything can be done.
FIRST_PAGE_BYTES_MAX = 250_000
#: The page that `/` leads to.
FIRST_PAGE = "src/pages/runs/page.tsx"
BUILT = ROOT / "src" / "mapi" / "web"
#: Each step, in the order of what is known soonest; the build is apart, as it is done once.
STEPS = (("types", "run", "types"), ("rules", "run", "lint"), ("format", "run", "format:check"))
TESTS = ("test", "--", "--reporter=dot")
COUNTED = re.compile(r"Tests\s+(?:(\d+) failed[ |]+)?(?:(\d+) passed)?")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def builder() -> Any:
    """Return the module that builds the pages, which the package's build runs as well."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    import hatch_build  # noqa: PLC0415 - needs hatchling, which only the environment has

    return hatch_build


def build_pages() -> int:
    """Build the pages of this checkout with the environment's Python, if their sources have changed.

    Raises:
        DevError: It failed; its output says why.
    """
    done = subprocess.run(
        [str(python_of(VENV)), str(ROOT / "hatch_build.py")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DevError("the pages were not built; the reason stands above")
    built = json.loads(done.stdout)
    what = "built" if built["built"] else "there, and as new as their sources"
    say(f"the pages are {what}: {built['files']} files, {built['bytes'] / 1_000_000:.1f} MB")
    return done.returncode


def check_pages() -> int:
    """Check types, rules and format of the pages, run their tests, build them and weigh the first.

    Runs within the environment: ``python .ci/tooling/pages.py``.
    """
    made = builder()
    failed = []
    parts = []
    try:
        made.install_packages(ROOT)
        for name, *words in STEPS:
            started = time.monotonic()
            if not _holds(made, words):
                failed.append(name)
            parts.append(f"{name} {time.monotonic() - started:.1f} s")
        passed, broken = _tested(made)
        parts.append(f"{passed} tests passed, {broken} failed")
        if broken or not passed:
            failed.append("tests")
        started = time.monotonic()
        is_new = made.build(ROOT)
        parts.append(f"built in {time.monotonic() - started:.1f} s" if is_new else "built already")
    except made.PagesError as error:
        print(error)
        return 1
    size, files = first_page_bytes(BUILT)
    limit = f"{FIRST_PAGE_BYTES_MAX / 1_000:.0f} kB"
    parts.append(f"first page {size / 1_000:.1f} kB of at most {limit}, compressed")
    if size > FIRST_PAGE_BYTES_MAX:
        failed.append("size")
        print(f"the first page loads {size:,} bytes of scripts, more than {limit}:")
        for name, bytes_ in sorted(files.items(), key=lambda one: -one[1]):
            print(f"  {bytes_:>9,} {name}")
    print(f"pages: {'; '.join(parts)}" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _holds(made: Any, words: list[str]) -> bool:
    try:
        made.run_npm(ROOT, *words)
    except made.PagesError as error:
        print(error)
        return False
    return True


def _tested(made: Any) -> tuple[int, int]:
    """Run the tests and return how many passed and failed."""
    try:
        printed = made.run_npm(ROOT, *TESTS)
    except made.PagesError as error:
        printed = str(error)
        print(error)
        passed, broken = counted(printed)
        return passed, max(broken, 1)
    return counted(printed)


def counted(printed: str) -> tuple[int, int]:
    """Return how many tests passed and failed, as Vitest says it."""
    found = COUNTED.search(COLOUR.sub("", printed))
    if found is None:
        return 0, 0
    return int(found[2] or 0), int(found[1] or 0)


def first_page_bytes(folder: Path) -> tuple[int, dict[str, int]]:
    """Return the compressed bytes of all scripts that the first page waits for, and of each.

    Args:
        folder: What was built, with the manifest that says which file imports which.
    """
    manifest = json.loads((folder / ".vite" / "manifest.json").read_text("utf-8"))
    wanted = ["index.html", FIRST_PAGE]
    found: dict[str, int] = {}
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        part = manifest[name]
        wanted += part.get("imports", ())
        found[part["file"]] = len(gzip.compress((folder / part["file"]).read_bytes(), 6))
    return sum(found.values()), found


if __name__ == "__main__":
    sys.exit(check_pages())
