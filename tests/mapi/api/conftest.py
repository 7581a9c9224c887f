"""The application over the tests' database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mapi.api.app import build_app
from mapi.api.entrance import Entrance

if TYPE_CHECKING:
    from litestar import Litestar

    from mapi.database.door import Database


@pytest.fixture
async def app(database: Database) -> Litestar:
    return build_app(database, version="0", entrance=Entrance(checks_host=True))
