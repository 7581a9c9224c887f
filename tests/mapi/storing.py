"""An object store for applications of tests, in a folder that goes with the process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mapi.objects.opening import open_store

if TYPE_CHECKING:
    from mapi.objects.permits import UploadPermits
    from mapi.objects.store import ObjectStore

__all__ = ["temporary_objects"]


def temporary_objects(
    server_url: str = "http://127.0.0.1",
) -> tuple[ObjectStore, UploadPermits]:
    """Return a new store whose uploads go to a server, and what reads permits to it."""
    # Below the folder that pytest clears up, should the process be killed.
    folder = Path(tempfile.mkdtemp(prefix="mapi-test-objects-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return open_store(
        None, home=folder, upload_url=f"{server_url}/v1/uploads", secret=os.urandom(32)
    )
