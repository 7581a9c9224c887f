"""Paths as callers give them, and where they lead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import expr_tracker as et
from expr_tracker.artifacts import Artifact, find_store
from expr_tracker.errors import ArtifactError, OptionError, QueryError
from expr_tracker.history import export, follow, read_history
from expr_tracker.store.paths import path_given, real_path
from expr_tracker.trace import build_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable


class Raising:
    def __fspath__(self) -> NoReturn:
        raise LookupError("no path")

    def __repr__(self) -> NoReturn:
        raise LookupError("no repr")


class InBytes:
    def __fspath__(self) -> bytes:
        return b"run"


NONE_OF_THEM: list[Any] = [
    5,
    b"run",
    "",
    "a\0b",
    "\ud800",
    ["run"],
    Raising(),
    InBytes(),
    {},
    10**5000,
]


CALLS: list[tuple[str, type[Exception], Callable[[Any], object]]] = [
    ("dir", OptionError, lambda path: et.init(project="p", name="n", dir=path)),
    ("run_dir", OptionError, lambda path: et.init(project="p", run_dir=path)),
    ("run", QueryError, read_history),
    ("run", QueryError, follow),
    ("run", QueryError, lambda path: export(path, "out.csv")),
    ("run", QueryError, lambda path: write_trace(path, "out.json")),
    ("output", QueryError, lambda path: export("run", path)),
    ("output", QueryError, lambda path: write_trace("run", path)),
    ("temp_dir", QueryError, lambda path: build_trace("run", temp_dir=path)),
    ("temp_dir", QueryError, lambda path: write_trace("run", "t.json", temp_dir=path)),
    ("path", ArtifactError, lambda path: Artifact("a").add_file(path)),
    ("path", ArtifactError, lambda path: Artifact("a").add_dir(path)),
    ("where", ArtifactError, find_store),
]


@pytest.mark.parametrize("number", range(len(NONE_OF_THEM)))
@pytest.mark.parametrize("call_number", range(len(CALLS)))
def test_what_can_be_no_path_is_refused_by_the_name_of_its_argument(
    call_number: int, number: int
) -> None:
    argument, error, call = CALLS[call_number]
    Path("run").mkdir()
    Path("run", "metrics.jsonl").write_text('{"_step":0,"_time":1.0}\n')
    Path("run", "spans.jsonl").write_text("")
    with pytest.raises(error) as caught:
        call(NONE_OF_THEM[number])
    assert str(caught.value).startswith(f"{argument}=")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert sorted(os.listdir()) == ["run"]


def test_a_path_that_leads_in_a_circle_stays_what_it_is(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    assert real_path(loop) == loop.parent.resolve() / "loop"
    assert real_path(loop / "x").name == "x"
    (tmp_path / "link").symlink_to(tmp_path)
    assert real_path(tmp_path / "link" / "x") == tmp_path.resolve() / "x"


def test_a_removed_working_directory_is_named_for_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError, match=r"working directory.*removed.*runs"):
        et.init(project="p", name="n", dir="runs")
    with pytest.raises(FileNotFoundError, match=r"working directory.*removed: 'out\.csv'"):
        export(tmp_path, "out.csv")
    with pytest.raises(FileNotFoundError, match=r"run at x.*working directory, which was removed"):
        read_history("x")
    assert path_given(tmp_path, "dir", OptionError) == tmp_path
