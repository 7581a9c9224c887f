from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from expr_tracker.cli.trace import command

if TYPE_CHECKING:
    from pathlib import Path


def _invoke(*arguments: object) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    for name in ("spans.jsonl", "spans.data-1.jsonl", "spans.data-2.jsonl"):
        spans = [
            {"_step": 0, "name": "s/a", "depth": 1, "track": 1, "start": 1000.0, "dur_ms": 250.0},
            {"_step": 1, "name": "s", "depth": 0, "track": 1, "start": 1000.0, "dur_ms": 500.0},
        ]
        text = "".join(json.dumps(span) + "\n" for span in spans)
        (directory / name).write_text(text)
    (directory / "metrics.jsonl").write_text('{"_step":0,"_time":1000.0,"loss":0.5}\n')
    return directory


def test_it_prints_the_count_the_file_and_how_to_open_it(run: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    result = _invoke(run, "-o", output, "--metrics", "loss", "--temp-dir", tmp_path)
    assert result.exit_code == 0
    assert f"6 spans written to {output}" in result.output
    assert "ui.perfetto.dev" in result.output
    assert "chrome://tracing" in result.output
    assert json.loads(output.read_bytes())["displayTimeUnit"] == "ms"


def test_streams_steps_and_times_narrow_it(run: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    assert "4 spans" in _invoke(run, "-o", output, "--stream", "default,data-1").output
    assert (
        "1 span " in _invoke(run, "-o", output, "--stream", "data-1", "--step-range", ":1").output
    )
    assert "0 spans" in _invoke(run, "-o", output, "--time-range", "1001.5:").output
    assert "6 spans" in _invoke(run, "-o", output, "--rank", "0").output


def test_a_summary_prints_the_time_by_path(run: Path) -> None:
    result = _invoke(run, "--summary", "--group")
    assert result.output.splitlines() == [
        "default  500.00ms in root spans",
        "  s      500.00ms 100.0%        1x  mean 500.00ms  max 500.00ms",
        "  s/a    250.00ms  50.0%        1x  mean 250.00ms  max 250.00ms",
        "",
        "data (2 streams)  1.00s in root spans",
        "  s         1.00s 100.0%        2x  mean 500.00ms  max 500.00ms",
        "  s/a    500.00ms  50.0%        2x  mean 250.00ms  max 250.00ms",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(0, "0s"), (0.004, "4.00µs"), (4.4, "4.40ms"), (61_000, "61.00s"), (1e-5, "10.00ns")],
)
def test_a_short_time_is_told_in_a_unit_that_shows_it(
    tmp_path: Path, milliseconds: float, shown: str
) -> None:
    span = {"name": "s", "depth": 0, "track": 1, "start": 1000.0, "dur_ms": milliseconds}
    (tmp_path / "spans.jsonl").write_text(json.dumps(span) + "\n")
    lines = _invoke(tmp_path, "--summary").output.splitlines()
    assert lines[1].split()[1] == shown
    assert lines[1].endswith(f"mean {shown}  max {shown}")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--group"], "--group is for --summary"),
        (["--format", "json"], "--format is for --summary"),
        (["--format", "table"], "--format is for --summary"),
        (["--summary", "-o", "x.json"], "--output is for the timeline"),
        (["--summary", "--metrics", "nope"], "--metrics is for the timeline"),
        (["--summary", "--temp-dir", "."], "--temp-dir is for the timeline"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    run: Path, arguments: list[str], named: str, tmp_path: Path
) -> None:
    result = _invoke(run, *arguments)
    assert result.exit_code == 2
    assert named in result.output
    assert not (tmp_path / "trace.json").exists()


def test_a_summary_as_json(run: Path) -> None:
    streams = json.loads(_invoke(run, "--summary", "--format", "json").output)
    assert [stream["label"] for stream in streams] == ["default", "data-1", "data-2"]
    assert streams[0]["paths"][1] == {
        "path": "s/a", "depth": 1, "seconds": 0.25, "share": 0.5, "count": 1,
        "mean_ms": 250.0, "max_ms": 250.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step-range", "x:1"], "--step-range 'x:1'"),
        (["--step-range", "5"], "expected two steps"),
        (["--time-range", "nan:1"], "expected two times in Unix seconds"),
        (["--time-range", "1_0:2_0"], "expected two times in Unix seconds"),
        (["--time-range", "1.5"], "expected two times in Unix seconds"),
        (["--stream", "nope"], "'nope'"),
        (["--stream", "a b"], "a stream is part of a file name"),
        (["--stream", ","], "names no stream"),
        (["--rank", "7"], "rank 7"),
        (["--metrics", "los"], "Did you mean 'loss'"),
        (["--temp-dir", "{run}/nowhere"], "there is no such folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, run: Path, tmp_path: Path
) -> None:
    arguments = [argument.replace("{run}", str(run)) for argument in arguments]
    result = _invoke(run, "-o", tmp_path / "out.json", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out.json").exists()


def test_a_missing_run_is_exit_code_2_and_a_disk_that_is_full_1(run: Path, tmp_path: Path) -> None:
    assert _invoke(tmp_path / "nowhere").exit_code == 2
    output = "/dev/full"
    result = _invoke(run, "-o", output)
    assert result.exit_code == 1
    assert "No space left on device" in result.output
    assert result.output.count("\n") == 1


def test_a_missing_folder_is_named_and_not_the_file_beside_the_output(
    run: Path, tmp_path: Path
) -> None:
    result = _invoke(run, "-o", tmp_path / "nowhere" / "out.json")
    assert result.exit_code == 2
    beginning = f"Error: {tmp_path / 'nowhere'}: there is no such folder. There are: "
    assert result.output.startswith(beginning)
    assert result.output.count("\n") == 1


def test_a_reversed_range_is_refused(run: Path) -> None:
    for option in ("--step-range", "--time-range"):
        result = _invoke(run, option, "20:10")
        assert result.exit_code == 2
        assert "below the second" in result.output


def test_control_characters_and_long_paths_are_not_printed(tmp_path: Path) -> None:
    name = "\x1b[31m" + "x" * 200
    line = json.dumps({"name": name, "start": 1, "dur_ms": 1})
    (tmp_path / "spans.jsonl").write_text(line + "\n")
    (tmp_path / "spans.empty.jsonl").write_text("")
    output = _invoke(tmp_path, "--summary").output
    assert "\x1b" not in output
    assert "..." + "x" * 57 + " " in output
    assert "empty  no spans" in output
