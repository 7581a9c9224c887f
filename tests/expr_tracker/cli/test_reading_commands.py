"""`et history`, `export`, `verify`, `ls`: what they print and how they end."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from expr_tracker.cli import console, export, history, ls, trace, verify
from expr_tracker.store.documents import write_once
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    import click

COMMANDS: dict[str, click.Command] = {
    "history": history.command,
    "export": export.command,
    "verify": verify.command,
    "ls": ls.command,
    "trace": trace.command,
    "console": console.command,
}


def et(name: str, *arguments: object) -> Result:
    # Without the width of the terminal that the tests run in.
    runner = CliRunner(env={"COLUMNS": None})
    return runner.invoke(COMMANDS[name], [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "project" / "one"
    directory.mkdir(parents=True)
    write_once(directory / "run.json", {"id": "1", "created": 5.0})
    rows: list[dict[str, Any]] = [
        {"_step": i, "_time": 1700000000.5 + i, "loss": i / 3, "a,b": i} for i in range(30)
    ]
    rows[3]["loss"] = math.nan
    rows[4]["note"] = 'x,"y"\nz\x1b[31m'
    rows += [{"_attempt": 2, "_from_step": 29, "_time": 1.0}, {**rows[29], "loss": 1}]
    rows += [{"_attempt_end": 2, "_status": "succeeded", "_time": 2.0}]
    (directory / "metrics.jsonl").write_bytes(b"".join(map(encode_line, rows)))
    (directory / "metrics.data.jsonl").write_bytes(b'{"_step":7,"_time":0.0,"ms":5}\n')
    return directory


def test_a_table_shows_the_newest_steps_on_one_line_each(run: Path) -> None:
    lines = et("history", run, "-n", 2).stdout.splitlines()
    assert lines[0].split() == ["_step", "_time", "loss", "a,b"]
    assert [line.split()[0] for line in lines[1:]] == ["28", "29"]
    assert lines[1].split()[3] == "9.33333"
    lines = et("history", run, "--step-range", "4:5").stdout.splitlines()
    assert len(lines) == 2
    assert "\\n" in lines[1]
    assert "\\x1b[31m" in lines[1]


def test_json_is_strict_and_says_what_is_not_finite(run: Path) -> None:
    result = et("history", run, "--step-range", "3:4", "--format", "json")

    def refuse(token: str) -> None:
        raise AssertionError(token)

    (row,) = json.loads(result.stdout, parse_constant=refuse)
    assert row["loss"] is None
    assert row["_nonfinite"] == {"/loss": "NaN"}
    lines = et("history", run, "-n", 3, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["_step"] for line in lines] == [27, 28, 29]


def test_csv_is_csv(run: Path) -> None:
    result = et("history", run, "-n", -1, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout, newline="")))
    assert len(rows) == 30
    assert rows[4]["note"] == 'x,"y"\nz\x1b[31m'
    assert rows[1]["loss"] == repr(1 / 3)
    assert rows[3]["loss"] == "NaN"
    assert rows[0]["_time"] == "1700000000.5"


def test_metrics_are_chosen_by_comma_or_one_by_one(run: Path) -> None:
    chosen = et("history", run, "-n", 1, "--format", "jsonl", "--metric", "a,b", "--metrics", "l*")
    assert list(json.loads(chosen.stdout)) == ["_step", "_time", "loss", "a,b"]


def test_spaces_around_the_names_of_a_list_are_no_part_of_them(run: Path) -> None:
    chosen = et("history", run, "-n", 1, "--format", "jsonl", "--metrics", " loss , _time,")
    assert json.loads(chosen.stdout)["loss"] == 1
    rows = json.loads(et("history", run, "--stream", "data, default", "--format", "json").stdout)
    assert {row["_stream"] for row in rows} == {None, "data"}


@pytest.mark.parametrize("name", ["history", "export"])
def test_a_list_of_streams_without_any_is_refused(run: Path, name: str) -> None:
    more = ["-o", run / "out.csv"] if name == "export" else []
    result = et(name, run, *more, "--stream", " , ")
    assert result.exit_code == 2
    assert "names no stream" in result.stderr


def test_an_export_of_listed_streams_has_those(run: Path, tmp_path: Path) -> None:
    assert et("export", run, "-o", tmp_path / "a.csv", "--stream", "data,default").exit_code == 0
    assert ",data," in (tmp_path / "a.csv").read_text()


def test_attempts_are_those_of_one_stream(run: Path) -> None:
    result = et("history", run, "--attempts", "--stream", "data,default")
    assert result.exit_code == 2
    assert "one stream" in result.stderr


def test_streams_and_attempts_are_chosen(run: Path) -> None:
    rows = json.loads(et("history", run, "--stream", "data", "--format", "json").stdout)
    assert rows == [{"_step": 7, "_time": 0.0, "ms": 5}]
    rows = json.loads(et("history", run, "--stream", "*", "-n", 1, "--format", "json").stdout)
    assert [row["_stream"] for row in rows] == [None, "data"]
    rows = json.loads(et("history", run, "--stream", "default", "--format", "json").stdout)
    assert "_stream" not in rows[0]
    old = et("history", run, "--attempt", 1, "-n", 1, "--format", "jsonl")
    assert json.loads(old.stdout)["loss"] == 29 / 3
    both = et("history", run, "--attempt", "all", "-n", -1, "--format", "json")
    assert len(json.loads(both.stdout)) == 31
    attempts = json.loads(et("history", run, "--attempts", "--format", "json").stdout)
    assert [attempt["from_step"] for attempt in attempts] == [None, 29]
    assert et("history", run, "--step-range", "500:").stdout == "No rows.\n"


def test_ranks_are_chosen_as_the_functions_take_them(run: Path, tmp_path: Path) -> None:
    for rank in (1, 2):
        line = encode_line({"_step": rank, "_time": 0.0, "loss": rank})
        (run / f"metrics.rank{rank}.jsonl").write_bytes(line)
        (run / f"spans.rank{rank}.jsonl").write_text(
            f'{{"name": "of-{rank}", "start": 1, "dur_ms": 1}}\n'
        )

    def ranks(*arguments: str) -> list[int | None]:
        shown = et("history", run, "-n", 1, *arguments, "--format", "json")
        assert shown.exit_code == 0, shown.stderr
        return [row.get("_rank") for row in json.loads(shown.stdout)]

    assert ranks() == [None]
    assert ranks("--rank", "*") == [0, 1, 2]
    assert ranks("--rank", "2, 0") == [0, 2]
    assert ranks("--rank", "1") == [None]
    assert ranks("--rank", "*", "--metrics", "loss", "--stream", "*") == [0, 1, 2, 0]
    assert et("history", run, "--rank", "0,1", "--metric", "los").stderr.endswith("'loss'?\n")
    target = tmp_path / "out.csv"
    for given, count in (("*", 32), ("1,2", 2), ("2", 1)):
        et("export", run, "-o", target, "--stream", "default", "--rank", given)
        with target.open(newline="") as file:
            assert len(list(csv.DictReader(file))) == count, given
    for given, names in (("*", ["of-1", "of-2"]), ("0,2", ["of-2"]), ("1", ["of-1"])):
        shown = et("trace", run, "--summary", "--rank", given)
        assert [name for name in ("of-1", "of-2") if name in shown.stdout] == names
    listed = et("history", run, "--attempts", "--rank", "*")
    assert listed.exit_code == 2
    assert listed.stderr == "Error: --rank: --attempts lists those of one rank; pass its number.\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["history", "{run}x"], "Did you mean"),
        (["history", "{run}", "--stream", "dat"], "--stream 'data'"),
        (["history", "{run}", "--stream", "a/b"], "part of a file name"),
        (["history", "{run}", "--step-range", "5"], "expected two steps"),
        (["history", "{run}", "--step-range", "20:10"], "below the second"),
        (["history", "{run}", "--step-range", "10:10"], "below the second"),
        (["history", "{run}", "-n", "0"], "or -1 for all"),
        (["history", "{run}", "-n", "-5"], "or -1 for all"),
        (["history", "{run}", "-n", "x"], "or -1 for all"),
        (["history", "{run}", "--metrics", "los"], "Did you mean 'loss'?"),
        (["history", "{run}", "--stream", "nope"], "It has: default, data."),
        (["history", "{run}/run.json"], "not a metrics file"),
        (["verify", "{run}/run.json"], "not a metrics file"),
        (["export", "{run}/run.json", "-o", "{run}/a.csv"], "not a metrics file"),
        (["history", "{run}", "--attempt", "x"], "attempt's number"),
        (["history", "{run}", "--attempt", "9"], "attempt 1, 2"),
        (["history", "{run}", "--rank", "3"], "rank 3"),
        (["export", "{run}", "-o", "{run}/out"], "ending names no format"),
        (["export", "{run}", "-o", "{run}/no/out.csv"], "one/no: there is no such folder"),
        (["verify", "{run}", "--against", "{run}x"], "There is no run"),
        (["ls", "{run}x"], "is no directory"),
        (["ls", "{run}/metrics.jsonl"], "is a file; pass the directory that holds the runs"),
        (["history", ""], "RUN '' is empty"),
        (["trace", " "], "RUN ' ' is empty"),
        (["console", ""], "RUN '' is empty"),
        (["verify", ""], "RUN '' is empty"),
        (["ls", ""], "DIRECTORY '' is empty"),
        (["console", "{run}x"], "There is no run at"),
        (["console", "{run}/metrics.jsonl"], "is not a console file"),
        (["trace", "{run}/metrics.jsonl"], "is not a span file"),
        (["trace", "{run}/metrics.jsonl", "--summary"], "is not a span file"),
        (["history", "{run}", "-n", "9" * 19], "at most 2**63 - 1"),
        (["history", "{run}", "--rank", "9" * 30], "to 9223372036854775807"),
        (["history", "{run}", "--step-range", "9" * 20 + ":"], "two steps of 64 bits"),
        (["history", "{run}", "--step-range", "9" * 19 + ":"], "steps lie between -2**63 and"),
        (["history", "{run}", "--metrics", ""], "names no metric"),
        (["trace", "{run}", "--metrics", " , "], "names no metric"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    run: Path, arguments: list[str], text: str
) -> None:
    name, *rest = (argument.replace("{run}", str(run)) for argument in arguments)
    result = et(name, *rest)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("Error: ")
    assert text in result.stderr


@pytest.mark.parametrize("given", ["folder", "file"])
def test_an_export_without_a_file_is_named_as_the_run(
    run: Path, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    result = et("export", run if given == "folder" else run / "metrics.jsonl", "--format", "csv")
    assert result.exit_code == 0, result.output
    assert [path.name for path in folder.iterdir()] == [f"{run.name}.csv"]


def test_an_export_that_names_neither_file_nor_format_is_refused(run: Path) -> None:
    result = et("export", run)
    assert result.exit_code == 2
    assert "-o FILE, or --format" in result.output


def test_an_export_says_what_it_wrote(run: Path) -> None:
    result = et("export", run, "-o", run / "out.jsonl")
    assert "31 rows of default, data" in result.stdout
    assert len((run / "out.jsonl").read_bytes().splitlines()) == 31
    et("export", run, "-o", run / "out.txt", "--format", "csv", "--stream", "default")
    assert (run / "out.txt").read_text().startswith("_step,_time,loss,")


def test_verify_ends_with_1_when_something_is_wrong(run: Path) -> None:
    result = et("verify", run)
    assert result.exit_code == 0
    assert result.stdout.endswith("ok\n")
    assert "attempt 2: 1 row, from step 29, succeeded" in result.stdout
    assert et("verify", run, "--against", run).exit_code == 0
    with (run / "metrics.data.jsonl").open("ab") as file:
        file.write(b"damage\n")
    result = et("verify", run)
    assert result.exit_code == 1
    assert "wrong: data: unreadable lines: 2" in result.stdout


def test_verify_against_another_run_names_the_difference(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "metrics.jsonl").write_bytes((run / "metrics.jsonl").read_bytes())
    result = et("verify", run, "--against", other)
    assert result.exit_code == 1
    assert f"differs: data: only in {run}" in result.stdout


def test_runs_are_listed(run: Path) -> None:
    root = run.parent.parent
    lines = et("ls", root, "--metric", "loss").stdout.splitlines()
    assert lines[0].split() == [
        "project", "name", "status", "streams", "rows", "last_step", "started", "loss",
    ]  # fmt: skip
    assert lines[1].split()[:6] == ["project", "one", "lost", "default,data", "32", "29"]
    (listed,) = json.loads(et("ls", root, "--format", "json").stdout)
    assert listed["streams"] == ["default", "data"]
    assert listed["started"] == 5.0
    empty = run / "empty"
    empty.mkdir()
    assert "No runs" in et("ls", empty).stdout


@pytest.mark.parametrize("name", ["rows", "status", "path", "started", "metric", "loss"])
def test_the_metric_of_a_list_takes_no_other_column_s_place(tmp_path: Path, name: str) -> None:
    run = tmp_path / "project" / "one"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_bytes(encode_line({"_step": 0, "_time": 5.0, name: math.inf}))
    (plain,) = json.loads(et("ls", tmp_path, "--format", "json").stdout)
    (listed,) = json.loads(et("ls", tmp_path, "--metric", name, "--format", "json").stdout)
    assert listed.pop("_nonfinite") == {f"/metric/{name}": "Infinity"}
    assert listed.pop("metric") == {name: None}
    assert listed == plain
    without = et("ls", tmp_path).stdout.splitlines()
    table = et("ls", tmp_path, "--metric", name).stdout.splitlines()
    assert table[0].startswith(without[0].rstrip())
    assert table[0].endswith(f"  {name}" if name not in plain else f"  metric {name}") or (
        name == "path"  # in JSON only
    )
    assert table[1].startswith(without[1].rstrip())
    assert table[1].endswith("  inf")


def test_a_run_that_cannot_be_read_is_listed_and_the_reason_said(run: Path) -> None:
    root = run.parent.parent
    bad = root / "project" / "bad"
    (bad / "metrics.jsonl").mkdir(parents=True)
    result = et("ls", root)
    assert result.exit_code == 0
    assert [line.split()[1:3] for line in result.stdout.splitlines()[1:]] == [
        ["bad", "unreadable"],
        ["one", "lost"],
    ]
    assert str(bad) in result.stderr
    listed = json.loads(et("ls", root, "--format", "json").stdout)
    assert listed[0]["problem"]
    assert listed[1]["problem"] is None


def test_a_run_to_compare_with_is_looked_for_before_all_is_read(run: Path) -> None:
    result = et("verify", run, "--against", f"{run}x")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_metric_of_other_rows_than_those_shown_is_known(run: Path) -> None:
    shown = et("history", run, "-n", 1, "--metrics", "note,_attempt,zz*")
    assert (shown.exit_code, shown.stderr) == (0, "")
    shown = et("history", run, "-n", -1, "--metrics", "note", "--dropna", "--format", "jsonl")
    assert [json.loads(line)["_step"] for line in shown.stdout.splitlines()] == [4]


def test_an_empty_metrics_file_has_no_rows_and_any_name_may_hold_rows(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "kept.txt").write_bytes(b'damage\n{"_step":7,"loss":1}\n')
    empty = et("history", tmp_path / "metrics.jsonl", "--metric", "loss")
    assert (empty.exit_code, empty.stdout) == (0, "No rows.\n")
    rows = et("history", tmp_path / "kept.txt", "--format", "jsonl")
    assert json.loads(rows.stdout)["_step"] == 7


def test_a_column_that_was_asked_for_is_shown_before_the_others(run: Path) -> None:
    arguments = [str(run.parent.parent), "--metric", "loss"]
    narrow = CliRunner(env={"COLUMNS": "40"}).invoke(ls.command, arguments)
    title = narrow.stdout.splitlines()[0].split()
    assert title[-1] == "loss"
    assert "name" in title
    assert all(len(line) <= 40 for line in narrow.stdout.splitlines())
    assert "started; --format json has all)" in narrow.stderr
    chosen = CliRunner(env={"COLUMNS": "14"}).invoke(
        history.command, [str(run), "--metric", "loss", "-n", "1"]
    )
    assert chosen.stdout.split() == ["_step", "loss", "29", "1"]
    assert "_time; --metrics chooses" in chosen.stderr


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    row = {
        "_step": 7,
        "_time": 0.0,
        "loss": 0.5,
        "a_metric_of_a_long_name": 1,
        "表格": "宽度",
        "z": 9,
    }
    (tmp_path / "metrics.jsonl").write_bytes(encode_line(row))
    return tmp_path


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("5", ["_step"]),
        ("19", ["_step", "loss", "表格"]),
        ("30", ["_step", "loss", "表格", "z"]),
        ("50", ["_step", "loss", "a_metric_of_a_long_name", "表格", "z"]),
        ("60", ["_step", "_time", "loss", "a_metric_of_a_long_name", "z"]),
        ("200", ["_step", "_time", "loss", "a_metric_of_a_long_name", "表格", "z"]),
        (None, ["_step", "_time", "loss", "a_metric_of_a_long_name", "表格", "z"]),
    ],
)
def test_a_narrow_terminal_shows_values_before_times_and_names_the_rest(
    wide: Path, columns: str | None, names: list[str]
) -> None:
    shown = CliRunner(env={"COLUMNS": columns}).invoke(history.command, [str(wide)])
    title, line = shown.stdout.splitlines()
    assert title.split() == names
    for text in (title, line):
        width = sum(2 if ord(character) > 0x2E80 else 1 for character in text)
        assert columns is None or width <= int(columns)
    left_out = 6 - len(names)
    assert shown.stderr.startswith(f"({left_out} more column") if left_out else shown.stderr == ""


def test_wide_characters_keep_the_columns_under_their_titles(wide: Path) -> None:
    shown = CliRunner(env={"COLUMNS": None}).invoke(
        history.command, [str(wide), "--metrics", "表格,z"]
    )
    title, line = shown.stdout.splitlines()
    assert title.rindex("z") == line.rindex("9")


def main_with(*arguments: object, output: int) -> tuple[int, bytes]:
    program = "import sys; from expr_tracker.cli import main; main(sys.argv[1:])"
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=output,
        stderr=subprocess.PIPE,
        check=False,
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("name", ["history", "verify", "ls", "--help", "completion"])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_1(run: Path, name: str) -> None:
    argument = {"--help": (), "completion": ("bash",)}.get(name, (run,))
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("wb") as file:
        assert main_with(name, *argument, output=file.fileno()) == (
            1,
            b"Error: standard output: No space left on device\n",
        )


@pytest.mark.parametrize("name", ["export", "trace"])
def test_an_output_whose_name_is_too_long_is_one_line_and_exit_code_2(
    run: Path, name: str
) -> None:
    (run / "spans.jsonl").write_text('{"name": "a", "start": 1, "dur_ms": 1}\n')
    output = run / ("x" * 243 + ".csv")  # the file beside it has too long a name
    result = et(name, run, "-o", output)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {run.parent}")
    assert "x.csv: the path, or a name in it, is too long for the system; " in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["export", "trace"])
def test_a_path_that_is_no_file_is_one_line_and_exit_code_2(run: Path, name: str) -> None:
    (run / "spans.jsonl").write_text('{"name": "a", "start": 1, "dur_ms": 1}\n')
    (run / "folder.csv").mkdir()
    result = et(name, run, "-o", run / "folder.csv")
    assert result.exit_code == 2
    assert "folder.csv" in result.stderr
    assert "-> None" not in result.stderr


@pytest.mark.parametrize("name", ["history", "verify", "ls", "--help", "completion"])
def test_a_reader_that_is_gone_is_no_failure(run: Path, name: str) -> None:
    argument = {"--help": (), "completion": ("bash",)}.get(name, (run,))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert main_with(name, *argument, output=writer) == (0, b"")
    finally:
        os.close(writer)


def test_a_reader_that_goes_away_leaves_no_traceback(run: Path) -> None:
    lines = b"".join(encode_line({"_step": i, "_time": 0.0}) for i in range(50_000))
    (run / "metrics.jsonl").write_bytes(lines)
    program = "import sys; from expr_tracker.cli import main; main(sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", program, "history", run, "-n", "-1", "--format", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_showing_rows_imports_no_table_library(run: Path) -> None:
    program = (
        "import sys; from expr_tracker.cli.history import command\n"
        f"command(['{run}', '-n', '3'], standalone_mode=False)\n"
        "heavy = {'pandas', 'polars', 'pyarrow', 'numpy', 'expr_tracker.history.bulk'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_attempt_that_gave_way_can_be_exported(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    result = et("export", run, "-o", target, "--stream", "default", "--attempt", "all")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    assert [(row["_attempt"], row["_step"]) for row in rows[-2:]] == [("1", "29"), ("2", "29")]
    assert et("export", run, "-o", target, "--attempt", "1").exit_code == 0
    assert len(target.read_text().splitlines()) > 30
    refused = et("export", run, "-o", target, "--attempt", "2")
    assert refused.exit_code == 2
    assert refused.stderr == "Error: data: --attempt 2: this stream has attempt 1.\n"


def test_a_metric_that_no_run_has_is_said_with_what_was_probably_meant(run: Path) -> None:
    root = run.parent.parent
    result = et("ls", root, "--metric", "los")
    assert result.exit_code == 0
    assert result.stderr == "--metric los: no run here has a value of it. Did you mean 'loss'?\n"
    assert et("ls", root, "--metric", "loss").stderr == ""


def test_the_status_of_runs_is_shown_before_their_rows(run: Path) -> None:
    listed = CliRunner(env={"COLUMNS": "12"}).invoke(ls.command, [str(run.parent.parent)])
    assert listed.stdout.split() == ["name", "status", "one", "lost"]


def test_what_was_logged_stands_before_what_spans_measured(tmp_path: Path) -> None:
    row = {"_step": 0, "_time": 1.0, "time_ms/step": 2.0, "count/step": 1, "loss": 0.5}
    (tmp_path / "metrics.jsonl").write_bytes(encode_line(row))
    titles = et("history", tmp_path).stdout.splitlines()[0].split()
    assert titles == ["_step", "_time", "loss", "time_ms/step", "count/step"]
    asked = et("history", tmp_path, "--metrics", "time_ms/step,loss", "--format", "json")
    assert list(json.loads(asked.stdout)[0]) == ["_step", "_time", "time_ms/step", "loss"]


@pytest.mark.parametrize(
    ("arguments", "spelled"),
    [
        (["export", "{run}", "-o", "x"], "or pass --format."),
        (
            ["export", "{run}", "-o", "{run}/metrics.jsonl"],
            "Error: --output {run}/metrics.jsonl: ",
        ),
        (["history", "{run}", "--attempt", "9"], "Error: --attempt 9: this stream has"),
        (["export", "{run}", "-o", "x.csv", "--attempt", "9"], "default: --attempt 9: this"),
        (["history", "{run}", "--stream", "a b"], "Error: --stream 'a b': "),
        (["history", "{run}", "--stream", "dat"], "Did you mean --stream 'data'?"),
    ],
    ids=str,
)
def test_messages_spell_options_as_the_command_line_does(
    run: Path, arguments: list[str], spelled: str
) -> None:
    result = et(*[argument.format(run=run) for argument in arguments])
    assert result.exit_code == 2
    assert spelled.format(run=run) in result.stderr


def test_a_metric_that_looks_like_a_keyword_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(encode_line({"_step": 0, "rank=1": 1, "n": 2}))
    result = et("history", tmp_path, "--metric", "rank=2")
    assert "No row has a metric 'rank=2'. Did you mean 'rank=1'?" in result.stderr


@pytest.mark.parametrize("name", ["history", "trace", "console", "verify", "ls"])
def test_a_path_of_thousands_of_characters_is_shown_by_its_ends(name: str) -> None:
    result = et(name, "first" + "x" * 5_000 + "last")
    assert result.exit_code in {1, 2}
    assert "firstxx" in result.stderr
    assert "xxlast" in result.stderr
    assert len(result.stderr) < 1_500
