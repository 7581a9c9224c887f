"""A rescue by an administrator leaves the run to its owner."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from expr_tracker.rescue import put_back
from expr_tracker.rescue.owners import give
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import parts_of, sidecar_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.expr_tracker.rescue.conftest import CutRun

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")

OWNER, GROUP = 65_534, 65_533


def all_of(run: CutRun) -> list[Path]:
    return [run.directory, *run.directory.rglob("*")]


def make_run_of_another(run: CutRun, *, part_lines: int | None) -> Path:
    """Write a run that belongs to another user; return the rescue file of what it lost."""
    kept, lost = run.rows(0), [*run.rows(1), run.end(1)]
    run.write([*kept, run.begin(2), *run.rows(5), run.end(2), b"torn"], part_lines=part_lines)
    write_document(run.files.summary, {"t": "x"})
    sidecar_of(run.path).chmod(0o640)
    for path in all_of(run):
        os.chown(path, OWNER, GROUP)
    return run.rescue(lost)


@pytest.mark.parametrize("part_lines", [None, 1])
def test_what_is_made_anew_and_what_is_new_belongs_to_the_owner_of_the_run(
    cut_run: Callable[..., CutRun], part_lines: int | None
) -> None:
    run = cut_run()
    saved = make_run_of_another(run, part_lines=part_lines)
    assert put_back(saved, run.directory).lines == 2
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in all_of(run)}
    assert "metrics.lock" in owners
    assert parts_of(run.path).exists() == (part_lines is not None)
    assert {*owners.values()} == {(OWNER, GROUP)}, owners
    assert sidecar_of(run.path).stat().st_mode & 0o777 == 0o640


def test_who_cannot_give_a_file_back_is_told_which_and_how(
    cut_run: Callable[..., CutRun],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = cut_run()
    saved = make_run_of_another(run, part_lines=None)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "lchown", refuse)
    monkeypatch.setattr(os, "fchown", refuse)
    assert put_back(saved, run.directory).lines == 2
    made = [run.path, sidecar_of(run.path), run.files.lock, run.files.summary]
    assert caplog.messages[-1] == (
        f"What was made anew cannot be given back to user {OWNER} and group {GROUP}: Operation not permitted. "
        "Whoever writes the run may not be able to. As an administrator run: chown "
        f"{OWNER}:{GROUP} {' '.join(map(str, made))}"
    )


def test_a_link_in_the_place_of_a_file_gives_nothing_else_away(tmp_path: Path) -> None:
    (tmp_path / "else").write_text("root's")
    (tmp_path / "owned").touch()
    os.chown(tmp_path / "owned", OWNER, GROUP)
    (tmp_path / "link").symlink_to("else")
    assert give(tmp_path / "link", (tmp_path / "owned").stat()) is None
    assert (tmp_path / "else").stat().st_uid == os.geteuid()
    assert (tmp_path / "link").lstat().st_uid == OWNER
