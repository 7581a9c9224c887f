"""Spans and captured output on the platform: each line of their files once, as it stands there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.tenants_access import set_limits, value_of

import expr_tracker as et
from mapi.follow.console import line_of_output
from mapi.follow.line_files import rows_of_lines
from mapi.follow.proof.against import prove
from mapi.follow.spans import span_of_row
from mapi.sdk.queueing import checked_lines, checked_spans

if TYPE_CHECKING:
    import pytest
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi


def spanned(root: Path, count: int = 3, **about: Any) -> Path:
    """Write a run with spans within spans."""
    about = {"project": "p", "name": "r", "system_metrics": False, **about}
    run = et.init(dir=root, **about)
    for step in range(count):
        with et.span("step", tokens=step, note="a\0b"), et.span("forward"):
            pass
        et.log({"loss": step}, step=step)
    et.finish()
    return Path(run.dir)


def test_each_span_is_there_once_with_its_times_step_and_attributes(
    api: mapi.Client, pushed: Push, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = spanned(tmp_path)
    monkeypatch.setenv("RANK", "2")
    spanned(tmp_path, count=1, stream="data")
    (report,) = pushed(tmp_path)
    assert report.problems == []
    assert report.sent["span"] == 8
    written = [json.loads(line) for line in (path / "spans.jsonl").read_text().splitlines()]
    found = list(api.runs.spans(report.run or "", stream="", rank=0))
    assert sorted(
        (one.name, one.start_ns, one.duration_ns, one.depth, one.track, one.step) for one in found
    ) == sorted(
        (
            *(row["name"], round(row["start"] * 1e9), round(row["dur_ms"] * 1e6)),
            *(row["depth"], row["track"], row["_step"]),
        )
        for row in written
    )
    assert {one.fields["note"] for one in found if one.name == "step"} == {"a\ufffdb"}
    assert len(list(api.runs.spans(report.run or "", stream="data", rank=2))) == 2
    assert prove(api, path).is_equal
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())
    assert len(list(api.runs.spans(report.run or ""))) == 8


def test_spans_that_come_later_follow(api: mapi.Client, pushed: Push, tmp_path: Path) -> None:
    spanned(tmp_path)
    pushed(tmp_path)
    path = spanned(tmp_path, resume="must")
    (report,) = pushed(tmp_path)
    assert report.sent["span"] == 6
    assert prove(api, path).compared["span"] == 12
    assert prove(api, path).is_equal


def test_a_span_that_is_gone_changed_or_more_is_seen(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    path = spanned(tmp_path)
    (report,) = pushed(tmp_path)
    found = list(api.runs.spans(report.run or ""))
    run = (report.run or "").removeprefix("run_")
    which = "where run_id = %s and start_ns = %s and name = %s"
    changed = "update mapi.run_spans set duration_ns = duration_ns + 1"
    for one, change in ((found[0], "delete from mapi.run_spans"), (found[-1], changed)):
        value_of(tenant, f"{change} {which}", run, one.start_ns, one.name)
    proof = prove(api, path)
    assert sorted((one.what, one.kind, one.name) for one in proof.differences) == [
        ("span", "extra", "step/forward"),
        ("span", "missing", "step"),
        ("span", "missing", "step/forward"),
    ]


def test_what_was_printed_is_in_the_log_as_it_was(
    api: mapi.Client, pushed: Push, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False, capture_console=True)
    sys.stdout.write("10%\r50%\r100%\n")
    sys.stderr.write("\x1b[31mred\x1b[0m\n\n")
    sys.stdout.write("x" * 40_000 + "\n")
    et.log({"loss": 1, "note": "n"}, step=0)
    et.finish()
    capfd.readouterr()
    (report,) = pushed(tmp_path)
    lines = api.runs.lines(report.run or "", after=0)
    printed = [one for one in lines if "source" in one.fields]
    of_stdout = [one.message for one in printed if one.fields["source"] == "stdout"]
    of_stderr = [one.message for one in printed if one.fields["source"] == "stderr"]
    assert of_stdout[0] == "10%\r50%\r100%"
    assert len(of_stdout[1].encode()) <= 16_384
    assert of_stdout[1].endswith("x… [cut]")
    assert of_stderr[:2] == ["\x1b[31mred\x1b[0m", ""]
    assert "default: 1 line cut: a line of the log has room for 16 KiB" in report.notes
    proof = prove(api, Path(run.dir))
    assert proof.is_equal
    assert proof.compared["line"] == len(lines)
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())


def test_a_damaged_line_costs_itself_and_is_told(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = spanned(tmp_path)
    file = path / "spans.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = b"{damaged\n"
    file.write_bytes(b"".join([*lines, b'{"_step": 1, "name": 5}\n']))
    (report,) = pushed(tmp_path)
    assert report.problems == [f"{file}: 1 damaged line was left out"]
    assert "default: 1 span left out: the line is no span" in report.notes
    assert report.sent["span"] == len(lines) - 1
    proof = prove(api, path)
    assert (proof.differences, proof.problems) == ([], ["spans.jsonl: 1 damaged line left out"])


def test_more_lines_than_fit_a_request_arrive_in_order(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    set_limits(tenant, log_lines=30_000)
    run = et.init(project="default", name="r", dir=tmp_path, system_metrics=False)
    et.log({"loss": 1}, step=0)
    et.finish()
    path = Path(run.dir)
    (path / "console.jsonl").write_text(
        "".join(
            json.dumps({"_time": 1.7e9 + at, "source": "stdout", "text": str(at)}) + "\n"
            for at in range(12_345)
        )
    )
    (report,) = pushed(tmp_path, project="default")
    assert report.sent["line"] == 12_345
    found: list[str] = []
    after = 0
    while page := api.runs.lines(report.run or "", after=after, limit=1_000):
        found += [one.message for one in page]
        after = page[-1].id
    assert found == [str(at) for at in range(12_345)]


texts = st.text(st.characters(), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
span_rows = st.fixed_dictionaries(
    {
        "name": texts | st.text("x/", min_size=499, max_size=520),
        "start": st.floats(0, 9e9),
        "dur_ms": st.floats(0, 1e12),
    },
    optional={
        "_step": st.integers(-(2**63), 2**63 - 1),
        "depth": st.integers(0, 2**63 - 1),
        "track": st.integers(0, 2**63 - 1),
        "error": texts,
        "args": st.dictionaries(texts, values, max_size=4),
        "metrics": st.dictionaries(texts, st.floats() | st.just("x" * 30_000), max_size=3),
    },
)


def test_a_span_whose_name_is_cut_has_all_of_it_beside() -> None:
    name = "step/" * 120
    row = {"name": name, "start": 1.7e9, "dur_ms": 1.0, "args": {"tokens": 3}}
    item, changes = span_of_row(row)
    assert item is not None
    assert (len(item["name"]), item["fields"]) == (500, {"tokens": 3, "name": name})
    assert "all of it is its attribute name" in changes[0]
    own, changes = span_of_row(row | {"args": {"name": "mine", "name 2": 5}})
    assert own is not None
    assert own["fields"] == {"name": "mine", "name 2": 5, "name 3": name}
    assert "all of it is its attribute name 3" in changes[0]
    short, _ = span_of_row(row | {"name": "step", "args": {}})
    assert short is not None
    assert "fields" not in short


@given(span_rows)
def test_each_span_of_a_file_is_one_that_the_platform_takes_or_is_counted(
    row: dict[str, Any],
) -> None:
    item, changes = span_of_row(row)
    if item is None:
        assert changes
        return
    (sent,) = checked_spans([item])
    size = len(json.dumps(sent.get("fields") or {}, ensure_ascii=False).encode())
    assert size <= 16_384


@given(
    st.fixed_dictionaries(
        {"text": texts | st.just("é" * 9_000)},
        optional={"_time": st.floats() | texts, "source": values},
    )
)
def test_each_line_that_was_printed_is_one_that_the_platform_takes(row: dict[str, Any]) -> None:
    item, _ = line_of_output(row)
    assert item is not None
    checked_lines([item])


@given(st.lists(st.integers(0, 9)), st.integers(0, 40), st.binary(max_size=3))
def test_zeros_and_damage_cost_their_line_alone(
    numbers: list[int], at: int, damage: bytes
) -> None:
    lines = [json.dumps({"n": number}).encode() for number in numbers]
    damage = damage.replace(b"\n", b"")
    lines.insert(at, b"\0\0" + damage + b'{"n"')
    rows, damaged = rows_of_lines(b"".join(line + b"\n" for line in lines))
    assert [row["n"] for row in rows] == numbers
    assert damaged == 1
