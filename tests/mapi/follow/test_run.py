"""How a run stands on the platform, where files tell of less than it has."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

import pytest
from tests.mapi.follow.test_hostile_files import handmade, row

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.follow.conftest import Push

    import mapi


def test_a_part_of_a_run_without_its_end_does_not_take_the_end_away(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0), row(1, loss=0.5)])
    part = tmp_path / "part" / "p" / "r"
    shutil.copytree(path, part)
    end = {"_attempt_end": 1, "_status": "succeeded", "_time": time.time() - 5}
    with (path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(end) + "\n")
    (whole,) = pushed(path)
    before = api.runs.get(whole.run or "")
    (report,) = pushed(part)
    assert (report.run, report.status, before.status.value) == (whole.run, "lost", "succeeded")
    assert any("stays succeeded there; here it is lost" in note for note in report.notes)
    after = api.runs.get(whole.run or "")
    assert (after.status, after.finished) == (before.status, before.finished)


@pytest.mark.parametrize("how", ["again", "rank"])
def test_an_end_is_over_for_a_run_whose_files_have_it_and_were_lost_since(
    api: mapi.Client, pushed: Push, tmp_path: Path, how: str
) -> None:
    end = {"_attempt_end": 1, "_status": "succeeded", "_time": time.time() - 5}
    path = handmade(tmp_path, [row(0, loss=1.0), end])
    (report,) = pushed(path)
    assert report.status == "succeeded"
    if how == "again":
        begun = {"_attempt": 2, "_from_step": None, "_time": time.time() - 3, "_pid": 1}
        with (path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(begun) + "\n")
    else:
        (path / "metrics.rank1.jsonl").write_text(json.dumps(row(0, loss=2.0)) + "\n")
    (after,) = pushed(path)
    assert (after.status, api.runs.get(after.run or "").status.value) == ("lost", "lost")
