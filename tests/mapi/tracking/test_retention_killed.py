"""What retention was killed at, wherever that was, the next pass completes."""

from __future__ import annotations

import contextlib
import itertools
import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.mapi.callers import make_caller
from tests.mapi.cutting import CutDatabase, CutStore, Fuse, KilledError
from tests.mapi.tenants import make_tenant
from tests.mapi.tracking.test_retention import STRICT, found_by, kept, make_old, rows_of

from mapi.api.app import build_app
from mapi.objects.opening import open_store
from mapi.tracking.changes import Changes
from mapi.tracking.leftovers import collect_leftovers
from mapi.tracking.retention import apply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


async def test_a_deletion_that_was_killed_anywhere_ends_as_one_that_was_not(
    tenant: Tenant,
    database: Database,
    database_url: str,
    tmp_path: Path,
) -> None:
    objects = open_store(None, home=tmp_path, upload_url="", secret=os.urandom(32))
    changes = Changes(database, None)
    changes.end_streams()
    app = build_app(database, version="0", changes=changes, objects=objects)

    async def tidied(fuse: Fuse | None) -> dict[str, object]:
        """Return what is left of an old run and one in the trash, and what was entered of both."""
        place = make_tenant(tenant.server)
        caller = make_caller(app, place)
        names = {await make_old(caller, place): "old", await make_old(caller, place): "trashed"}
        trashed = list(names)[-1]
        await caller.send("DELETE", f"/v1/runs/{trashed}", status=204)
        if fuse is not None:
            door = CutDatabase(database_url, fuse)
            await door.open()
            with contextlib.suppress(KilledError):
                await apply(
                    door,
                    CutStore(tmp_path / "objects", fuse),
                    place.reach,
                    retention=STRICT,
                )
            await door.close()
        await apply(database, objects[0], place.reach, retention=STRICT)
        await collect_leftovers(database, objects[0], age=timedelta(seconds=-1))
        entries = (await caller.get("/v1/audit"))["entries"]
        return {
            "usage": (await caller.get("/v1/usage"))["projects"],
            "rows": {name: rows_of(place, run) for run, name in names.items()},
            "found": [len(page) for page in await found_by(caller)],
            "audit": sorted((one["action"], names.get(one["object"])) for one in entries),
            "objects": kept(tmp_path),
        }

    whole = await tidied(None)
    assert whole["objects"] == 0
    for cuts in itertools.count():
        fuse = Fuse(cuts)
        assert await tidied(fuse) == whole, cuts
        if not fuse.is_burnt:
            break
    # The trash, the points and the media, of which two have an object.
    assert cuts > 15
