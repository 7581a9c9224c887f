from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import peer
import pytest

ROOT = Path(__file__).parents[2]
BENCHES = sorted(path.stem for path in (ROOT / "bench").glob("*.py") if path.stem != "peer")


@pytest.fixture
def both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "peer_python", lambda: Path(sys.executable))


@pytest.mark.usefixtures("both_sides")
def test_a_pair_is_one_line_with_both_figures_their_ratio_and_the_target(
    capsys: pytest.CaptureFixture[str],
) -> None:
    targets = [
        peer.Target("cost", "<= 3 and >= 4 x", at_most=3, ratio_at_least=4),
        peer.Target("cost", "<= 1", at_most=1),
    ]
    code = "print('noise'); print('{\"cost\": %s}' % (settings['base'] * FACTOR))"
    peer.run_pair(
        code.replace("FACTOR", "2"),
        code.replace("FACTOR", "8"),
        2,
        name="example",
        settings={"base": 1},
        targets=targets,
    )
    (line,) = capsys.readouterr().out.splitlines()
    figures = json.loads(line)
    assert (figures["ours"], figures["peer"]) == ({"cost": 2}, {"cost": 8})
    assert figures["ratio"] == {"cost": 4}
    assert [one["kept"] for one in figures["targets"]] == [True, False]


def test_a_side_without_a_peer_keeps_no_promise_about_the_ratio() -> None:
    target = peer.Target("cost", ">= 2 x", ratio_at_least=2)
    assert peer.verdict({"cost": 1.0}, {}, target)["kept"] is None


def test_a_shorter_run_than_promised_keeps_nothing() -> None:
    target = peer.Target("cost", "<= 2 at 1000 rows", at_most=2, at_rows=1000)
    judged = [peer.verdict({"cost": 1.0}, {}, target, rows=rows)["kept"] for rows in (999, 1000)]
    assert judged == [None, True]


def test_a_program_without_figures_is_explained() -> None:
    with pytest.raises(RuntimeError, match=r"exit code 1[\s\S]*ZeroDivisionError"):
        peer.run_program(Path(sys.executable), "1 / 0", {})


def test_the_quantile_is_the_nearest_rank() -> None:
    code = "print('{\"p\": %s}' % microseconds(range(1000, 101000, 1000), 0.99))"
    assert peer.run_program(Path(sys.executable), code, {}) == {"p": 100.0}


@pytest.mark.acceptance
@pytest.mark.parametrize("name", BENCHES)
def test_each_bench_runs_on_a_few_rows(name: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / f"bench/{name}.py", "--no-peer", "--rows=300", "--rounds=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert json.loads(line)["ours"]
