"""The summary: last values, and pins that survive a resume."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from expr_tracker.errors import ForkedObjectError, NameRefusedError
from expr_tracker.row import RowEncoder
from expr_tracker.summary import Summary

if TYPE_CHECKING:
    from pathlib import Path


class Desk:
    """A summary, the recorder's last values under it, and what degraded."""

    def __init__(self, path: Path) -> None:
        self.latest: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.is_forked = False
        encoder = RowEncoder(lambda key, text: self.warnings.append(key))
        self.summary = Summary(path, self.latest, encoder=encoder, guard=self.guard)

    def guard(self) -> None:
        if self.is_forked:
            raise ForkedObjectError("the parent's")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "summary.json"


@pytest.fixture
def desk(path: Path) -> Desk:
    return Desk(path)


def test_it_shows_the_last_values_without_the_members_of_the_format(desk: Desk) -> None:
    desk.latest.update({"_step": 3, "_time": 5.0, "_x": 1, "loss": 0.5})
    assert dict(desk.summary) == {"loss": 0.5}
    assert list(desk.summary) == ["loss"]
    assert len(desk.summary) == 1
    assert "loss" in desk.summary
    assert "_step" not in desk.summary
    with pytest.raises(KeyError):
        desk.summary["_x"]
    assert repr(desk.summary) == "Summary({'loss': 0.5})"


def test_an_assigned_key_is_pinned_and_a_deleted_one_follows_the_rows_again(desk: Desk) -> None:
    desk.latest["acc"] = 0.1
    desk.summary["acc"] = 0.99
    desk.latest["acc"] = 0.2
    assert desk.summary["acc"] == 0.99
    del desk.summary["acc"]
    assert desk.summary["acc"] == 0.2
    del desk.summary["acc"]
    assert "acc" not in desk.summary
    with pytest.raises(KeyError):
        del desk.summary["acc"]


@pytest.mark.parametrize("name", ["_best", "_", "_pinned", "_step"])
def test_a_name_of_the_file_format_is_refused_as_a_pin(desk: Desk, name: str) -> None:
    with pytest.raises(NameRefusedError, match="begin with an underscore"):
        desk.summary[name] = 0.5
    with pytest.raises(ValueError, match=f"'{name}'"):
        desk.summary[name] = 0.5
    assert dict(desk.summary) == {}
    assert name not in desk.summary


def test_an_assigned_value_is_made_plain_and_does_not_change_later(desk: Desk) -> None:
    best = [1, 2]
    desk.summary["best"] = best
    best.append(3)
    desk.summary["array"] = np.array([1.5])
    desk.summary["half"] = np.float32(0.5)
    desk.summary["odd"] = object()
    assert desk.summary["best"] == [1, 2]
    assert desk.summary["array"] == [1.5]
    assert type(desk.summary["half"]) is float
    assert desk.summary["odd"].startswith("<object")
    assert desk.warnings == ["odd"]


def test_pins_survive_a_resume_and_last_values_come_back(desk: Desk, path: Path) -> None:
    desk.latest.update({"acc": 0.5, "loss": 1.0, "_step": 7})
    desk.summary["acc"] = 0.99
    desk.summary["note"] = "kept"
    desk.summary.save()
    resumed = Desk(path)
    assert dict(resumed.summary) == {"acc": 0.99, "loss": 1.0, "note": "kept"}
    resumed.latest.update({"acc": 0.1, "loss": 0.7})
    assert dict(resumed.summary) == {"acc": 0.99, "loss": 0.7, "note": "kept"}
    resumed.summary.save()
    again = Desk(path)
    assert again.summary["acc"] == 0.99


def test_a_lifted_pin_stays_lifted(desk: Desk, path: Path) -> None:
    desk.summary["acc"] = 0.99
    desk.summary.save()
    second = Desk(path)
    del second.summary["acc"]
    second.latest["acc"] = 0.1
    second.summary.save()
    third = Desk(path)
    third.latest["acc"] = 0.2
    assert third.summary["acc"] == 0.2


def test_the_file_is_strict_json_of_names_and_values(desk: Desk, path: Path) -> None:
    desk.latest.update({"nan": math.nan, "deep": {"inf": math.inf}, "ä": 1})
    desk.summary["pin"] = 5
    desk.summary.save()
    document = json.loads(path.read_bytes(), parse_constant=pytest.fail)
    assert document["pin"] == 5
    assert document["ä"] == 1
    assert document["_pinned"] == ["pin"]
    resumed = Desk(path).summary
    assert math.isnan(resumed["nan"])
    assert resumed["deep"] == {"inf": math.inf}


def test_without_pins_the_file_holds_values_alone(desk: Desk, path: Path) -> None:
    desk.latest["a"] = 1
    desk.summary.save()
    assert json.loads(path.read_bytes()) == {"a": 1}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b'{"_pinned": 5, "a": 1}', b'{"_pinned": [1, null, "zz"], "a": 1}'],
)
def test_a_damaged_file_is_no_harm(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    desk = Desk(path)
    desk.latest["a"] = 2
    assert desk.summary["a"] == 2
    desk.summary.save()
    assert json.loads(path.read_bytes())["a"] == 2


def test_in_a_forked_child_it_is_the_parents(desk: Desk) -> None:
    desk.is_forked = True
    for use in (
        lambda: desk.summary["a"],
        lambda: desk.summary.__setitem__("a", 1),
        lambda: desk.summary.__delitem__("a"),
        lambda: len(desk.summary),
        lambda: list(desk.summary),
        desk.summary.save,
    ):
        with pytest.raises(ForkedObjectError):
            use()


def test_a_file_that_cannot_be_written_raises(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "missing" / "summary.json")
    with pytest.raises(OSError, match="No such file"):
        desk.summary.save()
