"""A link out of a run's directory delivers nothing: whatever it is called, and whenever it appears."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.mapi.callers import make_token
from tests.mapi.follow.test_hostile_files import handmade, row

import mapi
from expr_tracker.cli import main
from expr_tracker.store.files import StreamKey
from mapi.follow.live import LiveBackend
from mapi.follow.proof.against import prove
from mapi.follow.pushing import Pusher
from mapi.follow.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    from mapi.follow.opened import PushReport

SECRET = "hunter2"
WHY = "leads out of the run directory; it is left out"

DOCUMENTS = ["environment.json", "config.json", "summary.json", "about.json"]
LINES = ["metrics.x.jsonl", "spans.jsonl", "console.jsonl"]
BESIDE = ["metrics.meta.json", "metrics.lock", "metrics.open.json"]


@pytest.fixture
def secret(tmp_path: Path) -> Callable[[str], Path]:
    """What only the user may read, made for each name so that it would be taken."""

    def made(name: str) -> Path:
        path = tmp_path / "private" / name
        path.parent.mkdir(exist_ok=True)
        known: dict[str, Any] = {"key": SECRET, "notes": SECRET, "tags": [SECRET], "name": SECRET}
        if name.endswith(".jsonl"):
            known |= {"_step": 1, "_time": time.time() - 5, "word": SECRET, "pin": 4711}
            known |= {"start": time.time() - 5, "dur_ms": 1.0, "depth": 0, "track": 0}
            known |= {"source": "stdout", "text": SECRET}
        elif name == "summary.json":
            known |= {"_pinned": ["key", "pin"], "pin": 4711}
        path.write_text(json.dumps(known) + "\n")
        return path

    return made


def everything(api: mapi.Client, run: str) -> str:
    """What the platform has of a run, as one text."""
    runs = api.runs
    found: list[object] = [
        runs.get(run),
        runs.params(run),
        runs.tags(run),
        [*runs.metrics(run)],
        [*runs.lines(run)],
        [*runs.spans(run)],
        [*runs.media(run)],
    ]
    for get in (runs.config, runs.environment):
        try:
            found.append(get(run))
        except mapi.NotFoundError:
            continue
    return repr(found)


@pytest.mark.parametrize("name", [*DOCUMENTS, *LINES, *BESIDE, "run.json"])
def test_a_link_out_is_named_and_costs_itself_alone(
    api: mapi.Client, pushed: Push, tmp_path: Path, secret: Callable[[str], Path], name: str
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(secret(name))
    for _ in range(2):
        (report,) = pushed(path)
        assert report.problems == [f"{path / name}: {WHY}"]
        assert report.run is not None
        assert SECRET not in everything(api, report.run)
        assert "4711" not in everything(api, report.run)
        assert [one.key for one in api.runs.metrics(report.run)] == ["loss"]
    proof = prove(api, path)
    assert proof.problems == [f"{name}: not compared: {path / name}: {WHY}"]
    assert (proof.counts, proof.is_equal) == ([], False)
    assert SECRET not in repr(proof)
    (path / name).unlink()
    if name != "run.json":
        (after,) = pushed(path)
        assert after.problems == []


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.jsonl.parts"])
def test_a_folder_of_parts_and_the_only_metrics_are_no_way_out(
    api: mapi.Client, pushed: Push, tmp_path: Path, secret: Callable[[str], Path], name: str
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    inner = secret("000001.jsonl")
    (path / "metrics.jsonl").unlink()
    (path / name).symlink_to(inner if name == "metrics.jsonl" else inner.parent)
    (report,) = pushed(path)
    assert WHY in report.problems[0]
    assert report.run is None or SECRET not in everything(api, report.run)


def test_what_the_platform_has_of_a_file_that_leads_out_now_is_not_extra(
    api: mapi.Client, pushed: Push, tmp_path: Path, secret: Callable[[str], Path]
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    names = ["config.json", "environment.json", "summary.json"]
    for name in names:
        (path / name).write_text(json.dumps({"a": 1, "_pinned": ["a"]}))
    pushed(path)
    assert prove(api, path).is_equal
    for name in names:
        (path / name).unlink()
        (path / name).symlink_to(secret(name))
    proof = prove(api, path)
    assert proof.counts == []
    assert sorted(one.partition(":")[0] for one in proof.problems) == sorted(names)


def test_links_within_are_followed_and_the_directory_may_be_one(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    (path / "kept.json").write_text(json.dumps({"lr": 0.5}))
    (path / "config.json").symlink_to("kept.json")
    alias = tmp_path / "alias"
    alias.symlink_to(path)
    (report,) = pushed(alias)
    assert report.problems == []
    assert api.runs.config(report.run or "") == {"lr": 0.5}
    assert prove(api, alias).is_equal


def test_a_link_that_appears_while_it_is_watched_is_told_once_and_delivers_nothing(
    api: mapi.Client, url: str, tenant: Tenant, tmp_path: Path, secret: Callable[[str], Path]
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    told: list[PushReport] = []
    with mapi.Client(url, token=make_token(tenant)) as client:
        pusher = Pusher(client, pause=threading.Event().wait)
        watch = Watch(pusher, client, [path], tell=told.append)
        watch.look()
        for name in [*DOCUMENTS, *LINES]:
            (path / name).symlink_to(secret(name))
        watch.look()
        (path / "other").write_text("so that there is something to look at")
        watch.look()
        wanted = {f"{path / name}: {WHY}" for name in [*DOCUMENTS[:3], *LINES]}
        assert [set(one.problems) - wanted for one in told] == [set(), set()]
        assert set(told[-1].problems) == wanted
        for name in [*DOCUMENTS, *LINES]:
            (path / name).unlink()
        # What had a problem is looked at again by and by; a new file makes it at once.
        watch.look()
    assert told[-1].problems == []
    assert SECRET not in everything(api, told[-1].run or "")


def test_a_live_run_delivers_nothing_of_a_link_out_and_says_so(
    api: mapi.Client, url: str, tenant: Tenant, tmp_path: Path, secret: Callable[[str], Path]
) -> None:
    path = handmade(tmp_path, [row(0, loss=1.0)])
    names = [*DOCUMENTS, *LINES[1:]]
    for name in names:
        (path / name).symlink_to(secret(name))
    backend = LiveBackend(path, [StreamKey()], url=url, token=make_token(tenant))
    run = backend.open().rpartition("/")[2]
    backend.deliver(lambda: None)
    backend.end()
    assert sorted(backend.remarks()) == sorted(f"{path / name}: {WHY}" for name in names)
    backend.close()
    assert SECRET not in everything(api, run)


def test_the_commands_name_it_and_end_with_1(
    url: str,
    tenant: Tenant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    secret: Callable[[str], Path],
) -> None:
    monkeypatch.setenv("MAPI_URL", url)
    monkeypatch.setenv("MAPI_TOKEN", make_token(tenant))
    path = handmade(tmp_path, [row(0, loss=1.0)])
    (path / "environment.json").symlink_to(secret("environment.json"))
    for arguments in (["push", str(path)], ["verify", str(path), "--against", "mapi"]):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 1, done.output
        assert WHY in " ".join(done.output.split())
        assert SECRET not in done.output
