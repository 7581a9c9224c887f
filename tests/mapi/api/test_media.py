"""Media: checked, kept once, replaced, within budgets, by one request or by a signed upload."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.mapi.api.media_calls import (
    TABLE_TYPE,
    jpeg,
    kept,
    png,
    send,
    signed,
    table,
    upload,
    usage,
    warnings_of,
)
from tests.mapi.callers import client_of, make_caller
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import set_limits, value_of

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.errors import UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Reach
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

pytestmark = pytest.mark.anyio


async def test_what_was_sent_is_read_byte_for_byte_and_as_an_attachment(caller: Caller) -> None:
    run = await caller.make_run()
    for content, kind, shape in (
        (png(), "image/png", ("png", 4, 3)),
        (table(5), TABLE_TYPE, ("table", 2, 5)),
    ):
        made = await send(
            caller,
            run,
            content,
            kind=kind,
            key=f"of_{shape[0]}",
            step=7,
            caption="<script>alert(1)</script>",
            label="val",
        )
        assert (made["format"], made["width"], made["height"]) == shape
        assert (made["step"], made["labels"]) == (7, {"split": "val"})
        assert made["caption"] == "<script>alert(1)</script>"
        assert made["sha256"] == hashlib.sha256(content).hexdigest()
        answer = await caller.send("GET", f"/v1/runs/{run}/media/{made['id']}/content")
        assert answer.content == content
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["x-content-type-options"] == "nosniff"
        known = {"If-None-Match": answer.headers["etag"]}
        at = f"/v1/runs/{run}/media/{made['id']}/content"
        await caller.send("GET", at, status=304, headers=known)
    page = await caller.get(f"/v1/runs/{run}/media")
    assert [one["key"] for one in page["media"]] == ["of_png", "of_table"]


async def test_a_page_gets_the_bytes_of_a_bucket_from_us_and_a_program_the_place(
    database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that followed would ask another origin, which its policy forbids."""
    store, permits = temporary_objects()

    async def signed(key: str, **_: Any) -> str:
        return f"https://bucket.example/{key}"

    # As a bucket does; the bytes are in the folder all the same.
    monkeypatch.setattr(
        type(store), "sign_download", lambda _self, key, **more: signed(key, **more)
    )
    caller = make_caller(build_app(database, version="0", objects=(store, permits)), tenant)
    run = await caller.make_run()
    made = await send(caller, run, png())
    path = f"/v1/runs/{run}/media/{made['id']}/content"
    answer = await caller.send("GET", path, status=302)
    assert answer.headers["location"].startswith("https://bucket.example/")
    async with client_of(caller.client._transport.app) as browser:  # type: ignore[attr-defined]
        await browser.post("/v1/session", json={"token": caller.token})
        answer = await browser.get(path)
    assert (answer.status_code, answer.content) == (200, png())
    assert answer.headers["cache-control"].startswith("private")


async def test_the_same_bytes_at_the_same_place_are_kept_once(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    first = await send(caller, run, png(), step=1)
    again = await send(caller, run, png(), step=1, status=200)
    assert again == first
    elsewhere = await send(caller, run, png(), step=2)
    assert elsewhere["id"] != first["id"]
    assert await usage(caller) == (2, 2 * len(png()))
    assert len(kept(tmp_path)) == 2


async def test_the_same_bytes_with_another_caption_are_the_same_item_with_that_caption(
    caller: Caller, tenant: Tenant, tmp_path: Path
) -> None:
    run = await caller.make_run()
    asked = "select change_seq from mapi.runs where id = %s", run.removeprefix("run_")
    first = await send(caller, run, png(), step=1, caption="one")
    before = value_of(tenant, *asked)
    again = await send(caller, run, png(), step=1, caption="two", status=200)
    assert again == first | {"caption": "two", "time": again["time"]}
    assert again["time"] != first["time"]
    page = await caller.get(f"/v1/runs/{run}/media")
    assert page["media"] == [again]
    # Whoever looks at the run hears of it.
    assert value_of(tenant, *asked) == before + 1
    assert await usage(caller) == (1, len(png()))
    assert len(kept(tmp_path)) == 1
    # Without a new one nothing has changed.
    assert await send(caller, run, png(), step=1, caption="two", status=200) == again


async def test_other_bytes_at_the_same_place_replace_the_item(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    first = await send(caller, run, png(), step=1)
    second = await send(caller, run, png(grey=9), step=1)
    assert second["id"] != first["id"]
    page = await caller.get(f"/v1/runs/{run}/media")
    assert page["media"] == [second]
    await caller.get(f"/v1/runs/{run}/media/{first['id']}/content", status=404)
    assert await usage(caller) == (1, len(png(grey=9)))
    assert len(kept(tmp_path)) == 1


async def test_many_who_send_to_one_place_leave_one_item_and_one_object(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    answers = await asyncio.gather(
        *(
            caller.client.post(
                f"/v1/runs/{run}/media?key=sample&step=1",
                content=png(grey=number % 3),
                headers={**caller.headers, "Content-Type": "image/png"},
            )
            for number in range(12)
        )
    )
    assert {answer.status_code for answer in answers} <= {200, 201}
    (item,) = (await caller.get(f"/v1/runs/{run}/media"))["media"]
    answer = await caller.send("GET", f"/v1/runs/{run}/media/{item['id']}/content")
    assert hashlib.sha256(answer.content).hexdigest() == item["sha256"]
    assert await usage(caller) == (1, item["size_bytes"])
    assert len(kept(tmp_path)) == 1


REJECTED: list[tuple[bytes, str, str]] = [
    (png(), "image/jpeg", "was sent as jpeg"),
    (table(), "image/png", "was sent as png"),
    (b"", "image/png", ""),
    (b"GIF89a" + bytes(20), "image/png", ""),
    (png()[:-4], "image/png", "cut off"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png", ""),
    (png() + b"PK\x03\x04", "image/png", "behind the end"),
    (b'{"columns": ["a"], "data": [[1, 2]]}', TABLE_TYPE, ""),
    (b"{" * 1_000_000, TABLE_TYPE, ""),
]


@pytest.mark.parametrize(("content", "kind", "told"), REJECTED)
async def test_content_that_is_not_what_it_has_to_be_is_not_kept_and_warned_of(
    caller: Caller, tenant: Tenant, tmp_path: Path, content: bytes, kind: str, told: str
) -> None:
    run = await caller.make_run()
    problem = await send(caller, run, content, kind=kind, status=422)
    (fault,) = problem["errors"]
    assert fault["code"] == "MEDIA_REJECTED"
    assert told in fault["message"]
    assert kept(tmp_path) == []
    assert (await caller.get(f"/v1/runs/{run}/media"))["media"] == []
    assert warnings_of(tenant, run) == ["MEDIA_REJECTED"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"key": "Sample"}, "/query/key"),
    ({"key": "../etc"}, "/query/key"),
    ({"step": -1}, "/query/step"),
    ({"step": 2**63}, "/query/step"),
    ({"label.Split": "val"}, "/query/label.Split"),
    ({"label.stream": "data"}, "/query/labels"),
    ({"time": 1_700_000_000}, "/query/time"),
    ({"caption": "x" * 2_001}, "/query/caption"),
    ({"caption": "\x00"}, "/query"),
    ({"rank": -1}, "/query/rank"),
    ({"colour": "red"}, "/query/colour"),
]


@pytest.mark.parametrize(("query", "pointer"), WRONG, ids=str)
async def test_a_wrong_place_is_told_where(
    caller: Caller, tmp_path: Path, query: dict[str, Any], pointer: str
) -> None:
    run = await caller.make_run()
    problem = await send(caller, run, png(), status=422, **query)
    assert problem["errors"][0]["pointer"] == pointer
    assert kept(tmp_path) == []


async def test_too_much_is_counted_and_told_once_and_never_kept(
    caller: Caller, tenant: Tenant, tmp_path: Path
) -> None:
    set_limits(tenant, media_items=2, media_bytes=1_000, media_item_bytes=500)
    run = await caller.make_run()
    await send(caller, run, png(), step=0)
    await send(caller, run, png(), step=1)
    for step in (2, 3):
        problem = await send(caller, run, png(), step=step, status=429)
        assert (problem["code"], problem["retryable"]) == ("QUOTA_EXCEEDED", False)
        assert [(one["pointer"], one["code"]) for one in problem["errors"]] == [
            ("", "media_items")
        ]
        assert problem["detail"].startswith("The run has spent its budget media_items (2).")
    # What replaces takes the place of what it replaces, and what is there already costs nothing.
    await send(caller, run, png(grey=1), step=1)
    await send(caller, run, png(grey=1), step=1, status=200)
    problem = await send(caller, run, table(60), kind=TABLE_TYPE, step=1, status=429)
    # This call met another budget than the run met first.
    assert problem["detail"].startswith("The run has spent its budget media_item_bytes (500).")
    assert len(kept(tmp_path)) == 2
    found = await caller.get(f"/v1/runs/{run}")
    assert found["dropped"] == {"media_items": 2, "media_item_bytes": 1}
    assert warnings_of(tenant, run) == ["MEDIA_BUDGET"]


async def test_an_upload_is_sent_without_a_token_once_and_then_recorded(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    permit = await signed(caller, run, png())
    assert await upload(caller, permit, png()) == 204
    assert await upload(caller, permit, png()) == 409
    record = {
        "upload_key": permit["key"],
        "sha256": hashlib.sha256(png()).hexdigest(),
        "key": "sample",
        "labels": {"split": "val"},
        "step": 3,
    }
    made = await caller.post(f"/v1/runs/{run}/media", record, status=201)
    assert (made["key"], made["labels"], made["step"]) == ("sample", {"split": "val"}, 3)
    answer = await caller.send("GET", f"/v1/runs/{run}/media/{made['id']}/content")
    assert answer.content == png()
    # The upload itself is gone: what is kept is the copy that was checked.
    assert len(kept(tmp_path)) == 1
    # And the permit with it, though it lasts on.
    assert await upload(caller, permit, png()) == 409
    assert len(kept(tmp_path)) == 1
    problem = await caller.post(f"/v1/runs/{run}/media", record, status=422)
    assert problem["errors"][0]["pointer"] == "/upload_key"


async def test_an_upload_of_what_is_too_large_is_refused_as_its_bytes_are(
    caller: Caller, tenant: Tenant, tmp_path: Path
) -> None:
    set_limits(tenant, media_item_bytes=500)
    run = await caller.make_run()
    asked = {"size_bytes": 501, "sha256": "0" * 64, "format": "png"}
    problem = await caller.post(f"/v1/runs/{run}/media/uploads", asked, status=429)
    assert (problem["code"], problem["retryable"]) == ("QUOTA_EXCEEDED", False)
    (fault,) = problem["errors"]
    assert (fault["pointer"], fault["code"]) == ("/size_bytes", "media_item_bytes")
    found = await caller.get(f"/v1/runs/{run}")
    assert found["dropped"] == {"media_item_bytes": 1}
    assert warnings_of(tenant, run) == ["MEDIA_BUDGET"]
    assert kept(tmp_path) == []


async def test_an_upload_that_lies_is_refused_and_its_run_is_warned(
    caller: Caller, tenant: Tenant, tmp_path: Path
) -> None:
    run = await caller.make_run()
    # As long, longer, shorter, and nothing.
    other = png()[:-1] + b"?"
    for count, content in enumerate((other, png() + b"x", png()[:-1], b""), start=1):
        permit = await signed(caller, run, png())
        assert await upload(caller, permit, content) == 422
        assert warnings_of(tenant, run) == ["MEDIA_REJECTED"] * count
        # What is no permit of ours warns nobody.
        changed = {**permit, "fields": {**permit["fields"], "size_bytes": "1000000"}}
        assert await upload(caller, changed, content) == 401
        assert warnings_of(tenant, run) == ["MEDIA_REJECTED"] * count
    (entry, *_) = (await caller.get(f"/v1/runs/{run}/life"))["entries"]
    assert entry["message"].startswith("An upload was not kept: ")
    assert hashlib.sha256(other).hexdigest() in entry["message"]
    assert kept(tmp_path) == []


async def test_an_upload_that_lies_about_a_run_in_the_trash_is_refused_as_any(
    caller: Caller, tenant: Tenant
) -> None:
    run = await caller.make_run()
    permit = await signed(caller, run, png())
    await caller.send("DELETE", f"/v1/runs/{run}", status=204)
    assert await upload(caller, permit, b"") == 422
    assert "MEDIA_REJECTED" not in warnings_of(tenant, run)


class SilentDatabase(Database):
    """A door to a database that does not answer."""

    async def run(self, reach: Reach, work: object) -> NoReturn:
        """Do nothing."""
        raise UnavailableError("The database does not answer; try again.")


async def test_an_upload_that_lies_is_refused_also_where_its_run_cannot_be_warned(
    caller: Caller,
    tenant: Tenant,
    objects: tuple[ObjectStore, UploadPermits],
    database_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = await caller.make_run()
    permit = await signed(caller, run, png())
    silent = build_app(SilentDatabase(database_url, connections=1), version="0", objects=objects)
    assert await upload(make_caller(silent, tenant), permit, b"") == 422
    (record,) = [one for one in caplog.records if "warned of an upload" in one.message]
    assert "does not answer" in record.__dict__["error"]
    assert warnings_of(tenant, run) == []


@pytest.mark.parametrize(
    ("announced", "content"),
    [("png", jpeg()), ("jpeg", png()), ("table", png()), ("png", b"<html>" + bytes(100))],
    ids=["a JPEG as PNG", "a PNG as JPEG", "a PNG as a table", "a page as PNG"],
)
@pytest.mark.parametrize("through", ["the server", "the store"])
async def test_bytes_of_another_format_than_announced_are_refused_and_not_kept(
    caller: Caller,
    tenant: Tenant,
    objects: tuple[ObjectStore, UploadPermits],
    tmp_path: Path,
    *,
    announced: str,
    content: bytes,
    through: str,
) -> None:
    run = await caller.make_run()
    permit = await signed(caller, run, content, format=announced)
    if through == "the server":
        assert await upload(caller, permit, content) == 422
        assert kept(tmp_path) == []
        assert warnings_of(tenant, run) == ["MEDIA_REJECTED"]
        return
    # As S3 does, which looks at no content: then the record is where it is found out.
    await objects[0].put(permit["key"], content)
    record = {
        "upload_key": permit["key"],
        "sha256": hashlib.sha256(content).hexdigest(),
        "key": "sample",
    }
    problem = await caller.post(f"/v1/runs/{run}/media", record, status=422)
    assert problem["errors"][0]["code"] == "MEDIA_REJECTED"
    assert kept(tmp_path) == []
    assert warnings_of(tenant, run) == ["MEDIA_REJECTED"]
    assert (await caller.get(f"/v1/runs/{run}/media"))["media"] == []


async def test_an_upload_is_recorded_in_its_run_alone(
    caller: Caller, stranger: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    permit = await signed(caller, run, png())
    assert await upload(caller, permit, png()) == 204
    record = {
        "upload_key": permit["key"],
        "sha256": hashlib.sha256(png()).hexdigest(),
        "key": "sample",
    }
    elsewhere = await caller.make_run()
    for key in (permit["key"], "uploads/1/x", "media/a", "../x", permit["key"] + "/../x"):
        problem = await caller.post(
            f"/v1/runs/{elsewhere}/media", {**record, "upload_key": key}, status=422
        )
        assert problem["errors"][0]["pointer"] == "/upload_key"
    theirs = await stranger.make_run()
    await stranger.post(f"/v1/runs/{theirs}/media", record, status=422)
    wrong = {**record, "sha256": "0" * 64}
    problem = await caller.post(f"/v1/runs/{run}/media", wrong, status=422)
    assert problem["errors"][0]["code"] == "MEDIA_REJECTED"
    assert kept(tmp_path) == []


async def test_pages_show_every_item_once_and_labels_and_keys_narrow(caller: Caller) -> None:
    run = await caller.make_run()
    for step in range(3):
        for split in ("train", "val"):
            await send(caller, run, png(grey=step), step=step, label=split)
    await send(caller, run, png(), key="other")
    found: list[tuple[str, Any, Any]] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = await caller.get(f"/v1/runs/{run}/media", params=query)
        found += [(one["key"], one["labels"].get("split"), one["step"]) for one in page["media"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == [
        ("other", None, None),
        *(("sample", split, step) for split in ("train", "val") for step in range(3)),
    ]
    page = await caller.get(
        f"/v1/runs/{run}/media", params={"key": "sample", "label.split": "val", "step": 1}
    )
    assert [(one["labels"], one["step"]) for one in page["media"]] == [({"split": "val"}, 1)]
    page = await caller.get(f"/v1/runs/{run}/media", params={"step": -1})
    assert [one["key"] for one in page["media"]] == ["other"]


async def test_nobody_of_another_tenant_reads_or_writes_media(
    caller: Caller, viewer: Caller, stranger: Caller
) -> None:
    run = await caller.make_run()
    made = await send(caller, run, png())
    at = f"/v1/runs/{run}/media/{made['id']}/content"
    assert (await viewer.send("GET", at)).content == png()
    await stranger.get(at, status=404)
    await stranger.get(f"/v1/runs/{run}/media", status=404)
    await send(stranger, run, png(), status=404)
    await send(viewer, run, png(), status=403)
    await viewer.post(
        f"/v1/runs/{run}/media/uploads",
        {"size_bytes": 1, "sha256": "0" * 64, "format": "png"},
        status=403,
    )


async def test_a_correction_deletes_the_item_and_frees_its_bytes(
    caller: Caller, tmp_path: Path
) -> None:
    run = await caller.make_run()
    made = await send(caller, run, png())
    deleted = await caller.post(
        f"/v1/runs/{run}/corrections", {"reason": "a face", "media": made["id"]}
    )
    assert deleted == {"rows": 1, "freed_bytes": len(png())}
    assert kept(tmp_path) == []
    assert await usage(caller) == (0, 0)
