"""Which server is meant: what is said first counts, and a token stays with its address."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mapi
from mapi.sdk.server import Server, announce_server, find_server, kept_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {
        "MAPI_HOME": str(tmp_path / "home"),
        "MAPI_PROFILE": str(tmp_path / "profile.json"),
    }


@contextlib.contextmanager
def local_server(variables: dict[str, str]) -> Iterator[None]:
    """Be a server of this machine, which says where it is for as long as it lives."""
    path = Path(variables["MAPI_HOME"], "local.json")
    held = announce_server(path, Server("http://127.0.0.1:8765", "local-token"))
    try:
        yield
    finally:
        os.close(held)


def write_profile(variables: dict[str, str], **members: Any) -> None:
    found = {"url": "https://mapi.example", "token": "profile-token", "project": "ads"}
    _write(variables["MAPI_PROFILE"], found | members)


def _write(path: str, document: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - a text from a variable
        json.dump(document, file)


def found(variables: dict[str, str], **said: str) -> tuple[str, str, str | None]:
    server = find_server(environment=variables, **said)
    return server.url, server.token, server.project


def test_the_server_of_this_machine_is_found_with_nothing_set(variables: dict[str, str]) -> None:
    with local_server(variables):
        assert found(variables) == ("http://127.0.0.1:8765", "local-token", None)


def test_a_server_that_was_killed_is_not_asked_where_anybody_may_listen_now(
    variables: dict[str, str],
) -> None:
    program = (
        "import os, sys, signal; from pathlib import Path\n"
        "from mapi.sdk.server import Server, announce_server\n"
        "announce_server(Path(sys.argv[1]), Server('http://127.0.0.1:8765', 'local-token'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = Path(variables["MAPI_HOME"], "local.json")
    subprocess.run([sys.executable, "-c", program, path], check=False)
    assert "local-token" in path.read_text()
    assert kept_server(path) is None
    with pytest.raises(mapi.SettingError, match="Nothing says where the server is"):
        found(variables)
    with pytest.raises(mapi.SettingError, match="no token for"):
        found(variables, url="http://127.0.0.1:8765")
    with local_server(variables):
        assert found(variables)[1] == "local-token"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_named_and_not_waited_for(
    variables: dict[str, str], make: Callable[[str], None]
) -> None:
    make(variables["MAPI_PROFILE"])
    with pytest.raises(mapi.SettingError, match=r"profile\.json"):
        found(variables)


def test_what_tells_of_a_server_is_for_its_user_alone(variables: dict[str, str]) -> None:
    with local_server(variables):
        assert Path(variables["MAPI_HOME"], "local.json").stat().st_mode & 0o777 == 0o600


def test_the_profile_wins_over_the_server_of_this_machine(variables: dict[str, str]) -> None:
    write_profile(variables)
    with local_server(variables):
        assert found(variables) == ("https://mapi.example", "profile-token", "ads")


def test_variables_win_over_the_profile_and_arguments_over_variables(
    variables: dict[str, str],
) -> None:
    write_profile(variables)
    variables |= {
        "MAPI_URL": "http://a.example/",
        "MAPI_TOKEN": "variable-token",
        "MAPI_PROJECT": "b",
    }
    assert found(variables) == ("http://a.example", "variable-token", "b")
    assert found(variables, url="http://c.example", token="t", project="d") == (
        "http://c.example",
        "t",
        "d",
    )


def test_a_project_alone_joins_what_the_profile_says(variables: dict[str, str]) -> None:
    write_profile(variables)
    assert found(variables | {"MAPI_PROJECT": "b"}) == (
        "https://mapi.example",
        "profile-token",
        "b",
    )


def test_a_kept_token_is_sent_to_the_address_beside_it_only(variables: dict[str, str]) -> None:
    write_profile(variables)
    with local_server(variables):
        with pytest.raises(
            mapi.SettingError, match=r"no token for https://evil\.example"
        ) as caught:
            found(variables, url="https://evil.example")
        assert "profile-token" not in str(caught.value)
        assert found(variables, url="https://mapi.example/")[1] == "profile-token"
        assert found(variables, url="http://127.0.0.1:8765")[1] == "local-token"


def test_without_any_server_the_error_says_the_three_ways(variables: dict[str, str]) -> None:
    with pytest.raises(mapi.SettingError, match=r"mapi serve.*mapi login URL.*MAPI_URL"):
        found(variables)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 3, "token": "x"}', "null", "\xff"])
def test_a_file_that_is_none_is_named(variables: dict[str, str], text: str) -> None:
    with open(variables["MAPI_PROFILE"], "w", encoding="latin-1") as file:  # noqa: PTH123
        file.write(text)
    with pytest.raises(mapi.SettingError, match=r"profile\.json does not hold"):
        found(variables)


@pytest.mark.parametrize(
    "url",
    [
        "mapi.example",
        "ftp://mapi.example",
        "https://",
        "https://a:b@mapi.example",
        "http://x:y",
        "http://x:99999",
        "http://[::1",
        "http://exa mple",
        "http://exam\nple",
        "http://x/?a=b",
        "http://x/#a",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(
    variables: dict[str, str], url: str
) -> None:
    with pytest.raises(mapi.SettingError, match="no address") as caught:
        found(variables, url=url, token="t")
    assert "a:b" not in str(caught.value)


@pytest.mark.parametrize("token", ["a b", "a\nX-Evil: 1", "é"])
def test_a_token_that_could_be_no_header_is_refused_and_not_shown(
    variables: dict[str, str], token: str
) -> None:
    with pytest.raises(mapi.SettingError, match="copied whole") as caught:
        found(variables, url="http://a.example", token=token)
    assert token not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_is_a_time(seconds: float) -> None:
    with pytest.raises(mapi.SettingError, match="timeout_seconds"):
        mapi.Client("http://a.example", token="t", timeout_seconds=seconds)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:8899", "with http:// or https:// before it, http://127.0.0.1:8899."),
        ("http://a:1,http://b:2", "it is one, without commas or spaces."),
        ("http://127.0.0.1:8899/v1", "ends before /v1, http://127.0.0.1:8899."),
        ("https://mapi.example/v1/runs/", "ends before /v1, https://mapi.example."),
    ],
)
def test_a_slip_in_an_address_is_answered_with_how_it_is_written(
    variables: dict[str, str], url: str, said: str
) -> None:
    with pytest.raises(mapi.SettingError) as caught:
        found(variables, url=url, token="t")
    assert str(caught.value).endswith(said)


def test_an_address_below_a_path_is_one(variables: dict[str, str]) -> None:
    url = "https://example.org/mapi/v10"
    assert found(variables, url=url, token="t")[0] == url
