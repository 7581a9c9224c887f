"""The platform on services of others: PostgreSQL 15 and a bucket, directly and behind a pooler."""

from __future__ import annotations

import hashlib
import struct
import threading
import urllib.error
import urllib.request
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.acceptance.platform_servers import Server, point_at, run_mapi
from tests.services.pooler import Pooler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.services.gateway import Gateway
    from tests.services.postgres import ManagedDatabase, ManagedPostgres

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]


@dataclass
class Installation:
    """A server, and what its operator knows."""

    home: Path
    database: ManagedDatabase
    settings: dict[str, str]
    token: str
    server: Server

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return self.server.ask(method, path, body, token=self.token)

    def run(self, *words: str, **variables: str) -> str:
        done = run_mapi(self.home, *words, **{**self.settings, **variables})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def as_superuser(self) -> dict[str, str]:
        """What a backup needs: it reads every tenant."""
        return {
            "MAPI_DATABASE_ADMIN_URL": self.database.superuser_url,
            "MAPI_PG_BIN": str(self.database.bin),
        }


@pytest.fixture(scope="module", params=["direct", "pooled"])
def installation(
    request: pytest.FixtureRequest,
    managed_postgres: ManagedPostgres,
    gateway: Gateway,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    database = managed_postgres.new_database()
    settings = {**database.settings, **gateway.new_bucket()}
    home = tmp_path_factory.mktemp("managed") / "home"
    # By the operator, who is no superuser, and before there is a role that a pooler could connect as.
    done = run_mapi(home, "migrate", **settings)
    assert done.returncode == 0, done.stderr
    pooler = None
    if request.param == "pooled":
        pooler = Pooler(tmp_path_factory.mktemp("pooler"), database, size=2)
        pooler.start()
        settings |= pooler.settings
    server = None
    try:
        assert run_mapi(home, "admin", "tenant", "create", "team", **settings).returncode == 0
        token = run_mapi(
            home, "admin", "token", "create", "t", "--tenant", "team", "--scope", "admin",
            **settings,
        ).stdout.strip()  # fmt: skip
        # A server that needs no power is given none.
        its_own = {name: text for name, text in settings.items() if "ADMIN" not in name}
        server = Server(home, **its_own)
        yield Installation(home, database, settings, token, server)
        assert server.end() == 0
        assert "Traceback" not in server.log
    finally:
        if server is not None and server.process.poll() is None:
            server.end(9)
        if pooler is not None:
            pooler.stop()


def png(*, grey: int) -> bytes:
    def chunk(name: bytes, content: bytes = b"") -> bytes:
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 1, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(bytes([0, grey, grey, grey, grey])))
        + chunk(b"IEND")
    )


def new_run(installation: Installation, **body: Any) -> str:
    status, run = installation.ask("POST", "/v1/runs", body)
    assert status == 201, run
    return str(run["id"])


def upload(installation: Installation, run: str, content: bytes) -> dict[str, Any]:
    """Send bytes by a signed upload; return what was signed."""
    digest = hashlib.sha256(content).hexdigest()
    terms = {"size_bytes": len(content), "sha256": digest, "format": "png"}
    status, signed = installation.ask("POST", f"/v1/runs/{run}/media/uploads", terms)
    assert status == 201, signed
    assert signed["method"] == "PUT"
    assert put(signed, content) == 200
    record = {"upload_key": signed["key"], "sha256": digest, "key": "sample", "step": 1}
    status, facts = installation.ask("POST", f"/v1/runs/{run}/media", record)
    assert status == 201, facts
    return {**signed, **facts}


def put(signed: dict[str, Any], content: bytes, *, without: str | None = None) -> int:
    headers = {name: text for name, text in signed["headers"].items() if name != without}
    request = urllib.request.Request(signed["url"], data=content, headers=headers, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


def content_of(installation: Installation, run: str, media: str) -> bytes:
    """Return the bytes of an item, which the bucket gives by a signed address and to no token."""
    request = urllib.request.Request(
        f"{installation.server.url}/v1/runs/{run}/media/{media}/content",
        headers={"Authorization": f"Bearer {installation.token}"},
    )
    with pytest.raises(urllib.error.HTTPError) as told:
        urllib.request.build_opener(_Stay).open(request, timeout=30)
    with told.value:
        assert told.value.code == 302
        address = told.value.headers["Location"]
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.headers["Content-Disposition"].startswith("attachment;")
        found: bytes = answer.read()
    return found


def test_eight_writers_at_once_lose_no_point_and_write_none_twice(
    installation: Installation,
) -> None:
    run = new_run(installation, params={"lr": "0.1"})
    path = f"/v1/runs/{run}/metrics"
    statuses: list[int] = []

    def write(number: int) -> None:
        for step in range(number, 200, 8):
            # Each twice: what is sent again is counted, not kept.
            statuses.extend(installation.ask("POST", path, point_at(step))[0] for _ in range(2))

    writers = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert set(statuses) == {200}
    _, curve = installation.ask("GET", path + "/points?key=loss")
    assert [(step, value) for step, _, value, *_ in curve["points"]] == [
        (step, float(step)) for step in range(200)
    ]


def test_a_large_batch_and_every_kind_of_note_are_kept(installation: Installation) -> None:
    run = new_run(installation)
    points = [
        {"key": f"m{step % 5}", "step": step // 5, "value": step / 7} for step in range(5_000)
    ]
    status, counts = installation.ask("POST", f"/v1/runs/{run}/metrics", {"points": points})
    assert (status, counts["accepted"]) == (200, 5_000), counts
    assert installation.ask("POST", f"/v1/runs/{run}/params", {"params": {"a": "1"}})[0] == 200
    assert installation.ask("PUT", f"/v1/runs/{run}/tags", {"tags": {"b": "2"}})[0] == 200
    lines = {"lines": [{"message": "hello", "level": "info"}]}
    assert installation.ask("POST", f"/v1/runs/{run}/logs", lines)[0] == 200
    _, curve = installation.ask("GET", f"/v1/runs/{run}/metrics/points?key=m3")
    assert len(curve["points"]) == 1_000
    assert installation.ask("PATCH", f"/v1/runs/{run}", {"status": "succeeded"})[0] == 200


def test_runs_are_found_by_what_they_logged(installation: Installation) -> None:
    better, worse = new_run(installation), new_run(installation)
    for run, value in ((better, 0.5), (worse, 0.9)):
        point = {"points": [{"key": "err", "step": 0, "value": value}]}
        assert installation.ask("POST", f"/v1/runs/{run}/metrics", point)[0] == 200
    status, page = installation.ask("GET", "/v1/runs?filter=metrics.err%20%3C%200.7")
    assert status == 200, page
    assert [run["id"] for run in page["runs"]] == [better]


def test_an_upload_is_created_once_and_only_as_it_was_signed(installation: Installation) -> None:
    run = new_run(installation)
    content = png(grey=1)
    digest = hashlib.sha256(content).hexdigest()
    terms = {"size_bytes": len(content), "sha256": digest, "format": "png"}
    _, signed = installation.ask("POST", f"/v1/runs/{run}/media/uploads", terms)
    assert put(signed, content, without="If-None-Match") == 403
    assert put(signed, content) == 200
    assert put(signed, content) == 412
    record = {"upload_key": signed["key"], "sha256": digest, "key": "sample", "step": 1}
    status, facts = installation.ask("POST", f"/v1/runs/{run}/media", record)
    assert status == 201
    assert content_of(installation, run, facts["id"]) == content
    # Once recorded the upload is gone.
    assert installation.ask("POST", f"/v1/runs/{run}/media", record)[0] == 422


def test_doctor_finds_nothing_wrong_and_leaves_nothing_in_the_bucket(
    installation: Installation,
) -> None:
    said = installation.run("doctor")
    assert "PostgreSQL 15, migrated" in said
    assert "failed" not in said


def test_what_was_backed_up_serves_from_another_database_and_bucket(
    installation: Installation,
    managed_postgres: ManagedPostgres,
    gateway: Gateway,
    tmp_path: Path,
) -> None:
    run = new_run(installation)
    assert installation.ask("POST", f"/v1/runs/{run}/metrics", point_at(3))[0] == 200
    media = upload(installation, run, png(grey=2))
    backup = tmp_path / "backup.tar"
    installation.run("backup", str(backup), **installation.as_superuser)
    elsewhere = managed_postgres.new_database()
    settings = {**elsewhere.settings, **gateway.new_bucket()}
    other = Installation(
        tmp_path / "home", elsewhere, settings, installation.token, installation.server
    )
    other.run("restore", str(backup), **other.as_superuser)
    other.server = Server(other.home, **settings)
    try:
        _, curve = other.ask("GET", f"/v1/runs/{run}/metrics/points?key=loss")
        assert [point[0] for point in curve["points"]] == [3]
        assert content_of(other, run, media["id"]) == png(grey=2)
    finally:
        assert other.server.end() == 0


@pytest.mark.parametrize("installation", ["direct"], indirect=True)
def test_the_programs_that_came_along_back_up_an_older_server_and_bring_it_back(
    installation: Installation, managed_postgres: ManagedPostgres, gateway: Gateway, tmp_path: Path
) -> None:
    run = new_run(installation)
    assert installation.ask("POST", f"/v1/runs/{run}/metrics", point_at(3))[0] == 200
    backup = tmp_path / "backup.tar"
    said = installation.run(
        "backup", str(backup), MAPI_DATABASE_ADMIN_URL=installation.database.superuser_url
    )
    assert " 1 tenant, " in said
    elsewhere = managed_postgres.new_database()
    settings = {**elsewhere.settings, **gateway.new_bucket()}
    settings["MAPI_DATABASE_ADMIN_URL"] = elsewhere.superuser_url
    done = run_mapi(tmp_path / "home", "restore", str(backup), **settings)
    assert done.returncode == 0, done.stderr
    with (
        psycopg.connect(installation.database.superuser_url) as before,
        psycopg.connect(elsewhere.superuser_url) as after,
    ):
        statement = "select id, created from mapi.runs order by id"
        found = after.execute(statement).fetchall()
        assert found == before.execute(statement).fetchall()
    assert found


def test_a_laptops_backup_goes_into_the_database_of_a_team(
    managed_postgres: ManagedPostgres, tmp_path: Path
) -> None:
    home = tmp_path / "laptop"
    server = Server(home)
    try:
        token = server.token
        status, run = server.ask("POST", "/v1/runs", {}, token=token)
        assert status == 201, run
    finally:
        assert server.end() == 0
    backup = tmp_path / "backup.tar"
    done = run_mapi(home, "backup", str(backup))
    assert done.returncode == 0, done.stderr
    database = managed_postgres.new_database()
    settings = {**database.settings, "MAPI_DATABASE_ADMIN_URL": database.superuser_url}
    done = run_mapi(tmp_path / "team", "restore", str(backup), **settings)
    assert done.returncode == 0, done.stderr
    made = run_mapi(tmp_path / "team", "admin", "token", "create", "me", **database.settings)
    other = Server(tmp_path / "team", **database.settings)
    try:
        own = made.stdout.strip()
        assert other.ask("GET", f"/v1/runs/{run['id']}", token=own)[0] == 200
        # The laptop's own, which lies in a file there, opens nothing here.
        assert other.ask("GET", f"/v1/runs/{run['id']}", token=token)[0] == 401
    finally:
        assert other.end() == 0


@pytest.mark.parametrize("installation", ["direct"], indirect=True)
def test_a_backup_without_the_right_to_see_every_tenant_says_what_to_give(
    installation: Installation, tmp_path: Path
) -> None:
    done = run_mapi(
        installation.home, "backup", str(tmp_path / "backup.tar"), **installation.settings
    )
    assert done.returncode == 1
    assert "BYPASSRLS" in done.stderr
    # pg_dump would have the table's owner exempted, for good.
    assert "HINT" not in done.stderr
    assert "NO FORCE" not in done.stderr
    assert not (tmp_path / "backup.tar").exists()


def test_a_superuser_does_not_get_to_serve(installation: Installation) -> None:
    settings = {**installation.settings, "MAPI_DATABASE_URL": installation.database.superuser_url}
    for name in ("MAPI_DATABASE_DIRECT_URL", "MAPI_DATABASE_ADMIN_URL"):
        settings.pop(name, None)
    done = run_mapi(installation.home, "serve", "--port", "0", "--no-browser", **settings)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: The role 'postgres'")


@pytest.mark.parametrize("installation", ["pooled"], indirect=True)
def test_behind_a_pooler_that_is_not_named_the_start_says_what_to_set(
    installation: Installation,
) -> None:
    assert "MAPI_DATABASE_DIRECT_URL" in installation.settings
    settings = {
        name: text
        for name, text in installation.settings.items()
        if name not in {"MAPI_DATABASE_DIRECT_URL", "MAPI_DATABASE_ADMIN_URL"}
    }
    done = run_mapi(installation.home, "serve", "--port", "0", "--no-browser", **settings)
    assert done.returncode == 1
    assert "MAPI_DATABASE_DIRECT_URL" in done.stderr


def test_no_session_of_the_database_keeps_a_lock(installation: Installation) -> None:
    with psycopg.connect(installation.database.superuser_url) as connection:
        found = connection.execute(
            "select count(*) from pg_locks where locktype = 'advisory'"
        ).fetchone()
    assert found == (0,)


@pytest.mark.parametrize(
    "words", [("doctor",), ("serve", "--port", "0"), ("admin", "tenant", "list")]
)
def test_on_a_database_that_nobody_migrated_it_is_said_what_to_run(
    managed_postgres: ManagedPostgres, tmp_path: Path, words: tuple[str, ...]
) -> None:
    database = managed_postgres.new_database()
    settings = {"MAPI_DATABASE_URL": database.url}
    done = run_mapi(tmp_path / "home", *words, **settings)
    assert done.returncode == 1
    assert "`mapi migrate`" in done.stdout + done.stderr
    # The role is there, the schema is not.
    with psycopg.connect(database.operator_url, autocommit=True) as connection:
        connection.execute(
            f"create role \"{database.login}\" login password '{database.password}'".encode()
        )
    done = run_mapi(tmp_path / "home", *words, **settings)
    assert done.returncode == 1
    assert "`mapi migrate`" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_may_migrate_does_not(
    managed_postgres: ManagedPostgres, tmp_path: Path
) -> None:
    database = managed_postgres.new_database()
    done = run_mapi(tmp_path / "home", "migrate", **database.settings)
    assert done.returncode == 0, done.stderr
    forget = "delete from mapi.migrations where name = (select max(name) from mapi.migrations)"
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(forget.encode())
    done = run_mapi(tmp_path / "home", "serve", "--port", "0", **database.settings)
    assert done.returncode == 1
    assert "run `mapi migrate`" in done.stderr


@pytest.mark.parametrize("is_new", [True, False])
def test_settings_that_lead_to_two_databases_are_refused_before_either_is_changed(
    managed_postgres: ManagedPostgres, tmp_path: Path, *, is_new: bool
) -> None:
    one, two = managed_postgres.new_database(), managed_postgres.new_database()
    if not is_new:
        for database in (one, two):
            done = run_mapi(tmp_path / "home", "migrate", **database.settings)
            assert done.returncode == 0, done.stderr
    settings = {"MAPI_DATABASE_URL": one.url, "MAPI_DATABASE_ADMIN_URL": two.operator_url}
    commands: list[tuple[str, ...]] = [("migrate",)]
    if not is_new:
        commands += [("serve", "--port", "0"), ("doctor",), ("admin", "tenant", "list")]
    for words in commands:
        done = run_mapi(tmp_path / "home", *words, **settings)
        said = done.stdout + done.stderr
        assert done.returncode == 1, said
        assert "MAPI_DATABASE_URL and MAPI_DATABASE_ADMIN_URL name different databases" in said
        assert one.name in said
        assert two.name in said
        assert one.password not in said
    if is_new:
        with psycopg.connect(two.superuser_url) as connection:
            found = connection.execute("select to_regnamespace('mapi')").fetchone()
        assert found == (None,)


@pytest.mark.parametrize("words", [("doctor",), ("serve", "--port", "0"), ("migrate",)])
def test_a_role_that_is_ours_is_no_login(
    managed_postgres: ManagedPostgres, tmp_path: Path, words: tuple[str, ...]
) -> None:
    database = managed_postgres.new_database()
    database.login = "mapi_app"
    done = run_mapi(tmp_path / "home", *words, **database.settings)
    assert done.returncode == 1
    assert "one of our own" in done.stdout + done.stderr


def test_what_is_no_name_makes_no_tenant_and_no_member(installation: Installation) -> None:
    for words in (
        ("admin", "tenant", "create", "a\nb"),
        ("admin", "tenant", "create", ""),
        ("admin", "member", "set", "a\nb", "viewer", "--tenant", "team"),
        ("admin", "token", "create", " ", "--tenant", "team"),
    ):
        done = run_mapi(installation.home, *words, **installation.settings)
        assert done.returncode == 1, done.stdout
        assert done.stderr.startswith("Error: ")
        assert " name of a " in done.stderr


def test_a_migration_sets_the_password_of_a_role_that_was_there_only_if_it_is_asked_to(
    managed_postgres: ManagedPostgres, tmp_path: Path
) -> None:
    database = managed_postgres.new_database()
    assert run_mapi(tmp_path / "home", "migrate", **database.settings).returncode == 0
    before, database.password = database.url, "mistyped"
    done = run_mapi(tmp_path / "home", "migrate", **database.settings)
    assert done.returncode == 1
    assert "--set-password" in done.stderr
    assert "mistyped" not in done.stderr
    psycopg.connect(before).close()
    done = run_mapi(tmp_path / "home", "migrate", "--set-password", **database.settings)
    assert done.returncode == 0, done.stderr
    psycopg.connect(database.url).close()
