"""The commands that ask a server: what they print, and their exit codes."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from PIL import Image
from tests.mapi.callers import make_token
from tests.mapi.tenants_access import value_of

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi import Client


def test_a_run_is_made_written_read_and_ended(mapi: Any, run: str) -> None:
    said = mapi(
        "runs", "log-metric", run, "loss=0.5", "acc=nan", "--step", "3", "--label", "split=val"
    )
    assert said.out == "2 points kept\n"
    said = mapi("runs", "log-metric", run, "loss=0.6", "--step", "3", "--label", "split=val")
    assert "1 there already with another value, which stays" in said.out
    mapi("runs", "log-param", run, "optimizer=adam", "note=a=b")
    mapi("runs", "tag", run, "team=ads", "stage=x")
    mapi("runs", "tag", run, "--delete", "stage")
    mapi("runs", "log-line", run, "hello", "--level", "warning", "--field", "epoch=3")
    mapi("runs", "edit", run, "--status", "failed", "--reason", "it was late")
    shown = mapi("runs", "show", run).out
    for text in (
        "status      failed",
        "reason      it was late",
        "param       lr = 0.1",
        "param       note = a=b",
        "tag         team = ads",
        "metric      loss{split=val} = 0.5 at step 3 (1 point, min 0.5, max 0.5)",
        "metric      acc{split=val} = NaN at step 3 (1 point)",
    ):
        assert text in shown, shown
    assert "stage" not in shown
    tailed = mapi("runs", "tail", run).out
    assert 'warning hello {"epoch":3}' in tailed
    assert "(failed: it was late)" in tailed
    assert mapi("runs", "tail", run, "--no-follow", "--level", "error").out == ""


def test_a_list_has_filters_a_sort_and_columns(mapi: Any) -> None:
    for at in range(3):
        run = mapi("runs", "create", "--name", f"r{at}", "--param", f"at={at}").out.strip()
        mapi("runs", "log-metric", run, f"loss={at / 10}", "--step", "0", "--label", "split=val")
    words = ["runs", "ls", "--filter", "metrics.loss{split=val} < 0.2", "--sort", "-params.at"]
    words += ["--columns", "metrics.loss{split=val},params.at"]
    table = mapi(*words).out.splitlines()
    assert table[0].split() == [
        "id", "name", "status", "created", "user", "metrics.loss{split=val}", "params.at",
    ]  # fmt: skip
    assert [line.split()[1] for line in table[1:]] == ["r1", "r0"]
    found = json.loads(mapi(*words, "--format", "json").out)
    assert [one["metrics.loss{split=val}"] for one in found] == [0.1, 0.0]
    rows = list(csv.DictReader(io.StringIO(mapi(*words, "--format", "csv").out)))
    assert [(one["name"], one["params.at"]) for one in rows] == [("r1", "1"), ("r0", "0")]
    # What stands in every row stands there once.
    table = mapi("runs", "ls", "--columns", "name,params.at,created").out.splitlines()
    assert table[0].split() == ["id", "name", "status", "created", "user", "params.at"]
    body = json.loads(mapi(*words, "-o", "json", "--limit", "1").out)
    assert body["filter_canonical"] == "metrics.loss{split=val} < 0.2"
    assert [one["name"] for one in body["runs"]] == ["r1"]
    following = json.loads(
        mapi(*words, "-o", "json", "--limit", "1", "--cursor", body["next_cursor"]).out
    )
    assert [one["name"] for one in following["runs"]] == ["r0"]
    two = mapi("runs", "ls", "-f", "params.at > 0", "-f", "params.at < 2", "--format", "json").out
    assert [one["name"] for one in json.loads(two)] == ["r1"]


def test_ids_alone_are_the_words_of_another_command(mapi: Any) -> None:
    made = [mapi("runs", "create", "--tag", "team=ads").out.strip() for _ in range(3)]
    mapi("runs", "create")
    said = mapi("runs", "ls", "--filter", "tags.team = ads", "--ids", "--all")
    assert (said.out.split(), said.err) == (made[::-1], "")
    said = mapi("runs", "ls", "--ids", "--limit", "1")
    assert len(said.out.split()) == 1
    assert said.err == "(there are more than this one: --limit N or --all)\n"
    assert mapi("runs", "ls", "--filter", "name = none", "--ids").out == ""


def test_a_metric_is_short_for_a_filter_of_it_and_all_hold(mapi: Any) -> None:
    for name, loss, acc in (("a", "0.1", "1"), ("b", "0.2", "3"), ("c", "0.9", "3")):
        run = mapi("runs", "create", "--name", name).out.strip()
        mapi("runs", "log-metric", run, f"loss={loss}", "--label", "split=val")
        mapi("runs", "log-metric", run, f"acc={acc}")
    words = ["runs", "ls", "--metric", "loss{split=val}<0.3", "--metric", "metrics.acc.max > 2"]
    body = json.loads(mapi(*words, "-f", "status = running", "-o", "json").out)
    assert [one["name"] for one in body["runs"]] == ["b"]
    assert body["filter_canonical"] == (
        "status = running AND metrics.loss{split=val} < 0.3 AND metrics.acc.max > 2"
    )
    err = mapi("runs", "ls", "--metric", "loss{split=val}<", code=2).err
    assert "metrics.loss{split=val}<" in err
    assert "^" in err


def test_a_wrong_filter_is_shown_with_a_caret_and_what_could_stand_there(mapi: Any) -> None:
    err = mapi("runs", "ls", "--filter", "metrics.loss = AND status = failed", code=2).err
    lines = err.splitlines()
    assert lines[0].startswith("Error: ")
    assert lines[1] == "  metrics.loss = AND status = failed"
    assert lines[2] == " " * 17 + "^^^"
    assert lines[3] == "Expected: a number"
    long = "name = a AND " * 30 + "status = great"
    lines = mapi("runs", "ls", "--filter", long, code=2).err.splitlines()
    caret = lines[2].index("^")
    assert lines[1][caret : caret + 5] == "great"
    assert len(lines[1]) < 80
    lines = mapi("runs", "ls", "-f", "name = a", "-f", "nme = a", code=2).err.splitlines()
    assert lines[1:3] == ["  nme = a", "  ^^^"]
    assert mapi("runs", "ls", "--sort", "-nme", code=2).err.splitlines()[1:3] == [
        "  -nme",
        "   ^^^",
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["runs", "log-metric", "RUN", "train/loss=1"], 2, "nearest is train_loss"),
        (["runs", "log-metric", "RUN", "loss=much"], 2, "is no number"),
        (["runs", "log-metric", "RUN", "loss"], 2, "as KEY=VALUE"),
        (["runs", "log-metric", "RUN", "loss=1", "--step", "-3"], 2, "0 to 2^63 - 1"),
        (["runs", "log-metric", "RUN", "loss=1", "--label", "rank=1"], 2, "platform only"),
        (["runs", "log-param", "RUN", "lr=0.2"], 1, "lr"),
        (["runs", "tag", "RUN", "mapi.x=y"], 2, "platform only"),
        (["runs", "tag", "RUN"], 2, "name a tag"),
        (["runs", "edit", "RUN"], 2, "say what to change"),
        (["runs", "show", "run_0"], 1, "nothing called 'run_0'"),
        (["runs", "compare", "RUN"], 2, "2 to 10"),
        (["runs", "export", "-o", "x"], 2, "a RUN, --filter"),
        (["runs", "ls", "--cursor", "x"], 2, "-o json"),
        (["runs", "ls", "--limit", "0"], 2, "x>=1"),
        (["runs", "ls", "--view", "view_0"], 1, "no saved view"),
        (["experiments", "show", "exp_0"], 1, "no experiment 'exp_0'"),
        (["views", "create", "v", "--filter", "nme = a"], 2, "unknown field"),
        (["runs", "log-image", "RUN", "img", "/dev/null"], 2, "neither PNG nor JPEG|content"),
    ],
)
def test_an_error_says_what_is_wrong_and_ends_with_its_code(
    mapi: Any, run: str, words: list[str], code: int, said: str
) -> None:
    outcome = mapi(*(run if word == "RUN" else word for word in words), code=code)
    assert outcome.out == ""
    assert any(part in outcome.err for part in said.split("|")), outcome.err
    assert "Traceback" not in outcome.err


def test_without_a_server_the_error_names_the_ways_to_one(
    mapi: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAPI_URL", "http://127.0.0.1:1")
    assert "cannot be reached" in mapi("runs", "ls", code=1).err
    for name in ("MAPI_URL", "MAPI_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("MAPI_HOME", str(tmp_path))
    monkeypatch.setenv("MAPI_PROFILE", str(tmp_path / "none"))
    assert "mapi serve" in mapi("runs", "ls", code=1).err


def test_images_and_tables_are_kept(mapi: Any, run: str, tmp_path: Path) -> None:
    image, table, other = (tmp_path / name for name in ("a.png", "a.csv", "a.json"))
    Image.new("L", (3, 2)).save(image)
    table.write_text("name,loss\na,0.5\nb,\n0012,7\n", encoding="utf-8")
    other.write_text('{"columns": ["a"], "data": [[1]]}', encoding="utf-8")
    assert "png 3 x 2" in mapi("runs", "log-image", run, "img", str(image), "--step", "1").out
    kept = json.loads(mapi("runs", "log-table", run, "tab", str(table), "-o", "json").out)
    assert (kept["format"], kept["width"], kept["height"]) == ("table", 2, 3)
    assert "table 1 x 1" in mapi("runs", "log-table", run, "tab2", str(other)).out
    bad = tmp_path / "b.csv"
    bad.write_bytes(b"a,b\n\xff,1\n")
    assert "no CSV in UTF-8" in mapi("runs", "log-table", run, "tab", str(bad), code=2).err


def test_a_table_whose_lines_differ_is_told_with_the_line_of_the_file(
    mapi: Any, run: str, tmp_path: Path
) -> None:
    table = tmp_path / "a.csv"
    for text, said in (
        ("a,b\n1,2\n3\n", ", line 3: 1 cell, and the header has 2 columns (a, b)."),
        ('a,b\n"1\n1",2\n\n3,4,5\n', ", line 5: 3 cells, and the header has 2 columns (a, b)."),
        ('{"columns": ["a"], "data": [[1], [1, 2]]}', ", row 2 of data: 2 cells, for 1 column."),
        (
            '{"columns": ["a"], "data": [[1], 2]}',
            ", row 2 of data: no list of cells, for 1 column.",
        ),
        ('{"columns": 1, "data": []}', ': "columns" is a list of names, "data" a list of rows.'),
    ):
        table.write_text(text, encoding="utf-8")
        err = mapi("runs", "log-table", run, "tab", str(table), code=2).err
        assert err == f"Error: {table}{said}\n"
    table.write_text("a,b\n1,2\n\n", encoding="utf-8")
    assert "table 2 x 1" in mapi("runs", "log-table", run, "tab", str(table)).out


def test_a_file_that_is_no_image_is_named_with_what_it_is(
    mapi: Any, run: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.gif"
    Image.new("L", (3, 2)).save(file)
    err = mapi("runs", "log-image", run, "img", str(file), code=2).err
    assert err == (
        f"Error: {file}: the content is a GIF, which is not kept: send a PNG or a JPEG\n"
    )
    file.write_text('"type"', encoding="utf-8")
    err = mapi("runs", "log-image", run, "img", str(file), code=2).err
    assert err.startswith(f'Error: {file}: the content begins with the text "type": neither PNG')


def test_a_key_that_is_wrong_is_told_as_it_was_written(mapi: Any) -> None:
    err = mapi("runs", "create", "--tag", "a/../b=1", code=2).err
    assert err.startswith("Error: tags: 'a/../b' is no key of a tag"), err


def test_lines_come_from_standard_input(
    mapi: Any, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\nthree"))
    mapi("runs", "log-line", run, "-")
    lines = mapi("runs", "tail", run, "--no-follow").out.splitlines()
    assert [line.split()[-1] for line in lines] == ["one", "two", "three"]


def test_runs_go_to_the_trash_and_back(mapi: Any, run: str) -> None:
    mapi("runs", "rm", run)
    assert mapi("runs", "ls", "--format", "json").out.strip() == "[]"
    assert run in mapi("runs", "ls", "--trashed").out
    mapi("runs", "restore", run)
    assert run in mapi("runs", "ls").out


def test_runs_are_cancelled_and_tried_again(mapi: Any, run: str, tmp_path: Path) -> None:
    assert "is cancelled" in mapi("runs", "cancel", run).out
    assert "has failed already" in mapi("runs", "cancel", _ended(mapi), code=1).err
    again = mapi("runs", "retry", run).out.strip()
    assert again.startswith("run_")
    assert again != run
    found = json.loads(mapi("runs", "life", run, "--format", "json").out)
    assert [(one["kind"], one["before"], one["after"]) for one in found] == [
        ("status", "running", "cancelled")
    ]
    shown = mapi("runs", "show", again).out
    assert f"retry_of    {run}" in shown
    spec = tmp_path / "spec.json"
    spec.write_text('{"kind": "Fit", "model": "mmm"}', encoding="utf-8")
    made = json.loads(mapi("runs", "create", "--spec", str(spec), "-o", "json").out)
    assert (made["kind"], made["status"], made["spec"]["model"]) == ("fit", "queued", "mmm")
    spec.write_text("kind: Fit", encoding="utf-8")
    assert "JSON object" in mapi("runs", "create", "--spec", str(spec), code=2).err


def _ended(mapi: Any) -> str:
    run: str = mapi("runs", "create").out.strip()
    mapi("runs", "edit", run, "--status", "failed")
    return run


def test_points_and_series_are_lists(mapi: Any, run: str) -> None:
    for step in (0, 4):
        mapi("runs", "log-metric", run, f"loss={step}.5", "--step", str(step))
    found = json.loads(mapi("runs", "points", run, "loss", "--format", "json").out)
    assert [(one["step"], one["value"]) for one in found] == [(0, 0.5), (4, 4.5)]
    (series,) = json.loads(mapi("runs", "metrics", run, "--format", "json").out)
    assert (series["key"], series["count"], series["mean"]) == ("loss", 2, 2.5)


def test_an_export_is_a_file_or_standard_output(mapi: Any, run: str, tmp_path: Path) -> None:
    mapi("runs", "log-metric", run, "loss=1", "--step", "0")
    target = tmp_path / "points.csv"
    said = mapi("runs", "export", run, "-o", str(target))
    assert said.out == f"{target}: {target.stat().st_size} bytes of csv\n"
    assert target.read_text().count("\n") == 2
    lines = mapi("runs", "export", "--filter", "name = first", "-o", "-").out.splitlines()
    assert json.loads(lines[-1])["type"] == "end"
    err = mapi("runs", "export", "-f", "nme = a", "-o", str(tmp_path / "x"), code=2).err
    assert err.splitlines()[1:3] == ["  nme = a", "  ^^^"]


def test_an_export_of_all_has_experiments_and_views_and_one_of_a_filter_has_not(
    mapi: Any, run: str, tmp_path: Path
) -> None:
    mapi("experiments", "create", "empty")
    mapi("views", "create", "good", "--filter", "params.lr > 0")
    whole, some = tmp_path / "all.jsonl", tmp_path / "some"
    mapi("runs", "export", "--all", "-o", str(whole))
    said = mapi("runs", "export", "--filter", "created >= 2000-01-01", "-o", str(some))
    assert said.out.endswith(" bytes of jsonl\n")
    kinds = [
        [json.loads(line)["type"] for line in one.read_text().splitlines()]
        for one in (whole, some)
    ]
    assert {"experiment", "view"} <= set(kinds[0])
    assert not {"experiment", "view"} & set(kinds[1])
    assert [one.count("run") for one in kinds] == [1, 1]
    for words in ((), (run, "--all"), ("--all", "--filter", "name = a")):
        err = mapi("runs", "export", *words, "-o", str(whole), code=2).err
        assert "--all for the whole project" in err


def test_an_export_is_taken_back(mapi: Any, run: str, tmp_path: Path) -> None:
    mapi("runs", "log-metric", run, "loss=1", "acc=2", "--step", "0")
    mapi("runs", "tag", run, "team=ads")
    target = str(tmp_path / "run.jsonl")
    mapi("runs", "export", run, "-o", target)
    said = mapi("runs", "import", target)
    held = "1 run, 1 param, 1 tag, 2 points"
    assert said.out == f"All of the file is here: {held}. What was here before is as it was.\n"
    assert said.err == ""
    assert json.loads(mapi("runs", "import", target, "-o", "json").out)["runs"] == [run]
    (tmp_path / "torn.jsonl").write_bytes(Path(target).read_bytes()[:-20])
    err = mapi("runs", "import", str(tmp_path / "torn.jsonl"), code=2).err
    assert "line 7: the file ends within the line: it is torn, so copy or export it again" in err
    assert "does not exist" in mapi("runs", "import", str(tmp_path / "none"), code=2).err


def test_an_export_goes_where_its_path_leads_and_keeps_what_is_there(
    mapi: Any, tmp_path: Path
) -> None:
    run = mapi("runs", "create", "--name", "a").out.strip()
    whole = mapi("runs", "export", run, "-o", "-").out
    private = tmp_path / "private.jsonl"
    private.write_text("old")
    private.chmod(0o600)
    link = tmp_path / "link.jsonl"
    link.symlink_to(private.name)
    assert "bytes" in mapi("runs", "export", run, "-o", str(link)).out
    assert link.is_symlink()
    assert private.read_text() == whole
    assert private.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.jsonl", "private.jsonl"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        outcome = mapi("runs", "export", run, "-o", str(pipe))
        assert read.result(10) == whole
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert (outcome.out, "bytes" in outcome.err) == ("", True)
    mapi("runs", "export", run, "-o", os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert "is a directory" in mapi("runs", "export", run, "-o", str(tmp_path), code=2).err


def test_a_key_that_is_given_twice_is_wrong_usage(mapi: Any) -> None:
    run = mapi("runs", "create", "--name", "a").out.strip()
    for words in (
        ("log-param", run, "a=1", "a=2"),
        ("tag", run, "a=1", "a=1"),
        ("log-metric", run, "a=1", "a=2"),
        ("log-metric", run, "a{b=c,d=e}=1", "a{d=e,b=c}=2"),
        ("log-metric", run, "b=1", "--label", "x=1", "--label", "x=2"),
    ):
        assert "is given twice" in mapi("runs", *words, code=2).err
    for text in ("1e999", "-1e999"):
        assert "too large" in mapi("runs", "log-metric", run, f"a={text}", code=2).err
    assert json.loads(mapi("runs", "metrics", run, "--format", "json").out) == []
    mapi("runs", "log-metric", run, "a=inf", "b=-Infinity", "c=nan")


def test_runs_are_summed_up_in_groups(mapi: Any) -> None:
    for lr, loss in (("1", "1"), ("1", "3"), ("2", "5")):
        one = mapi("runs", "create", "--param", f"lr={lr}").out.strip()
        mapi("runs", "log-metric", one, f"loss={loss}", "--step", "4", "--label", "split=val")
    words = ["runs", "groups", "loss{split=val}", "--by", "params.lr"]
    rows = list(csv.DictReader(io.StringIO(mapi(*words, "--format", "csv").out)))
    assert [(one["params.lr"], one["step"], one["runs"], one["mean"]) for one in rows] == [
        ("1", "4", "2", "2.0"),
        ("2", "4", "1", "5.0"),
    ]
    (only,) = json.loads(mapi(*words, "-f", "params.lr = 2", "--format", "json").out)
    assert (only["min"], only["std"]) == (5.0, None)
    assert json.loads(mapi(*words, "-o", "json").out)["runs_total"] == 3
    assert json.loads(mapi(*words, "--from", "5", "--format", "json").out) == []
    err = mapi("runs", "groups", "loss{split=", code=2).err
    assert err.splitlines()[1] == "  loss{split="
    err = mapi("runs", "groups", "loss", "--by", "nme", code=2).err
    assert err.splitlines()[1:3] == ["  nme", "  ^^^"]


def test_spans_series_and_points_are_lists_and_bodies(mapi: Any, run: str, api: Client) -> None:
    api.runs.log_spans(
        run, [{"name": "fwd", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2_500_000}]
    )
    (span,) = json.loads(mapi("runs", "spans", run, "--format", "json").out)
    assert (span["name"], span["duration_ms"], span["stream"]) == ("fwd", 2.5, "")
    assert json.loads(mapi("runs", "spans", run, "--stream", "data", "--format", "json").out) == []
    body = json.loads(mapi("runs", "spans", run, "-o", "json").out)
    assert body["spans"][0]["duration_ns"] == 2_500_000
    mapi("runs", "log-metric", run, "loss=nan", "--step", "1")
    assert json.loads(mapi("runs", "metrics", run, "-o", "json").out)["series"][0]["count"] == 1
    points = json.loads(mapi("runs", "points", run, "loss", "-o", "json").out)["points"]
    assert [(one["step"], one["value"]) for one in points] == [(1, "NaN")]


def test_what_may_be_kept_and_what_is_are_lists(mapi: Any, run: str) -> None:
    mapi("runs", "log-metric", run, "loss=1", "--step", "0")
    found = {
        one["budget"]: one["limit"] for one in json.loads(mapi("limits", "--format", "json").out)
    }
    assert found["points"] == 500_000
    assert json.loads(mapi("limits", "-o", "json").out)["tracking"] == found
    rows = json.loads(mapi("usage", "--format", "json").out)
    assert {"project": "default", "kind": "points", "rows": 1} in [
        {name: one[name] for name in ("project", "kind", "rows")} for one in rows
    ]
    assert json.loads(mapi("usage", "-o", "json").out)["projects"][0]["runs"] == 1
    assert "no project" in mapi("limits", "--project", "none", code=2).err


def test_what_goes_for_its_age_is_a_list(mapi: Any, tenant: Tenant, run: str) -> None:
    mapi("runs", "tag", run, "keep=yes")
    other_run = mapi("runs", "create").out.strip()
    mapi("runs", "rm", other_run)
    value_of(
        tenant,
        "update mapi.runs set trashed = now() - interval '31 days' where id = %s",
        other_run.removeprefix("run_"),
    )
    value_of(
        tenant,
        "insert into mapi.retention_rules (tenant_id, project_id, filter) values (%s, %s, %s)",
        tenant.id,
        tenant.project_id,
        "tags.keep = yes",
    )
    (row,) = json.loads(mapi("retention", "--format", "json").out)
    assert (row["project"], row["purged_runs"], row["rows"]) == ("default", 1, 1)
    (rule,) = json.loads(mapi("retention", "--rules", "--format", "json").out)
    assert (rule["filter"], rule["kept_runs"]) == ("tags.keep = yes", 1)
    body = json.loads(mapi("retention", "-o", "json").out)
    assert (body["trash_days"], body["projects"], body["rules"]) == (30, [row], [rule])
    assert "default" in mapi("retention").out


def on_terminal(url: str, token: str, *words: str) -> tuple[str, str]:
    """Run a command whose standard error is a terminal; return what it printed on both."""
    ours, theirs = pty.openpty()
    program = "from mapi.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "MAPI_URL": url, "MAPI_TOKEN": token, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    seen = b""
    # A terminal whose other side is closed is an error to read, not an end.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            seen += piece
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, seen
    return out, seen.decode()


def test_a_body_is_the_one_of_the_interface(
    mapi: Any, run: str, url: str, tenant: Tenant, api: Client
) -> None:
    other = mapi("runs", "create").out.strip()
    mapi("runs", "log-metric", run, "loss=nan", "--step", "1", "--label", "split=val")
    mapi("experiments", "create", "e")
    view = mapi("views", "create", "v", "--filter", "params.lr > 0").out.strip()
    token = make_token(tenant)
    for words, path in (
        (
            ("runs", "ls", "--columns", "metrics.loss{split=val}"),
            "runs?columns=metrics.loss{split=val}",
        ),
        (("runs", "show", run), f"runs/{run}"),
        (("runs", "metrics", run), f"runs/{run}/metrics"),
        (("runs", "compare", run, other), f"run-compare?ids={run},{other}&curves=false"),
        (("runs", "groups", "loss{split=val}"), "run-groups?y=loss{split=val}"),
        (("experiments", "ls"), "experiments"),
        (("views", "ls"), "saved-views"),
        (("views", "show", view), f"saved-views/{view}"),
        (("limits",), "limits"),
    ):
        said = json.loads(mapi(*words, "-o", "json").out)
        answer = httpx.get(f"{url}/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        body = answer.json()
        # What ends a list is no part of one that has no end.
        body.pop("next_cursor", None)
        said.pop("next_cursor", None)
        assert without_durations(said) == without_durations(body), words


def without_durations(found: Any) -> Any:
    """Leave out how long a run goes on by now."""
    if isinstance(found, dict):
        return {k: without_durations(v) for k, v in found.items() if k != "duration_seconds"}
    return [without_durations(one) for one in found] if isinstance(found, list) else found


def test_the_four_verbs_write_into_a_finished_run(mapi: Any, run: str, tmp_path: Path) -> None:
    image = tmp_path / "a.png"
    Image.new("L", (3, 2)).save(image)
    mapi("runs", "edit", run, "--status", "succeeded")
    mapi("runs", "log-metric", run, "revenue=12.5")
    mapi("runs", "log-param", run, "market=de")
    mapi("runs", "tag", run, "stage=live")
    mapi("runs", "log-image", run, "dashboard", str(image))
    shown = mapi("runs", "show", run).out
    for text in ("status      succeeded", "metric      revenue = 12.5", "param       market = de"):
        assert text in shown
    assert "tag         stage = live" in shown


def test_transfers_show_a_bar_on_a_terminal_and_nowhere_else(
    mapi: Any, run: str, url: str, tenant: Tenant, tmp_path: Path
) -> None:
    token = make_token(tenant)
    target, large, small = (str(tmp_path / name) for name in ("a.jsonl", "a.png", "b.png"))
    Image.effect_noise((1_300, 1_300), 100).save(large)
    Image.new("L", (3, 2)).save(small)
    for label, words in (
        ("Exporting", ("runs", "export", run, "-o", target)),
        ("Importing", ("runs", "import", target)),
        ("Sending", ("runs", "log-image", run, "noise", large)),
    ):
        out, err = on_terminal(url, token, *words)
        assert label in err
        assert "100%" in err
        assert label not in out
        assert mapi(*words).err == ""
    assert on_terminal(url, token, "runs", "log-image", run, "small", small)[1] == ""


def test_runs_are_compared(mapi: Any, run: str) -> None:
    other = mapi("runs", "create", "--param", "lr=0.2", "--param", "same=1").out.strip()
    mapi("runs", "log-param", run, "same=1")
    found = json.loads(mapi("runs", "compare", run, other, "--format", "json").out)
    by_field = {one["field"]: (one[run], one[other]) for one in found}
    assert by_field["params.lr"] == ("0.1", "0.2")
    assert "params.same" not in by_field
    assert "params.same" in mapi("runs", "compare", run, other, "--same").out
    assert len(json.loads(mapi("runs", "compare", run, other, "-o", "json").out)["runs"]) == 2


def test_experiments_are_made_listed_archived_and_deleted(mapi: Any) -> None:
    made = mapi("experiments", "create", "a b", "--description", "*d*").out.strip()
    assert mapi("experiments", "create", "a b", "--if-exists", "get").out.strip() == made
    mapi("experiments", "edit", made, "--name", "c")
    mapi("experiments", "archive", made)
    assert made in mapi("experiments", "ls", "--archived").out
    assert made not in mapi("experiments", "ls", "--active").out
    assert json.loads(mapi("experiments", "ls", "-o", "json").out)["experiments"][0]["name"] == "c"
    mapi("experiments", "unarchive", made)
    assert "name        c" in mapi("experiments", "show", made).out
    mapi("experiments", "rm", made)
    assert json.loads(mapi("experiments", "ls", "--format", "json").out) == []


def test_views_are_made_used_changed_and_deleted(mapi: Any, run: str) -> None:
    made = mapi(
        "views", "create", "good", "--filter", "params.lr < 1", "--columns", "params.lr"
    ).out.strip()
    (found,) = json.loads(mapi("runs", "ls", "--view", made, "--format", "json").out)
    assert (found["id"], found["params.lr"]) == (run, "0.1")
    mapi("views", "edit", made, "--name", "better", "--filter", "params.lr > 1")
    assert json.loads(mapi("runs", "ls", "--view", made, "--format", "json").out) == []
    assert "better" in mapi("views", "ls").out
    assert json.loads(mapi("views", "ls", "-o", "json").out)["views"][0]["id"] == made
    mapi("views", "rm", made)
    assert json.loads(mapi("views", "ls", "--format", "json").out) == []


def test_names_of_others_cannot_steer_the_terminal(mapi: Any) -> None:
    run = mapi("runs", "create", "--name", "a\x1b[2Jb").out.strip()
    for words in (["runs", "ls"], ["runs", "show", run]):
        assert "\x1b" not in mapi(*words).out
