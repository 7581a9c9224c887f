"""Whatever a network, a crash or a second push does: the platform shows what the files show, once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.follow.faulty import Faulty, fates, few
from tests.mapi.follow.histories import Line, append, lines, new_run
from tests.mapi.follow.reading import in_files, on_platform

from expr_tracker.history import producers_of
from expr_tracker.store.reader import whole_rows
from mapi.follow.deliveries import DeliveryError
from mapi.follow.rows import is_point

if TYPE_CHECKING:
    from tests.mapi.follow.network import Fate

    import mapi


def spelled(fields: dict[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True)


def lines_in_files(path: Path) -> list[tuple[str, int, str]]:
    """Return what the rows of a run hold beside numbers, in file order for each producer."""
    found = []
    for producer in producers_of(path, "*"):
        key = producer.key
        for row in whole_rows(producer.path):
            others = {n: v for n, v in row.items() if n[:1] != "_" and not is_point(v)}
            if others:
                found.append((key.stream or "", key.rank, spelled(others)))
    return sorted(found)


def check(api: mapi.Client, run: str, path: Path) -> None:
    assert on_platform(api, run) == in_files(path)
    told = [
        (one.stream, one.rank, spelled(one.fields)) for one in api.runs.lines(run, limit=1_000)
    ]
    assert sorted(told) == lines_in_files(path)


@pytest.mark.timeout(300)
@few
@given(
    stages=st.lists(st.tuples(lines(), fates, st.booleans()), min_size=1, max_size=3),
)
def test_the_platform_shows_what_the_files_show(
    stages: list[tuple[list[Line], list[Fate], bool]],
    faulty: Faulty,
) -> None:
    """Each stage appends lines and pushes, by itself or two at once, through what the network does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_run(path)
        known: dict[Any, Any] = {}
        run = ""
        for found, foreseen, is_double in stages:
            append(path, found, known)
            run = faulty.push(path, foreseen, is_double=is_double)
        check(faulty.api, run, path)
        faulty.let_go()
        check(faulty.api, run, path)


@pytest.mark.timeout(300)
@few
@given(stages=st.lists(st.tuples(lines(), fates), min_size=2, max_size=4))
def test_a_push_that_ends_anywhere_is_completed_by_the_next(
    stages: list[tuple[list[Line], list[Fate]]],
    faulty: Faulty,
) -> None:
    """A push without patience ends at the first thing that fails: as one that is killed there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        new_run(path)
        known: dict[Any, Any] = {}
        for found, foreseen in stages:
            append(path, found, known)
            try:
                faulty.push(path, foreseen, patience_seconds=0)
            except DeliveryError:
                continue
        run = faulty.push(path, [])
        check(faulty.api, run, path)
        faulty.let_go()
        check(faulty.api, run, path)
