"""Within an enclosure nothing is opened that lies elsewhere, also not through a link that comes late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from expr_tracker.store.enclosure import Enclosure, LeadsOutError, leads_out
from expr_tracker.store.paths import real_path
from expr_tracker.store.regular import read_regular

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.json").write_text("secret")
    run = tmp_path / "run"
    (run / "parts").mkdir(parents=True)
    (run / "parts" / "a.json").write_text("own")
    return run


def test_links_out_are_refused_by_name_until_they_are_gone(run: Path) -> None:
    secret = run.parent / "secret"
    (run / "file").symlink_to(secret / "a.json")
    (run / "relative").symlink_to("../secret/a.json")
    (run / "folder").symlink_to(secret)
    (run / "chain").symlink_to("file")
    (run / "self").symlink_to(run)
    outside = [run / "file", run / "relative", run / "folder" / "a.json", run / "chain"]
    enclosure = Enclosure(run)
    with enclosure.held():
        for path in outside:
            assert leads_out(path)
            with pytest.raises(LeadsOutError, match="leads out of the run directory"):
                read_regular(path)
        assert read_regular(run / "self" / "parts" / "a.json") == b"own"
        with pytest.raises(LeadsOutError):
            read_regular(secret / "a.json")
        with pytest.raises(FileNotFoundError, match="nothing"):
            read_regular(run / "nothing")
    assert read_regular(run / "file") == b"secret"
    assert [error.filename for error in enclosure.refused()] == [
        str(path) for path in [*outside, secret / "a.json"]
    ]
    (run / "file").unlink()
    (run / "file").write_text("own")
    assert str(run / "file") not in [error.filename for error in enclosure.refused()]
    assert str(run / "chain") not in [error.filename for error in enclosure.refused()]


def test_links_that_stay_inside_are_followed_and_the_directory_may_be_one(run: Path) -> None:
    (run / "short").symlink_to("parts")
    (run / "b.json").symlink_to(run / "short" / "a.json")
    alias = run.parent / "alias"
    alias.symlink_to(run)
    for directory in (run, alias):
        enclosure = Enclosure(directory)
        with enclosure.held():
            for name in ("b.json", "short/a.json", "parts/../b.json"):
                assert read_regular(directory / name) == b"own"
        assert enclosure.refused() == []


@pytest.mark.parametrize("swapped", ["file", "folder", "run"])
def test_a_link_that_comes_between_the_look_and_the_opening_leads_nowhere(
    run: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    path = run / "parts" / "a.json"
    secret = run.parent / "secret"

    def swap(asked: Path) -> Path:
        found = real_path(asked)
        if asked == path:
            monkeypatch.undo()
            if swapped == "file":
                path.unlink()
                path.symlink_to(secret / "a.json")
            elif swapped == "folder":
                (run / "parts").rename(run / "before")
                (run / "parts").symlink_to(secret)
            else:
                run.rename(run.parent / "before")
                (secret / "parts").mkdir()
                (secret / "parts" / "a.json").write_text("secret")
                secret.rename(run)
        return found

    with Enclosure(run).held():
        monkeypatch.setattr("expr_tracker.store.enclosure.real_path", swap)
        with pytest.raises(OSError) as caught:  # noqa: PT011 - whichever: it is not read
            read_regular(path)
    assert caught.value.filename == str(path)
    assert read_regular(path) == b"secret"


def test_a_directory_that_is_not_there_is_no_error_before_something_is_read(run: Path) -> None:
    with Enclosure(run / "none").held(), pytest.raises(FileNotFoundError):
        read_regular(run / "none" / "a.json")


def test_within_another_directory_that_one_counts_and_then_the_first_again(run: Path) -> None:
    secret = run.parent / "secret"
    with Enclosure(run).held():
        with Enclosure(secret).held():
            assert read_regular(secret / "a.json") == b"secret"
        with pytest.raises(LeadsOutError):
            read_regular(secret / "a.json")
