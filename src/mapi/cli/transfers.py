"""The bar of a transfer or another long work: on a terminal, where there is enough to see."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mapi.sdk.calls import Progress

__all__ = ["counting", "transfer"]

#: What is smaller is there before anybody has read the bar.
_SHOWN_BYTES_MIN: Final = 1 << 20


@contextlib.contextmanager
def transfer(label: str, *, size_bytes: int = _SHOWN_BYTES_MIN) -> Iterator[Progress | None]:
    """Yield what draws how far a transfer is; `None` where standard error is no terminal.

    Args:
        label: stands before the bar.
        size_bytes: how much it is, where that is known; of little no bar is drawn.
    """
    from expr_tracker.cli.progress import progress_bar

    if size_bytes < _SHOWN_BYTES_MIN:
        yield None
        return
    with progress_bar(label) as bar:
        if bar is None:
            yield None
            return

        went = 0

        def show(done: int, whole: int | None) -> None:
            nonlocal went
            went = done
            # What has no length before it is whole shows that it goes on.
            bar(done, whole or done + 1)

        yield show
        bar(went + 1, went + 1)  # a step of nothing would not be drawn


@contextlib.contextmanager
def counting(label: str) -> Iterator[Callable[[int], None] | None]:
    """Yield what hears of each portion that is done; `None` where standard error is no terminal."""
    from expr_tracker.cli.progress import progress_bar

    with progress_bar(label) as bar:
        if bar is None:
            yield None
            return
        done = 0

        def more(count: int) -> None:
            nonlocal done
            done += count
            # Nobody knows before how much there is: the bar shows that it goes on.
            bar(done, done + 1)

        yield more
        bar(done + 1, done + 1)
