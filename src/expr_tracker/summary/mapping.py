"""The summary: the last value of every metric, and what the user pinned.

``et.summary()`` is a mapping. Reading it shows the last committed values; assigning a key pins it,
and later rows no longer change it; deleting a key lifts the pin. Pins survive a resume.

File: ``{NAME: VALUE, ..., "_pinned": [NAME, ...]}``. The member ``_pinned`` is left out where nothing is
pinned (`expr_tracker.store.summary_document`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from expr_tracker.errors import NameRefusedError
from expr_tracker.row import META_NAMES, Row, RowEncoder, key_text
from expr_tracker.store.summary_document import read_summary, write_summary
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["Summary"]


class Summary(MutableMapping[str, Any]):
    """The summary of one stream and rank.

    Args:
        path: its file; read at once, written by `save`.
        latest: the recorder's last values, shared, not copied.
        encoder: makes assigned values plain.
        guard: raises in a forked child.
        is_behind: the rows have gone on without the file, so that only its pins are taken over.
        is_whole: whether every last value is known; asked at each `save`.
    """

    def __init__(
        self,
        path: Path,
        latest: Row,
        *,
        encoder: RowEncoder,
        guard: Callable[[], None],
        is_behind: bool = False,
        is_whole: Callable[[], bool] = lambda: True,
    ) -> None:
        self._path = path
        self._latest = latest
        self._encoder = encoder
        self._guard = guard
        self._is_whole = is_whole
        self._pins: Row = {}
        #: Whether a pin was set or lifted since the last `save`.
        self.is_unsaved = not path.exists()
        stored = read_summary(path)
        for name, value in stored.values.items():
            if name in stored.pins:
                self._pins[name] = value
            elif not is_behind:
                latest.setdefault(name, value)

    def __getitem__(self, name: str) -> Any:
        self._guard()
        key = key_text(name)
        if key in self._pins:
            return self._pins[key]
        if key[:1] == "_" or key not in self._latest:
            raise KeyError(name)
        return self._latest[key]

    def __setitem__(self, name: str, value: Any) -> None:
        """Pin a value.

        Raises:
            NameRefusedError: the name begins with an underscore.
        """
        self._guard()
        key = key_text(name)
        if key[:1] == "_":
            raise NameRefusedError(
                f"summary()[{shown(key)}]: names that begin with an underscore belong to the file format, "
                "and no summary holds them. Pin it under a name without the underscore."
            )
        self._pins[key] = self._encoder.value(key, value)
        self.is_unsaved = True

    def __delitem__(self, name: str) -> None:
        self._guard()
        key = key_text(name)
        if key not in self._pins and key not in self._latest:
            raise KeyError(name)
        if key in self._pins:
            del self._pins[key]
            self.is_unsaved = True
        else:
            self._latest.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name())

    def __len__(self) -> int:
        return len(self.values_by_name())

    def __repr__(self) -> str:
        return f"Summary({self.values_by_name()!r})"

    def values_by_name(self) -> Row:
        """Return a copy: pins over last values."""
        self._guard()
        merged = {**self._latest, **self._pins}
        for name in [*META_NAMES, *(name for name in merged if name[:1] == "_")]:
            merged.pop(name, None)
        return merged

    def save(self) -> None:
        """Replace the file.

        Raises:
            OSError: it could not be written.
        """
        self.is_unsaved = False
        values = self.values_by_name()
        write_summary(self._path, values, pins=self._pins, is_whole=self._is_whole())
