"""`config_of`: whose configuration a run's is, and how a setting in it is named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from expr_tracker.errors import RunNotFoundError
from expr_tracker.history import config_of
from expr_tracker.history.configuration import setting_of, settings_in
from expr_tracker.store.documents import write_document
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.row import Row


def make(run: Path, key: StreamKey, config: Row | None) -> None:
    files = RunFiles(run, key)
    files.metrics.write_bytes(encode_line({"_step": 0}))
    if config is not None:
        write_document(files.config, config)


def test_the_first_producer_that_was_configured_speaks_for_the_run(tmp_path: Path) -> None:
    make(tmp_path, StreamKey(), {})
    make(tmp_path, StreamKey("data"), {"workers": 4})
    make(tmp_path, StreamKey("eval", 1), {"every": math.inf})
    assert config_of(tmp_path) == {"workers": 4}
    assert config_of(tmp_path, None) == {}
    assert config_of(tmp_path, "eval", 1) == {"every": math.inf}
    with pytest.raises(RunNotFoundError, match="no stream 'evil'"):
        config_of(tmp_path, "evil")


def test_a_run_without_a_configuration_or_with_a_damaged_one_has_an_empty_one(
    tmp_path: Path,
) -> None:
    make(tmp_path, StreamKey(), None)
    assert config_of(tmp_path) == {}
    RunFiles(tmp_path, StreamKey()).config.write_text('["no", "object"')
    assert config_of(tmp_path) == {}


def test_every_name_of_a_setting_leads_to_it() -> None:
    config: Row = {"lr": 0.1, "model": {"width": 64, "head": {"bias": False}}, "a/b": 1, "x": {}}
    assert {name: setting_of(config, name) for name in settings_in(config)} == {
        "lr": 0.1,
        "model/width": 64,
        "model/head/bias": False,
        "a/b": 1,
        "x": {},
    }
    assert setting_of(config, "model/depth") is None
    assert setting_of(config, "lr/x") is None
