from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import list_streams, read_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Program, Start

pytestmark = pytest.mark.acceptance

#: A producer that does what it is told, a line at a time.
PRODUCER = """
    import json, os, sys
    import expr_tracker as et

    folder, arguments = sys.argv[1], json.loads(sys.argv[2])
    run = et.init(project="llm", name="sft-1", dir=folder, capture=False, **arguments)
    print("rank", run.rank, flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "log":
            et.log(json.loads(rest))
        elif word == "span":
            with et.span(rest):
                pass
        elif word == "flush":
            run.history.flush()
        elif word == "pinned":
            et.summary()[rest] = os.getpid()
        elif word == "history":
            print("rows", json.dumps(et.history(50, **json.loads(rest))), flush=True)
        elif word == "end":
            break
        print("done", flush=True)
    et.finish()
"""

CLI = """
    import sys
    from expr_tracker.cli import main
    sys.argv[0] = "et"
    main()
"""


def produce(
    start: Start, folder: Path, *, environment: dict[str, str] | None = None, **arguments: Any
) -> Program:
    program = start(PRODUCER, folder, json.dumps(arguments), environment=environment)
    program.line("rank")
    return program


def tell(program: Program, text: str) -> None:
    program.say(text)
    program.line("done")


def logging_of(row: dict[str, Any]) -> str:
    """Return the line that has a producer log a row."""
    return "log " + json.dumps(row)


def rows_of(program: Program, **arguments: Any) -> list[dict[str, Any]]:
    program.say("history " + json.dumps(arguments))
    rows: list[dict[str, Any]] = program.value("rows")
    program.line("done")
    return rows


def end(*programs: Program) -> None:
    for program in programs:
        program.say("end")
    for program in programs:
        assert program.end() == 0, program.errors


@pytest.fixture
def pair(start: Start, tmp_path: Path) -> tuple[Program, Program]:
    """Return a trainer and a data worker of one run, both alive."""
    return produce(start, tmp_path), produce(start, tmp_path, stream="data")


def test_two_producers_of_one_run_count_their_own_steps(
    pair: tuple[Program, Program], tmp_path: Path
) -> None:
    trainer, data = pair
    for number in range(101):
        trainer.say(logging_of({"train/loss": number}))
        data.say(logging_of({"data/produce_ms": 1000 + number}))
    for program in pair:
        for _ in range(101):
            program.line("done")
    end(*pair)
    directory = tmp_path / "llm" / "sft-1"
    for stream, name, first in ((None, "train/loss", 0), ("data", "data/produce_ms", 1000)):
        rows = read_history(directory, -1, stream=stream)
        assert [row["_step"] for row in rows] == list(range(101))
        assert [row[name] for row in rows] == list(range(first, first + 101))
        assert all(set(row) == {"_step", "_time", name} for row in rows), "no row is shared"
    assert list_streams(directory) == [None, "data"]


def test_the_files_of_a_run_are_where_the_documentation_says(
    pair: tuple[Program, Program], tmp_path: Path
) -> None:
    for program in pair:
        tell(program, logging_of({"a": 1}))
        tell(program, "span s")
    end(*pair)
    directory = tmp_path / "llm" / "sft-1"
    names = {path.name for path in directory.iterdir()}
    for kind in ("metrics", "spans"):
        assert {f"{kind}.jsonl", f"{kind}.data.jsonl"} <= names
        assert {f"{kind}.meta.json", f"{kind}.data.meta.json"} <= names
    for kind in ("summary", "config"):
        assert {f"{kind}.json", f"{kind}.data.json"} <= names
    assert "run.json" in names
    assert json.loads((directory / "config.json").read_text()) == {}, "also without a config"
    assert not {name for name in names if "parts" in name or "torn" in name or "new" in name}


def test_processes_that_finish_together_leave_every_summary_and_config_whole(
    start: Start, tmp_path: Path
) -> None:
    producers = {
        (stream, rank): produce(
            start,
            tmp_path,
            stream=stream,
            config={"stream": stream, "rank": rank},
            environment={"RANK": str(rank)},
        )
        for stream in (None, "data")
        for rank in range(3)
    }
    for (stream, rank), program in producers.items():
        tell(program, logging_of({"loss": rank, f"of/{stream}/{rank}": 1}))
        tell(program, "pinned pid")
    end(*producers.values())
    directory = tmp_path / "llm" / "sft-1"
    for (stream, rank), program in producers.items():
        suffix = (f".{stream}" if stream else "") + (f".rank{rank}" if rank else "")
        summary = json.loads((directory / f"summary{suffix}.json").read_text())
        assert summary["loss"] == rank
        assert summary["pid"] == program.pid
        assert [name for name in summary if name.startswith("of/")] == [f"of/{stream}/{rank}"]
        config = json.loads((directory / f"config{suffix}.json").read_text())
        assert config == {"stream": stream, "rank": rank}
        assert (directory / f"metrics{suffix}.jsonl").is_file()
    assert list_streams(directory) == [None, "data"]
    assert len(read_history(directory, -1, stream="*", rank=None)) >= 2


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({"RANK": "1"}, 1),
        ({"LOCAL_RANK": "2"}, 2),
        ({"SLURM_PROCID": "3"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "4"}, 4),
        ({"PMI_RANK": "5"}, 5),
        ({"RANK": "1", "LOCAL_RANK": "2", "SLURM_PROCID": "3"}, 1),
        ({"RANK": "", "LOCAL_RANK": "2"}, 2),
        ({"RANK": "one", "SLURM_PROCID": "3"}, 3),
        ({"RANK": "-1"}, 0),
        ({"RANK": "0"}, 0),
        ({}, 0),
    ],
)
@pytest.mark.parametrize("stream", [None, "data"])
def test_the_rank_of_every_launcher_has_files_of_its_own(
    stream: str | None, variables: dict[str, str], rank: int, start: Start, tmp_path: Path
) -> None:
    program = start(PRODUCER, tmp_path, json.dumps({"stream": stream}), environment=variables)
    assert program.line("rank") == str(rank)
    tell(program, logging_of({"a": 1}))
    end(program)
    suffix = (f".{stream}" if stream else "") + (f".rank{rank}" if rank else "")
    directory = tmp_path / "llm" / "sft-1"
    assert [path.name for path in directory.glob("metrics*.jsonl")] == [f"metrics{suffix}.jsonl"]
    assert read_history(directory, -1, stream=stream, rank=rank)[0]["a"] == 1


def test_a_rank_is_ignored_on_request(start: Start, tmp_path: Path) -> None:
    program = produce(start, tmp_path, rank_aware=False, environment={"RANK": "3"})
    tell(program, logging_of({"a": 1}))
    end(program)
    assert (tmp_path / "llm" / "sft-1" / "metrics.jsonl").is_file()


@pytest.mark.parametrize(
    "stream",
    [
        "a b",
        "a/b",
        "a.b",
        "",
        "-x",
        "_x",
        "rank1",
        "rank12",
        "Rank1",
        "RANK0",
        "a\n",
        "ä",
        3,
        "x" * 200,
    ],
)
def test_a_name_that_cannot_be_a_stream_is_refused_before_anything_is_made(
    stream: object, start: Start, tmp_path: Path
) -> None:
    script = """
        import json, sys
        import expr_tracker as et
        try:
            et.init("llm", "sft-1", dir=sys.argv[1], stream=json.loads(sys.argv[2]))
        except ValueError as error:
            print("refused", error, flush=True)
        assert et.get_run() is None
    """
    program = start(script, tmp_path, json.dumps(stream))
    message = program.line("refused")
    assert "stream" in message
    assert program.end() == 0, program.errors
    assert not (tmp_path / "llm").exists()


@pytest.mark.parametrize("stream", ["data", "a", "9", "a-b_c", "rank", "rankx1", "Data"])
def test_a_name_of_letters_digits_and_dashes_is_a_stream(
    stream: str, start: Start, tmp_path: Path
) -> None:
    program = produce(start, tmp_path, stream=stream)
    tell(program, logging_of({"a": 1}))
    end(program)
    assert (tmp_path / "llm" / "sft-1" / f"metrics.{stream}.jsonl").is_file()
    assert list_streams(tmp_path / "llm" / "sft-1") == [stream]


def test_a_stream_that_differs_by_letter_case_only_is_refused(
    start: Start, tmp_path: Path
) -> None:
    program = produce(start, tmp_path, stream="data")
    second = start(PRODUCER, tmp_path, json.dumps({"stream": "Data"}))
    assert second.end() == 1
    assert "NameRefusedError" in second.errors
    assert "'data'" in second.errors
    end(program)


def test_a_live_query_reads_the_stream_it_is_asked_for(pair: tuple[Program, Program]) -> None:
    trainer, data = pair
    for number in range(3):
        tell(trainer, logging_of({"train/loss": number}))
    for number in range(5):
        tell(data, logging_of({"data/produce_ms": number}))
    assert [row["data/produce_ms"] for row in rows_of(data)] == list(range(5))
    assert [row["train/loss"] for row in rows_of(data, stream=None)] == list(range(3))
    assert [row["train/loss"] for row in rows_of(trainer)] == list(range(3))
    assert [row["train/loss"] for row in rows_of(trainer, stream=None)] == list(range(3))
    assert [row["data/produce_ms"] for row in rows_of(trainer, stream="data")] == list(range(5))
    both = rows_of(trainer, stream="*")
    assert {(row["_stream"], row["_step"]) for row in both} == {
        *((None, step) for step in range(3)),
        *(("data", step) for step in range(5)),
    }
    end(*pair)


def test_a_fresh_process_reads_a_run_that_is_written_without_init(
    pair: tuple[Program, Program], run_program: Start, tmp_path: Path
) -> None:
    trainer, data = pair
    tell(trainer, logging_of({"train/loss": 1}))
    tell(data, logging_of({"data/produce_ms": 2}))
    script = """
        import json, sys
        import expr_tracker as et
        from expr_tracker.history import list_streams
        path = sys.argv[1] + "/llm/sft-1"
        assert et.get_run() is None
        print("data", json.dumps(et.history(50, run=path, stream="data")))
        print("default", json.dumps(et.history(50, run=path)))
        print("streams", json.dumps(list_streams(path)))
        try:
            et.history(50, run=path, stream="dta")
        except FileNotFoundError as error:
            print("missing", error)
    """
    program = run_program(script, tmp_path)
    assert [row["data/produce_ms"] for row in program.value("data")] == [2]
    assert [row["train/loss"] for row in program.value("default")] == [1]
    assert program.value("streams") == [None, "data"]
    missing = program.line("missing")
    assert "'data'" in missing or " data" in missing
    end(*pair)


def test_another_processs_stream_shows_flushed_rows_only(
    start: Start, tmp_path: Path, strict_lines: Callable[[Path], list[dict[str, Any]]]
) -> None:
    trainer = produce(start, tmp_path)
    data = produce(
        start,
        tmp_path,
        stream="data",
        durability="buffered",
        buffer_size=100,
        buffer_interval=None,
        max_buffer_seconds=None,
    )
    for number in range(3):
        tell(data, logging_of({"buffered": number}))
    assert len(rows_of(data)) == 3, "the writer itself sees what it has buffered"
    seen = rows_of(trainer, stream="data", metrics=["buffered"], dropna=True)
    assert seen == []
    path = tmp_path / "llm" / "sft-1" / "metrics.data.jsonl"
    assert strict_lines(path) == []
    tell(data, "flush")
    seen = rows_of(trainer, stream="data", metrics=["buffered"], dropna=True)
    assert [row["buffered"] for row in seen] == [0, 1, 2]
    end(trainer, data)


def test_et_history_and_et_trace_show_streams_and_lanes(
    pair: tuple[Program, Program], start: Start, run_program: Start, tmp_path: Path
) -> None:
    trainer, data = pair
    tell(trainer, logging_of({"train/loss": 1}))
    tell(trainer, "span train")
    tell(data, logging_of({"data/produce_ms": 2}))
    tell(data, "span produce")
    directory = tmp_path / "llm" / "sft-1"

    shown = run_program(CLI, "history", directory, "--stream", "data", "--format", "json")
    rows = json.loads("\n".join(shown.lines))
    assert rows[0]["data/produce_ms"] == 2
    assert not any("train/loss" in row for row in rows)
    default = run_program(CLI, "history", directory, "--stream", "default", "--format", "json")
    assert json.loads("\n".join(default.lines))[0]["train/loss"] == 1
    wrong = start(CLI, "history", directory, "--stream", "dta")
    assert wrong.end() == 2
    assert wrong.errors.startswith("Error: ")
    assert len(wrong.errors.splitlines()) == 1

    output = tmp_path / "trace.json"
    run_program(CLI, "trace", directory, "-o", output)
    events = json.loads(output.read_text())["traceEvents"]
    lanes = {
        event["pid"]: event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "process_name"
    }
    assert lanes == {0: "default", 1: "data"}
    spans = {(event["name"], event["pid"]) for event in events if event["ph"] == "X"}
    assert spans == {("train", 0), ("produce", 1)}
    end(*pair)


def test_two_writers_of_one_stream_are_refused_instead_of_mixed(
    start: Start, tmp_path: Path
) -> None:
    # Without this the two would write one file, their steps would collide, and a reader would merge
    # unrelated metrics into one row. No step policy can coordinate processes.
    first = produce(start, tmp_path, step_policy="monotonic")
    second = start(PRODUCER, tmp_path, json.dumps({"step_policy": "allow"}))
    assert second.end() == 1
    assert "StreamInUseError" in second.errors
    tell(first, logging_of({"a": 1}))
    end(first)
    third = produce(start, tmp_path)  # the lock ends with the run
    end(third)


def test_processes_that_start_together_without_a_name_get_runs_of_their_own(
    start: Start, tmp_path: Path
) -> None:
    script = """
        import sys
        import expr_tracker as et
        run = et.init("llm", dir=sys.argv[1], capture=False)
        for step in range(20):
            et.log({"a": step})
        et.finish()
        print("name", run.name, flush=True)
    """
    programs = [start(script, tmp_path) for _ in range(4)]
    names = [program.line("name") for program in programs]
    assert all(program.end() == 0 for program in programs)
    assert len(set(names)) == 4
    for name in names:
        assert len(read_history(tmp_path / "llm" / name, -1)) == 20


def test_the_root_comes_from_the_argument_then_the_environment_then_runs(
    run_program: Start, tmp_path: Path
) -> None:
    script = """
        import sys
        import expr_tracker as et
        arguments = {"dir": sys.argv[1]} if len(sys.argv) > 1 else {}
        run = et.init(project="llm", name="sft-1", capture=False, **arguments)
        et.log({"a": 1})
        et.finish()
    """
    run_program(script)
    assert (tmp_path / "runs" / "llm" / "sft-1" / "metrics.jsonl").is_file()
    run_program(script, environment={"ET_DIR": str(tmp_path / "elsewhere")})
    assert (tmp_path / "elsewhere" / "llm" / "sft-1" / "metrics.jsonl").is_file()
    run_program(script, tmp_path / "given", environment={"ET_DIR": str(tmp_path / "not")})
    assert (tmp_path / "given" / "llm" / "sft-1" / "metrics.jsonl").is_file()
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"project": "..", "name": "r"},
        {"project": "p", "name": "../../out"},
        {"project": "p", "name": "/tmp/x"},
        {"project": "p/q", "name": "r"},
        {"project": "", "name": "r"},
        {"project": "p", "name": "a\x00b"},
        {"project": "p", "name": "a\\b"},
    ],
)
def test_no_name_leaves_the_root(
    arguments: dict[str, str], run_program: Start, tmp_path: Path
) -> None:
    script = """
        import json, sys
        import expr_tracker as et
        try:
            et.init(dir=sys.argv[1], capture=False, **json.loads(sys.argv[2]))
        except ValueError as error:
            print("refused", error)
    """
    before = set(tmp_path.rglob("*"))
    program = run_program(script, tmp_path / "root", json.dumps(arguments))
    assert program.line("refused")
    after = set(tmp_path.rglob("*"))
    assert {path.name for path in after - before} <= {"program0.py"}
