"""The texts of objects that raise, have none, or are very long; and the messages that show them."""

from __future__ import annotations

import logging
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import expr_tracker as et
from expr_tracker.artifacts import Artifact, ArtifactStore
from expr_tracker.errors import TrackerError
from expr_tracker.history import export, read_history
from expr_tracker.options import make_options
from expr_tracker.row import key_text
from expr_tracker.texts import shown, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _no_run_left_open() -> Iterator[None]:
    yield
    if et.get_run() is not None:
        et.finish()


class Wordless:
    """An object whose texts raise."""

    def __repr__(self) -> NoReturn:
        raise LookupError("no words")

    __str__ = __repr__


class WordlessError(Exception):
    def __repr__(self) -> NoReturn:
        raise LookupError("no words")

    __str__ = __repr__


class Classless(Wordless):
    @property
    def __class__(self) -> Any:
        raise LookupError("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise LookupError("no name")


class OfNameless(Wordless, metaclass=Nameless):
    pass


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


#: The last one is for calls that never raise: of it ``isinstance`` itself does.
ODD: list[Any] = [
    Wordless(),
    OfNameless(),
    deep(),
    10**5000,
    np.arange(3),
    b"\xff" * 10_000,
    "x" * 100_000,
    Classless(),
]


@pytest.mark.parametrize("number", range(len(ODD)))
def test_any_value_has_a_text_of_one_short_line(number: int) -> None:
    value = ODD[number]
    for text in (shown(value), text_of(str, value)[:100], key_text(value)[:100]):
        assert type(text) is str
    assert len(shown(value)) <= 203


@given(st.text() | st.integers() | st.floats() | st.lists(st.integers()))
def test_what_has_a_short_repr_is_shown_as_it(value: object) -> None:
    if len(repr(value)) <= 200:
        assert shown(value) == repr(value)
    else:
        assert shown(value) == repr(value)[:200] + "..."


def test_what_has_no_text_is_named_by_its_type() -> None:
    assert shown(Wordless()) == "<unrepresentable Wordless>"
    assert shown(OfNameless()) == "<unrepresentable OfNameless>"
    assert shown(deep()) == "<unrepresentable list>"
    assert shown(-(10**5000)) == "<int of 16610 bits>"


def test_an_exception_of_a_signal_handler_is_no_fault_of_the_text() -> None:
    class StopError(Exception): ...

    def stop(number: int, frame: object) -> None:
        raise StopError

    class Raising:
        def __repr__(self) -> str:
            signal.raise_signal(signal.SIGUSR1)
            return "here"

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(StopError):
            shown(Raising())
    finally:
        signal.signal(signal.SIGUSR1, before)


def _option(name: str, value: object) -> object:
    return make_options({name: value})


#: Calls that refuse every one of the odd values, by what they are.
REFUSING: dict[str, Callable[[Any], object]] = {
    **{
        f"option {name}": partial(_option, name)
        for name in (
            "step_policy",
            "durability",
            "max_record_bytes",
            "alert_window",
            "spans",
            "print_handle",
            "resume_step",
        )
    },
    "step": lambda value: et.log({"a": 1}, step=value),
    "stream": lambda value: et.init(project="p", name="n", stream=value, dir="other"),
    "project": lambda value: et.init(project=value, name="n", dir="other"),
    "name": lambda value: et.init(project="p", name=value, dir="other"),
    "tags": lambda value: et.init(project="p", name="n", dir="other", tags=value),
    "backend_kwargs": lambda value: et.init(
        project="p", name="n", dir="other", backend_kwargs=value
    ),
    "metrics": lambda value: read_history("run", metrics=[value]),
    "output_type": lambda value: read_history("run", output_type=value),
    "step_range": lambda value: read_history("run", step_range=(value, value)),
    "stream of a reading": lambda value: read_history("run", stream=value),
    "attempt": lambda value: read_history("run", attempt=value),
    "rank": lambda value: read_history("run", rank=value),
    "format": lambda value: export("run", "out", value),
    "artifact": Artifact,
    "type": lambda value: Artifact("a", type=value),
    "aliases": lambda value: Artifact("a", aliases=[value]),
    "metadata": lambda value: Artifact("a", metadata=value),
    "mode": lambda value: ArtifactStore(Path("store")).log("run", mode=value),
    "specification": lambda value: ArtifactStore(Path("store")).find(value),
    "image": lambda value: et.Image(np.zeros((2, 2)), format=value),
    "exit code": lambda value: et.finish(exit_code=value),
}
#: Of the odd values those that such a call may take: texts, integers, and lists.
TAKEN: dict[str, set[int]] = {
    "tags": {2, 4, 6},
    "option max_record_bytes": {3},
    "option alert_window": {3},
    "metrics": {6},
    "step_range": {3},
    "exit code": {3},
    "attempt": {3},
    "rank": {3},
}


@pytest.mark.parametrize("call", REFUSING)
def test_a_refused_value_is_refused_by_the_rule_that_it_breaks(call: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text('{"_step":0,"_time":1.0,"a":1}\n')
    if call in {"step", "exit code"}:
        et.init(project="p", name="n", dir="runs", capture=False)
    for number, value in enumerate(ODD[:-1]):
        if number in TAKEN.get(call, ()):
            continue
        with pytest.raises((TrackerError, ValueError, TypeError)) as caught:
            REFUSING[call](value)
        text = str(caught.value)
        assert "no words" not in text
        assert "no class" not in text
        assert "ambiguous" not in text
        assert len(text) < 2_000


@pytest.mark.parametrize("number", range(len(ODD)))
def test_no_name_can_raise_out_of_a_span_a_definition_or_a_pin(number: int) -> None:
    name = ODD[number]
    with et.init(project="p", name="n", dir="runs", capture=False):
        with et.span(name):
            pass
        with et.span("a", value=name):
            pass
        et.start_span(name).end()
        et.define_metric(name, summary="min", note=name)
        et.summary()[name] = name
        assert et.summary()[name] == et.summary()[key_text(name)]
        del et.summary()[name]
        assert name not in et.summary()
        if type(name) not in {list, np.ndarray}:  # no keys of a dict
            et.log({name: 1.0})


def test_no_exception_without_words_comes_out_of_the_report_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> NoReturn:
        raise WordlessError

    options: Any = {"span_print_fn": fail, "span_plugins": [fail], "print_handle": fail}
    caplog.set_level(logging.WARNING, "expr_tracker")
    with et.init(
        project="p", name="n", dir="runs", capture=False, print_to_screen=True, **options
    ):
        with et.span("a"):
            pass
        et.log({"a": 1.0})
    assert "<unrepresentable WordlessError>" in caplog.text
    assert len(read_history("runs/p/n")) == 1


@pytest.mark.parametrize(
    "n", [10**400, 2**63, 2**64, -(10**400)], ids=["huge", "63", "64", "negative"]
)
def test_a_number_of_steps_beyond_all_is_all_of_them(n: int) -> None:
    et.init(project="p", name="n", dir="runs", capture=False)
    for i in range(60):
        et.log({"a": i})
    et.log({"a": 0}, step=100, commit=False)
    assert len(et.history(n)) == 61
    assert len(et.history(n, step_range=(10, None))) == 51
    et.finish()
    assert len(read_history("runs/p/n", n)) == 61
    assert len(read_history("runs/p/n", n, step_range=(10, 10**400))) == 51
