"""Locks among threads that may hang or be interrupted for good: probed, and let go of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.interruption import suppress_own

if TYPE_CHECKING:
    import threading

__all__ = ["are_free", "release_all"]


def are_free(locks: tuple[threading.RLock, ...], timeout_seconds: float) -> bool:
    """Say whether no other thread holds on to one of ``locks`` for so long.

    Probed, not held on to: who hangs in a write keeps them, everyone else lets go at once.
    """
    for lock in locks:
        if not lock.acquire(timeout=timeout_seconds):
            return False
        lock.release()
    return True


def release_all(lock: threading.RLock) -> None:
    """Release ``lock`` as often as this thread holds it."""
    with suppress_own(RuntimeError):  # what an unowned lock raises
        while True:
            lock.release()
