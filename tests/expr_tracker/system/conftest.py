from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

#: Of a machine with two disks, one network interface and what must not be counted.
FILES = {
    "stat": "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1 1 0 0 0 0 0\n",
    "meminfo": "MemTotal:       4096000 kB\nMemFree: 1 kB\nMemAvailable:   1024000 kB\n",
    "self/statm": "900 256 10 1 0 1 0\n",
    "diskstats": (
        "   7       0 loop0 1 0 999999 0 1 0 999999 0 0 0 0\n"
        " 259       0 nvme0n1 1 0 2048 0 1 0 4096 0 0 0 0\n"
        " 259       1 nvme0n1p1 1 0 2048 0 1 0 4096 0 0 0 0\n"
        "   8       0 sda 1 0 2048 0 1 0 0 0 0 0 0\n"
        "   8       1 sda1 1 0 2048 0 1 0 0 0 0 0 0\n"
        " 253       0 dm-0 1 0 999999 0 1 0 999999 0 0 0 0\n"
    ),
    "net/dev": (
        "Inter-|   Receive  |  Transmit\n face |bytes    packets|bytes packets\n"
        "    lo: 777 0 0 0 0 0 0 0 777 0 0 0 0 0 0 0\n"
        "  eth0: 1048576 0 0 0 0 0 0 0 2097152 0 0 0 0 0 0 0\n"
        "docker0:777 0 0 0 0 0 0 0 777 0 0 0 0 0 0 0\n"
    ),
}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    root = tmp_path / "proc"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(autouse=True)
def _no_gpu_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
