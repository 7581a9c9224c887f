from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.history import list_attempts, read_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

#: How the cases look at a finished run: one value a step.
H = """
import json, os, sys
import expr_tracker as et

FOLDER = sys.argv[1]

def H(m, **how):
    return {row["_step"]: row[m] for row in et.history(-1, metrics=[m], run=RUNDIR, **how) if m in row}

def say(name, value=None):
    print(name, json.dumps(value), flush=True)
"""


# -- A01: a step-less and an explicit log in one loop ------------------------------------------------

IMPLICIT_THEN_EXPLICIT = (
    H
    + """
policy, behind = sys.argv[2], int(sys.argv[3])
run = et.init("p", "a01", dir=FOLDER, step_policy=policy)
RUNDIR = run.dir
raised = None
for i in range(5):
    et.log({"train/loss": float(i)})              # no step: the counter moves on
    try:
        et.log({"eval/acc": i / 10}, step=i - behind)
    except ValueError as error:
        raised = raised or [i, str(error)]
say("loss", et.info()["loss"])
et.finish()
say("raised", raised)
say("acc", H("eval/acc"))
say("train", H("train/loss"))
"""
)


def test_a_step_below_the_counter_is_stored_under_allow(
    run_program: Start, tmp_path: Path
) -> None:
    program = run_program(IMPLICIT_THEN_EXPLICIT, tmp_path, "allow", 0)
    assert program.value("loss") == {
        "refused": {},
        "dropped": {},
        "rescued": {},
        "degraded": {},
    }
    assert program.value("acc") == {"0": 0.0, "1": 0.1, "2": 0.2, "3": 0.3, "4": 0.4}
    assert program.value("train") == {str(i): float(i) for i in range(5)}


@pytest.mark.parametrize("behind", [0, 2])
def test_a_dropping_policy_says_how_many_values_of_which_metric(
    behind: int, run_program: Start, tmp_path: Path
) -> None:
    program = run_program(IMPLICIT_THEN_EXPLICIT, tmp_path, "monotonic", behind)
    loss = program.value("loss")
    stored = program.value("acc")
    assert program.value("train") == {str(i): float(i) for i in range(5)}
    dropped = {kind: n for kind, n in loss["dropped"].items() if "eval/acc" in kind}
    assert sum(dropped.values()) == 5 - len(stored)
    if behind == 0:
        assert len(stored) == 5, "the same step is a patch, not a step back"
        return
    assert sum(dropped.values()) == 5
    # The text that finish prints says both, and every call is not a line of its own.
    assert len(program.errors.splitlines()) == 2
    assert "dropped 5" in program.errors.splitlines()[-1]
    assert "eval/acc" in program.errors.splitlines()[-1]


def test_a_strict_policy_raises_at_the_first_step_back(run_program: Start, tmp_path: Path) -> None:
    program = run_program(IMPLICIT_THEN_EXPLICIT, tmp_path, "strict", 1)
    first, message = program.value("raised")
    assert first == 0
    assert "step=-1" in message
    assert "strict" in message


# -- A02: a crash at 15, resumed from a checkpoint at 10 ---------------------------------------------

CRASHING = (
    H
    + """
run = et.init("p", "r", dir=FOLDER)
for s in range(16):
    et.log({"y": s}, step=s)
run.history.flush(commit_open=True)
os._exit(1)
"""
)

RESUMED = (
    H
    + """
run = et.init("p", "r", dir=FOLDER, resume_step=10)
RUNDIR = run.dir
say("attempt", run.attempt)
for s in range(10, 30):
    et.log({"y": 100 + s}, step=s)
say("live", {row["_step"]: row["y"] for row in et.history(-1)})
et.finish()
say("y", H("y"))
say("first", H("y", attempt=1))
say("second", H("y", attempt=2))
say("all", [[row["_attempt"], row["_step"], row["y"]]
            for row in et.history(-1, run=RUNDIR, attempt="all")])
"""
)


@pytest.mark.parametrize("flush", ["flush(commit_open=True)", "flush()"])
def test_a_run_resumed_at_its_checkpoint_has_one_value_a_step_and_keeps_the_old_ones(
    flush: str, start: Start, run_program: Start, tmp_path: Path
) -> None:
    crashing = CRASHING.replace("flush(commit_open=True)", flush)
    assert start(crashing, tmp_path).end() == 1
    program = run_program(RESUMED, tmp_path)
    assert program.value("attempt") == 2
    expected = {str(s): s if s < 10 else 100 + s for s in range(30)}
    assert program.value("live") == expected
    y = program.value("y")
    assert y == expected
    assert (y["9"], y["10"], y["15"]) == (9, 110, 115)
    assert program.value("first") == {str(s): s for s in range(16)}
    assert program.value("second") == {str(s): 100 + s for s in range(10, 30)}
    first = [[1, s, s] for s in range(16)]
    second = [[2, s, 100 + s] for s in range(10, 30)]
    assert sorted(program.value("all")) == first + second


def test_steps_above_the_checkpoint_that_are_not_logged_again_are_superseded_too(
    start: Start, run_program: Start, tmp_path: Path
) -> None:
    start(CRASHING, tmp_path).end()
    program = run_program(RESUMED.replace("range(10, 30)", "range(10, 12)"), tmp_path)
    assert program.value("y") == {str(s): s if s < 10 else 100 + s for s in range(12)}
    assert program.value("first") == {str(s): s for s in range(16)}


def test_a_plain_resume_goes_on_behind_the_highest_step_and_supersedes_nothing(
    start: Start, run_program: Start, tmp_path: Path
) -> None:
    start(CRASHING, tmp_path).end()
    script = (
        H
        + """
run = et.init("p", "r", dir=FOLDER)
RUNDIR = run.dir
say("step", run.step)
et.log({"y": 116})
et.log({"y": 103}, step=3)
et.log({"y": 117})  # not joined to the row at 3, and behind the highest step
et.finish()
say("y", H("y"))
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("step") == 16
    assert program.value("y") == {str(s): s for s in range(16)} | {"3": 103, "16": 116, "17": 117}


# -- rewinding and resuming over several processes ---------------------------------------------------

STEPS_OF_A_LIFE = (
    H
    + """
resume_step = json.loads(sys.argv[2])
run = et.init("p", "r", dir=FOLDER, resume_step=resume_step)
RUNDIR = run.dir
value = run.attempt * 1000
for word in sys.argv[3:]:
    if word.startswith("rewind"):
        et.rewind(int(word[6:]))
        value = run.attempt * 1000
    elif word == "die":
        os._exit(9)
    else:
        for _ in range(int(word)):
            value += 1
            et.log({"y": value})
say("attempt", run.attempt)
say("step", run.step)
say("live", {row["_step"]: row["y"] for row in et.history(-1)})
et.finish()
say("y", H("y"))
"""
)


def test_rewinds_and_resumes_of_several_processes_leave_one_value_a_step(
    run_program: Start, start: Start, tmp_path: Path
) -> None:
    first = run_program(STEPS_OF_A_LIFE, tmp_path, "null", 10, "rewind5", 3)
    expected = {str(s): 1001 + s for s in range(5)} | {str(5 + s): 2001 + s for s in range(3)}
    assert first.value("attempt") == 2
    assert first.value("step") == 8
    assert first.value("live") == expected
    assert first.value("y") == expected

    second = run_program(STEPS_OF_A_LIFE, tmp_path, "null", 2)
    expected |= {"8": 3001, "9": 3002}
    assert second.value("attempt") == 3
    assert second.value("y") == expected

    assert start(STEPS_OF_A_LIFE, tmp_path, "2", 4, "die").end() == 9
    directory = tmp_path / "p" / "r"
    rows = {row["_step"]: row["y"] for row in read_history(directory, -1)}
    assert rows == {0: 1001, 1: 1002, 2: 4001, 3: 4002, 4: 4003, 5: 4004}

    last = run_program(STEPS_OF_A_LIFE, tmp_path, "null", 1, "rewind0", 1)
    assert last.value("live") == {"0": 6001}
    assert last.value("y") == {"0": 6001}
    everything = read_history(directory, -1, attempt="all")
    by_attempt: dict[int, list[int]] = {}
    for row in everything:
        by_attempt.setdefault(row["_attempt"], []).append(row["_step"])
    assert by_attempt == {
        1: list(range(10)),
        2: [5, 6, 7],
        3: [8, 9],
        4: [2, 3, 4, 5],
        5: [6],
        6: [0],
    }
    attempts = list_attempts(directory)
    assert [attempt.number for attempt in attempts] == [1, 2, 3, 4, 5, 6]
    assert [attempt.from_step for attempt in attempts] == [None, 5, None, 2, None, 0]
    assert [attempt.status for attempt in attempts] == [
        "rewound",
        "succeeded",
        "succeeded",
        "lost",
        "rewound",
        "succeeded",
    ]


def test_et_history_lists_the_attempts_and_shows_one_alone(
    run_program: Start, start: Start, tmp_path: Path
) -> None:
    start(CRASHING, tmp_path).end()
    run_program(RESUMED, tmp_path)
    script = """
        import sys
        from expr_tracker.cli import main
        sys.argv[0] = "et"
        main()
    """
    directory = tmp_path / "p" / "r"
    listed = run_program(script, "history", directory, "--attempts", "--format", "json")
    attempts = json.loads("\n".join(listed.lines))
    assert [attempt["attempt"] for attempt in attempts] == [1, 2]
    assert [attempt["from_step"] for attempt in attempts] == [None, 10]
    assert [attempt["status"] for attempt in attempts] == ["lost", "succeeded"]

    table = run_program(script, "history", directory, "--attempts")
    assert len(table.lines) == 3
    assert table.lines[0].split()[:2] == ["attempt", "from_step"]

    one = run_program(script, "history", directory, "--attempt", 1, "-n", -1, "--format", "json")
    assert [row["y"] for row in json.loads("\n".join(one.lines))] == list(range(16))
    newest = run_program(script, "history", directory, "-n", 3, "--format", "csv")
    assert [line.rsplit(",", 1)[1] for line in newest.lines] == ["y", "127", "128", "129"]


# -- A11: two keys that are never logged together ----------------------------------------------------


def test_rows_that_share_no_key_are_a_union(run_program: Start, tmp_path: Path) -> None:
    script = (
        H
        + """
run = et.init("p", "a11", dir=FOLDER)
RUNDIR = run.dir
for i in range(10):
    et.log({"a": i}, step=2 * i)
    et.log({"b": i}, step=2 * i + 1)
for when in ("live", "finished"):
    if when == "finished":
        et.finish()
    run_argument = {} if when == "live" else {"run": RUNDIR}
    say("both", len(et.history(-1, metrics=["a", "b"], **run_argument)))
    say("b", [[row["_step"], row["b"]]
              for row in et.history(-1, metrics=["b"], dropna=True, **run_argument)])
et.init("p", "late", dir=FOLDER)
for step in range(61_010, 61_020):
    et.log({"a": step}, step=step)
say("late", [row["_step"] for row in et.history(-1)])
et.finish()
say("late", [row["a"] for row in et.history(50, run=FOLDER + "/p/late")])
"""
    )
    program = run_program(script, tmp_path)
    for _ in ("live", "finished"):
        assert program.value("both") == 20
        assert program.value("b") == [[2 * i + 1, i] for i in range(10)]
    assert program.value("late") == list(range(61_010, 61_020))
    assert program.value("late") == list(range(61_010, 61_020))


# -- A13: a torn last line ---------------------------------------------------------------------------

THOUSAND_STEPS = (
    H
    + """
et.init("p", "r", dir=FOLDER)
for s in range(1000):
    et.log({"y": s, "text": "some text"})
et.finish()
"""
)

TEN_MORE = (
    H
    + """
run = et.init("p", "r", dir=FOLDER)
RUNDIR = run.dir
for s in range(1000, 1010):
    et.log({"y": s}, step=s)
say("live", len(et.history(-1)))
et.finish()
say("rows", len(et.history(-1, run=RUNDIR)))
"""
)


def cut_in_last_row(data: bytes) -> bytes:
    """Cut as a crash does: the end marker was never written, and the last row is torn."""
    lines = data.splitlines(keepends=True)
    assert b"_attempt_end" in lines[-1]
    return b"".join(lines[:-1])[:-7]


def cut_in_marker(data: bytes) -> bytes:
    return data[:-7]


def zeros_behind(data: bytes) -> bytes:
    return data + bytes(4096)


def zeros_behind_torn(data: bytes) -> bytes:
    return cut_in_last_row(data) + bytes(4096)


def flip_in_row_500(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines[500] = bytes([lines[500][0] ^ 1]) + lines[500][1:]
    return b"".join(lines)


def flip_behind_row_500(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines[500] = lines[500][:-1] + b"J"
    return b"".join(lines)


def broken_row_500(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines[500] = lines[500].replace(b":", b"\n", 1)
    return b"".join(lines)


@pytest.mark.parametrize(
    ("damage", "kept", "lost", "damaged"),
    [
        (cut_in_last_row, 999, {999}, []),
        (cut_in_marker, 1000, set(), []),
        (zeros_behind, 1000, set(), []),
        (zeros_behind_torn, 999, {999}, []),
        (flip_in_row_500, 999, {500}, [500]),
        (flip_behind_row_500, 1000, set(), [500]),
        (broken_row_500, 999, {500}, [500, 501]),
    ],
)
def test_damage_costs_the_damaged_row_alone_and_is_reported(
    damage: Callable[[bytes], bytes],
    kept: int,
    lost: set[int],
    damaged: list[int],
    run_program: Start,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_program(THOUSAND_STEPS, tmp_path)
    path = tmp_path / "p" / "r" / "metrics.jsonl"
    path.write_bytes(damage(path.read_bytes()))

    caplog.set_level(logging.WARNING, "expr_tracker")
    rows = read_history(path.parent, -1)
    assert len(rows) == kept
    assert {row["y"] for row in rows} == set(range(1000)) - lost
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1, warnings
    assert str(path) in warnings[0]
    if damaged:
        assert "line 501" in warnings[0], "the number of the line, counted from 1"
        assert " 1 " in warnings[0]

    program = run_program(TEN_MORE, tmp_path)
    assert program.value("live") == kept + 10
    assert program.value("rows") == kept + 10
    steps = [row["_step"] for row in read_history(path.parent, -1)]
    assert steps == sorted(set(range(1010)) - lost)
    unreadable = []
    for number, line in enumerate(path.read_bytes().splitlines()):
        try:
            json.loads(line)
        except ValueError:
            unreadable.append(number)
    assert unreadable == damaged, "no row is glued to a torn one"
    if damage is cut_in_last_row:
        assert b'"y":999' in (path.parent / "metrics.torn").read_bytes(), (
            "what was cut off is kept"
        )

    script = """
        import sys
        from expr_tracker.cli import main
        sys.argv = ["et", "verify", sys.argv[1]]
        main()
    """
    if damaged:
        with pytest.raises(AssertionError, match="exit status 1"):
            run_program(script, path.parent)
    else:
        run_program(script, path.parent)


# -- A04: a configuration of every awkward kind ------------------------------------------------------


def test_an_awkward_configuration_is_kept_and_never_raises(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        H
        + """
from pathlib import Path
import numpy as np

run = et.init("p", "a04", dir=FOLDER, capture=False, config={
    "cmd": "x" * 780, "two": "a\\nb\\r\\nc", "nan": float("nan"), "n": np.int64(3), "t": (1, 2),
    "p": Path("/a"), "fn": len, "obj": object(), "uni": "日本 ✓", "a": {"b": 2}, "a.b": 1,
    "empty": "", "none": None, "big": "y" * 60_000,
})
et.log({"a": 1})
say("config", {name: value for name, value in run.config.items() if name != "nan"})
say("nan", run.config["nan"] != run.config["nan"])
et.finish()
"""
    )
    program = run_program(script, tmp_path)
    live = program.value("config")
    assert program.value("nan")

    def refuse(token: str) -> Any:
        raise AssertionError(f"{token} is not JSON")

    text = (tmp_path / "p" / "a04" / "config.json").read_text(encoding="utf-8")
    stored = json.loads(text, parse_constant=refuse)
    assert stored.pop("nan") is None
    assert stored.pop("_nonfinite") == {"/nan": "NaN"}
    for config in (stored, live):
        assert config["cmd"] == "x" * 780
        assert config["two"] == "a\nb\r\nc"
        assert config["n"] == 3
        assert config["t"] == [1, 2]
        assert config["p"] == "/a"
        assert config["uni"] == "日本 ✓"
        assert config["a"] == {"b": 2}
        assert config["a.b"] == 1
        assert config["empty"] == ""
        assert config["none"] is None
        assert config["big"] == "y" * 60_000
        assert "len" in config["fn"]
        assert "object" in config["obj"]
    warnings = [line for line in program.errors.splitlines() if "config '" in line]
    assert len(warnings) == 2
    assert any("'fn'" in line for line in warnings)
    assert any("'obj'" in line for line in warnings)


# -- A18: secrets in configuration and arguments -----------------------------------------------------


def test_no_secret_reaches_a_file_of_the_run(run_program: Start, tmp_path: Path) -> None:
    script = (
        H
        + """
sys.argv = ["t.py", "--wandb-key", "0123456789abcdef0123456789abcdef01234567", "--lr", "0.1"]
run = et.init("p", "a18", dir=FOLDER, capture_console=True, config={
    "api_key": "s3cr3t-A", "db": "postgresql://u:s3cr3t-B@h/db", "auth": {"token": "s3cr3t-C"},
    "headers": "Authorization: Bearer s3cr3t-D", "use_cls_token": True, "num_memory_tokens": 4,
})
et.log({"a": 1.0})
say("config", run.config)
et.finish()
"""
    )
    program = run_program(script, tmp_path, environment={"MY_TOKEN": "s3cr3t-E"})
    directory = tmp_path / "p" / "a18"
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert {"config.json", "environment.json", "console.jsonl"} <= {path.name for path in files}
    for path in files:
        data = path.read_bytes()
        assert b"s3cr3t-" not in data, path
        assert b"0123456789abcdef0123456789abcdef01234567" not in data, path
    config = json.loads((directory / "config.json").read_text())
    assert config["use_cls_token"] is True
    assert config["num_memory_tokens"] == 4
    assert "@h/db" in config["db"]
    assert config["db"].startswith("postgresql://")
    assert "s3cr3t" not in json.dumps(program.value("config"))
    argv = json.loads((directory / "environment.json").read_text())["program"]["argv"]
    assert argv[-2:] == ["--lr", "0.1"]
    assert "s3cr3t" not in program.errors
