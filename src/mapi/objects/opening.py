"""Which object store a server works with, from its settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from mapi.errors import SettingError
from mapi.objects.local import LocalStore
from mapi.objects.permits import UploadPermits

if TYPE_CHECKING:
    from mapi.objects.store import ObjectStore

__all__ = ["open_store"]

_FOLDER: Final = "objects"


def open_store(
    url: str | None, *, home: Path, upload_url: str, secret: bytes
) -> tuple[ObjectStore, UploadPermits]:
    """Return the store, and what reads the permits of uploads to it.

    Args:
        url: ``s3://``, ``gs://``, ``az://`` or ``file://``; ``None`` is a folder of the home.
        home: the server's own directory.
        upload_url: where the server takes uploads by permit.
        secret: signs the permits; the same in all replicas.

    Raises:
        SettingError: the URL names no store, or a directory that cannot be written.
    """
    permits = UploadPermits(secret, url=upload_url, clock=time.time)
    if url is None:
        return _local(home / _FOLDER, permits), permits
    if url.startswith("file:"):
        return _local(_directory(url), permits), permits
    # Half a second and 30 MB that only a server with a bucket needs.
    from mapi.objects.cloud import cloud_store  # noqa: PLC0415

    return cloud_store(url, permits=permits), permits


def _local(directory: Path, permits: UploadPermits) -> LocalStore:
    try:
        return LocalStore(directory, permits=permits)
    except OSError as error:
        raise SettingError(
            f"The directory of objects {directory} cannot be written ({error.strerror}). Give it "
            "to the user that runs this, or name another place with MAPI_BUNDLES_URL, --home or "
            "MAPI_HOME."
        ) from error


def _directory(url: str) -> Path:
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc not in {"", "localhost"} or not path.startswith("/") or "\x00" in path:
        raise SettingError(f"{url!r} names no directory; expected file:///absolute/path.")
    return Path(path)
