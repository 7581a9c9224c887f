"""Processes that begin streams of one run at the same instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from expr_tracker.history import list_streams

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

BEGINNING = """
    import json, sys
    import expr_tracker as et
    from expr_tracker.errors import NameRefusedError

    print("ready", flush=True)
    for line in sys.stdin:
        try:
            run = et.init("p", line.strip(), dir=sys.argv[1], stream=sys.argv[2], capture=False)
        except NameRefusedError as refusal:
            print("began", json.dumps(str(refusal)), flush=True)
        else:
            run.log({"v": 1})
            run.finish()
            print("began", json.dumps(None), flush=True)
"""


def test_of_two_streams_that_differ_by_case_one_begins_and_can_be_opened_again(
    start: Start, tmp_path: Path
) -> None:
    programs = [start(BEGINNING, tmp_path, name) for name in ("data", "Data")]
    for program in programs:
        program.line("ready")
    for number in range(20):
        for program in programs:
            program.say(f"r{number}")
        answers = [program.value("began") for program in programs]
        streams = list_streams(tmp_path / "p" / f"r{number}")
        assert len(streams) == 1, answers
        assert [answer is None for answer in answers] == [
            name in streams for name in ("data", "Data")
        ]
        for program in programs:
            program.say(f"r{number}")
        assert [program.value("began") for program in programs].count(None) == 1
