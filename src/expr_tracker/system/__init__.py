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

`sources` reads the counters, `gpus` asks the driver, `meter` makes the table above of both, and
`sampling` does so again and again.
"""

from __future__ import annotations

from expr_tracker.system.meter import SystemMeter
from expr_tracker.system.sampling import SystemThread
from expr_tracker.system.sources import Counters, ProcSource, PsutilSource, Source

__all__ = ["Counters", "ProcSource", "PsutilSource", "Source", "SystemMeter", "SystemThread"]
