"""The command line: one line for an error, 1 for a failure, 2 for wrong usage, and help for all."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import click
import pytest

from mapi.cli import COMMANDS, _group, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def called(*words: str) -> Outcome:
        code = 0
        try:
            main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return called


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield (*path, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


@pytest.mark.parametrize("path", list(commands(_group)))
def test_every_command_has_help_and_says_what_it_does(run: Any, path: tuple[str, ...]) -> None:
    outcome = run(*path, "--help")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) > 4
    assert all(line.strip() for line in outcome.out.splitlines()[:1])
    assert "\\b" not in outcome.out  # click reads the control character, and nobody else


def test_every_command_is_told_whole_in_one_line_of_its_group() -> None:
    cut = {
        (*path, name): text
        for path in [(), *commands(_group)]
        if isinstance(found := command_at(path), click.Group)
        for name in found.list_commands(click.Context(found))
        if (text := short_help(found, name)).endswith("...")
    }
    assert cut == {}


def command_at(path: tuple[str, ...]) -> Any:
    found: Any = _group
    for name in path:
        found = found.get_command(click.Context(found), name)
    return found


def short_help(group: click.Group, name: str) -> str:
    """What a terminal of 80 columns shows, as click lays it out."""
    width = 80 - 6 - max(map(len, group.list_commands(click.Context(group))))
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command.get_short_help_str(width)


#: Commands that print rows.
LISTS = {
    "ls",
    "life",
    "media",
    "metrics",
    "points",
    "spans",
    "compare",
    "groups",
    "limits",
    "usage",
    "retention",
}
#: They print an object as JSON.
OBJECTS = {("admin", "limits"), ("admin", "retention")}


@pytest.mark.parametrize(
    "path",
    [path for path in commands(_group) if path[-1] in LISTS and path not in OBJECTS],
    ids=" ".join,
)
def test_every_list_is_a_table_json_or_csv(path: tuple[str, ...]) -> None:
    found: Any = _group
    for name in path:
        found = found.get_command(click.Context(found), name)
    options = {one.name: one for one in found.params}
    assert options["form"].type.choices == ("table", "json", "csv")
    # What the server on this machine lists has no body of an answer.
    assert path[0] == "admin" or options["output"].type.choices == ("json",)


def test_help_loads_neither_the_server_nor_the_database() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys; from mapi.cli import main\n"
                "try: main(['--help'])\n"
                "except SystemExit: pass\n"
                "print({'litestar', 'psycopg', 'uvicorn', 'numpy'} & set(sys.modules))"
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.splitlines()[-1] == "set()"
    assert all(name in said for name in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("serve", "--port", "x"),
        ("serve", "--port", "70000"),
        ("backup",),
        ("admin", "token", "create", "a", "--scope", "all"),
        ("admin", "limits", "set", "points"),
        ("admin", "limits", "set", "pints=1"),
        ("admin", "member", "set", "anna", "king"),
        ("login", "ftp://a"),
    ],
)
def test_wrong_usage_is_one_line_and_2(run: Any, words: tuple[str, ...]) -> None:
    outcome = run(*words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("Error: ")
    assert "--help" in outcome.err


@pytest.mark.parametrize("group", ["runs", "projects", "experiments", "views", "admin token"])
def test_what_lists_is_ls_and_list_is_understood(run: Any, group: str) -> None:
    words = group.split()
    assert run(*words, "list", "--help").out == run(*words, "ls", "--help").out
    commands_told = run(*words, "--help").out.partition("Commands:")[2].split()
    assert "ls" in commands_told
    assert "list" not in commands_told


@pytest.mark.parametrize(
    ("word", "meant"), [("srve", "serve"), ("run", "runs"), ("view", "views"), ("usge", "usage")]
)
def test_a_misspelled_command_is_answered_with_the_nearest(
    run: Any, word: str, meant: str
) -> None:
    outcome = run(word, "ls")
    assert outcome.code == 2
    assert f"No such command {word!r}. Did you mean {meant!r}?" in outcome.err
    assert "Did you mean" not in run("xxxxxx").err


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MAPI_PUBLIC_URL", "mapi.example"),
        ("MAPI_PUBLIC_URL", "https://user:pw@mapi.example"),
        ("MAPI_TRUSTED_PROXIES", "10.0.0.0/8,proxy"),
        ("MAPI_RATE_LIMIT", "-1"),
        ("MAPI_TRACKING_RETENTION_DAYS", "0"),
        ("MAPI_MEDIA_RETENTION_DAYS", "0"),
        ("MAPI_LOG", "loud"),
        ("MAPI_OIDC_ISSUER", "https://idp.example"),
        ("MAPI_DATABASE_URL", "postgresql://mapi@127.0.0.1:1/none?connect_timeout=2"),
        ("MAPI_PG_BIN", "/nowhere"),
    ],
)
def test_a_wrong_setting_is_one_line_and_1(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv("MAPI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(variable, value)
    outcome = run("serve", "--port", "0", "--no-browser")
    assert outcome.code == 1
    assert len(outcome.err.splitlines()) == 1
    name = variable.replace("ISSUER", "CLIENT_ID")
    assert name in outcome.err or value in outcome.err
    assert "user:pw" not in outcome.err


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_right = self.headers["Authorization"] == "Bearer right"
        if self.headers["Authorization"] == "Bearer elsewhere":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
        else:
            self.send_response(200 if is_right else 401)
        self.end_headers()
        projects = b'{"projects": [{"name": "p"}, {"name": "q"}]}'
        right = projects if self.path == "/v1/projects" else b'{"name": "anna"}'
        self.wfile.write(right if is_right else b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    found = HTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{found.server_address[1]}"
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.mark.parametrize(("token", "code"), [("right", 0), ("wrong", 1), ("elsewhere", 1)])
def test_login_keeps_a_token_that_counts_where_only_its_user_reads_it(
    run: Any,
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    code: int,
) -> None:
    profile = tmp_path / "config" / "mapi" / "profile.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.stdin", _Lines(token))
    outcome = run("login", server + "/", "--token-stdin", "--project", "p")
    assert outcome.code == code, outcome.err
    assert profile.exists() == (code == 0)
    assert token not in outcome.out + outcome.err
    if code == 0:
        assert json.loads(profile.read_text()) == {"url": server, "token": "right", "project": "p"}
        assert profile.stat().st_mode & 0o777 == 0o600


def test_login_refuses_a_project_that_is_not_there_and_logout_forgets(
    run: Any, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "config" / "mapi" / "profile.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.stdin", _Lines("right"))
    outcome = run("login", server, "--token-stdin", "--project", "nope")
    assert outcome.code == 1
    assert "no project 'nope' that this token sees; there are: p, q." in outcome.err
    assert not profile.exists()
    assert run("login", server, "--token-stdin", "--project", "q").code == 0
    assert profile.exists()
    outcome = run("logout")
    assert (outcome.code, profile.exists()) == (0, False)
    assert str(profile) in outcome.out
    assert "Nobody is logged in" in run("logout").out


class _Lines:
    def __init__(self, line: str) -> None:
        self._line = line

    def readline(self) -> str:
        return f"{self._line}\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


DELETIONS = (("tenant", "delete", "a"), ("project", "delete", "a"))


def test_deleting_for_good_is_asked_about_and_goes_on_only_with_a_yes(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAPI_HOME", str(tmp_path / "home"))
    for words in DELETIONS:
        monkeypatch.setattr("sys.stdin", _Terminal("n\n"))
        outcome = run("admin", *words)
        assert outcome.code == 130  # as if it had been interrupted
        assert "for good" in outcome.out + outcome.err
    # Nothing was started for it.
    assert not (tmp_path / "home").exists()


def test_where_nobody_can_be_asked_it_is_said_how_to_say_yes(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAPI_HOME", str(tmp_path / "home"))
    for words in DELETIONS:
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
        outcome = run("admin", *words)
        assert outcome.code == 2
        assert "--yes" in outcome.err
    outcome = run("login", "http://127.0.0.1:1")
    assert outcome.code == 2
    assert "--token-stdin" in outcome.err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "words", [("admin", "tenant", "ls"), ("admin", "token", "create", "a"), ("backup", "b.tar")]
)
def test_what_needs_a_database_makes_none_and_says_what_does(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAPI_HOME", str(tmp_path / "home"))
    outcome = run(*words)
    assert outcome.code == 1
    assert f"no database in {tmp_path / 'home'}" in outcome.err
    assert "mapi serve" in outcome.err
    assert not (tmp_path / "home").exists()
    # The option names a home as the variable does.
    outcome = run(words[0], "--home", str(tmp_path / "typo"), *words[1:])
    assert outcome.code == 1
    assert f"no database in {tmp_path / 'typo'}" in outcome.err
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        ("--help", ">&-", 1, "standard output is closed"),
        ("runs ls", ">&-", 1, "standard output is closed"),
        ("doctor", ">&-", 1, "standard output is closed"),
        ("runs ls", "<&-", 1, "cannot be reached"),
        ("runs log-line RUN -", "<&-", 0, ""),
        ("runs log-table RUN a -", "<&-", 2, "Error: "),
        ("runs create --spec -", "<&-", 2, "Error: "),
        ("login http://127.0.0.1:1 --token-stdin", "<&-", 1, "does not answer"),
        ("login http://127.0.0.1:1", "<&-", 2, "Error: "),
        ("runs ls", "2>&-", 1, ""),
        ("runs ls", ">&- 2>&-", 1, ""),
        ("runs ls", "<&- >&- 2>&-", 1, ""),
    ],
)
def test_closed_standard_streams_end_a_command_in_a_line(
    tmp_path: Path, words: str, closed: str, code: int, said: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m mapi {words} {closed}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "MAPI_HOME": str(tmp_path / "home"),
            "XDG_CONFIG_HOME": str(tmp_path),
            "MAPI_URL": "http://127.0.0.1:1",
            "MAPI_TOKEN": "mapi_a_b",
        },
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == (1 if said else 0)


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mapi", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("mapi, version ")
