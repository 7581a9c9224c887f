from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from expr_tracker.errors import OptionError
from expr_tracker.extras import install_command
from expr_tracker.plugins import CpuTime, GpuStats, TorchMemory, stop_samplers
from expr_tracker.spans.gpu_stats import Sampler

MIB = 1024 * 1024


class Meter:
    """Notes what it is asked, and when."""

    def __init__(self, **measured: Any) -> None:
        self.measured = measured
        self.calls: list[str] = []

    def start(self, span: Any) -> None:
        self.calls.append(f"start {span.path}")
        assert span.duration_ms == 0.0

    def end(self, span: Any) -> dict[str, Any]:
        self.calls.append(f"end {span.path}")
        assert span.duration_ms > 0.0
        return self.measured


class FakeCuda:
    """Torch's CUDA bookkeeping of one process: memory in use, and one peak a device."""

    def __init__(self, *, available: bool = True) -> None:
        self.available = available
        self.used = {0: 0, 1: 0}
        self.peak = {0: 0, 1: 0}

    def allocate(self, size_mb: int, device: int = 0) -> None:
        self.used[device] += size_mb * MIB
        self.peak[device] = max(self.peak[device], self.used[device])

    def is_available(self) -> bool:
        return self.available

    def current_device(self) -> int:
        return 0

    def max_memory_allocated(self, device: int) -> int:
        return self.peak[device]

    def memory_allocated(self, device: int) -> int:
        return self.used[device]

    def reset_peak_memory_stats(self, device: int) -> None:
        self.peak[device] = self.used[device]


class FakeNvml:
    """NVML with one GPU whose readings a test sets; it tells when it was read."""

    def __init__(self) -> None:
        self.percent = 10
        self.used_mb = 100
        self.readings = threading.Semaphore(0)

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        pass

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - NVML's name
        if index > 0:
            raise ValueError("Invalid Argument")
        return index

    def nvmlDeviceGetUtilizationRates(self, _: int) -> Any:  # noqa: N802 - NVML's name
        return SimpleNamespace(gpu=self.percent)

    def nvmlDeviceGetMemoryInfo(self, _: int) -> Any:  # noqa: N802 - NVML's name
        self.readings.release()
        return SimpleNamespace(used=self.used_mb * MIB)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake = FakeNvml()
    monkeypatch.setitem(__import__("sys").modules, "pynvml", fake)
    yield fake
    stop_samplers()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    monkeypatch.setitem(__import__("sys").modules, "torch", SimpleNamespace(cuda=fake))
    return fake


def test_plugins_run_outside_of_the_measured_time(room: Any, run: Any) -> None:
    meter = Meter(weight=2)
    with room.span("a", plugins=[meter]) as span:
        pass
    assert meter.calls == ["start a", "end a"]
    assert span.metrics == {"weight": 2}
    assert run.rows[0]["metrics"] == {"weight": 2}
    assert run.metrics[0][2] == {"weight": 2}


def test_children_inherit_plugins_unless_they_have_their_own(room: Any, run: Any) -> None:
    run.plugins = (Meter(of="run"),)
    with room.span("a"), room.span("b", plugins=Meter(of="b")), room.span("c"):
        pass
    assert [row["metrics"]["of"] for row in run.rows] == ["b", "b", "run"]


def test_a_function_is_a_plugin_of_the_end(room: Any, run: Any) -> None:
    with room.span("a", plugins=[lambda span: {"twice": 2 * span.attributes["n"]}], n=4):
        pass
    assert run.rows[0]["metrics"] == {"twice": 8}


def test_the_later_of_two_plugins_wins_and_reserved_names_are_refused(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with room.span("a", plugins=[Meter(x=1, time_ms=5), Meter(x=2, count=6)]):
            pass
    assert run.rows[0]["metrics"] == {"x": 2}
    assert caplog.text.count("'time_ms'") == 1
    assert caplog.text.count("'count'") == 1


def test_a_raising_plugin_is_named_once_and_left_out(
    room: Any, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def start(self, _: Any) -> None:
            raise ValueError("no start")

        def end(self, _: Any) -> Any:
            raise ValueError("no end")

    for _ in range(2):
        with room.span("a", plugins=[Broken(), Meter(x=1), lambda _: 3]):
            pass
    assert run.rows[1]["metrics"] == {"x": 1}
    assert caplog.text.count("no start") == 1
    assert caplog.text.count("no end") == 1


def test_results_are_encoded_as_metrics_are(room: Any, run: Any) -> None:
    with room.span("a", plugins=[Meter(pair=(1, 2), bad=float("inf"))]) as span:
        pass
    assert span.metrics == {"pair": [1, 2], "bad": float("inf")}
    assert run.rows[0]["metrics"] == {"pair": [1, 2], "bad": float("inf")}
    assert b"Infinity" in run.lines[0]


def test_cpu_time_tells_working_from_waiting(room: Any, run: Any) -> None:
    with room.span("outer", plugins=[CpuTime()]), room.span("work") as work:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
    assert work.metrics["cpu_time_ms"] >= 20
    assert work.metrics["cpu_percent"] > 0
    outer = run.rows[1]["metrics"]
    assert outer["cpu_time_ms"] >= work.metrics["cpu_time_ms"]
    assert round(outer["cpu_time_ms"], 3) == outer["cpu_time_ms"]
    assert round(outer["cpu_percent"], 1) == outer["cpu_percent"]


def test_torch_peaks_are_right_in_nested_spans(room: Any, cuda: FakeCuda) -> None:
    with room.span("outer", plugins=[TorchMemory()]) as outer:
        cuda.allocate(50)
        cuda.allocate(-40)
        with room.span("inner") as inner:
            cuda.allocate(20)
            cuda.allocate(-15)
        cuda.allocate(5)
    assert inner.metrics == {"gpu_mem_peak_mb": 30, "gpu_mem_delta_mb": 5}
    assert outer.metrics == {"gpu_mem_peak_mb": 50, "gpu_mem_delta_mb": 20}


def test_torch_peaks_are_kept_apart_by_plugin_and_device(room: Any, cuda: FakeCuda) -> None:
    first, second = room.start_span("a", plugins=TorchMemory(1)), None
    cuda.allocate(7, device=1)
    second = room.start_span("b", plugins=TorchMemory(1))
    cuda.allocate(-7, device=1)
    first.end()
    cuda.allocate(3, device=0)
    second.end()
    assert first.metrics == {"gpu_mem_peak_mb": 7, "gpu_mem_delta_mb": 0}
    assert second.metrics == {"gpu_mem_peak_mb": 7, "gpu_mem_delta_mb": -7}


@pytest.mark.parametrize("is_installed", [True, False])
def test_without_cuda_it_says_so_once_and_measures_nothing(
    is_installed: bool,
    room: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    torch = SimpleNamespace(cuda=FakeCuda(available=False)) if is_installed else None
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)
    for _ in range(2):
        with room.span("a", plugins=[TorchMemory()]) as span:
            pass
        assert span.metrics == {}
    assert caplog.text.count("TorchMemory measures nothing") == 1


def test_gpu_samples_make_a_mean_and_a_peak(room: Any, nvml: FakeNvml) -> None:
    with room.span("a", plugins=[GpuStats(interval=0.001)]) as span:
        nvml.readings.acquire(timeout=10)
        nvml.used_mb = 900
        for _ in range(3):
            nvml.readings.acquire(timeout=10)
        nvml.used_mb = 50
    assert span.metrics == {"gpu_percent": 10, "gpu_mem_used_mb": 900}


def test_a_span_shorter_than_the_interval_gets_a_reading(room: Any, nvml: FakeNvml) -> None:
    plugin = GpuStats(interval=3_600)
    with room.span("a", plugins=[plugin]):
        assert nvml.readings.acquire(timeout=10)  # the sampler's first; its next is an hour off
        nvml.percent, nvml.used_mb = 80, 300
        with room.span("b") as span:
            pass
    assert span.metrics == {"gpu_percent": 80, "gpu_mem_used_mb": 300}


def test_a_reading_taken_before_a_span_began_is_not_the_spans() -> None:
    class Slow(FakeNvml):
        def nvmlDeviceGetMemoryInfo(self, _: int) -> Any:  # noqa: N802 - NVML's name
            sampler.join(late, "owner")  # a span begins while the reading is under way
            return super().nvmlDeviceGetMemoryInfo(_)

    class Began:
        """Stands for a span: the sampler only asks who it is."""

    early: Any = Began()
    late: Any = Began()
    sampler = Sampler(Slow(), 0, 3_600)
    sampler._thread = threading.current_thread()  # no thread of its own: this test samples
    sampler.join(early, "owner")
    sampler.sample()
    counts = [sampler.leave(span, "owner") for span in (early, late)]
    assert [seen.count for seen in counts if seen is not None] == [1, 0]


def test_samplers_are_shared_stop_and_start_anew(room: Any, nvml: FakeNvml) -> None:
    def threads() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t.name == "expr-tracker-gpu"]

    with room.span("a", plugins=[GpuStats(interval=0.01), GpuStats(interval=0.01)]):
        assert len(threads()) == 1
        assert all(thread.daemon for thread in threads())
    stop_samplers()
    assert threads() == []
    with room.span("b", plugins=[GpuStats(interval=0.01)]) as span:
        nvml.readings.acquire(timeout=10)
    assert span.metrics["gpu_percent"] == 10


def test_a_gpu_that_is_not_there_is_said_once(
    room: Any, nvml: FakeNvml, caplog: pytest.LogCaptureFixture
) -> None:
    del nvml
    for _ in range(2):
        with room.span("a", plugins=[GpuStats(3)]) as span:
            pass
        assert span.metrics == {}
    assert caplog.text.count("GPU 3: ValueError('Invalid Argument')") == 1


def test_without_the_binding_the_pip_line_is_named(
    room: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    with room.span("a", plugins=[GpuStats()]) as span:
        pass
    assert span.metrics == {}
    assert f"({install_command('gpu')})" in caplog.text


@pytest.mark.parametrize("interval", [0, -1, float("nan"), float("inf"), "1"])
def test_an_interval_is_finite_and_above_zero(interval: Any) -> None:
    with pytest.raises(OptionError, match="seconds above 0"):
        GpuStats(interval=interval)


@pytest.mark.parametrize("index", [-1, True, 0.5])
def test_a_gpu_index_is_a_whole_number(index: Any) -> None:
    with pytest.raises(OptionError, match="whole number"):
        GpuStats(index)
