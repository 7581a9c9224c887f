"""The names of metrics: a key is one text, and two keys with one text are told."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from expr_tracker.history import read_history

if TYPE_CHECKING:
    import pytest
    from tests.expr_tracker.run.conftest import Make


def test_a_value_whose_key_has_the_text_of_another_is_counted_and_said_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    for _ in range(3):
        run.log({1: 0.5, "1": 0.7})
    assert [row["1"] for row in run.history.query(-1)] == [0.7] * 3
    loss = run.info()["loss"]
    assert loss["dropped"] == {"values of 1, of two keys with one text": 3}
    assert len([text for text in caplog.messages if "two keys" in text]) == 1


class Kind(str, Enum):  # noqa: UP042 - a StrEnum has the str() that this one has not
    LOSS = "loss"


def test_a_key_of_an_enumeration_is_one_metric_whatever_was_logged_before(make: Make) -> None:
    run = make()
    run.log({Kind.LOSS: 1})
    run.log({"loss": 2})
    run.log({Kind.LOSS: 3})
    run.log({Kind.LOSS: np.float32(4)}, step=3, commit=True)
    expected = [{"loss": value} for value in (1, 2, 3, 4)]
    assert run.history.query(-1, include_meta=False) == expected
    assert read_history(run.dir, -1, include_meta=False, metrics=Kind.LOSS) == expected
    assert dict(run.summary) == {"loss": 4}
