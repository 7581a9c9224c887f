"""Where the counters of the machine come from: ``/proc``, psutil, or nowhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Counters", "ProcSource", "PsutilSource", "Source", "source_of_this_system"]

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
        except OSError as error:
            if is_from_signal(error):
                raise
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


def source_of_this_system() -> Source:
    """Return what this system can be asked by."""
    if Path("/proc/stat").is_file():
        return ProcSource()
    try:
        import psutil  # noqa: PLC0415 - optional, and Linux does without
    except ImportError:
        return _NoSource()
    return PsutilSource(psutil)
