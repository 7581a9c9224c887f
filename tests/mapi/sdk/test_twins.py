"""The client for threads is made of the client for tasks, and says the same."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mapi
from expr_tracker.extras import install_command

ROOT = Path(__file__).parents[3]


def test_what_is_kept_is_what_is_made() -> None:
    command = [sys.executable, ".ci/tooling/synchronous.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_edit_of_either_half_is_noticed(tmp_path: Path) -> None:
    from tooling import synchronous

    source = "class AsyncThing:\n    async def work(self) -> None:\n        await self.more()\n"
    assert "await" not in synchronous.synchronous(source)
    assert "class Thing:\n    def work(self) -> None:\n        self.more()" in (
        synchronous.synchronous(source)
    )


@pytest.mark.parametrize(
    ("tasks", "threads"),
    [
        (f"mapi.sdk.asynchronous.{module}:Async{name}", f"mapi.sdk.synchronous.{module}:{name}")
        for module, name in [
            ("client", "Client"),
            ("run", "Run"),
            ("runs", "Runs"),
            ("experiments", "Experiments"),
            ("views", "Views"),
            ("administration", "Tokens"),
            ("administration", "Projects"),
            ("administration", "Search"),
        ]
    ],
    ids=lambda text: text.rpartition(":")[2],
)
def test_both_have_the_same_methods_with_the_same_parameters(tasks: str, threads: str) -> None:
    assert public(tasks) == public(threads)


def public(text: str) -> dict[str, Any]:
    import importlib

    module, _, name = text.partition(":")
    kind = getattr(importlib.import_module(module), name)
    return {
        name: list(inspect.signature(member).parameters) if callable(member) else None
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_")
    }


def test_every_public_name_is_there_and_others_are_not() -> None:
    for name in mapi.__all__:
        assert getattr(mapi, name) is not None
    with pytest.raises(AttributeError, match="Clientele"):
        mapi.Clientele  # type: ignore[attr-defined]  # noqa: B018


def test_the_import_alone_loads_nothing_of_the_client() -> None:
    program = "import mapi, sys; print([m for m in ('msgspec', 'httpcore', 'mapi.sdk') if m in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['httpcore'] = None\n"
        "import mapi\n"
        "try: mapi.Client\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert install_command("client") in said.stdout


def test_a_client_loads_no_server() -> None:
    program = (
        "import mapi, sys; mapi.Client; mapi.AsyncClient; mapi.filters; "
        "print([m for m in ('litestar', 'psycopg', 'uvicorn', 'numpy', 'boto3') if m in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
