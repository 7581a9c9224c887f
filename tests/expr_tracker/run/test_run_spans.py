"""Where the spans of a run end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.store import writer as writer_module
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run import Run


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_first_span_that_is_interrupted_while_its_file_is_opened_is_kept(
    make: Make, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], goes_on: bool
) -> None:
    run = make()

    def handle(number: int, frame: object) -> None:
        raise error

    def prepare(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    monkeypatch.setattr(writer_module, "prepare", prepare)
    try:
        with pytest.raises(error):
            run.spans.append(b'{"_step":0,"name":"a"}\n')
    finally:
        signal.signal(signal.SIGUSR1, before)
    if goes_on:
        run.spans.append(b'{"_step":0,"name":"b"}\n')
    run.finish(quiet=True)
    names = [row["name"] for row in whole_rows(run.files.spans)]
    assert names == (["a", "b"] if goes_on else ["a"])


def test_spans_end_in_the_open_row_and_the_span_file(make: Make) -> None:
    run = make()
    assert run.spans.finished("a/b", 1.5, {"cpu_time_ms": 2.0}) == 0
    run.spans.append(b'{"_step":0,"name":"a/b"}\n')
    run.log({"x": 1})
    run.finish(quiet=True)
    assert rows(run)[0] == {
        "_step": 0,
        "_time": rows(run)[0]["_time"],
        "time_ms/a/b": 1.5,
        "cpu_time_ms/a/b": 2.0,
        "x": 1,
    }
    assert list(whole_rows(run.files.spans)) == [{"_step": 0, "name": "a/b"}]
    assert run.spans.finished("a/b", 1.0, {}) is None, "a finished run takes no span"


def test_what_plugins_measure_joins_by_the_rule_of_its_name(make: Make) -> None:
    run = make()
    measured = iter([(80.0, 7.0, 1), (80.0, 5.0, 2)])

    def plugin(_: Any) -> dict[str, float]:
        percent, peak, own = next(measured)
        return {"cpu_percent": percent, "gpu_mem_peak_mb": peak, "own": own}

    for _ in range(2):
        with run.span("a", plugins=[plugin]):
            pass
    run.finish(quiet=True)
    row, _ = rows(run)
    assert row["cpu_percent/a"] == pytest.approx(80.0)
    assert row["gpu_mem_peak_mb/a"] == 7.0
    assert row["own/a"] == 3


def test_a_span_file_that_cannot_be_opened_costs_the_spans_only(
    make: Make, tmp_path: Path
) -> None:
    run = make()
    run.files.spans.mkdir()
    run.spans.append(b"{}\n")
    run.spans.append(b"{}\n")
    run.log({"a": 1})
    told = run.info()
    assert told["history"]["dropped_spans"] == 2
    assert told["history"]["dropped_records"] == 0
    assert steps(run) == [0]


def test_spans_behind_the_end_are_dropped_and_counted(make: Make) -> None:
    run = make()
    run.spans.append(b'{"n":1}\n')
    run.finish(quiet=True)
    run.spans.append(b'{"n":2}\n')
    assert list(whole_rows(run.files.spans)) == [{"n": 1}]
    assert sum(run.info()["loss"]["dropped"].values()) == 1


# -- threads ------------------------------------------------------------------------------------------


def test_what_describes_a_span_loses_its_secrets_and_the_span_keeps_what_it_was_given(
    make: Make,
) -> None:
    run = make()
    with run.span(
        "load", token="s3cr3t", url="postgresql://u:s3cr3t@h/db", pin=12345678, key=3, where=["x"]
    ) as span:
        pass
    with run.span("load", token=12345678, n=1_000_000, ratio=0.5):
        pass
    assert span.attributes["token"] == "s3cr3t"
    run.finish(quiet=True)
    first, second = whole_rows(run.files.spans)
    assert first["args"] == {
        "token": "[redacted]",
        "url": "postgresql://u:[redacted]@h/db",
        "pin": 12345678,
        "key": 3,
        "where": ["x"],
    }
    assert second["args"] == {"token": "[redacted]", "n": 1_000_000, "ratio": 0.5}
