"""A start that cannot be says what stands in the way, and what helps."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psycopg
import pytest

from mapi.config import Settings, settings_from
from mapi.errors import DatabaseError, HomeInUseError, SettingError
from mapi.serve.command import serve
from mapi.serve.platform import lay_foundation, start_embedded

if TYPE_CHECKING:
    from pathlib import Path


def settings_in(home: Path, **variables: str) -> Settings:
    return settings_from({"MAPI_HOME": str(home), **variables})


def start(settings: Settings, *, host: str = "127.0.0.1", port: int = 0) -> None:
    serve(settings, host=host, port=port, version="1", say=lambda _: None)


def test_of_a_port_in_use_it_is_said_which_and_how_to_have_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingError, match=f"Port {port} .* in use.*--port 0"):
            start(settings_in(tmp_path / "home"), port=port)
    assert not (tmp_path / "home" / "postgres").exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_refused_with_one_that_works(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(SettingError, match=rf"{host} is no address of this machine.*127\.0\.0\.1"):
        start(settings_in(tmp_path / "home"), host=host)


def test_a_second_server_on_a_home_is_told_so_before_its_port_is_tried(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home")
    with ExitStack() as undo:
        start_embedded(settings, undo)
        other = undo.enter_context(socket.create_server(("127.0.0.1", 0)))
        with pytest.raises(HomeInUseError, match=f"in use by process {os.getpid()}"):
            start(settings, port=other.getsockname()[1])


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "lock").mkdir(parents=True)
    with pytest.raises(DatabaseError, match=f"The home {home} cannot be written.*--home"):
        start(settings_in(home))


def test_a_database_of_others_is_not_begun_with_a_bad_directory_of_objects(
    tmp_path: Path,
) -> None:
    from mapi.objects.opening import open_store

    home = tmp_path / "home"
    home.mkdir()
    (home / "objects").write_text("no folder")
    with pytest.raises(SettingError, match=f"{home}/objects cannot be written.*MAPI_BUNDLES_URL"):
        open_store(None, home=home, upload_url="", secret=b"s" * 32)


@pytest.mark.parametrize("has_row", [False, True])
def test_a_first_start_that_was_killed_over_its_token_leaves_one_that_works(
    tmp_path: Path, has_row: bool
) -> None:
    settings = settings_in(tmp_path / "home")

    def tokens(change: str = "select") -> tuple[str | None, list[tuple[str]]]:
        """Start; change the database; return this machine's token, and which ones it has."""
        with ExitStack() as undo:
            foundation = lay_foundation(settings, undo)
            assert foundation.admin_url is not None
            with psycopg.connect(foundation.admin_url) as connection:
                connection.execute(change.encode())
                found = connection.execute("select id from mapi.tokens").fetchall()
        return foundation.token, found

    token, _ = tokens("select" if has_row else "delete from mapi.tokens")
    # What is there between the two files' names.
    (settings.home / "token").rename(settings.home / "token.new")
    assert token is not None
    assert tokens() == (token, [(token.split("_")[1],)])
    assert not (settings.home / "token.new").exists()
    assert (settings.home / "token").stat().st_mode & 0o777 == 0o600
