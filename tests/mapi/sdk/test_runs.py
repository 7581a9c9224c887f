"""Both clients against the real application: what is written comes back."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image

import mapi
from mapi import filters as f
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.sdk.asking import Asking

mpl.use("agg")

TIME = datetime(2026, 11, 1, 12, tzinfo=UTC)
TABLE = b'{"columns": ["a"], "data": [[%b]]}'


def test_what_a_run_is_made_with_is_what_it_has(asking: Asking) -> None:
    experiment = asking("experiments.create", "lr sweep")
    parent = asking("runs.create")
    run = asking(
        "runs.create",
        name="first",
        note="*why*",
        params={"lr": 1e-3, "nested": {"a": [1, 2]}, "flag": True, "nan": float("nan")},
        tags={"team": "ads"},
        experiment=experiment,
        external_id="mine",
        parent=parent,
        started=TIME,
    )
    found = asking("runs.get", run)
    assert (found.name, found.note, found.external_id) == ("first", "*why*", "mine")
    assert (found.experiment, found.parent, found.started) == (experiment.id, parent.id, TIME)
    texts = {key: one.text for key, one in asking("runs.params", run).items()}
    assert texts == {"lr": "0.001", "nested": '{"a": [1, 2]}', "flag": "true", "nan": "NaN"}
    assert asking("runs.tags", run) == {"team": "ads"}
    assert asking("runs.create", external_id="mine").id == run.id


def test_a_finished_run_takes_what_a_notebook_has_to_say(asking: Asking) -> None:
    run = asking("runs.create")
    asking("runs.update", run, status="succeeded")
    asking("runs.log_metric", run, "revenue", 12.5)
    asking("runs.log_params", run, {"market": "de"})
    asking("runs.set_tags", run, {"stage": "live"})
    asking("runs.log_image", run, "dashboard", Image.new("L", (3, 2)))
    asking("runs.log_table", run, "weeks", [[1, 2.5]], columns=["week", "revenue"])
    assert asking("runs.get", run).status is RunStatus.SUCCEEDED
    (series,) = asking("runs.metrics", run)
    assert (series.key, series.is_scalar, series.last_value) == ("revenue", True, 12.5)
    param = asking("runs.params", run)["market"]
    assert (param.text, param.source.value) == ("de", "api")
    assert asking("runs.tags", run) == {"stage": "live"}
    assert [(one.key, one.source.value) for one in asking("runs.media", run)] == [
        ("dashboard", "api"),
        ("weeks", "api"),
    ]


def test_points_come_back_exactly(asking: Asking) -> None:
    run = asking("runs.create")
    values = [0.1, float("nan"), float("inf"), -1e308, 5e-324]
    steps = [0, 1, 5, 7, 2**63 - 1]
    times = [1_793_534_400_000_000 + at for at in range(5)]
    said = asking("runs.log_series", run, "loss", values, steps=steps, times=times)
    assert said.accepted == 5
    again = asking("runs.log_series", run, "loss", values, steps=steps, times=times)
    assert (again.accepted, again.duplicates) == (0, 5)
    asking("runs.log_metric", run, "loss", 3, step=2, labels={"split": "val"}, time=TIME)
    found = asking("runs.points", run, "loss")
    assert repr(found.values) == repr(values)
    assert (found.steps, found.times_us) == (steps, times)
    assert asking("runs.points", run, "loss", labels={"split": "val"}).values == [3.0]  # noqa: PD011 - no pandas
    assert asking("runs.points", run, "loss", start=1, stop=7).steps == [1, 5]
    assert asking("runs.curve", run, "loss", buckets=2).buckets[0].count >= 1
    summaries = asking("runs.metrics", run)
    assert [(one.key, one.labels, one.count) for one in summaries] == [
        ("loss", {}, 5),
        ("loss", {"split": "val"}, 1),
    ]
    assert len(asking("runs.metrics", run, labels={"split": "val"})) == 1


def test_a_curve_of_several_pages_is_whole(asking: Asking) -> None:
    run = asking("runs.create")
    for start in (0, 5_000):
        steps = range(start, start + 5_000)
        asking("runs.log_series", run, "loss", [float(at) for at in steps], steps=list(steps))
    found = asking("runs.points", run, "loss")
    assert found.values == [float(at) for at in range(10_000)]  # noqa: PD011 - no pandas
    frame = found.to_pandas()
    assert (frame["step"].dtype, len(frame)) == ("Int64", 10_000)
    assert found.to_polars().schema["time"] == pl.Datetime("us", "UTC")


def test_a_param_has_one_value(asking: Asking) -> None:
    run = asking("runs.create")
    asking("runs.log_params", run, {"lr": 0.1})
    assert asking("runs.log_params", run, {"lr": 0.1}).duplicates == 1
    with pytest.raises(mapi.ParamConflictError) as caught:
        asking("runs.log_params", run, {"lr": 0.2, "new": 1})
    assert caught.value.errors[0].pointer == "/params/lr"
    assert set(asking("runs.params", run)) == {"lr"}


def test_tags_change_and_go_whatever_their_keys_are(asking: Asking) -> None:
    run = asking("runs.create")
    keys = ["a", "a/b", "...", "a.", "ü &?#%", "/"]
    asking("runs.set_tags", run, dict.fromkeys(keys, "x"))
    asking("runs.set_tags", run, {"a": "y"})
    assert asking("runs.tags", run) == dict.fromkeys(keys, "x") | {"a": "y"}
    for key in keys:
        asking("runs.delete_tag", run, key)
    assert asking("runs.tags", run) == {}


def test_lines_keep_their_order_and_fields(asking: Asking) -> None:
    run = asking("runs.create")
    asking("runs.log_line", run, "first", level="warning", fields={"loss": float("nan")})
    asking("runs.log_lines", run, [{"message": "second", "time": TIME}, {"message": "third"}])
    found = asking("runs.lines", run)
    assert [one.message for one in found] == ["first", "second", "third"]
    assert found[0].fields == {"loss": "NaN"}
    assert found[1].time == TIME
    assert [one.message for one in asking("runs.lines", run, level="warning")] == ["first"]
    assert [one.message for one in asking("runs.lines", run, before=found[1].id)] == ["first"]
    assert [one.message for one in asking("runs.lines", run, text="ir", after=found[0].id)] == [
        "third"
    ]


def test_images_figures_and_tables_come_back_as_bytes(asking: Asking, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    run = asking("runs.create")
    picture = Image.new("RGB", (3, 2), "red")
    path = tmp_path / "a.jpeg"
    picture.save(path)
    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([1, 2])
    array = np.zeros((4, 5, 3), dtype=np.uint8)
    asking("runs.log_image", run, "a", path, step=1, labels={"of": "x y&=é"}, caption="*c*")
    asking("runs.log_image", run, "b", picture)
    asking("runs.log_image", run, "c", array, time=TIME)
    asking("runs.log_figure", run, "d", figure)
    asking("runs.log_table", run, "e", [[1, float("nan")], ["x", None]], columns=["p", "q"])
    asking("runs.log_table", run, "f", pd.DataFrame({"p": [1, 2]}))
    asking("runs.log_table", run, "g", pl.DataFrame({"p": [1.5]}))
    found = {one.key: one for one in asking("runs.media", run)}
    assert [(key, one.format.value, one.width, one.height) for key, one in found.items()][:3] == [
        ("a", "jpeg", 3, 2),
        ("b", "png", 3, 2),
        ("c", "png", 5, 4),
    ]
    assert (found["a"].step, found["a"].labels) == (1, {"of": "x y&=é"})
    assert (found["a"].caption, found["c"].time) == ("*c*", TIME)
    assert asking("runs.media_content", run, found["a"]) == path.read_bytes()
    table = json.loads(asking("runs.media_content", run, found["e"].id))
    assert table == {"columns": ["p", "q"], "data": [[1, "NaN"], ["x", None]]}
    assert json.loads(asking("runs.media_content", run, found["f"]))["data"] == [[1], [2]]
    assert [one.key for one in asking("runs.media", run, keys=["a"], step=1)] == ["a"]


def test_a_media_item_is_kept_in_its_turn(asking: Asking) -> None:
    run = asking("runs.create")
    older, newer = TABLE % b"1", TABLE % b"2"
    first, second = mapi.Place("file", after=-1, seq=3), mapi.Place("file", after=3, seq=7)
    about = {"step": 4, "labels": {"split": "val"}, "caption": "why", "time": TIME}
    answers = [
        asking("runs.send_media", run, "tab", older, place=first, **about) for _ in range(2)
    ]
    assert [(one.accepted, one.duplicates, one.accepted_seq) for one in answers] == [
        (1, 0, 3),
        (0, 1, 3),
    ]
    (made,) = asking("runs.media", run)
    assert (made.labels, made.step, made.caption) == ({"split": "val"}, 4, "why")
    assert (made.time, made.name) == (TIME, "tab{split=val}")
    asking("runs.send_media", run, "tab", newer, place=second, **about)
    with pytest.raises(mapi.StateConflictError) as late:
        asking("runs.send_media", run, "tab", older, place=first, **about)
    assert late.value.counts == {"accepted_seq": 7}
    (item,) = asking("runs.media", run)
    assert asking("runs.media_content", run, item) == newer
    assert asking("runs.writers", run) == {"file": 7}


@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        (None, "/place"),
        (mapi.Place("file", after=5, seq=3), "/after"),
        (mapi.Place("file", after=1.5, seq=3), "/after"),  # type: ignore[arg-type]
        (mapi.Place(3, after=-1, seq=3), "/writer"),  # type: ignore[arg-type]
    ],
)
def test_a_place_that_is_none_is_said_before_anything_is_sent(
    asking: Asking, place: Any, pointer: str
) -> None:
    with pytest.raises(mapi.InvalidError) as error:
        asking("runs.send_media", "run_1", "tab", TABLE % b"1", place=place)
    assert [fault.pointer for fault in error.value.faults] == [pointer]


def test_a_search_goes_through_all_pages_and_knows_its_columns(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.run_records._PAGE_RUNS", 3)
    for at in range(8):
        run = asking("runs.create", name=f"run {at}", params={"at": at})
        asking("runs.log_metric", run, "loss", at / 10, step=0, labels={"split": "val"})
    loss = f.metric("loss", split="val")
    found = asking(
        "runs.list",
        filter=(loss.min < 0.65) & ~(f.param("at") == 2),
        sort=-loss,
        columns=[loss, "params.at"],
    )
    assert [one.name for one in found] == [f"run {at}" for at in (6, 5, 4, 3, 1, 0)]
    assert found[0].named == {"metrics.loss{split=val}": 0.6, "params.at": "6"}
    assert [one.name for one in asking("runs.list", limit=4, sort="params.at")] == [
        f"run {at}" for at in range(4)
    ]
    page = asking("runs.page", filter=["params.at > 1", "params.at < 4"], total=True, limit=1)
    assert (page.total, len(page.runs)) == (2, 1)
    assert page.next_cursor is not None
    following = asking(
        "runs.page",
        filter=["params.at > 1", "params.at < 4"],
        limit=1,
        cursor=page.next_cursor,
    )
    assert following.runs[0].id != page.runs[0].id
    with pytest.raises(mapi.SchemaInvalidError) as caught:
        asking("runs.list", filter="metrics.loss <")
    assert caught.value.errors[0].offset == 14


def test_runs_become_data_frames(asking: Asking) -> None:
    asking("runs.create", name="a", params={"lr": 0.1})
    run = asking("runs.create", name="b", params={"lr": "big"})
    asking("runs.log_metric", run, "loss", float("nan"))
    columns = ["metrics.loss", "params.lr", "name"]
    frame = asking("runs.to_pandas", columns=columns, sort="name")
    assert list(frame["name"]) == ["a", "b"]
    assert frame["metrics.loss"].dtype == np.float64
    assert frame["metrics.loss"].isna().all()
    assert str(frame["created"].dt.tz) == "UTC"
    other = asking("runs.to_polars", columns=columns, sort="name")
    assert other["metrics.loss"].to_list()[0] is None
    assert np.isnan(other["metrics.loss"].to_list()[1])
    assert other["params.lr"].to_list() == ["0.1", "big"]
    assert len(asking("runs.to_pandas", filter="name = nobody")) == 0
    assert len(asking("runs.to_polars", filter="name = nobody")) == 0


def test_a_run_changes_and_a_version_guards_it(asking: Asking) -> None:
    run = asking("runs.create", name="a", note="n").facts
    changed = asking("runs.update", run, name="b", note=None, status="failed", reason="why")
    assert (changed.name, changed.note, changed.status) == ("b", "", RunStatus.FAILED)
    with pytest.raises(mapi.PreconditionFailedError):
        asking("runs.update", run, name="c", if_match=run.etag)
    assert asking("runs.update", run, if_match=changed.etag).name == "b"


def test_a_run_goes_to_the_trash_and_back(asking: Asking) -> None:
    run = asking("runs.create", name="a")
    asking("runs.delete", run)
    assert asking("runs.list") == []
    assert [one.id for one in asking("runs.list", trashed=True)] == [run.id]
    assert asking("runs.restore", run).trashed is None
    assert [one.id for one in asking("runs.list")] == [run.id]


def test_runs_are_compared(asking: Asking) -> None:
    one = asking("runs.create", params={"lr": 1, "same": 2})
    other = asking("runs.create", params={"lr": 3, "same": 2})
    asking("runs.log_metric", one, "loss", 1.0, step=0)
    found = asking("runs.compare", one, other.id, keys=["loss"])
    assert {param.key: param.is_different for param in found.params} == {"lr": True, "same": False}
    assert [summary is None for summary in found.series[0].summaries] == [False, True]


def test_an_export_is_whole_or_not_there(asking: Asking, tmp_path: Path) -> None:
    run = asking("runs.create", name="a")
    asking("runs.log_series", run, "loss", [1.0, 2.0])
    seen: list[int] = []
    path = tmp_path / "run.jsonl"
    size = asking("runs.export", path, run=run, progress=lambda done, _: seen.append(done))
    assert path.stat().st_size == size == seen[-1]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("export", "end")
    stream = io.BytesIO()
    asking("runs.export", stream, filter=f.attribute("name") == "a", format="csv")
    assert stream.getvalue().count(b"\n") == 3
    with pytest.raises(mapi.NotFoundError):
        asking("runs.export", tmp_path / "none", run="run_00000000-0000-7000-8000-000000000000")
    assert [one.name for one in tmp_path.iterdir()] == ["run.jsonl"]


def test_experiments_are_made_found_changed_archived_and_deleted(asking: Asking) -> None:
    made = asking("experiments.create", "a", description="*d*")
    assert asking("experiments.create", "a", if_exists="get").id == made.id
    with pytest.raises(mapi.NameTakenError):
        asking("experiments.create", "a")
    assert asking("experiments.update", made, name="b", if_match=made.etag).name == "b"
    assert asking("experiments.archive", made).archived is not None
    assert asking("experiments.list", archived=False) == []
    assert [one.id for one in asking("experiments.list", archived=True)] == [made.id]
    with pytest.raises(mapi.StateConflictError):
        asking("runs.create", experiment=made)
    assert asking("experiments.unarchive", made.id).archived is None
    asking("experiments.delete", made)
    with pytest.raises(mapi.NotFoundError):
        asking("experiments.get", made)


def test_views_are_made_found_changed_and_deleted(asking: Asking) -> None:
    made = asking("views.create", "good", filter=f.param("lr") > 1, columns=["name"], sort="-name")
    assert (made.filter, made.columns, made.sort) == ("params.lr > 1", "name", "-name")
    changed = asking("views.update", made, name="better", sort=None)
    assert (changed.name, changed.sort, changed.filter) == ("better", "", "params.lr > 1")
    with pytest.raises(mapi.PreconditionFailedError):
        asking("views.update", made, name="best")
    assert asking("views.update", made.id, name="best").name == "best"
    asking("runs.create", params={"lr": 2})
    assert len(asking("runs.list", view=made)) == 1
    assert [one.name for one in asking("views.list")] == ["best"]
    asking("views.delete", made.id)
    assert asking("views.list") == []


def test_tokens_projects_sessions_fields_and_the_language(asking: Asking, url: str) -> None:
    made = asking("tokens.create", "reader", ["runs:read"], is_service=True, expires=None)
    with mapi.Client(url, token=made.token) as reader:
        assert reader.session().name == "reader"
        with pytest.raises(mapi.ForbiddenError):
            reader.runs.create()
    assert "reader" in [one.name for one in asking("tokens.list")]
    asking("tokens.revoke", made)
    with mapi.Client(url, token=made.token) as reader, pytest.raises(mapi.UnauthenticatedError):
        reader.session()
    asking("projects.create", "other")
    assert {one.name for one in asking("projects.list")} == {"default", "other"}
    run = asking("runs.create", params={"lr": 1})
    asking("runs.log_metric", run, "loss", 1)
    assert asking("runs.fields", "l").params == ["lr"]
    assert asking("search.parse", "params.lr>1", sort=["name"]).canonical == "params.lr > 1"
    with pytest.raises(mapi.SchemaInvalidError) as caught:
        asking("search.parse", "params.lr >")
    assert caught.value.errors[0].pointer == "/filter"


def test_events_tell_of_a_run_until_it_ends(asking: Asking, url: str) -> None:
    run = asking("runs.create", name="a")
    asking("runs.update", run, status="succeeded")
    kinds = [type(frame).__name__ for frame in asking("runs.events", run)]
    assert kinds[0] == "StatusFrame"


def test_every_answer_is_json_again(asking: Asking) -> None:
    """Commands print what the client read as the body of the interface."""
    run = asking("runs.create", name="a", params={"lr": 1})
    asking("runs.log_line", run, "x", fields={"a": [1, None]})
    found: list[Any] = [run.facts, asking("runs.page"), asking("runs.lines", run)]
    for one in found:
        assert json.loads(msgspec.json.encode(one))
