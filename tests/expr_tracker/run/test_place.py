"""Which directory a run lives in."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, Self

import pytest

from expr_tracker.errors import NameRefusedError, OptionError
from expr_tracker.notices import Notices, logger
from expr_tracker.run.place import Place, check_case, resolve_place
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lock import StreamLock


class Heard(logging.Handler):
    """Collects what is logged while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def __enter__(self) -> Self:
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger.removeHandler(self)


def said_by(notices: Notices) -> str:
    """Return what is queued, as a log gets it."""
    with Heard() as heard:
        notices.emit()
    return "\n".join(heard.texts)


def resolved(
    name: str | None = "n",
    *,
    root: str | Path | None = None,
    run_dir: str | Path | None = None,
    project: str = "p",
) -> tuple[Place, str]:
    notices = Notices()
    place = resolve_place(project, name, root=root, run_dir=run_dir, notices=notices)
    return place, said_by(notices)


def test_the_default_root_is_runs() -> None:
    place, said = resolved()
    assert place == Place(
        Path("runs/p/n").absolute(), Path("runs/p/artifacts").absolute(), "p", "n"
    )
    assert said == ""


def test_the_argument_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ET_DIR", str(tmp_path / "env"))
    assert resolved()[0].directory == tmp_path / "env" / "p" / "n"
    assert resolved(root=tmp_path / "given")[0].directory == tmp_path / "given" / "p" / "n"


def test_run_dir_names_the_directory_itself_and_its_artifacts_lie_within(tmp_path: Path) -> None:
    place, _ = resolved(None, run_dir=tmp_path / "a b")
    assert place == Place(tmp_path / "a b", tmp_path / "a b" / "artifacts", "p", "a b")
    assert resolved("label", run_dir=tmp_path / "x")[0].name == "label"


@pytest.mark.parametrize("name", [5, "", "a/b", ".hidden", b"n"])
@pytest.mark.parametrize("has_run_dir", [True, False])
def test_a_name_that_is_none_is_refused_whatever_names_the_directory(
    tmp_path: Path, name: Any, has_run_dir: bool
) -> None:
    place: dict[str, Any] = {"run_dir": tmp_path / "x"} if has_run_dir else {"root": tmp_path}
    with pytest.raises(NameRefusedError, match="run name"):
        resolved(name, **place)


def test_a_run_dir_is_called_by_the_folder_that_it_leads_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert resolved(None, run_dir=".")[0].name == "here"
    assert resolved(None, run_dir="below/..")[0].name == "here"
    assert resolved(None, run_dir="below/")[0].name == "below"
    with pytest.raises(OptionError, match="root of a file system"):
        resolved(None, run_dir=Path(tmp_path.anchor))


def test_both_root_and_run_dir_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="give one of them"):
        resolved(root=tmp_path, run_dir=tmp_path)


@pytest.mark.parametrize("name", ["../../esc", "/tmp/x", "..", "a/b", "", "a\n", "con"])
def test_a_name_that_would_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(NameRefusedError, match="run name"):
        resolved(name)
    with pytest.raises(NameRefusedError, match="project name"):
        resolved(project=name)


def test_a_run_without_a_name_gets_one_that_no_other_has() -> None:
    names = set()
    for _ in range(50):
        place, said = resolved(None)
        assert re.fullmatch(r"run-\d{8}-\d{6}-[0-9a-f]{6}", place.name)
        assert place.directory.name == place.name
        assert place.name in said
        names.add(place.name)
    assert len(names) == 50


def test_earlier_runs_in_the_old_root_are_pointed_out() -> None:
    Path("tracker/jsonl").mkdir(parents=True)
    assert "ET_DIR" in resolved()[1]
    Path("runs").mkdir()
    assert resolved()[1] == ""


def test_a_stream_that_differs_by_case_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.Data.rank1.jsonl").touch()
    (tmp_path / "metrics.jsonl").touch()
    with pytest.raises(NameRefusedError, match="'Data'"):
        check_case(tmp_path, StreamKey("data"))
    check_case(tmp_path, StreamKey("Data"))
    check_case(tmp_path, StreamKey("other"))
    check_case(tmp_path, StreamKey(None))
    check_case(tmp_path / "missing", StreamKey("data"))


def test_a_stream_that_exists_under_that_very_name_is_never_refused(tmp_path: Path) -> None:
    for stream in ("Data", "data"):
        RunFiles(tmp_path, StreamKey(stream)).metrics.touch()
    check_case(tmp_path, StreamKey("data"))
    check_case(tmp_path, StreamKey("Data"))
    with pytest.raises(NameRefusedError, match="letter case"):
        check_case(tmp_path, StreamKey("DATA"))


def test_a_stream_without_rows_counts_while_a_process_writes_it(tmp_path: Path) -> None:
    lock = StreamLock(RunFiles(tmp_path, StreamKey("Data", 3)).lock)
    lock.acquire("Data")
    with pytest.raises(NameRefusedError, match="letter case"):
        check_case(tmp_path, StreamKey("data"))
    lock.release()
    check_case(tmp_path, StreamKey("data"))
