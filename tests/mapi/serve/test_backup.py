"""A backup holds everything, and is restored whole into an empty place or not at all."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import math
import os
import signal
import subprocess
import sys
import tarfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import psycopg
import pytest

from mapi.cli import main
from mapi.config import Settings, settings_from
from mapi.database.migrate import make_roles, require_migrated
from mapi.errors import DatabaseError, InvalidError, MapiError, SettingError
from mapi.objects.opening import open_store
from mapi.serve.administration import administration
from mapi.serve.backup import write_backup
from mapi.serve.clients import load_dump
from mapi.serve.doctor import Verdict, examine
from mapi.serve.platform import lay_foundation, migrate_all
from mapi.serve.restoring import restore_backup
from mapi.wire.enums import Budget

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.postgres import ManagedDatabase

    from mapi.database.embedded.server import EmbeddedServer

_KEY = "media/1/object"
#: The store has lost it.
_LOST_KEY = "media/1/lost"
#: No row names these.
_OTHER_KEYS = ["media/1/later", "uploads/1/a", "doctor/b"]


def settings_in(home: Path) -> Settings:
    return settings_from({"MAPI_HOME": str(home)})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a tenant, a run with a point, and an object."""
    found = tmp_path_factory.mktemp("home") / "mapi"
    settings = settings_in(found)
    with ExitStack() as undo:
        foundation = lay_foundation(settings, undo)
        assert foundation.admin_url is not None
        with psycopg.connect(foundation.admin_url) as connection:
            connection.execute(
                "insert into mapi.runs (tenant_id, id, project_id, kind, status)"
                " select tenant_id, gen_random_uuid(), id, 'external', 'running'"
                " from mapi.projects;"
                "insert into mapi.run_series"
                " (tenant_id, run_id, attempt, key, labels, labels_hash, source)"
                " select tenant_id, id, 1, 'loss', '{}', 0, 'api' from mapi.runs;"
                "insert into mapi.run_metric_points"
                " select tenant_id, id, 0, now(), 'NaN' from mapi.run_series;"
                "insert into mapi.run_metric_chunks"
                " select tenant_id, id, 1, 2, 2, '{1,2}', array[now(), now()], '{Infinity,2.5}'"
                " from mapi.run_series"
            )
            for key in (_KEY, _LOST_KEY):
                connection.execute(
                    "insert into mapi.run_media (tenant_id, id, run_id, key, labels, labels_hash,"
                    " step, format, size_bytes, sha256, object_key, source)"
                    " select tenant_id, gen_random_uuid(), id, %s, '{}', 0, 0, 'png', 7, '', %s,"
                    " 'api' from mapi.runs",
                    [key, key],
                )
            connection.execute("insert into mapi.tenants (name) values ('the team')")
    asyncio.run(_put(settings))
    return found


async def _put(settings: Settings) -> None:
    store, _ = open_store(None, home=settings.home, upload_url="", secret=b"s" * 32)
    for key in (_KEY, *_OTHER_KEYS):
        await store.put(key, b"picture")


async def _read(settings: Settings) -> bytes:
    store, _ = open_store(None, home=settings.home, upload_url="", secret=b"s" * 32)
    return await store.read(_KEY)


@pytest.fixture(scope="module")
def backup(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backup") / "mapi.tar"
    write_backup(settings_in(home), path, version="1.2.3")
    return path


def test_what_is_restored_serves_as_before(
    backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    settings = settings_in(tmp_path / "new")
    main(["restore", str(backup), "--home", str(settings.home)])
    said = capsys.readouterr().out
    assert said.startswith("Restored what version 1.2.3 wrote on ")
    # What this machine's programs see by themselves is not there alone.
    assert "Its tenants are: the team." in said
    assert "`mapi admin token create NAME --tenant 'the team'`" in said
    assert asyncio.run(_read(settings)) == b"picture"
    with ExitStack() as undo:
        foundation = lay_foundation(settings, undo)
        assert foundation.admin_url is not None
        with psycopg.connect(foundation.admin_url) as connection:
            found = connection.execute(
                "select key, step, value from mapi.run_metrics order by step"
            ).fetchall()
            policies = connection.execute(
                "select count(*) from pg_policies where schemaname = 'mapi'"
            ).fetchone()
        with psycopg.connect(foundation.database_url) as connection:
            hidden = connection.execute("select count(*) from mapi.runs").fetchone()
    assert [(key, step) for key, step, _ in found] == [("loss", 0), ("loss", 1), ("loss", 2)]
    assert found[0][2] != found[0][2]
    assert [value for _, _, value in found[1:]] == [math.inf, 2.5]
    assert policies is not None
    assert policies[0] > 20
    assert hidden == (0,)

    async def look() -> tuple[list[str], list[dict[str, Any]]]:
        async with administration(settings) as office:
            limits = [
                await office.set_limits(
                    "local", project, {Budget.POINTS: limit, Budget.TAGS: limit}
                )
                for project, limit in ((None, 7), ("default", 5), ("default", None), (None, None))
            ]
            return [name for _, name in await office.tenants()], limits

    names, limits = asyncio.run(look())
    assert names == ["local", "the team"]
    # On one's own machine the default of points is none.
    assert [(one["points"], one["tags"]) for one in limits] == [
        (7, 7), (5, 5), (7, 7), ("unlimited", 100),
    ]  # fmt: skip


def test_a_backup_has_the_objects_that_its_rows_name_and_no_others(backup: Path) -> None:
    with tarfile.open(backup) as tar:
        names = [name for name in tar.getnames() if name.startswith("objects/")]
    assert names == [f"objects/{_KEY}"]


def test_of_two_backups_at_once_the_second_is_told(home: Path, tmp_path: Path) -> None:
    settings = settings_in(home)
    with ExitStack() as undo:
        foundation = lay_foundation(settings, undo)
        assert foundation.admin_url is not None
        with psycopg.connect(foundation.admin_url, autocommit=True) as connection:
            connection.execute(
                "insert into mapi.turns values ('backup', gen_random_uuid(), now() + '1 h')"
            )
            with pytest.raises(DatabaseError, match="Another backup"):
                write_backup(settings, tmp_path / "second.tar", version="1")
            connection.execute("delete from mapi.turns")
    assert not list(tmp_path.glob("*.tar"))


def test_a_place_with_a_database_or_a_file_is_not_written_over(home: Path, backup: Path) -> None:
    with pytest.raises(DatabaseError, match="has a database"):
        restore_backup(settings_in(home), backup)
    with pytest.raises(SettingError, match="exists"):
        write_backup(settings_in(home), backup, version="1")


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.999])
def test_a_torn_backup_restores_nothing(backup: Path, tmp_path: Path, part: float) -> None:
    torn = tmp_path / "torn.tar"
    content = backup.read_bytes().rstrip(b"\0")
    torn.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DatabaseError):
        restore_backup(settings_in(tmp_path / "new"), torn)
    assert not (tmp_path / "new").exists()


def changed(backup: Path, path: Path, change: dict[str, bytes]) -> Path:
    """Write a backup with other contents or further members; their checksums are right."""
    import hashlib

    with tarfile.open(backup) as source, tarfile.open(path, "w") as target:
        contents = {}
        for entry in source:
            file = source.extractfile(entry)
            assert file is not None
            contents[entry.name] = file.read()
        last = contents.pop("checksums.json")
        contents |= change
        checksums = {
            name: hashlib.sha256(content).hexdigest()
            for name, content in contents.items()
            if name != "manifest.json"
        }
        if "checksums.json" not in change:
            contents["checksums.json"] = json.dumps(checksums).encode()
        else:
            contents["checksums.json"] = last
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
    return path


def manifest_with(backup: Path, **changes: object) -> dict[str, bytes]:
    with tarfile.open(backup) as source:
        file = source.extractfile("manifest.json")
        assert file is not None
        found = json.loads(file.read())
    return {"manifest.json": json.dumps({**found, **changes}).encode()}


def test_a_backup_of_a_newer_version_or_format_is_refused(backup: Path, tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [
        {"format": 2},
        {"migrations": {"0001_tenants": "0" * 64}},
        {"migrations": {"0999": ""}},
    ]
    for number, changes in enumerate(cases):
        path = changed(backup, tmp_path / f"{number}.tar", manifest_with(backup, **changes))
        with pytest.raises(DatabaseError, match=r"Restore it with"):
            restore_backup(settings_in(tmp_path / "new"), path)
    assert not (tmp_path / "new").exists()


def test_a_backup_from_before_the_first_release_says_what_to_do(
    backup: Path, tmp_path: Path
) -> None:
    old = manifest_with(backup, migrations={"0001_foundation": "0" * 64})
    path = changed(backup, tmp_path / "old.tar", old)
    with pytest.raises(DatabaseError, match=r"old\.tar has the schema from before.*export"):
        restore_backup(settings_in(tmp_path / "new"), path)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["objects/../../evil", "objects//etc/evil", "objects/.hidden"])
def test_no_object_of_a_backup_leads_out_of_the_store(
    backup: Path, tmp_path: Path, name: str
) -> None:
    path = changed(backup, tmp_path / "evil.tar", {name: b"evil"})
    with pytest.raises((InvalidError, MapiError)):
        restore_backup(settings_in(tmp_path / "new" / "home"), path)
    assert not list(tmp_path.rglob("*evil")), list(tmp_path.rglob("*evil"))


def test_a_link_in_a_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "link.tar"
    path.write_bytes(backup.read_bytes())
    with tarfile.open(path, "a") as tar:
        entry = tarfile.TarInfo("objects/link")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry)
    with pytest.raises(DatabaseError, match="no file"):
        restore_backup(settings_in(tmp_path / "new"), path)


def test_a_backup_says_how_much_it_holds(home: Path, tmp_path: Path) -> None:
    manifest = write_backup(settings_in(home), tmp_path / "counted.tar", version="1")
    assert (manifest.tenants, manifest.runs, manifest.objects) == (2, 1, 1)


def objects_below(home: Path) -> list[str]:
    folder = home / "objects"
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and ".partial" not in path.parts
    )


def test_a_restore_that_fails_takes_back_what_it_brought_and_can_be_tried_again(
    backup: Path, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path / "new")
    broken = changed(backup, tmp_path / "broken.tar", {"database.dump": b"PGDMP but torn"})
    with pytest.raises(DatabaseError, match="pg_restore failed"):
        restore_backup(settings, broken)
    assert objects_below(settings.home) == []
    restore_backup(settings, backup)
    assert objects_below(settings.home) == [_KEY]


def test_a_dump_that_ends_early_leaves_no_part_of_it(backup: Path, tmp_path: Path) -> None:
    with tarfile.open(backup) as tar:
        file = tar.extractfile("database.dump")
        assert file is not None
        dump = file.read()
    settings = settings_in(tmp_path / "new")
    for size in (len(dump) // 2, len(dump) - 200):
        torn = changed(backup, tmp_path / f"{size}.tar", {"database.dump": dump[:size]})
        with pytest.raises(DatabaseError, match="failed"):
            restore_backup(settings, torn)
        assert not (settings.home / "postgres" / "data").exists()


def test_an_object_that_is_there_already_is_no_obstacle_where_it_is_the_same(
    backup: Path, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path / "new")
    store, _ = open_store(None, home=settings.home, upload_url="", secret=b"s" * 32)
    asyncio.run(store.put(_KEY, b"another"))
    with pytest.raises(DatabaseError, match=f"another object {_KEY}.*empty store"):
        restore_backup(settings, backup)
    # What was there before is nobody's to take back.
    assert asyncio.run(_read(settings)) == b"another"
    asyncio.run(store.delete(_KEY))
    asyncio.run(store.put(_KEY, b"picture"))
    restore_backup(settings, backup)
    assert asyncio.run(_read(settings)) == b"picture"


#: Ends itself between any two steps of its own of which the first has made a path.
_KILLED_WHEN: Final = """
import os
import signal
import sys
from pathlib import Path

from mapi.cli import main

sign, own, looking = Path(sys.argv.pop(1)), os.getpid(), []

def look(event, arguments):
    if not looking and os.getpid() == own:
        looking.append(event)
        if any(sign.parent.glob(sign.name)):
            os.kill(own, signal.SIGKILL)
        looking.clear()

sys.addaudithook(look)
main()
"""


def killed_when(path: Path, home: Path, command: list[str], *, temporary: Path) -> None:
    """Run a command of ours, which is killed as soon as a path is there."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED_WHEN, str(path), *command, "--home", str(home)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, "it came to its end"
    with (home / "lock").open("rb") as lock:
        # A child that it was just making has the lock until it becomes another program.
        fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.mark.parametrize(
    "sign",
    ["restoring", "postgres/data", "postgres/data/postmaster.pid", "objects/media/1/object"],
)
def test_a_restore_that_was_killed_serves_nothing_and_is_begun_anew(
    backup: Path, tmp_path: Path, sign: str
) -> None:
    settings = settings_in(tmp_path / "new")
    aside = tmp_path / "aside"
    aside.mkdir()
    killed_when(settings.home / sign, settings.home, ["restore", str(backup)], temporary=aside)
    for refused in (migrate_all, lambda found: write_backup(found, tmp_path / "b", version="1")):
        with pytest.raises(DatabaseError, match="has not come to its end"):
            refused(settings)
    with ExitStack() as undo, pytest.raises(DatabaseError, match="`mapi restore FILE`"):
        lay_foundation(settings, undo)
    verdicts = asyncio.run(verdicts_of(settings))
    assert verdicts["database"] is Verdict.FAILED
    # Its own try is killed too, and takes nothing of what the next one needs.
    killed_when(
        settings.home / "postgres/data/postmaster.pid",
        settings.home,
        ["restore", str(backup)],
        temporary=aside,
    )
    done = subprocess.run(
        [sys.executable, "-m", "mapi", "restore", str(backup), "--home", str(settings.home)],
        env={**os.environ, "TMPDIR": str(aside)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "2 tenants, 1 run, 1 object" in done.stdout
    assert objects_below(settings.home) == [_KEY]
    assert list(aside.iterdir()) == []
    assert list(settings.home.glob(".mapi-*")) == []
    with ExitStack() as undo:
        foundation = lay_foundation(settings, undo)
        assert foundation.admin_url is not None
        with psycopg.connect(foundation.admin_url) as connection:
            found = connection.execute("select count(*) from mapi.runs").fetchone()
    assert found == (1,)
    assert asyncio.run(verdicts_of(settings))["database"] is Verdict.OK


async def verdicts_of(settings: Settings) -> dict[str, Verdict]:
    return {one.subject: one.verdict async for one in examine(settings)}


def test_what_a_killed_backup_leaves_is_removed_by_the_next_one(
    home: Path, tmp_path: Path
) -> None:
    killed_when(
        tmp_path / ".mapi-backup-*", home, ["backup", str(tmp_path / "a.tar")], temporary=tmp_path
    )
    assert not (tmp_path / "a.tar").exists()
    assert list(tmp_path.glob(".mapi-backup-*")) != []
    with ExitStack() as undo:
        foundation = lay_foundation(settings_in(home), undo)
        assert foundation.admin_url is not None
        with psycopg.connect(foundation.admin_url) as connection:
            # As half a minute would.
            connection.execute("delete from mapi.turns")
    write_backup(settings_in(home), tmp_path / "b.tar", version="1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar"]


def test_a_restore_into_a_database_of_others_that_was_killed_behind_its_load_is_completed_by_migrate(
    backup: Path, tmp_path: Path, server: EmbeddedServer
) -> None:
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        connection.execute("create database restored")
        connection.execute("revoke temporary on database restored from public")
    admin_url = server.superuser_url("restored")
    settings = settings_from(
        {
            "MAPI_HOME": str(tmp_path / "home"),
            "MAPI_DATABASE_URL": server.url("restorer", "a password", "restored"),
            "MAPI_DATABASE_ADMIN_URL": admin_url,
        }
    )
    with tarfile.open(backup) as tar:
        tar.extract("database.dump", tmp_path, filter="data")
    # What a restore does; the kill comes here.
    make_roles(admin_url, login="restorer", password="a password")
    load_dump(settings, url=admin_url, path=tmp_path / "database.dump")
    with pytest.raises(DatabaseError, match="`mapi migrate` completes it"):
        restore_backup(settings, backup)
    assert migrate_all(settings) == []
    assert settings.database_url is not None
    require_migrated(settings.database_url)
    with psycopg.connect(admin_url) as connection:
        found = connection.execute(
            "select count(*), has_database_privilege('restorer', 'restored', 'temporary')"
            " from mapi.runs"
        ).fetchone()
    assert found == (1, True)


def test_a_laptop_in_the_database_of_a_team_leaves_its_machine_behind(
    backup: Path,
    tmp_path: Path,
    managed_database: ManagedDatabase,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAPI_DATABASE_URL", managed_database.url)
    monkeypatch.setenv("MAPI_DATABASE_ADMIN_URL", managed_database.superuser_url)
    main(["restore", str(backup), "--home", str(tmp_path / "home")])
    said = capsys.readouterr().out
    assert "Its tenants are: local, the team.\n" in said
    assert "the token of that machine is ended" in said
    with psycopg.connect(managed_database.superuser_url) as connection:
        found = connection.execute("select name, revoked is null from mapi.tokens").fetchall()
        told = connection.execute("select action, principal from mapi.audit").fetchall()
    assert found == [("this machine", False)]
    assert ("token.revoke", "operator") in told
