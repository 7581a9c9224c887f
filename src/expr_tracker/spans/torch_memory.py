"""The GPU memory that PyTorch allocated during a span."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from expr_tracker.spans import stack
from expr_tracker.spans.hooks import OwnedByProcess
from expr_tracker.spans.stack import warn_once

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.spans.span import Span

__all__ = ["TorchMemory"]

_MIB: Final = 1024 * 1024


class _DevicePeaks:
    """The peaks of all open spans on one device.

    PyTorch keeps one peak per device and can only set it back. So every start first credits the
    peak so far to all spans that are open, then sets it back: a short span in a long one sees its
    own peak, and the long one still sees both.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.peaks: WeakKeyDictionary[Span, dict[object, tuple[int, int]]] = WeakKeyDictionary()

    def credit(self, peak: int) -> None:
        for measured in self.peaks.values():
            for owner, (before, highest) in measured.items():
                measured[owner] = (before, max(highest, peak))


_devices: dict[int, _DevicePeaks] = {}


class TorchMemory(OwnedByProcess):
    """Measures ``gpu_mem_peak_mb`` and ``gpu_mem_delta_mb`` (MiB) through ``torch.cuda``.

    It sets PyTorch's own peak statistics back at the start of each span.

    Args:
        device: a CUDA device as PyTorch names it; the current one by default.
    """

    def __init__(self, device: Any = None) -> None:
        super().__init__()
        self._device = device

    def start(self, span: Span) -> None:
        """Begin a peak for the span."""
        self.check_process()
        cuda = _cuda()
        if cuda is None:
            return
        device = self._index(cuda)
        state = _devices.setdefault(device, _DevicePeaks())
        with state.lock:
            state.credit(cuda.max_memory_allocated(device))
            cuda.reset_peak_memory_stats(device)
            before = cuda.memory_allocated(device)
            state.peaks.setdefault(span, {})[self] = (before, before)

    def end(self, span: Span) -> Row:
        """Return the span's peak and how much more is allocated than at its start."""
        self.check_process()
        for device, state in list(_devices.items()):
            if self not in state.peaks.get(span, {}):
                continue
            cuda = _cuda()
            if cuda is None:
                return {}
            with state.lock:
                state.credit(cuda.max_memory_allocated(device))
                before, peak = state.peaks[span].pop(self)
            return {
                "gpu_mem_peak_mb": peak / _MIB,
                "gpu_mem_delta_mb": (cuda.memory_allocated(device) - before) / _MIB,
            }
        return {}

    def _index(self, cuda: Any) -> int:
        if isinstance(self._device, int):
            return self._device
        if self._device is not None:
            index = cuda.device(self._device).idx
            if index is not None:
                return int(index)
        return int(cuda.current_device())


def _cuda() -> Any:
    """Return ``torch.cuda`` where there is a CUDA device; say once why not."""
    try:
        # Not an import statement: type checkers need not have it, and it is slow to load.
        torch = importlib.import_module("torch")
    except ImportError:
        warn_once("torch", "TorchMemory measures nothing: PyTorch is not installed.")
        return None
    if not torch.cuda.is_available():
        warn_once("torch", "TorchMemory measures nothing: PyTorch sees no CUDA device.")
        return None
    return torch.cuda


stack.after_fork_in_child(_devices.clear)
