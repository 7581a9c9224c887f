"""Every Python block and every command of the README and the documentation runs."""

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

pytestmark = pytest.mark.acceptance

_BLOCK = re.compile(
    r"(?P<before>[^\n]*)\n\n```(?P<kind>python|console)\n(?P<text>.*?)```", re.DOTALL
)
_SAVED = re.compile(r"Save this as `(?P<name>[\w.]+)`")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    text: str
    file: str | None


def blocks_of(page: Path) -> list[Block]:
    found = []
    for match in _BLOCK.finditer(page.read_text()):
        saved = _SAVED.search(match["before"])
        found.append(Block(match["kind"], match["text"], saved["name"] if saved else None))
    return found


def documented() -> list[Path]:
    return [page for page in PAGES if blocks_of(page)]


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of a reader whose data lie in the folder, and who has no browser."""
    kept = {key: value for key, value in os.environ.items() if key not in {"ET_DIR", "RANK"}}
    return kept | {"XDG_DATA_HOME": str(folder / "data"), "BROWSER": "true"}


def run_until_interrupted(arguments: list[str], folder: Path) -> None:
    """Run what goes on until Ctrl-C, and press it when it says where it is."""
    with subprocess.Popen(
        arguments, cwd=folder, env=environment_of(folder), stdout=subprocess.PIPE, text=True
    ) as begun:
        assert begun.stdout is not None
        try:
            said = begun.stdout.readline()
        finally:
            begun.send_signal(signal.SIGINT)
        rest, _ = begun.communicate(timeout=60)
    assert "http://127.0.0.1:" in said, said
    assert begun.returncode == 0, said + rest


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment_of(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{shlex.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_block(block: Block, number: int, folder: Path) -> None:
    if block.kind == "python":
        script = folder / (block.file or f"block_{number}.py")
        script.write_text(block.text)
        run([sys.executable, str(script)], folder)
        return
    for line in block.text.splitlines():
        if line.startswith("$ "):
            run_command(line[2:].split("  #")[0], folder)


def run_command(command: str, folder: Path) -> None:
    name, *arguments = shlex.split(command)
    if name == "et" and arguments[0] == "ui":
        run_until_interrupted([sys.executable, "-m", "expr_tracker", *arguments], folder)
    elif name == "et":
        run([sys.executable, "-m", "expr_tracker", *arguments], folder)
    elif name == "python":
        run([sys.executable, *arguments], folder)
    elif name == "python3" and arguments[0] == "dev.py":
        # Running the tests from a test would not end; that the command exists can be asked.
        run([sys.executable, str(ROOT / "dev.py"), arguments[1], "--help"], folder)
    else:
        run([name, *arguments], folder)


@pytest.mark.parametrize("page", documented(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(blocks_of(page)):
        run_block(block, number, tmp_path)


def test_the_pages_that_teach_have_blocks() -> None:
    names = {page.name for page in documented()}
    assert {"README.md", "tutorial.md", "rows.md", "streams.md", "reading.md"} <= names


def test_every_command_is_documented() -> None:
    from expr_tracker.cli import COMMANDS

    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    missing = [name for name in COMMANDS if f"et {name}" not in page]
    assert not missing
