"""`mapi doctor` names what the operator knows, and the fix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.cli import main
from mapi.config import settings_from, sound_settings, unread_variables
from mapi.database.migrate import migrate
from mapi.serve.doctor import Finding, Verdict, examine

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.gateway import Gateway
    from tests.services.postgres import ManagedDatabase

pytestmark = pytest.mark.anyio

NOBODY = "postgresql://mapi:x@127.0.0.1:1/mapi"


async def findings(home: Path, **variables: str) -> dict[str, Finding]:
    settings = settings_from({"MAPI_HOME": str(home), **variables})
    return {one.subject: one async for one in examine(settings)}


async def test_a_home_that_cannot_be_written_is_named_and_no_temporary_file(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    found = (await findings(home))["home"]
    assert found.verdict is Verdict.FAILED
    assert found.text.startswith(f"The home {home} cannot be written (")
    assert "--home" in found.text


async def test_objects_in_the_home_of_one_server_are_warned_of_where_others_may_serve(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    apart = (await findings(home, MAPI_DATABASE_URL=NOBODY))["store"]
    assert apart.verdict is Verdict.WARNING
    assert "MAPI_BUNDLES_URL" in apart.text
    shared = f"file://{tmp_path}/shared"
    together = await findings(home, MAPI_DATABASE_URL=NOBODY, MAPI_BUNDLES_URL=shared)
    assert together["store"].verdict is Verdict.OK
    alone = await findings(home)
    assert alone["store"].verdict is Verdict.OK


async def test_a_variable_that_nothing_reads_is_warned_of_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in unread_variables():
        monkeypatch.delenv(name)
    assert (await findings(home))["settings"].verdict is Verdict.OK
    monkeypatch.setenv("MAPI_TRASHDAYS", "3")
    found = (await findings(home))["settings"]
    assert found.verdict is Verdict.WARNING
    assert found.text == "MAPI_TRASHDAYS: read by nothing; is MAPI_TRASH_DAYS meant?"


def test_each_wrong_setting_is_told_and_the_others_hold() -> None:
    settings, faults = sound_settings(
        {
            "MAPI_TRASH_DAYS": "abc",
            "MAPI_LOG": "loud",
            "MAPI_OIDC_ISSUER": "https://provider.example",
            "MAPI_RATE_LIMIT": "7",
        }
    )
    assert [str(one).partition("=")[0] for one in faults[1:]] == ["MAPI_LOG", "MAPI_TRASH_DAYS"]
    assert "MAPI_OIDC_CLIENT_ID and MAPI_OIDC_CLIENT_SECRET" in str(faults[0])
    assert (settings.rate_limit, settings.trash_days, settings.oidc) == (7, 30, None)


def test_a_wrong_setting_is_a_failed_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAPI_TRASH_DAYS", "abc")
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--home", str(tmp_path / "home")])
    assert ended.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == "failed  settings  MAPI_TRASH_DAYS='abc': expected a whole number from 0 up."
    )
    # What does not go by it is looked at all the same.
    assert [line.split()[1] for line in lines] == ["settings", "home", "database", "store"]
    assert str(tmp_path / "home") in lines[1]


async def test_a_database_that_does_not_keep_tenants_or_installations_apart_is_told(
    tmp_path: Path, managed_database: ManagedDatabase
) -> None:
    base = managed_database
    migrate(base.operator_url, login=base.login, password=base.password)

    async def look(statement: str) -> Finding:
        with psycopg.connect(base.superuser_url, autocommit=True) as connection:
            connection.execute(statement.encode())
        return (await findings(tmp_path / "home", MAPI_DATABASE_URL=base.url))["database"]

    assert (await look("select")).verdict is Verdict.OK
    other = f"other_{base.name}"
    let_in = await look(
        f'create role "{other}" login in role mapi_app;'
        f' grant connect on database "{base.name}" to "{other}"'
    )
    assert (let_in.verdict, other in let_in.text) == (Verdict.WARNING, True)
    opened = await look("alter table mapi.tokens no force row level security")
    assert opened.verdict is Verdict.FAILED
    assert "in tokens: " in opened.text
    powerful = await look(f'alter role "{base.login}" createrole')
    assert powerful.verdict is Verdict.FAILED
    assert "may make roles" in powerful.text


async def test_a_bucket_that_does_not_work_is_named_with_the_cause_and_the_fix(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gateway.new_bucket()

    async def look(**changed: str) -> Finding:
        variables = {**whole, **changed}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        url = variables["MAPI_BUNDLES_URL"]
        return (await findings(tmp_path / "home", MAPI_BUNDLES_URL=url))["store"]

    assert (await look()).verdict is Verdict.OK
    url = whole["MAPI_BUNDLES_URL"]
    for changed, words in (
        ({"MAPI_BUNDLES_URL": "s3://nobody-has-this"}, "s3://nobody-has-this at .*no such bucket"),
        ({"AWS_ACCESS_KEY_ID": "unknown"}, f"{url} at .*AWS_ACCESS_KEY_ID"),
        ({"AWS_SECRET_ACCESS_KEY": "another"}, f"{url} at .*AWS_SECRET_ACCESS_KEY"),
        (
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
            f"{url} at http://127.0.0.1:1: nobody listens",
        ),
    ):
        found = await look(**changed)
        assert found.verdict is Verdict.FAILED
        assert re.match(words, found.text), found.text
