"""Make the client for threads of the client for tasks: ``python .ci/tooling/synchronous.py``.

``--check`` writes nothing and fails if what is in the repository was not made of what is in it.
Words are replaced, not meanings: `mapi.sdk.pacing` has the pairs that differ in more than a word.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mapi" / "sdk" / "asynchronous"
TARGET = ROOT / "src" / "mapi" / "sdk" / "synchronous"

NOTE = (
    "# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.\n"
    "# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly\n"
)
#: What is called otherwise without tasks; every other name that begins with Async loses it.
NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "AnyIOBackend": "SyncBackend",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_stream": "iter_stream",
    "async_acquire": "acquire",
    "async_let_go": "let_go",
    "async_resolve": "resolve",
    "async_sleep": "sleep",
    "asynccontextmanager": "contextmanager",
    "asynchronous": "synchronous",
}
#: Words that only tasks need.
DROPPED = frozenset({"async", "await"})
#: Rules of the linter that speak of tasks only.
TASK_NOQA = re.compile(r"  # noqa: ASYNC\d+( - [^\n]*)?")


def synchronous(text: str) -> str:
    """Return a module for threads, made of one for tasks."""
    pieces: list[str] = []
    row, column = 1, 0
    lines = text.splitlines(keepends=True)
    skips_space = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        gap = between(lines, (row, column), token.start)
        if skips_space and gap.strip(" ") == "":
            gap = ""
        pieces.append(gap)
        skips_space = token.type == tokenize.NAME and token.string in DROPPED
        if not skips_space:
            pieces.append(replaced(token))
        row, column = token.end
    made = TASK_NOQA.sub("", "".join(pieces))
    return f"{NOTE}{made}"


def between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the text from one place, line and column, to another."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
    first = lines[start[0] - 1][start[1] :]
    middle = "".join(lines[start[0] : end[0] - 1])
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return first + middle + last


def replaced(token: tokenize.TokenInfo) -> str:
    """Return a word, a text or a comment as it reads without tasks."""
    if token.type == tokenize.NAME:
        return name(token.string)
    if token.type in {tokenize.STRING, tokenize.COMMENT}:
        text = re.sub(r"\b(async|await) (?=with|for|def|\w+\.)", "", token.string)
        return re.sub(r"\w+", lambda found: name(found[0]), text)
    return token.string


def name(word: str) -> str:
    """Return what a name is called without tasks."""
    if word in NAMES:
        return NAMES[word]
    return word.removeprefix("Async") if re.match(r"Async[A-Z]", word) else word


def tidied(path: Path, text: str) -> str:
    """Return a module with its imports sorted and its lines as long as they may be."""
    for command in (["check", "--fix", "--exit-zero", "--select", "I,RUF022"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", path, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def made() -> dict[Path, str]:
    """Return every module of the client for threads, as it should be."""
    found = {}
    for source in sorted(SOURCE.glob("*.py")):
        text = source.read_text(encoding="utf-8")
        target = TARGET / source.name
        found[target] = tidied(target, synchronous(text))
    return found


def stale() -> list[str]:
    """Return the modules that are not what they should be, and those that should not be."""
    wanted = made()
    there = set(TARGET.glob("*.py"))
    wrong = [
        path for path, text in wanted.items() if path not in there or path.read_text() != text
    ]
    return sorted(str(path.relative_to(ROOT)) for path in {*wrong, *(there - set(wanted))})


def main(arguments: list[str]) -> int:
    """Write the modules, or check them."""
    if arguments == ["--check"]:
        wrong = stale()
        for path in wrong:
            print(f"{path}: run `python .ci/tooling/synchronous.py` and keep the result")
        return int(bool(wrong))
    TARGET.mkdir(exist_ok=True)
    wanted = made()
    for extra in set(TARGET.glob("*.py")) - set(wanted):
        extra.unlink()
    for target, text in wanted.items():
        target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
