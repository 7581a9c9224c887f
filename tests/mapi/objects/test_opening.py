from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mapi.errors import SettingError
from mapi.objects.local import LocalStore
from mapi.objects.opening import open_store
from mapi.objects.store import UploadTerms

if TYPE_CHECKING:
    from pathlib import Path


def test_the_store_is_in_the_home_unless_a_setting_says_where(tmp_path: Path) -> None:
    for url, place in ((None, "home/objects"), (f"file://{tmp_path}/with%20blank", "with blank")):
        store, _ = open_store(url, home=tmp_path / "home", upload_url="", secret=bytes(32))
        assert isinstance(store, LocalStore)
        asyncio.run(store.put("a", b"x"))
        assert (tmp_path / place / "a").read_bytes() == b"x"


@pytest.mark.parametrize(
    "url",
    [
        "file://host/a",
        "file:a",
        "file:///a%00",
        "ftp://x/y",
        "s3://",
        "s3:///x",
        "gs://",
        "bucket",
        "",
    ],
)
def test_what_names_no_store_is_refused_with_what_would(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"expected .*file:"):
        open_store(url, home=tmp_path, upload_url="", secret=bytes(32))


def test_a_local_store_loads_nothing_of_the_cloud() -> None:
    code = "import sys, mapi.objects.opening; print([m for m in sys.modules if m in {'boto3', 'obstore'}])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("url", ["gs://bucket/prefix", "az://container/prefix", "s3://bucket"])
def test_a_bucket_is_named_by_its_url(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = pytest.importorskip("mapi.objects.cloud")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    store, _ = open_store(url, home=tmp_path, upload_url="", secret=bytes(32))
    assert isinstance(store, cloud.CloudStore)


@pytest.mark.parametrize(
    ("endpoint", "beginning"),
    [
        ("http://minio.internal:9000", "http://minio.internal:9000/bucket/a/key?"),
        (None, "https://bucket.s3.amazonaws.com/a/key?"),
    ],
)
def test_a_bucket_of_another_server_than_amazons_is_a_part_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str | None, beginning: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    if endpoint is not None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    store, _ = open_store("s3://bucket/a", home=tmp_path, upload_url="", secret=bytes(32))
    terms = UploadTerms("key", 1, bytes(32), "image/png")
    signed = asyncio.run(store.sign_upload(terms, lifetime_seconds=60))
    assert signed.url.startswith(beginning)
