"""Media as tests send them, and what became of them."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

from PIL import Image
from tests.mapi.tenants_access import value_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.callers import Caller
    from tests.mapi.tenants import Tenant

__all__ = [
    "TABLE_TYPE",
    "chunk",
    "jpeg",
    "kept",
    "png",
    "send",
    "signed",
    "table",
    "upload",
    "usage",
    "warnings_of",
]

TABLE_TYPE = "application/vnd.mapi.table+json"


def chunk(name: bytes, content: bytes = b"") -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def png(width: int = 4, height: int = 3, *, grey: int = 0) -> bytes:
    rows = b"".join(b"\x00" + bytes([grey]) * width for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND")
    )


def jpeg() -> bytes:
    content = io.BytesIO()
    Image.new("L", (4, 3)).save(content, "jpeg")
    return content.getvalue()


def table(rows: int = 2) -> bytes:
    return json.dumps({"columns": ["a", "b"], "data": [[n, "x"] for n in range(rows)]}).encode()


async def send(
    caller: Caller,
    run: str,
    content: bytes,
    *,
    status: int = 201,
    kind: str = "image/png",
    label: str | None = None,
    **query: Any,
) -> Any:
    if label is not None:
        query["label.split"] = label
    answer = await caller.send(
        "POST",
        f"/v1/runs/{run}/media",
        status=status,
        content=content,
        params={"key": "sample", **query},
        headers={"Content-Type": kind},
    )
    return answer.json()


async def usage(caller: Caller) -> tuple[int, int]:
    (row,) = (await caller.get("/v1/usage"))["projects"]
    return row["media_items"], row["media_bytes"]


def warnings_of(tenant: Tenant, run: str) -> list[str]:
    found: list[str] = value_of(
        tenant,
        "select coalesce(array_agg(code), '{}') from mapi.run_events where run_id = %s",
        run.removeprefix("run_"),
    )
    return found


def kept(tmp_path: Path) -> list[Path]:
    """Return the files that hold bytes: an upload that was recorded leaves an empty one."""
    files = (one for one in (tmp_path / "objects").rglob("*") if one.is_file())
    return [one for one in files if one.stat().st_size]


async def signed(caller: Caller, run: str, content: bytes, **sent: Any) -> dict[str, Any]:
    found: dict[str, Any] = await caller.post(
        f"/v1/runs/{run}/media/uploads",
        {
            "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "format": "png",
            **sent,
        },
        status=201,
    )
    return found


async def upload(caller: Caller, permit: dict[str, Any], content: bytes) -> int:
    # Without a token: the form is what permits it.
    answer = await caller.client.post(
        "/v1/uploads", data=permit["fields"], files={"file": ("a.png", content, "image/png")}
    )
    return answer.status_code
