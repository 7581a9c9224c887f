"""What an install with the extra `client` can do: all that a client does, and no more is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from tests.mapi.callers import make_token
from tests.mapi.sdk.installed import PROJECT, install, requirements_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant

BEGINNING = "import sys; sys.path.insert(0, sys.argv.pop(1)); "
COMMAND = BEGINNING + "from mapi.cli import main; main(sys.argv[1:])"
PROGRAM = (
    BEGINNING
    + """
import asyncio, math, mapi
from mapi import filters as f

with mapi.Client() as api, api.runs.create(name="light", params={"lr": 0.1}) as run:
    for step in range(100):
        run.log({"loss": 1 / (step + 1)}, step=step)
    run.log_image("picture", sys.argv[1])
    run.log_table("table", [[1, math.nan]], columns=["a", "b"])
    api.runs.log_spans(run, [{"name": "step", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2}])

async def tasks():
    async with mapi.AsyncClient() as api:
        found = [one async for one in api.runs.list(filter=f.param("lr") == 0.1)]
        points = await api.runs.points(found[0], "loss")
        frames = [type(one).__name__ async for one in api.runs.events(found[0])]
        return found[0].name, len(points), frames[0]

print(*asyncio.run(tasks()))
heavy = {"numpy", "pandas", "litestar", "psycopg", "uvicorn", "httpx", "boto3", "zstandard"}
print(sorted(heavy & set(sys.modules)))
"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("client") / "site", "client")


def run_there(
    site: Path, program: str, *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Neither the folders of this environment nor its variables.
        [sys.executable, "-I", "-S", "-c", program, str(site), *words],
        env={"PATH": os.environ["PATH"], "HOME": str(site.parent), **(environment or {})},
        cwd=site.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.fixture
def reaching(url: str, tenant: Tenant) -> dict[str, str]:
    return {"MAPI_URL": url, "MAPI_TOKEN": make_token(tenant)}


def test_the_extra_is_small_and_the_platform_holds_it() -> None:
    extras = PROJECT["optional-dependencies"]
    assert "expr-tracker[client]" in extras["platform"]
    names = {name for name in requirements_of("client") if "[" not in name}
    assert names - {"typing-extensions"} == {
        "anyio", "certifi", "click", "h11", "httpcore", "idna", "msgspec",
    }  # fmt: skip


def test_both_clients_work_with_the_extra_alone(
    site: Path, reaching: dict[str, str], tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    Image.new("L", (3, 2)).save(picture)
    done = run_there(site, PROGRAM, str(picture), environment=reaching)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["light 100 StatusFrame", "[]"]


def test_the_commands_that_ask_a_server_work_with_the_extra_alone(
    site: Path, reaching: dict[str, str], tmp_path: Path
) -> None:
    def mapi(*words: str) -> str:
        done = run_there(site, COMMAND, *words, environment=reaching)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run = mapi("runs", "create", "--name", "a", "--param", "lr=1").strip()
    mapi("runs", "log-metric", run, "loss=0.5", "--step", "1")
    found = json.loads(mapi("runs", "ls", "--filter", "metrics.loss < 1", "--format", "json"))
    assert [one["id"] for one in found] == [run]
    target = str(tmp_path / "a.jsonl")
    mapi("runs", "export", run, "-o", target)
    assert mapi("runs", "import", target).startswith(
        "All of the file is here: 1 run, 1 param, 1 point"
    )
    assert "points" in mapi("limits")


@pytest.mark.parametrize("words", [("serve",), ("admin", "tenant", "ls"), ("doctor",)])
def test_a_command_of_the_server_says_what_it_lacks(site: Path, words: tuple[str, ...]) -> None:
    done = run_there(site, COMMAND, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'expr-tracker[platform]'" in done.stderr


def test_without_the_extra_a_command_says_what_it_lacks(tmp_path: Path) -> None:
    bare = install(tmp_path / "site")
    done = run_there(bare, COMMAND, "runs", "ls")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'expr-tracker[client]'" in done.stderr


def loaded_by(site: Path, statement: str) -> set[str]:
    done = run_there(site, BEGINNING + f"{statement}; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_stays_light(site: Path) -> None:
    nothing = loaded_by(site, "import mapi")
    assert not {"msgspec", "httpcore", "asyncio", "mapi.sdk"} & nothing
    client: Any = loaded_by(site, "import mapi; mapi.Client; mapi.Producer")
    # What only some need, and takes longer than all the rest.
    assert not {"importlib.metadata", "urllib.request", "expr_tracker", "anyio.streams"} & client
    helped = loaded_by(
        site, "from mapi.cli import main\ntry: main(['runs', '--help'])\nexcept SystemExit: pass"
    )
    assert not {"httpcore", "msgspec", "asyncio"} & helped
