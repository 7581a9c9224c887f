"""The machine's own figures: processor, memory, disk, network, GPU.

==========================  ======================================================================
name                        meaning and unit (a MB is 2**20 bytes, as in the GPU tools)
==========================  ======================================================================
cpu/percent                 busy share of all processors, 0 to 100
cpu/process_percent         this process alone; 100 is one processor kept busy
memory/used_mb              memory in use that cannot be reclaimed, MB
memory/percent              the same as a share of the machine's memory, 0 to 100
memory/process_mb           resident memory of this process, MB
disk/read_mb_per_second     read from the machine's disks, MB/s
disk/write_mb_per_second    written to the machine's disks, MB/s
disk/used_percent           how full the run directory's disk is, 0 to 100
network/received_mb_per_second, network/sent_mb_per_second
                            all interfaces but loopback and container bridges, MB/s
gpu/<i>/percent             busy share of GPU ``i`` (as the driver counts), 0 to 100
gpu/<i>/memory_used_mb      its memory in use, MB
gpu/<i>/power_watts         what it draws, W
gpu/<i>/temperature_celsius its temperature, degrees Celsius
==========================  ======================================================================

Rates and busy shares are the mean since the sample before, so the first sample is without them. A
figure that the machine does not give is left out; nothing is guessed. On Linux ``/proc`` is read
directly; elsewhere psutil is, where it is installed; GPUs come from ``pynvml`` where that is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from expr_tracker.notices import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from expr_tracker.clock import Clock

__all__ = ["Counters", "ProcSource", "PsutilSource", "SystemMeter", "SystemThread"]


_MB: Final = 1024 * 1024
#: A rate over less says more about the clock's ticks (10 ms in /proc) than about the machine.
_INTERVAL_SECONDS_MIN: Final = 0.2
#: /proc/diskstats counts in sectors of this size whatever the disk's own are (kernel docs, iostats).
_SECTOR_BYTES: Final = 512
#: Their traffic is counted on the disks below them.
_STACKED_DISKS: Final = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
#: Their traffic is counted on the interface that leads out.
_BRIDGES: Final = ("lo", "docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "tunl")


@dataclass(frozen=True)
class Counters:
    """What a source reads at one moment; ``None`` where the machine does not say."""

    #: Processor time of all processors, in any unit: busy and in all.
    cpu_busy: float | None = None
    cpu_total: float | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    process_bytes: int | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    network_received_bytes: int | None = None
    network_sent_bytes: int | None = None


class Source(Protocol):
    """Where the counters come from."""

    def read(self) -> Counters:
        """Return the counters of this moment."""
        ...


class ProcSource:
    """Linux, read from ``/proc`` (https://docs.kernel.org/filesystems/proc.html)."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root

    def read(self) -> Counters:
        """Return the counters of this moment; a file that is missing or odd leaves a gap."""
        busy, total = self._cpu()
        memory = self._memory()
        read, write = self._disks()
        received, sent = self._network()
        return Counters(
            cpu_busy=busy,
            cpu_total=total,
            memory_total_bytes=memory.get("MemTotal"),
            memory_available_bytes=memory.get("MemAvailable"),
            process_bytes=self._process_bytes(),
            disk_read_bytes=read,
            disk_write_bytes=write,
            network_received_bytes=received,
            network_sent_bytes=sent,
        )

    def _rows(self, name: str) -> Iterator[list[str]]:
        try:
            text = (self._root / name).read_text("ascii", "replace")
        except OSError:
            return
        for line in text.splitlines():
            yield line.split()

    def _cpu(self) -> tuple[float | None, float | None]:
        for row in self._rows("stat"):
            if row and row[0] == "cpu" and len(row) >= 6:
                # user nice system idle iowait irq softirq steal; guest time is within user time.
                ticks = [float(field) for field in row[1:9]]
                total = sum(ticks)
                return total - ticks[3] - ticks[4], total
        return None, None

    def _memory(self) -> dict[str, int]:
        return {
            row[0].rstrip(":"): int(row[1]) * 1024
            for row in self._rows("meminfo")
            if len(row) >= 2 and row[1].isdecimal()
        }

    def _process_bytes(self) -> int | None:
        for row in self._rows("self/statm"):
            if len(row) >= 2:
                return int(row[1]) * os.sysconf("SC_PAGE_SIZE")
        return None

    def _disks(self) -> tuple[int | None, int | None]:
        rows = [row for row in self._rows("diskstats") if len(row) >= 10]
        names = [row[2] for row in rows]
        whole = [
            row
            for row in rows
            if not row[2].startswith(_STACKED_DISKS) and not _is_partition(row[2], names)
        ]
        if not whole:
            return None, None
        read = sum(int(row[5]) for row in whole) * _SECTOR_BYTES
        return read, sum(int(row[9]) for row in whole) * _SECTOR_BYTES

    def _network(self) -> tuple[int | None, int | None]:
        received = sent = None
        for row in self._rows("net/dev"):
            # "eth0: 1 2 ..." and, from older kernels, "eth0:1 2 ...".
            name, _, rest = " ".join(row).partition(":")
            fields = rest.split()
            if len(fields) < 9 or name.startswith(_BRIDGES):
                continue
            received = (received or 0) + int(fields[0])
            sent = (sent or 0) + int(fields[8])
        return received, sent


def _is_partition(name: str, names: list[str]) -> bool:
    """Say whether ``sda1`` or ``nvme0n1p2`` lies on a disk that is listed too."""
    disk = name.rstrip("0123456789")
    if disk == name:
        return False
    return disk in names or (disk.endswith("p") and disk[:-1] in names)


class PsutilSource:
    """Other systems, through psutil."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._process = psutil.Process()

    def read(self) -> Counters:
        """Return the counters of this moment."""
        times = self._psutil.cpu_times()
        total = sum(times)
        memory = self._psutil.virtual_memory()
        # Both are None on machines without disks or interfaces.
        disk = self._psutil.disk_io_counters()
        interfaces = self._psutil.net_io_counters(pernic=True)
        outer = [value for name, value in interfaces.items() if not name.startswith(_BRIDGES)]
        return Counters(
            cpu_busy=total - times.idle - getattr(times, "iowait", 0.0),
            cpu_total=total,
            memory_total_bytes=memory.total,
            memory_available_bytes=memory.available,
            process_bytes=self._process.memory_info().rss,
            disk_read_bytes=None if disk is None else disk.read_bytes,
            disk_write_bytes=None if disk is None else disk.write_bytes,
            network_received_bytes=sum(value.bytes_recv for value in outer) if outer else None,
            network_sent_bytes=sum(value.bytes_sent for value in outer) if outer else None,
        )


class _NoSource:
    """A system that nobody here can ask: the figures of the process and the disk remain."""

    def read(self) -> Counters:
        return Counters()


def _source_of_this_system() -> Source:
    if Path("/proc/stat").is_file():
        return ProcSource()
    try:
        import psutil  # noqa: PLC0415 - optional, and Linux does without
    except ImportError:
        return _NoSource()
    return PsutilSource(psutil)


class SystemMeter:
    """Reads the table above.

    Args:
        directory: the run's directory, whose disk is watched.
        clock: measures the time between samples; the machine's by default.
        source: where the counters come from; by default what this system has.
    """

    def __init__(
        self, directory: Path, clock: Clock | None = None, *, source: Source | None = None
    ) -> None:
        self._directory = directory
        self._monotonic = time.monotonic if clock is None else clock.monotonic
        self._source = _source_of_this_system() if source is None else source
        self._before: tuple[float, float, Counters] | None = None
        self._gpus: _Gpus | None = None

    def sample(self) -> dict[str, float]:
        """Return the figures of this moment by name."""
        if self._gpus is None:
            self._gpus = _Gpus()
        now, process_seconds = self._monotonic(), time.process_time()
        counters = self._source.read()
        figures = {**_levels(counters), **self._disk(), **self._gpus.sample()}
        before = self._before
        if before is not None and now - before[0] < _INTERVAL_SECONDS_MIN:
            return figures
        self._before = (now, process_seconds, counters)
        if before is not None:
            elapsed = now - before[0]
            busy = 100.0 * (process_seconds - before[1]) / elapsed
            figures["cpu/process_percent"] = round(busy, 2)
            figures |= _rates(before[2], counters, elapsed)
        return dict(sorted(figures.items()))

    def close(self) -> None:
        """Let go of the GPU driver."""
        if self._gpus is not None:
            self._gpus.close()
            self._gpus = None

    def _disk(self) -> dict[str, float]:
        try:
            usage = shutil.disk_usage(self._directory)
        except OSError:  # the directory is gone
            return {}
        return (
            {"disk/used_percent": round(100.0 * usage.used / usage.total, 2)}
            if usage.total
            else {}
        )


def _levels(counters: Counters) -> dict[str, float]:
    figures: dict[str, float] = {}
    total, available = counters.memory_total_bytes, counters.memory_available_bytes
    if total and available is not None:
        figures["memory/used_mb"] = round((total - available) / _MB, 1)
        figures["memory/percent"] = round(100.0 * (total - available) / total, 2)
    if counters.process_bytes is not None:
        figures["memory/process_mb"] = round(counters.process_bytes / _MB, 1)
    return figures


def _rates(before: Counters, now: Counters, elapsed: float) -> dict[str, float]:
    figures: dict[str, float] = {}
    busy, total = (
        _advance(before.cpu_busy, now.cpu_busy),
        _advance(before.cpu_total, now.cpu_total),
    )
    if busy is not None and total:
        figures["cpu/percent"] = round(100.0 * busy / total, 2)
    for name, first, second in (
        ("disk/read", before.disk_read_bytes, now.disk_read_bytes),
        ("disk/write", before.disk_write_bytes, now.disk_write_bytes),
        ("network/received", before.network_received_bytes, now.network_received_bytes),
        ("network/sent", before.network_sent_bytes, now.network_sent_bytes),
    ):
        advance = _advance(first, second)
        if advance is not None:
            figures[f"{name}_mb_per_second"] = round(advance / _MB / elapsed, 3)
    return figures


def _advance(before: float | None, now: float | None) -> float | None:
    """Return how far a counter went; ``None`` if it began anew (a device was taken away)."""
    if before is None or now is None or now < before:
        return None
    return now - before


class _Gpus:
    """The GPUs that the driver's library lists; none where there is no library or no driver."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml  # noqa: PLC0415 - optional

            pynvml.nvmlInit()
        except Exception:  # noqa: BLE001 - ImportError, or an error class of the library's own
            return
        self._nvml = pynvml
        with contextlib.suppress(pynvml.NVMLError):
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def sample(self) -> dict[str, float]:
        """Return the figures of every GPU; one that a GPU does not have is left out."""
        nvml, figures = self._nvml, {}
        for index, handle in enumerate(self._handles):
            # One at a time: many GPUs have no power meter, parts of one have no busy share.
            with contextlib.suppress(nvml.NVMLError):
                figures[f"gpu/{index}/percent"] = float(
                    nvml.nvmlDeviceGetUtilizationRates(handle).gpu
                )
            with contextlib.suppress(nvml.NVMLError):
                used = nvml.nvmlDeviceGetMemoryInfo(handle).used
                figures[f"gpu/{index}/memory_used_mb"] = round(used / _MB, 1)
            with contextlib.suppress(nvml.NVMLError):
                milliwatts = nvml.nvmlDeviceGetPowerUsage(handle)
                figures[f"gpu/{index}/power_watts"] = round(milliwatts / 1000, 2)
            with contextlib.suppress(nvml.NVMLError):
                degrees = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
                figures[f"gpu/{index}/temperature_celsius"] = float(degrees)
        return figures

    def close(self) -> None:
        """Let go of the library."""
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()


class SystemThread:
    """Samples a meter at once and then every ``interval`` seconds, on one daemon thread.

    Args:
        log: receives each sample; what it raises is counted.
        interval: seconds between samples.
        meter: what is sampled.

    Attributes:
        samples: how many were logged.
        failures: how many could not be taken or logged.
    """

    def __init__(
        self, log: Callable[[dict[str, float]], object], interval: float, meter: SystemMeter
    ) -> None:
        self.samples = 0
        self.failures = 0
        self._log = log
        self._interval = interval
        self._meter = meter
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="expr_tracker.system", daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End, waiting ``timeout`` seconds at most; say whether the thread has ended."""
        self._stopped.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._log(self._meter.sample())
                self.samples += 1
            except Exception as error:  # noqa: BLE001 - a device may fail in any way; go on
                self.failures += 1
                if self.failures == 1:
                    logger.warning(
                        "System metrics: a sample failed (%s: %s). Further ones are only counted.",
                        type(error).__name__,
                        error,
                    )
            self._stopped.wait(self._interval)
        self._meter.close()
