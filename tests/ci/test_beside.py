from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60.0

START = """
import os, sys
from pathlib import Path
from tooling import beside

beside.END_SECONDS = float(sys.argv[2])
programs = [
    beside.Program(f"program {at}", [sys.executable, "-c", text], {**os.environ, "AT": str(at)})
    for at, text in enumerate(sys.argv[3:])
]
print(beside.run_beside([programs[:1], programs[1:]], Path(sys.argv[1])))
"""

#: Says that it listens, and waits for what never comes.
WAITS = """
import os, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, {action})
print("begun", flush=True)
Path("{folder}", os.environ["AT"]).write_text(str(os.getpid()))
signal.pause()
"""
ENDS = "lambda *_: (print('ended', flush=True), sys.exit(7))"


def start(folder: Path, *texts: str, seconds: float = 60.0) -> subprocess.Popen[str]:
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-c", START, str(folder), str(seconds), *texts],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".ci")},
        start_new_session=True,
        **options,
    )


def pids_in(folder: Path, count: int) -> list[int]:
    """Return the programs' numbers once all of them listen."""
    until = time.monotonic() + DEADLINE_SECONDS
    while True:
        texts = [path.read_text() for path in folder.iterdir() if path.name.isdigit()]
        if len(texts) == count and all(texts):
            return [int(text) for text in texts]
        assert time.monotonic() < until, texts
        time.sleep(0.01)  # other programs' start: there is no clock of ours to turn


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_the_others_say_comes_whole_behind_the_first_and_each_code_is_told(
    tmp_path: Path,
) -> None:
    # The first one waits until the last has said all it has to say.
    done = tmp_path / "done"
    first = f"import time\nfrom pathlib import Path\nwhile not Path({str(done)!r}).exists(): time.sleep(0.01)\nprint('first')"
    last = f"import sys\nfrom pathlib import Path\nprint('out', flush=True); print('err', file=sys.stderr)\nPath({str(done)!r}).touch()\nsys.exit(3)"
    process = start(tmp_path, first, "print('second')", last)
    output, said = process.communicate(timeout=DEADLINE_SECONDS)
    told = "first | dev: program 1 | second | dev: program 2 | out | err | [[0], [0, 3]]"
    assert output.splitlines() == told.split(" | ")
    begun = sorted(line for line in said.splitlines() if "program" in line)
    assert begun == ["dev: beside it program 1", "dev: beside it program 2", "dev: program 0"]


def test_ctrl_c_ends_all_of_them_and_what_they_said_is_printed(tmp_path: Path) -> None:
    text = WAITS.format(action=ENDS, folder=tmp_path)
    process = start(tmp_path, text, text)
    pids = pids_in(tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, said = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in said
    assert output.split("\n")[:2] == ["begun", "ended"]
    assert output.split("\n")[2:] == ["dev: program 1", "begun", "ended", ""]
    assert all(map(has_ended, pids))


@pytest.mark.parametrize("action", [ENDS, "signal.SIG_IGN"], ids=["late", "deaf"])
def test_one_that_no_terminal_has_told_is_told_and_then_killed(
    tmp_path: Path, action: str
) -> None:
    text = WAITS.format(action=action, folder=tmp_path)
    process = start(tmp_path, text, text, seconds=0.1)
    pids = pids_in(tmp_path, 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode != 0
    assert all(map(has_ended, pids))
