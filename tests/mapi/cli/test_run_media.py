"""What was logged as an image or a table is seen again from the shell."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from tests.mapi.callers import make_token
from tests.mapi.cli.completing import completed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a.png"
    Image.new("L", (3, 2)).save(path)
    return path


@pytest.fixture
def drawn(mapi: Any, run: str, image: Path, tmp_path: Path) -> str:
    """Give a run with two images of one series and a table."""
    for step in ("1", "5"):
        mapi(
            "runs", "log-image", run, "img", str(image), "--step", step, "--label", "split=val",
            "--caption", "sharp",
        )  # fmt: skip
    table = tmp_path / "a.csv"
    table.write_text("name,loss\na,0.5\n", encoding="utf-8")
    mapi("runs", "log-table", run, "tab", str(table))
    return run


def listed(mapi: Any, run: str, *words: str) -> list[dict[str, str]]:
    out = mapi("runs", "media", run, "--format", "csv", *words).out
    return list(csv.DictReader(io.StringIO(out)))


def test_the_media_of_a_run_are_a_list_that_can_be_narrowed(mapi: Any, drawn: str) -> None:
    first, second, table = listed(mapi, drawn)
    assert [one["step"] for one in (first, second, table)] == ["1", "5", ""]
    assert (first["key"], first["labels"], first["caption"]) == ("img", '{"split":"val"}', "sharp")
    assert (first["format"], first["width"], first["height"]) == ("png", "3", "2")
    assert (table["format"], table["width"], table["height"]) == ("table", "2", "1")
    assert listed(mapi, drawn, "--key", "tab") == [table]
    assert listed(mapi, drawn, "--label", "split=val", "--step", "5") == [second]
    assert listed(mapi, drawn, "--step", "-1") == [table]
    body = json.loads(mapi("runs", "media", drawn, "-o", "json").out)
    assert [one["id"] for one in body["media"]] == [one["id"] for one in (first, second, table)]


def test_labels_in_a_table_stand_as_in_a_series(mapi: Any, drawn: str) -> None:
    mapi("runs", "log-metric", drawn, "loss=1", "--label", "split=val", "--label", "fold=1")
    mapi("runs", "log-metric", drawn, "acc=1")
    for command, told in (("media", "split=val"), ("metrics", "fold=1,split=val")):
        out = mapi("runs", command, drawn).out
        assert told in out.split()
        assert "{" not in out


def test_show_tells_of_media_by_their_series(mapi: Any, drawn: str) -> None:
    lines = [
        line for line in mapi("runs", "show", drawn).out.splitlines() if line.startswith("media")
    ]
    assert lines == [
        "media       img{split=val}: 2 items (png, the newest at step 5)",
        "media       tab: 1 item (table)",
    ]


def test_the_content_of_an_item_is_a_file_or_standard_output(
    mapi: Any, drawn: str, image: Path, tmp_path: Path
) -> None:
    first, _, table = (one["id"] for one in listed(mapi, drawn))
    target = tmp_path / "again.png"
    target.write_bytes(b"old")
    said = mapi("runs", "media-content", drawn, first, "-o", str(target))
    assert said.out == f"{target}: {image.stat().st_size} bytes\n"
    assert target.read_bytes() == image.read_bytes()
    said = mapi("runs", "media-content", drawn, table, "-o", "-")
    assert json.loads(said.out) == {"columns": ["name", "loss"], "data": [["a", 0.5]]}


def test_content_that_is_not_there_is_told_and_leaves_the_file(
    mapi: Any, drawn: str, tmp_path: Path
) -> None:
    target = tmp_path / "kept"
    target.write_bytes(b"old")
    assert mapi("runs", "media-content", drawn, "img", "-o", str(target), code=1).out == ""
    assert target.read_bytes() == b"old"
    err = mapi("runs", "media-content", drawn, "img", "-o", str(tmp_path / "no" / "a"), code=2).err
    assert "is no folder" in err


def test_items_and_their_keys_are_offered(mapi: Any, drawn: str, url: str, tenant: Tenant) -> None:
    token = make_token(tenant)
    ids = [one["id"] for one in listed(mapi, drawn)]
    assert completed(url, token, f"mapi runs media-content {drawn} {ids[0][:4]}") == ids
    assert completed(url, token, f"mapi runs media {drawn} --key i") == ["img"]
