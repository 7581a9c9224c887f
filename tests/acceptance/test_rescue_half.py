"""A rescue that finds room for a part of the rows only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import read_history
from expr_tracker.store.lines import decode_line

if TYPE_CHECKING:
    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

PROGRAM = """
    import json, resource, sys
    import expr_tracker as et

    run = et.init("p", "r", dir=sys.argv[1], capture=False)
    et.log({"a": 0})
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
    for value in range(1, 500):
        et.log({"a": value})
    et.finish()
    sys.stdout.write("loss " + json.dumps(run._parts.stream.notices.counts("dropped")) + "\\n")
    sys.stdout.write("rescued " + json.dumps(run._parts.stream.notices.counts("rescued")) + "\\n")
"""


def test_a_rescue_that_finds_room_for_some_rows_names_them_and_counts_the_rest(
    run_program: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    program = run_program(PROGRAM, tmp_path, environment={"TMPDIR": str(folder)})
    lost = program.value("loss")["rows not written to metrics.jsonl"]
    ((name, rescued),) = program.value("rescued").items()
    left = [path for path in folder.iterdir() if path.name.startswith("expr-tracker-metrics")]
    assert left == [Path(name)], "nothing is left behind that nobody names"
    lines = [decode_line(line) for line in left[0].read_bytes().splitlines()]
    values = [row["a"] for row in lines if row is not None and "a" in row]
    stored = [row["a"] for row in read_history(tmp_path / "p" / "r", -1)]
    assert stored + values == list(range(len(stored) + rescued)), "whole rows, the first ones"
    assert len(values) == rescued > 0
    assert len(stored) + rescued + lost == 500
    assert left[0].name in program.errors
