"""Compressed bodies are read, and stop where they grow too large."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest
import zstandard
from tests.mapi.callers import client_of
from tests.mapi.tenants_access import give_token

from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

pytestmark = pytest.mark.anyio

_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


async def post(app: Litestar, tenant: Tenant, body: bytes, encoding: str) -> tuple[int, str]:
    token = give_token(tenant, Scope.WRITE)
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    async with client_of(app, token.text, headers=headers) as client:
        answer = await client.post("/v1/runs", content=body)
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize("encoding", list(_PACKERS))
async def test_a_packed_body_is_read(app: Litestar, tenant: Tenant, encoding: str) -> None:
    body = _PACKERS[encoding](json.dumps({"name": "packed"}).encode())
    assert await post(app, tenant, body, encoding) == (201, "")


@pytest.mark.parametrize("encoding", list(_PACKERS))
async def test_a_bomb_is_refused_without_being_inflated(
    app: Litestar, tenant: Tenant, encoding: str
) -> None:
    bomb = _PACKERS[encoding](bytes(200 << 20))
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    try:
        told = await post(app, tenant, bomb, encoding)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told == (413, "PAYLOAD_TOO_LARGE")
    assert peak < 32 << 20


@pytest.mark.parametrize("encoding", list(_PACKERS))
@pytest.mark.parametrize("broken", ["cut", "rubbish", "empty"])
async def test_a_broken_packing_is_told(
    app: Litestar, tenant: Tenant, encoding: str, broken: str
) -> None:
    whole = _PACKERS[encoding](json.dumps({"name": "a" * 1_000}).encode())
    body = {"cut": whole[: len(whole) // 2], "rubbish": b"no packing", "empty": b""}[broken]
    status, code = await post(app, tenant, body, encoding)
    assert (status, code) == (400, "BODY_UNREADABLE")


@pytest.mark.parametrize("encoding", list(_PACKERS))
@pytest.mark.parametrize("route", ["json", "lines"])
async def test_several_streams_are_one_body_and_nothing_else_stands_behind(
    app: Litestar, tenant: Tenant, encoding: str, route: str
) -> None:
    pack = _PACKERS[encoding]
    whole = b'{"name": "a"}' if route == "json" else b'{"kind": "nothing"}\n'
    parts = pack(whole[:7]) + pack(b"") + pack(whole[7:])

    async def told(body: bytes) -> tuple[int, str]:
        if route == "json":
            return await post(app, tenant, body, encoding)
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": encoding}
        token = give_token(tenant, Scope.ADMIN).text
        async with client_of(app, token, headers=headers) as client:
            answer = await client.post("/v1/import", content=body)
        return answer.status_code, answer.json().get("code", "")

    # The lines themselves are of no kind that is known, which is told of what was unpacked.
    read = (201, "") if route == "json" else (422, "SCHEMA_INVALID")
    assert await told(parts) == read
    for body in (parts + b"junk", parts + pack(whole)[:-5], pack(whole) + whole, parts[:-1]):
        assert await told(body) == (400, "BODY_UNREADABLE"), body


async def test_frames_that_hold_nothing_are_passed_over(app: Litestar, tenant: Tenant) -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(b'{"name": "a"}')
    assert await post(app, tenant, skipped + checked + skipped, "zstd") == (201, "")
    for cut in (skipped[:-1], skipped + checked[:-1], checked + skipped[:5]):
        assert await post(app, tenant, cut, "zstd") == (400, "BODY_UNREADABLE")


@pytest.mark.parametrize("encoding", list(_PACKERS))
async def test_a_large_packed_body_is_read_whole(
    app: Litestar, tenant: Tenant, encoding: str
) -> None:
    words = random.Random(7).randbytes(9_000).hex()
    body = _PACKERS[encoding](json.dumps({"name": "large", "note": words}).encode())
    assert len(body) > 8_000
    assert await post(app, tenant, body, encoding) == (201, "")


async def test_other_packings_are_not_read(app: Litestar, tenant: Tenant) -> None:
    assert await post(app, tenant, b"{}", "br") == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await post(app, tenant, b"{}", "gzip, gzip") == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_that_is_too_large_is_told_how_large_it_is_and_may_be(
    app: Litestar, tenant: Tenant
) -> None:
    token = give_token(tenant, Scope.WRITE)
    limit = "at most 1048576 are read here; send it in parts"

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 32_768

    bomb = gzip.compress(bytes(4 << 20))
    headers = {"Content-Type": "application/json"}
    async with client_of(app, token.text, headers=headers) as client:
        for body, more, size in (
            (b" " * 1_200_000, {}, "1200000 bytes"),
            # Neither has said before how long it is.
            (pieces(), {}, "more than 1048576 bytes"),
            (bomb, {"Content-Encoding": "gzip"}, "more than 1048576 bytes"),
        ):
            answer = await client.post("/v1/runs", content=body, headers=more)
            assert answer.status_code == 413
            assert answer.json()["detail"] == f"the body has {size}: {limit}"
