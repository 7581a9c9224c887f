"""A served platform, and commands that ask it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_token
from tests.mapi.cli.test_cli import Outcome
from tests.mapi.serving import serving

from mapi.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from mapi import Client


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with serving(database_url) as found:
        yield found


@pytest.fixture
def mapi(url: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Any:
    """Run a command for an admin of the tenant."""
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))
    monkeypatch.setenv("COLUMNS", "400")

    def called(*words: str, code: int = 0) -> Outcome:
        found = 0
        try:
            main(words)
        except SystemExit as ended:
            found = int(ended.code or 0)
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        outcome = Outcome(found, out.decode(), err.decode())
        assert found == code, outcome.out + outcome.err
        return outcome

    return called


@pytest.fixture
def admin(mapi: Any, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command of `mapi admin` on the database of the tests."""
    monkeypatch.setenv("MAPI_DATABASE_URL", database_url)
    monkeypatch.setenv("MAPI_BUNDLES_URL", f"file://{tmp_path / 'objects'}")
    monkeypatch.setenv("MAPI_HOME", str(tmp_path / "home"))

    def called(*words: str, code: int = 0) -> Any:
        return mapi("admin", *words, code=code)

    return called


@pytest.fixture
def api(url: str, tenant: Tenant) -> Iterator[Client]:
    from mapi import Client

    with Client(url, token=make_token(tenant)) as found:
        yield found


@pytest.fixture
def run(mapi: Any) -> str:
    made: str = mapi("runs", "create", "--name", "first", "--param", "lr=0.1").out.strip()
    return made
