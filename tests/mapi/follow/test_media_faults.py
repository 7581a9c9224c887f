"""Media through a network that fails: at each place the item that the file names last."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from tests.mapi.follow.faulty import Faulty, fates, few
from tests.mapi.follow.histories import new_run
from tests.mapi.follow.network import Fate

from mapi.follow.deliveries import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("a", "b/c")
COLOURS = range(4)

#: Step, and by name which picture.
Logged = tuple[int, dict[str, int]]
logged = st.tuples(
    st.integers(0, 2),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(COLOURS) for name in NAMES}),
)


def picture(colour: int) -> bytes:
    content = io.BytesIO()
    Image.new("L", (2 + colour, 2), colour).save(content, "png")
    return content.getvalue()


def sha_of(colour: int) -> str:
    return hashlib.sha256(picture(colour)).hexdigest()


def new_pictures(path: Path) -> None:
    new_run(path)
    (path / "media").mkdir()
    for colour in COLOURS:
        (path / "media" / f"{sha_of(colour)}.png").write_bytes(picture(colour))


def append(path: Path, found: Sequence[Logged]) -> None:
    with (path / "metrics.jsonl").open("a") as file:
        for step, named in found:
            row: dict[str, Any] = {"_step": step, "_time": 1.7e9}
            for name, colour in named.items():
                sha256 = sha_of(colour)
                about = {"_type": "image", "path": f"media/{sha256}.png", "sha256": sha256}
                row[name] = about
            file.write(json.dumps(row) + "\n")


def last(found: Sequence[Logged]) -> dict[tuple[str, int], str]:
    """Return what is shown at each place."""
    return {
        (name.rpartition("/")[2], step): sha_of(colour)
        for step, named in found
        for name, colour in named.items()
    }


def there(faulty: Faulty, run: str) -> dict[tuple[str, int | None], str]:
    return {(one.key, one.step): one.sha256 for one in faulty.api.runs.media(run)}


@pytest.mark.timeout(300)
@few
# Each upload comes once more, when what replaced it is there.
@example(stages=[([(0, {"a": 0}), (0, {"a": 1})], [Fate.COPIED] * 20, False)])
@example(stages=[([(0, {"a": 0}), (0, {"a": 1})], [Fate.HELD] * 3 + [Fate.COPIED] * 20, True)])
@given(
    stages=st.lists(
        st.tuples(st.lists(logged, max_size=8), fates, st.booleans()), min_size=1, max_size=3
    )
)
def test_at_each_place_is_the_item_that_the_file_names_last(
    stages: list[tuple[list[Logged], list[Fate], bool]], faulty: Faulty
) -> None:
    """Each stage appends rows and pushes, by itself or two at once, through what the network does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_pictures(path)
        written: list[Logged] = []
        run = ""
        for found, foreseen, is_double in stages:
            append(path, found)
            written += found
            run = faulty.push(path, foreseen, is_double=is_double)
            assert there(faulty, run) == last(written)
        faulty.let_go()
        assert there(faulty, run) == last(written)


@pytest.mark.timeout(300)
@few
@given(stages=st.lists(st.tuples(st.lists(logged, max_size=6), fates), min_size=2, max_size=4))
def test_a_push_of_media_that_ends_anywhere_is_completed_by_the_next(
    stages: list[tuple[list[Logged], list[Fate]]], faulty: Faulty
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_pictures(path)
        written: list[Logged] = []
        for found, foreseen in stages:
            append(path, found)
            written += found
            try:
                faulty.push(path, foreseen, patience_seconds=0)
            except DeliveryError:
                continue
        run = faulty.push(path, [])
        assert there(faulty, run) == last(written)
        faulty.let_go()
        assert there(faulty, run) == last(written)
