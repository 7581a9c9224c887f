"""Compressed bodies are read, and stop where they grow too large."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
import zstandard
from tests.mapi.tenants_access import caller, give_token

from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

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
    async with caller(app, token.text, headers=headers) as client:
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


async def test_other_packings_are_not_read(app: Litestar, tenant: Tenant) -> None:
    assert await post(app, tenant, b"{}", "br") == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await post(app, tenant, b"{}", "gzip, gzip") == (415, "UNSUPPORTED_MEDIA_TYPE")
