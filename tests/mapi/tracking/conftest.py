"""A store of objects of a test's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mapi.objects.opening import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore


@pytest.fixture
def objects(tmp_path: Path) -> tuple[ObjectStore, UploadPermits]:
    return open_store(None, home=tmp_path, upload_url="", secret=os.urandom(32))


@pytest.fixture
def store(objects: tuple[ObjectStore, UploadPermits]) -> ObjectStore:
    return objects[0]
