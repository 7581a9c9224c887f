"""The pages as files: which address is which file, how browsers keep them, and what they may do."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import client_of
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import make_person

from mapi.api.app import build_app
from mapi.api.entrance import Entrance
from mapi.api.pages import PAGE_ROOMS, Pages
from mapi.wire.enums import Role

if TYPE_CHECKING:
    from pathlib import Path

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio

INDEX = b"<!doctype html><title>pages</title>" + b" " * 2_000
SCRIPT = b"export const a = 1;\n" * 200
SHORT = b"a{}"
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_bytes(INDEX)
    (tmp_path / "icon.svg").write_bytes(b"<svg/>")
    (tmp_path / "assets" / "main-a1b2.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "main-a1b2.js.br").write_bytes(b"made by the build")
    (tmp_path / "assets" / "style-c3.css").write_bytes(SHORT)
    return tmp_path


@pytest.fixture
def paged(database: Database, folder: Path) -> Litestar:
    return build_app(
        database, version="0", objects=temporary_objects(), pages=Pages.of_folder(folder)
    )


@pytest.mark.parametrize(
    "path",
    [
        "/",
        *(f"/{one}" for one in PAGE_ROOMS),
        "/runs/run_1",
        "/experiments/a/b/c",
        "/compare?ids=a,b",
    ],
)
async def test_every_address_of_a_page_is_the_same_document(paged: Litestar, path: str) -> None:
    async with client_of(paged) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.content) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    # What it loads has other names after an update.
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        *((f"/{one}/", f"/{one}") for one in PAGE_ROOMS),
        ("/runs/run_1/", "/runs/run_1"),
        ("/runs//", "/runs"),
        (
            "/runs/?filter=name%20%3D%20a%2Fb&sort=-created",
            "/runs?filter=name%20%3D%20a%2Fb&sort=-created",
        ),
        ("/runs/?", "/runs"),
        ("/compare/?ids=a,b/", "/compare?ids=a,b/"),
        ("/experiments/%C3%A4%2F/", "/experiments/%C3%A4%2F"),
        ("/runs//evil.example/", "/runs//evil.example"),
        ("/runs/?to=//evil.example/", "/runs?to=//evil.example/"),
        ("/runs/%0d%0aset-cookie:%20a/", "/runs/%0d%0aset-cookie:%20a"),
    ],
)
async def test_a_page_with_a_slash_behind_it_leads_to_the_page(
    paged: Litestar, app: Litestar, path: str, leads: str
) -> None:
    # Without a build too: that leads on to how to make one.
    for one in (paged, app):
        async with client_of(one, headers=HTML) as client:
            for method in ("GET", "HEAD"):
                answer = await client.request(method, path)
                assert (answer.status_code, answer.headers["location"]) == (308, leads)
                assert answer.content == b""
                where = answer.url.join(answer.headers["location"])
                assert (where.scheme, where.netloc) == (answer.url.scheme, answer.url.netloc)


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/",
        "///evil.example/",
        "/%2Fevil.example/",
        "/%5Cevil.example/",
        "//evil.example/runs/",
        "/runs@evil.example/",
        "/v1/runs/",
        "/healthz/",
        "//",
    ],
)
async def test_no_other_address_with_a_slash_behind_it_leads_anywhere(
    paged: Litestar, path: str
) -> None:
    address = f"http://127.0.0.1:8765{path}"
    async with client_of(paged, headers=HTML) as client:
        answer = await client.get(address)
        assert (answer.status_code, "location" in answer.headers) == (404, False)
        assert answer.json()["code"] == "NOT_FOUND"
        # Nor is a write led on.
        assert (await client.post("http://127.0.0.1:8765/runs/")).status_code == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runsx", 404),
        ("/v1/runs", 401),
        ("/v1/nothing", 404),
        ("/healthz", 200),
        ("/assets/gone-1.js", 404),
        ("/assets/../index.html", 404),
        ("/assets/%2e%2e/icon.svg", 404),
        ("/index.html.br", 404),
        ("/assets/main-a1b2.js.br", 404),
    ],
)
async def test_what_is_no_page_is_answered_as_before(
    paged: Litestar, path: str, status: int
) -> None:
    async with client_of(paged) as client:
        answer = await client.get(path)
    assert answer.status_code == status
    assert not answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/runsx", "/assets/gone-1.js", "/a/b"])
async def test_a_person_who_mistypes_an_address_is_told_by_the_page(
    paged: Litestar, path: str
) -> None:
    async with client_of(paged, headers=HTML) as client:
        answer = await client.get(path)
        assert (answer.status_code, answer.content) == (404, INDEX)
        for programs in ("/v1/nothing", "/v1", "/mlflow/x", "/metrics/x"):
            answer = await client.get(programs)
            assert answer.headers["content-type"] == "application/problem+json", programs


async def test_a_file_with_a_hash_in_its_name_is_kept_for_good(paged: Litestar) -> None:
    async with client_of(paged) as client:
        script = await client.get("/assets/main-a1b2.js", headers={"Accept-Encoding": "identity"})
        icon = await client.get("/icon.svg")
    assert (script.content, script.headers["content-type"]) == (
        SCRIPT,
        "text/javascript; charset=utf-8",
    )
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (icon.headers["content-type"], icon.headers["cache-control"]) == (
        "image/svg+xml; charset=utf-8",
        "no-cache",
    )


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("br, gzip", "br"),
        ("gzip, deflate, br;q=0.5", "br"),
        ("br;q=0, gzip", "gzip"),
        ("gzip;q=0.0", None),
        ("identity", None),
        ("", None),
        ("GZIP", "gzip"),
    ],
)
async def test_a_file_is_sent_as_small_as_the_browser_takes_it(
    paged: Litestar, accepted: str, encoding: str | None
) -> None:
    async with (
        client_of(paged, headers={"Accept-Encoding": accepted}) as client,
        client.stream("GET", "/assets/main-a1b2.js") as answer,
    ):
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert int(answer.headers["content-length"]) == len(raw)
    if encoding is None:
        assert raw == SCRIPT
    if encoding == "gzip":
        assert gzip.decompress(raw) == SCRIPT
        assert len(raw) < len(SCRIPT) / 10
    if encoding == "br":
        assert raw == b"made by the build"


async def test_what_would_not_shrink_is_sent_as_it_is(paged: Litestar) -> None:
    async with client_of(paged, headers={"Accept-Encoding": "gzip"}) as client:
        answer = await client.get("/assets/style-c3.css")
    assert (answer.content, "content-encoding" in answer.headers) == (SHORT, False)


@pytest.mark.parametrize("path", ["/", "/runs/run_1", "/assets/main-a1b2.js", "/icon.svg"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_what_a_browser_has_is_not_sent_again(
    paged: Litestar, path: str, encoding: str
) -> None:
    async with client_of(paged, headers={"Accept-Encoding": encoding}) as client:
        tag = (await client.get(path)).headers["etag"]
        for known in (tag, f'"other", {tag}', f"W/{tag}"):
            again = await client.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
        assert (await client.get(path, headers={"If-None-Match": '"x"'})).status_code == 200


async def test_head_has_the_headers_of_get(paged: Litestar) -> None:
    async with client_of(paged, headers={"Accept-Encoding": "identity"}) as client:
        for path in ("/runs", "/assets/main-a1b2.js"):
            got, head = await client.get(path), await client.head(path)
            assert (head.status_code, head.content) == (200, b"")
            for name in ("etag", "content-length", "cache-control", "content-type"):
                assert head.headers[name] == got.headers[name]


async def test_pages_take_no_writes(paged: Litestar) -> None:
    async with client_of(paged, headers=HTML) as client:
        for method in ("POST", "PUT", "DELETE"):
            answer = await client.request(method, "/runs")
            assert answer.status_code in {404, 405}


@pytest.mark.parametrize(
    "path", ["/", "/runs/run_1", "/assets/main-a1b2.js", "/icon.svg", "/gone"]
)
async def test_a_page_runs_nothing_but_our_files_and_asks_nobody_else(
    paged: Litestar, path: str
) -> None:
    async with client_of(paged, headers=HTML) as client:
        answer = await client.get(path)
    policy = {
        name: sources
        for name, _, sources in (
            one.strip().partition(" ")
            for one in answer.headers["content-security-policy"].split(";")
        )
    }
    assert policy["default-src"] == "'none'"
    for name in (
        "script-src",
        "style-src",
        "connect-src",
        "font-src",
        "worker-src",
        "form-action",
    ):
        assert policy[name] == "'self'", name
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    # No source of any directive is another origin, nor any script that stands in a document.
    sources = {source for one in policy.values() for source in one.split()}
    assert sources == {"'none'", "'self'", "'unsafe-inline'", "data:", "blob:"}
    assert [name for name, one in policy.items() if "unsafe-inline" in one] == ["style-src-attr"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers


async def test_another_name_of_the_machine_gets_no_page(database: Database, folder: Path) -> None:
    app = build_app(
        database,
        version="0",
        objects=temporary_objects(),
        entrance=Entrance(checks_host=True),
        pages=Pages.of_folder(folder),
    )
    async with client_of(app, headers={**HTML, "Host": "evil.example"}) as client:
        for path in ("/", "/assets/main-a1b2.js"):
            assert (await client.get(path)).status_code == 421


async def test_without_a_build_pages_lead_to_how_to_make_one(
    app: Litestar, tenant: Tenant
) -> None:
    person = make_person(tenant, Role.VIEWER)
    async with client_of(app, follow_redirects=True) as client:
        await client.post("/v1/session", json={"token": person.token})
        for room in PAGE_ROOMS:
            answer = await client.get(f"/{room}/x")
            assert (answer.status_code, answer.url.path) == (200, "/")
            assert "python3 dev.py pages" in answer.text


def test_a_folder_without_an_index_is_no_build(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"index\.html"):
        Pages.of_folder(tmp_path)


async def test_a_link_out_of_the_folder_is_not_followed(database: Database, folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("secret")
    (folder / "assets" / "secret.txt").symlink_to(secret)
    pages = Pages.of_folder(folder)
    assert pages.file("/assets/secret.txt") is None
