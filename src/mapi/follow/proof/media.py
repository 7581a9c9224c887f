"""Images, figures and tables: at each place the bytes that the files have, by their hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.reader import LineFile
from mapi.follow.instants import now_us
from mapi.follow.media import NoContentError, UnreadableError, content_of
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.references import references_of_lines
from mapi.series.name_map import name_from_series, without_writer, writer_from_labels
from mapi.series.names import Labels
from mapi.wire.media import CAPTION_LENGTH_MAX
from mapi.wire.times import time_from_us, time_to_us

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from mapi.follow.proof.differences import Differences, Kind
    from mapi.follow.references import MediaReference
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.media import MediaFacts

__all__ = ["compare_media"]

#: Whose, which and at which step.
_Place: TypeAlias = tuple[str, int, str, Labels, int | None]


@dataclass(frozen=True)
class _Item:
    sha256: str
    caption: str
    time_us: int | None


def compare_media(
    runs: Runs,
    run: str,
    directory: Path,
    *,
    keys: Iterable[StreamKey],
    unread: Collection[StreamKey],
    differences: Differences,
) -> None:
    """Compare the media of all producers with those that the platform has.

    Args:
        runs: of a client.
        run: the platform's run.
        directory: of the files.
        keys: the producers.
        unread: those of them whose files cannot be read.
        differences: takes in what is found.
    """
    left = _in_files(directory, [key for key in keys if key not in unread], differences)
    for there in runs.media(run):
        place = _place_of(there)
        if StreamKey(place[0] or None, place[1]) in unread:
            continue
        differences.compare("media item")
        item = _Item(there.sha256, there.caption, time_to_us(there.time))
        mine = left.pop(place, None)
        if mine is None:
            _add(differences, "extra", place, platform=item.sha256)
        elif mine.sha256 != item.sha256:
            _add(differences, "value", place, files=mine.sha256, platform=item.sha256)
        elif mine.caption != item.caption:
            _add(differences, "value", place, files=mine.caption, platform=item.caption)
        elif _is_elsewhen(mine, item, differences):
            _add(differences, "time", place, files=_time(mine), platform=_time(item))
    for place, mine in left.items():
        differences.compare("media item")
        _add(differences, "missing", place, files=mine.sha256)


def _in_files(
    directory: Path, keys: Iterable[StreamKey], differences: Differences
) -> dict[_Place, _Item]:
    """Return the items that the files have for the platform."""
    left: dict[_Place, _Item] = {}
    for key in keys:
        for reference in _references(RunFiles(directory, key).metrics):
            writer = key.stream or "", key.rank
            place: _Place = (*writer, reference.key, reference.labels, reference.step)
            try:
                content = content_of(directory, reference)
            except UnreadableError as error:
                differences.problems.append(f"{key.label}: media not compared: {error}")
                continue
            except NoContentError as error:
                differences.note("media item", str(error))
                continue
            time_us = reference.time_us if reference.has_time else None
            item = _Item(content.sha256, reference.caption[:CAPTION_LENGTH_MAX], time_us)
            before = left.get(place)
            # Of one that is logged again the later stays; where nothing but the time differs, the first.
            if before is None or (before.sha256, before.caption) != (item.sha256, item.caption):
                left[place] = item
    return left


def _references(path: Path) -> Iterator[MediaReference]:
    with LineFile(path) as file:
        for _, piece in file.chunks():
            yield from references_of_lines(piece, now_us=now_us())


def _place_of(item: MediaFacts) -> _Place:
    stream, rank = writer_from_labels(item.labels) or ("", 0)
    return stream, rank, item.key, without_writer(item.labels), item.step


def _add(
    differences: Differences,
    kind: Kind,
    place: _Place,
    *,
    files: str | None = None,
    platform: str | None = None,
) -> None:
    stream, rank, key, labels, step = place
    differences.add(
        Difference(
            "media item",
            kind,
            StreamKey(stream or None, rank).label,
            name_from_series(key, labels),
            step,
            files=None if files is None else shown_text(files),
            platform=None if platform is None else shown_text(platform),
        )
    )


def _is_elsewhen(mine: _Item, theirs: _Item, differences: Differences) -> bool:
    if mine.time_us is None or theirs.time_us is None or mine.time_us == theirs.time_us:
        return False
    return not differences.is_moved("media item", mine.time_us, theirs.time_us)


def _time(item: _Item) -> str:
    return "" if item.time_us is None else str(time_from_us(item.time_us))
