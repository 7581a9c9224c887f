"""Options: every rule refuses by name, value and rule; the environment has one reader."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, SupportsIndex, get_type_hints

import numpy as np
import pytest

import expr_tracker as et
from expr_tracker.errors import OptionError, StepError, UnknownOptionError
from expr_tracker.options import (
    OptionKeywords,
    Options,
    backends_from_environment,
    environment,
    make_options,
    rank_from_environment,
    root_from_environment,
    stream_in_use_from_environment,
)
from expr_tracker.row import step_from
from expr_tracker.spans.cpu_time import CpuTime
from expr_tracker.texts import shown

METER = CpuTime()
WHOLE_ABOVE_ZERO = [0, -1, 1.5, "5", True, 2**63, 10**400]
COUNTS = [-1, 1.5, "5", True, 2**63, 10**400]
SECONDS = [-0.1, math.nan, math.inf, "5", True, 1e300, 10**400]
REFUSED: dict[str, list[object]] = {
    "step_policy": ["", "Allow", None, 5, ["allow"]],
    "durability": ["", "disk", True, 0],
    "buffer_size": WHOLE_ABOVE_ZERO,
    "max_pending_records": WHOLE_ABOVE_ZERO,
    "max_pending_bytes": WHOLE_ABOVE_ZERO,
    "max_record_bytes": WHOLE_ABOVE_ZERO,
    "max_file_bytes": WHOLE_ABOVE_ZERO,
    "cache_bytes": COUNTS,
    "cache_rows": COUNTS,
    "alert_on_rank": COUNTS,
    "backend_on_rank": COUNTS,
    "alert_window": [*WHOLE_ABOVE_ZERO, None],
    "buffer_interval": SECONDS,
    "max_buffer_seconds": SECONDS,
    "finish_timeout": [*SECONDS, 0, None],
    "system_interval": [*SECONDS, 0, None],
    "rank_aware": [2, -1, "yes", None],
    "spans": [1.0, None],
    "span_metrics": [np.float64(1)],
    "span_count": ["True"],
    "span_async_write": [None],
    "print_to_screen": [np.array([True])],
    "capture": [np.int64(2)],
    "capture_console": ["no"],
    "system_metrics": [1.0],
    "print_handle": [None, "print"],
    "span_print_fn": ["print", 5],
    "span_plugins": [3, "CpuTime", [print, 3], object(), {"a": print}],
    "resume_step": [1.5, "10", math.nan, math.inf, 2**63, -(2**63) - 1],
}
TAKEN: dict[str, list[object]] = {
    "step_policy": ["allow", "monotonic", "strict"],
    "durability": [None, "process", "buffered", "fsync"],
    "buffer_size": [1, None],
    "max_pending_records": [1, None],
    "max_pending_bytes": [1, None],
    "max_record_bytes": [1, None],
    "max_file_bytes": [1, None],
    "cache_bytes": [0, 5, None],
    "cache_rows": [0, 5, None],
    "alert_on_rank": [0, 3, None],
    "backend_on_rank": [0, 3, None],
    "alert_window": [1],
    "buffer_interval": [0, 0.5, None],
    "max_buffer_seconds": [0, 5, None],
    "finish_timeout": [0.1, 5],
    "system_interval": [0.1],
    "rank_aware": [True, False, 0, 1],
    "spans": [np.True_, np.False_, np.int64(1), np.array(False)],
    "print_to_screen": [1],
    "capture": [0],
    "print_handle": [print],
    "span_print_fn": [print, None],
    "resume_step": [None, 0, -5, 2**63 - 1],
    "stream": [None, "data"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_a_value_outside_its_rule_is_refused_and_the_message_names_it(
    name: str, value: object
) -> None:
    with pytest.raises(OptionError) as refusal:
        make_options({name: value})
    text = str(refusal.value)
    assert name in text
    assert shown(value) in text
    assert "expected" in text


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in TAKEN.items() for value in values]
)
def test_a_value_within_its_rule_is_taken(name: str, value: object) -> None:
    assert getattr(make_options({name: value}), name) == value


@pytest.mark.parametrize("value", [0, 1, np.True_, np.uint8(0)])
def test_a_switch_is_kept_as_true_or_false(value: object) -> None:
    assert make_options({"spans": value}).spans is bool(value)


def test_every_option_but_the_free_ones_has_a_rule() -> None:
    free = {"stream"}
    names = {field.name for field in dataclasses.fields(Options)}
    assert names - free == set(REFUSED)


def test_the_defaults_obey_their_own_rules() -> None:
    defaults = Options()
    values = {field.name: getattr(defaults, field.name) for field in dataclasses.fields(defaults)}
    assert make_options(values) == defaults == make_options({})


STEPS: list[object] = [
    7, -7, 0, True, np.True_, 7.0, -0.0, np.int8(7), np.float32(7), Fraction(7), Decimal(7),
    2**63 - 1, 2**63, float(2**63), 1.5, np.float32(1.5), Fraction(1, 2), math.nan, math.inf,
    "7", b"7", 7j, [7], np.array([7, 8]), object(),
]  # fmt: skip


@pytest.mark.parametrize("value", STEPS, ids=repr)
def test_a_resume_step_is_what_log_takes_for_a_step(value: object) -> None:
    try:
        step = step_from(value)
    except StepError:
        with pytest.raises(OptionError, match="resume_step"):
            make_options({"resume_step": value})
    else:
        kept = make_options({"resume_step": value}).resume_step
        assert (kept, type(kept)) == (step, int)


@pytest.mark.parametrize("value", [np.int64(7), np.uint8(7), 7.0, np.float32(7), Fraction(7)])
def test_a_resume_step_may_be_any_whole_number_and_is_kept_as_an_int(value: object) -> None:
    step = make_options({"resume_step": value}).resume_step
    assert step == 7
    assert type(step) is int


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("step_polcy", "step_policy"), ("durabilty", "durability"), ("bufer_size", "buffer_size")],
)
def test_an_unknown_option_is_a_type_error_that_offers_the_nearest_name(
    wrong: str, near: str
) -> None:
    with pytest.raises(UnknownOptionError, match=f"Did you mean '{near}'") as refusal:
        make_options({wrong: 1})
    assert isinstance(refusal.value, TypeError)
    assert "system_interval" in str(refusal.value)


def test_an_unknown_option_without_a_near_name_lists_them_all() -> None:
    with pytest.raises(UnknownOptionError) as refusal:
        make_options({"qqqqqqqq": 1})
    assert "Did you mean" not in str(refusal.value)
    for field in dataclasses.fields(Options):
        assert field.name in str(refusal.value)


@pytest.mark.parametrize(
    ("plugins", "kept"),
    [
        ((), ()),
        ([print], (print,)),
        ((print, len), (print, len)),
        (print, (print,)),
        (None, ()),
        (METER, (METER,)),
    ],
)
def test_span_plugins_may_be_one_or_many(plugins: object, kept: tuple[object, ...]) -> None:
    assert make_options({"span_plugins": plugins}).span_plugins == kept


def test_options_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_options({}).spans = False  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({}, 0),
        ({"RANK": "3"}, 3),
        ({"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ({"RANK": "", "LOCAL_RANK": "1"}, 1),
        ({"RANK": "x", "LOCAL_RANK": "2"}, 2),
        ({"RANK": "-1"}, 0),
        ({"RANK": "1.0"}, 0),
        ({"RANK": "٣"}, 0),
        ({"RANK": " 4 "}, 4),
        ({"SLURM_PROCID": "5"}, 5),
        ({"OMPI_COMM_WORLD_RANK": "6"}, 6),
        ({"PMI_RANK": "7"}, 7),
        ({"LOCAL_RANK": "0", "SLURM_PROCID": "5"}, 0),
    ],
    ids=repr,
)
def test_the_rank_is_the_first_launcher_variable_that_holds_a_number(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], rank: int
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert rank_from_environment() == rank


@pytest.mark.parametrize(
    ("variables", "passed_over", "rank"),
    [
        ({"RANK": "x"}, ["RANK='x'"], "rank 0 (no other variable says its rank)"),
        ({"RANK": "-1"}, ["RANK='-1'"], "rank 0 (no other variable says its rank)"),
        ({"RANK": "9" * 5000}, ["RANK='9999"], "rank 0 (no other variable says its rank)"),
        (
            {"RANK": "1.0", "LOCAL_RANK": "one", "SLURM_PROCID": "3"},
            ["RANK='1.0'", "LOCAL_RANK='one'"],
            "rank 3 (SLURM_PROCID says so)",
        ),
        ({"RANK": "", "LOCAL_RANK": " "}, [], ""),
        ({"RANK": "2", "LOCAL_RANK": "x"}, [], ""),
    ],
    ids=repr,
)
def test_a_launcher_variable_that_is_passed_over_is_named_with_what_counts_instead(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], passed_over: list[str], rank: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    rank_from_environment(said.append)
    assert len(said) == len(passed_over)
    for text, start in zip(said, passed_over, strict=True):
        assert text.startswith(start)
        assert len(text) < 300
        assert "expected a whole number from 0" in text
        assert rank in text
        assert "unset it" in text


def test_the_root_is_et_dir_unless_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    assert root_from_environment() is None
    monkeypatch.setenv("ET_DIR", "")
    assert root_from_environment() is None
    monkeypatch.setenv("ET_DIR", "/data/runs")
    assert root_from_environment() == "/data/runs"


def test_mirrors_are_named_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backends_from_environment() == ()
    monkeypatch.setenv("ET_BACKENDS", " wandb, ,mapi,")
    assert backends_from_environment() == ("wandb", "mapi")


def test_stream_in_use_is_refuse_or_new(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stream_in_use_from_environment() == "refuse"
    monkeypatch.setenv("ET_STREAM_IN_USE", "new")
    assert stream_in_use_from_environment() == "new"
    monkeypatch.setenv("ET_STREAM_IN_USE", "wait")
    with pytest.raises(OptionError, match="ET_STREAM_IN_USE='wait'"):
        stream_in_use_from_environment()


def test_the_environment_is_handed_out_as_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ET_DIR", "a")
    copy = environment()
    monkeypatch.setenv("ET_DIR", "b")
    assert copy["ET_DIR"] == "a"


def test_the_keywords_of_init_are_the_options_of_the_same_types() -> None:
    names = {"Callable": Callable}
    options = get_type_hints(Options, localns=names)
    keywords = get_type_hints(OptionKeywords, localns=names)
    del options["print_to_screen"]  # in the signature
    # What is made plain on the way in is taken in more forms.
    options |= {"resume_step": SupportsIndex | None, "span_plugins": Any}
    assert keywords == options


def test_the_help_of_init_says_what_every_option_means() -> None:
    text = et.init.__doc__ or ""
    missing = [field.name for field in dataclasses.fields(Options) if field.name not in text]
    assert missing == []
