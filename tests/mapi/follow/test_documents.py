"""What was configured, what it ran in, what was pinned and said: on the platform as in the files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mapi.tenants_access import set_limits

import expr_tracker as et
from expr_tracker.history import config_of
from mapi.follow.proof.against import prove

if TYPE_CHECKING:
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi

CONFIG: dict[str, Any] = {
    "cmd": "x" * 780,
    "two": "a\nb\r\nc",
    "nan": math.nan,
    "n": 3,
    "t": (1, 2),
    "uni": "日本 ✓",
    "a": {"b": 2},
    "a.b": 1,
    "empty": "",
    "none": None,
    "big": "y" * 60_000,
    "nul": "a\0b",
}


def configured(root: Path, config: dict[str, Any], **about: Any) -> Path:
    run = et.init(project="p", name="r", dir=root, config=config, system_metrics=False, **about)
    et.log({"loss": 1.0})
    et.finish()
    return Path(run.dir)


def test_each_leaf_of_a_configuration_is_a_param(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    configured(tmp_path, CONFIG)
    (report,) = pushed(tmp_path)
    assert report.problems == []
    texts = {key: one.text for key, one in api.runs.params(report.run or "").items()}
    assert texts == {
        "cmd": CONFIG["cmd"],
        "two": "a\nb\r\nc",
        "nan": "NaN",
        "n": "3",
        "t": "[1, 2]",
        "uni": "日本 ✓",
        "a.b": "2",
        r"a\.b": "1",
        "empty": "",
        "none": "null",
        "big": CONFIG["big"],
        "nul": "a\ufffdb",
    }
    kept = api.runs.config(report.run or "")
    assert kept["a"] == {"b": 2}
    assert kept["nan"] == "NaN"


def test_a_second_push_sends_no_document_and_one_that_changed_is_replaced(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = configured(tmp_path, {"lr": 0.1, "seed": 1})
    (report,) = pushed(tmp_path)
    before = api.runs.get(report.run or "")
    pushed(tmp_path)
    assert api.runs.get(report.run or "") == before
    configured(tmp_path, {"lr": 0.2, "seed": 1, "new": True}, resume="must")
    (after,) = pushed(tmp_path)
    assert (
        api.runs.config(report.run or "") == config_of(path) == {"lr": 0.2, "seed": 1, "new": True}
    )
    assert {key: one.text for key, one in api.runs.params(report.run or "").items()} == {
        "lr": "0.1",
        "seed": "1",
        "new": "true",
    }
    assert after.problems == []
    assert any("the param lr stays '0.1'" in note for note in after.notes)


def test_what_it_ran_in_is_kept_for_each_producer(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    configured(tmp_path, {}, capture=True)
    configured(tmp_path, {"workers": 2}, capture=True, stream="data")
    (report,) = pushed(tmp_path)
    from mapi import Producer

    for producer in (None, Producer("data")):
        assert "python" in str(api.runs.environment(report.run or "", producer=producer))
    assert api.runs.config(report.run or "", producer=Producer("data")) == {"workers": 2}


def test_pins_are_scalars_or_tags_and_notes_and_tags_come_along(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(
        project="p", name="r", dir=tmp_path, notes="*why*", tags=["a", "b"], system_metrics=False
    )
    run.log({"acc": 0.5, "loss": 2.0})
    run.summary["acc"] = 0.9
    run.summary["best/name"] = "three"
    run.finish()
    (report,) = pushed(tmp_path)
    (again,) = pushed(tmp_path)
    assert (report.problems, report.notes, again.problems, again.notes) == ([], [], [], [])
    found = {(one.key, *one.labels.items()): one for one in api.runs.metrics(report.run or "")}
    pinned = found["acc", ("summary", "pinned")]
    assert (pinned.is_scalar, pinned.last_value) == (True, 0.9)
    assert found[("acc",)].last_value == 0.5
    assert api.runs.tags(report.run or "") == {"a": "", "b": "", "summary/best/name": "three"}
    assert api.runs.get(report.run or "").note == "*why*"


def test_the_name_of_a_pin_that_no_label_has_room_for_is_kept_in_full(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    long = "Accuracy (all) / " * 20
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    run.log({"loss": 2.0}, step=0)
    run.summary[long] = 0.9
    run.summary["eval/acc"] = 0.8
    run.finish()
    (report,) = pushed(tmp_path)
    assert report.problems == []
    pinned = [one for one in api.runs.metrics(report.run or "") if one.is_scalar]
    assert {one.last_value for one in pinned} == {0.9, 0.8}
    assert all(one.labels["summary"] == "pinned" for one in pinned)
    (name,) = [one.name for one in pinned if one.last_value == 0.9]
    assert long in name
    assert prove(api, Path(run.dir)).is_equal
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())


def test_what_is_no_param_is_told_and_the_others_are_kept(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    configured(tmp_path, {"k" * 300: 1, "long": "x" * 70_000, "good": 1})
    (report,) = pushed(tmp_path)
    assert report.problems == []
    assert len(report.notes) == 2
    assert set(api.runs.params(report.run or "")) == {"good"}
    set_limits(tenant, params=1)
    configured(tmp_path / "other", {"a": 1, "b": 2})
    (other,) = pushed(tmp_path / "other", project="default")
    assert any("1 param not taken" in note for note in other.notes)
