"""A folder for what is written aside goes with its process, and is nobody else's."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from mapi.serve.own_folder import own_folder

if TYPE_CHECKING:
    from pathlib import Path

#: Takes the folder away when it was made and is not open yet, as another process does that comes then.
TAKEN = """
import os
import sys
from pathlib import Path

from mapi.serve.own_folder import own_folder

parent, taken = Path(sys.argv[1]), []

def take(event, arguments):
    if event == "open" and str(arguments[0]).startswith(f"{parent}/aside-") and not taken:
        taken.append(Path(arguments[0]).name)
        os.rmdir(arguments[0])

sys.addaudithook(take)
with own_folder(parent, "aside-") as folder:
    print(taken, [one.name for one in parent.iterdir()] == [folder.name] != taken)
"""


def test_it_goes_at_the_end_and_another_one_is_left_alone(tmp_path: Path) -> None:
    with own_folder(tmp_path, "aside-") as first:
        (first / "a").write_text("a")
        with own_folder(tmp_path, "aside-") as second:
            assert first != second
            assert sorted(tmp_path.iterdir()) == sorted((first, second))
        assert (first / "a").read_text() == "a"
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_left_by_a_killed_process_goes_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "aside-1").mkdir()
    (tmp_path / "aside-1" / "a").write_text("a")
    (tmp_path / "other").mkdir()
    with own_folder(tmp_path, "aside-") as folder:
        assert sorted(tmp_path.iterdir()) == sorted((folder, tmp_path / "other"))


def test_one_that_another_takes_for_dead_before_it_is_locked_is_made_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TAKEN, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("['aside-")
    assert done.stdout.endswith("True\n")
