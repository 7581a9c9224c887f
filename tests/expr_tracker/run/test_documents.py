"""The documents of a run over its attempts: left out is kept, given replaces, replaced stays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker.errors import OptionError
from expr_tracker.run import documents as documents_module
from expr_tracker.run import run as run_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import stream_keys

if TYPE_CHECKING:
    from tests.expr_tracker.run.conftest import Make


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    for run in tuple(run_module.open_runs):
        run.finish(quiet=True)


def opened(**arguments: Any) -> et.Run:
    return et.init("p", "n", dir=".", **{"capture": False, **arguments})


def test_what_a_resume_leaves_out_stays_what_it_was() -> None:
    first = opened(config={"lr": 1}, notes="h", tags=["x"], entity="me")
    first.define_metric("loss", goal="minimize")
    first.finish(quiet=True)
    before = read_document(first.files.about)
    second = opened()
    assert second.config == {"lr": 1}
    assert (second.notes, second.tags, second.entity) == ("h", ["x"], "me")
    second.finish(quiet=True)
    assert read_document(second.files.config) == {"lr": 1}
    after = read_document(second.files.about)
    assert before is not None
    assert after is not None
    assert {**after, "time": 0} == {**before, "time": 0}
    assert not list(Path(second.dir).glob("*._attempt*"))


def test_what_a_resume_gives_replaces_empty_things_too() -> None:
    opened(config={"lr": 1}, notes="h", tags=["x"]).finish(quiet=True)
    second = opened(config={}, notes="", tags=[])
    assert (second.config, second.notes, second.tags) == ({}, "", [])
    assert read_document(second.files.config) == {}


def test_a_configuration_that_gives_way_is_kept_under_the_attempt_that_had_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    opened(config={"lr": 1}).finish(quiet=True)
    opened().finish(quiet=True)
    assert not [text for text in caplog.messages if "another configuration" in text]
    run = opened(config={"lr": 3})
    (said,) = [text for text in caplog.messages if "another configuration" in text]
    assert "config._attempt2.json" in said
    run._upkeep.keep_places()
    run._parts.documents.write()
    run.finish(quiet=True)
    folder = Path(run.dir)
    assert [path.name for path in folder.glob("config*")].count("config._attempt2.json") == 1
    assert read_document(folder / "config._attempt2.json") == {"lr": 1}
    assert read_document(folder / "config.json") == {"lr": 3}
    for kind in ("metrics", "config"):
        assert [key.stream for key in stream_keys(folder, kind)] in ([None], [])


def test_an_equal_configuration_replaces_nothing_even_with_nan(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = {"a": math.nan, "b": [1, {"c": (1, 2)}]}
    opened(config=config).finish(quiet=True)
    run = opened(config=config)
    assert not list(Path(run.dir).glob("*._attempt*"))
    assert not [text for text in caplog.messages if "another configuration" in text]


def test_an_unreadable_configuration_is_kept_as_it_is() -> None:
    run = opened(config={"lr": 1})
    run.finish(quiet=True)
    run.files.config.write_text("{'by hand'")
    second = opened()
    assert second.config == {}
    assert (Path(run.dir) / "config._attempt1.json").read_text() == "{'by hand'"


def test_the_environment_of_every_attempt_stays_up_to_a_limit(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_module, "_KEPT_ATTEMPTS", 2)
    folder = Path("p/n")
    for number in range(1, 6):
        run = make()
        documents = run._parts.documents
        documents.write_environment({"number": number})
        documents.write_environment({"number": number})
        run.finish(quiet=True)
    kept = {path.name: read_document(path) for path in folder.glob("environment*")}
    assert kept == {
        "environment._attempt3.json": {"number": 3},
        "environment._attempt4.json": {"number": 4},
        "environment.json": {"number": 5},
    }


def test_stored_words_of_another_type_are_not_taken_over() -> None:
    run = opened(notes="h", tags=["x"])
    run.finish(quiet=True)
    run.files.about.write_text('{"notes": 3, "tags": "xyz", "metrics": []}')
    second = opened()
    assert (second.notes, second.tags) == (None, [])


@pytest.mark.parametrize("resume", ["allow", "must", "never", "auto", True, False, None])
def test_a_known_word_for_resume_is_taken_in_silence(
    resume: object, caplog: pytest.LogCaptureFixture
) -> None:
    opened(resume=resume)
    assert not [text for text in caplog.messages if "resume" in text]


@pytest.mark.parametrize("resume", ["bogus", 1, [], object()])
def test_an_unknown_word_for_resume_is_named_with_the_known_ones(
    resume: object, caplog: pytest.LogCaptureFixture
) -> None:
    opened(resume=resume)
    (said,) = [text for text in caplog.messages if text.startswith("resume=")]
    assert "'must'" in said
    assert "True" in said


def test_a_run_shows_what_it_is_where_it_is_and_how_it_ended() -> None:
    run = opened(stream="data")
    assert repr(run) == f"<Run p/n (data): running, {run.dir}>"
    run.finish(1, quiet=True)
    assert repr(run) == f"<Run p/n (data): failed, {run.dir}>"
    run._closing.abandon_in_child()
    assert "the parent's" in repr(run)


class Unruly:
    """An object that answers nothing it is asked, not even whether it is equal."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("equal")

    def __str__(self) -> str:
        raise RuntimeError("text")

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]


class UnrulyText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("text")


def test_no_value_that_describes_a_run_keeps_it_from_opening_or_raises_later() -> None:
    unruly = Unruly()
    text = "<unrepresentable Unruly>"
    run = opened(
        config={"app": unruly, "lr": 0.1}, notes=unruly, tags=[UnrulyText("fast"), unruly]
    )
    assert run.config == {"app": text, "lr": 0.1}
    assert run.tags == ["fast", text]
    assert run.notes == text
    run.define_metric("loss", summary=unruly, goal=[unruly, "minimize"], unit="nats")
    run.define_metric(UnrulyText("acc"), summary=unruly)
    metrics = (read_document(run.files.about) or {})["metrics"]
    assert metrics["loss"]["unit"] == "nats"
    assert metrics["loss"]["summary"] == text
    assert metrics["acc"] == {"summary": text}
    Path("f.txt").write_text("x")
    artifact = run.log_artifact("f.txt", metadata={"app": unruly, "n": 1})
    assert artifact.metadata == {"app": text, "n": 1}


def test_the_refusal_of_metadata_names_metadata() -> None:
    run = opened()
    Path("f.txt").write_text("x")
    with pytest.raises(OptionError, match=r"^metadata=.*expected a dict"):
        run.log_artifact("f.txt", metadata=object())  # type: ignore[arg-type]


def test_a_rank_that_is_no_number_is_said_once_and_the_run_opens(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RANK", "one")
    assert opened().rank == 0
    assert sum("RANK='one'" in message for message in caplog.messages) == 1
