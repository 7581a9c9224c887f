"""Images, figures and tables of a run on the platform: each at its place, once."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.mapi.callers import make_token
from tests.mapi.tenants_access import set_limits, value_of

import expr_tracker as et
import mapi
from mapi.follow.proof.against import prove

if TYPE_CHECKING:
    import pytest
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

RED = np.full((2, 3, 3), (255, 0, 0), dtype=np.uint8)
BLUE = np.full((4, 4, 3), (0, 0, 255), dtype=np.uint8)


def pictured(root: Path) -> Path:
    """Write a run with an image that stands twice, another one, and tables."""
    run = et.init(project="p", name="r", dir=root, system_metrics=False)
    et.log({"eval/sample": et.Image(RED, caption="one"), "loss": 1, "note": "n"}, step=0)
    et.log({"eval/sample": et.Image(RED)}, step=1)
    table = et.Table(["a", "b"], [[1, math.nan], ["x", et.Image(RED)]])
    et.log({"t": table}, step=2)
    et.log({"eval/sample": et.Image(BLUE)}, step=1)
    et.finish()
    return Path(run.dir)


def test_each_item_is_there_once_at_its_place_with_its_bytes(
    api: mapi.Client, pushed: Push, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pictured(tmp_path)
    with monkeypatch.context() as rank:
        rank.setenv("RANK", "1")
        et.init(project="p", name="r", dir=tmp_path, stream="eval", system_metrics=False)
        et.log({"picture": et.Image(BLUE)}, step=7)
        et.finish()
    (report,) = pushed(tmp_path)
    assert report.problems == []
    assert report.sent["media item"] == 5
    run = report.run or ""
    found = {(one.key, json.dumps(one.labels), one.step): one for one in api.runs.media(run)}
    scope = '{"scope": "eval"}'
    assert set(found) == {
        ("sample", scope, 0),
        ("sample", scope, 1),
        ("t", "{}", 2),
        ("picture", '{"rank": "1", "stream": "eval"}', 7),
    }
    first = found["sample", scope, 0]
    (file,) = path.glob(f"media/*/{first.sha256}.png")
    assert api.runs.media_content(run, first.id) == file.read_bytes()
    assert (first.caption, first.width, first.height) == ("one", 3, 2)
    assert found["sample", scope, 1].width == 4
    table = json.loads(api.runs.media_content(run, found["t", "{}", 2].id))
    assert table["columns"] == ["a", "b"]
    assert table["data"][0] == [1, "NaN"]
    assert table["data"][1][1].startswith("media/")
    (line,) = api.runs.lines(run)
    assert line.message == "step 0: note"
    proof = prove(api, path)
    assert proof.is_equal
    assert proof.compared["media item"] == 4
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())


def test_items_that_come_later_follow(api: mapi.Client, pushed: Push, tmp_path: Path) -> None:
    path = pictured(tmp_path)
    pushed(tmp_path)
    et.init(project="p", name="r", dir=tmp_path, system_metrics=False, resume="must")
    et.log({"more": et.Image(RED)}, step=9)
    et.finish()
    (report,) = pushed(tmp_path)
    assert report.sent["media item"] == 1
    assert prove(api, path).is_equal


def test_items_that_are_there_are_not_told_as_new(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    for step in range(4):
        et.log({"picture": et.Image(RED), "loss": step, "note": "n"}, step=step)
    et.finish()
    (first,) = pushed(tmp_path)
    assert first.sent == {"point": 4, "line": 4, "media item": 4}
    assert not any(first.there.values())
    (again,) = pushed(tmp_path, again=True)
    assert not any(again.sent.values())
    assert (again.there["point"], again.there["media item"]) == (4, 4)
    items = {one.step: one for one in api.runs.media(first.run or "")}
    api.runs.delete_media(first.run or "", items[2].id, reason="test")
    (some,) = pushed(tmp_path, again=True)
    assert (some.sent["media item"], some.there["media item"]) == (1, 3)
    # A file that was cut is looked at from its first line: the platform has all of that.
    file = Path(run.dir) / "metrics.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-2]))
    (cut,) = pushed(tmp_path)
    assert not any(cut.sent.values())
    assert cut.there == {"point": 3, "line": 3, "media item": 3}


def test_a_caption_of_any_letters_comes_with_its_item(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    captions = ["\U0001f642" * 2000, "\u65e5" * 2000, "&#% +" * 400]
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    for step, caption in enumerate(captions):
        et.log({"\u65e5" * 150: et.Image(RED, caption=caption)}, step=step)
    et.finish()
    (report,) = pushed(tmp_path)
    assert report.problems == []
    found = [one.caption for one in api.runs.media(report.run or "")]
    assert sorted(found) == sorted(captions)
    assert prove(api, Path(run.dir)).is_equal


def test_a_name_that_no_label_has_room_for_is_that_of_its_items(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    long = f"Samples of the ä-decoder / {'x' * 300}"
    et.log({long: et.Image(RED), "eval/one": et.Image(RED), f"{long}2": et.Image(BLUE)}, step=0)
    et.log({long: et.Image(BLUE)}, step=1)
    et.finish()
    (report,) = pushed(tmp_path)
    assert (report.problems, report.notes) == ([], [])
    assert report.sent == {"media item": 4}
    found = {(one.name, one.step) for one in api.runs.media(report.run or "")}
    assert found == {(long, 0), (long, 1), (f"{long}2", 0), ("eval/one", 0)}
    assert prove(api, Path(run.dir)).is_equal
    (again,) = pushed(tmp_path)
    assert not any(again.sent.values())


def test_more_long_names_in_a_row_than_a_request_has_room_for_come_all(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    names = {f"{at:04}{'x' * 9_990}" for at in range(230)}
    et.log(dict.fromkeys(names, et.Image(RED)), step=0)
    et.log({"last": et.Image(RED)}, step=1)
    et.finish()
    (report,) = pushed(tmp_path)
    assert (report.problems, report.notes) == ([], [])
    found = {one.name for one in api.runs.media(report.run or "")}
    assert found == {*names, "last"}
    assert prove(api, Path(run.dir)).is_equal


def test_an_item_that_is_logged_again_has_the_last_caption_and_its_first_time_else(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = et.init(project="p", name="r", dir=tmp_path, system_metrics=False)
    for caption in ("one", "two", "two"):
        et.log({"picture": et.Image(RED, caption=caption)}, step=1, commit=True)
        et.log({"other": et.Image(BLUE)}, step=1, commit=True)
    et.finish()
    (report,) = pushed(tmp_path)
    found = {one.key: one.caption for one in api.runs.media(report.run or "")}
    assert found == {"picture": "two", "other": ""}
    proof = prove(api, Path(run.dir))
    assert proof.is_equal, proof.differences


def test_an_item_that_is_gone_or_has_other_bytes_is_seen(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    path = pictured(tmp_path)
    (report,) = pushed(tmp_path)
    run = report.run or ""
    items = {one.step: one.id for one in api.runs.media(run)}
    api.runs.delete_media(run, items[0], reason="test")
    value_of(
        tenant,
        "update mapi.run_media set sha256 = %s where run_id = %s and step = 1",
        hashlib.sha256(b"other").digest(),
        run.removeprefix("run_"),
    )
    proof = prove(api, path)
    assert [(one.what, one.kind, one.name, one.step) for one in proof.differences] == [
        ("media item", "value", "eval/sample", 1),
        ("media item", "missing", "eval/sample", 0),
    ]


def test_what_cannot_be_kept_is_counted_and_costs_the_others_nothing(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = pictured(tmp_path)
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    first, _, third = [row["eval/sample"] for row in rows if "eval/sample" in row]
    (path / first["path"]).unlink()
    with (path / "metrics.jsonl").open("a") as file:
        outside = first | {"path": "../../run.png"}
        file.write(json.dumps({"_step": 5, "_time": 1.7e9, "bad": outside}) + "\n")
        damaged = third | {"sha256": "0" * 64}
        file.write(json.dumps({"_step": 6, "_time": 1.7e9, "bad": damaged}) + "\n")
        below = {"_step": -1, "_time": 1.7e9, "kept": first}
        file.write(json.dumps(below) + "\n")
    (report,) = pushed(tmp_path)
    told = [note for note in report.notes if "media" in note]
    assert told == [
        "default: 3 media items left out: its file is missing",
        "default: 1 media item left out: its file was changed and does not have its hash",
    ]
    assert sorted(one.step or 0 for one in api.runs.media(report.run or "")) == [1, 2]
    lines = {one.message for one in api.runs.lines(report.run or "")}
    assert lines == {"step 0: note", "step -1: kept"}
    assert prove(api, path).is_equal


def test_a_spent_budget_is_counted_and_fails_nothing(
    url: str, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    set_limits(tenant, media_items=1)
    path = pictured(tmp_path)
    (report,) = pushed(tmp_path, project="default")
    assert report.problems == []
    assert "default: 3 media items not taken: over the budget media_items" in report.notes
    with mapi.Client(url, token=make_token(tenant), project="default") as client:
        assert prove(client, path).counts == [("media item", "missing", 2)]
