from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import peer
from servers.turns import Pair, Side, file_bytes, report_turns, take_turns

if TYPE_CHECKING:
    import pytest

OURS = "import json; print(json.dumps({'cost': settings['base'], 'units': 10}))"
THEIRS = "import json; print(json.dumps({'cost': settings['base'] * settings['factor']}))"
PAIR = Pair("example", OURS, THEIRS)


def side(name: str, **settings: object) -> Side:
    return Side(
        name,
        Path(sys.executable),
        is_ours=name == "ours",
        settings=settings,
        pid=os.getpid(),
        points_bytes=lambda: 0,
    )


def test_each_side_runs_its_own_program_with_its_own_settings() -> None:
    sides = [side("ours"), side("quick", factor=2), side("slow", factor=8)]
    found = take_turns(sides, PAIR, 2, settings={"base": 1})
    assert {name: figures["cost"] for name, figures in found.items()} == {
        "ours": 1,
        "quick": 2,
        "slow": 8,
    }


def test_work_that_is_counted_becomes_processor_time_for_each_unit() -> None:
    found = take_turns([side("ours")], PAIR, 1, settings={"base": 1})["ours"]
    assert "units" not in found
    assert found["server_us_per_unit"] >= 0


def test_each_peer_has_a_line_with_its_name_and_its_ratio(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sides = [side("ours"), side("quick", factor=2), side("slow", factor=8)]
    target = peer.Target("cost", ">= 4 x", ratio_at_least=4)
    report_turns(sides, PAIR, 1, settings={"base": 1}, targets=[target])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["settings"]["peer"] for line in lines] == ["quick", "slow"]
    assert [line["ratio"]["cost"] for line in lines] == [2, 8]
    assert [line["targets"][0]["kept"] for line in lines] == [False, True]


def test_without_a_peer_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    report_turns([side("ours")], PAIR, 1, settings={"base": 1}, targets=[])
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["peer"] == {}


def test_a_file_counts_with_its_journal_and_without_its_neighbours(tmp_path: Path) -> None:
    for name in ("mlflow.db", "mlflow.db-wal", "other.db"):
        (tmp_path / name).write_bytes(bytes(10))
    assert file_bytes(tmp_path) == 20
