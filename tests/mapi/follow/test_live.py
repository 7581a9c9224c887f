"""`et.init(..., backends=["mapi"])` against a served platform: what is logged is there while it is."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.follow.reading import in_files, on_platform
from tests.mapi.tenants_access import set_limits
from tests.waiting import until

import expr_tracker as et
from mapi.follow.rows import ROUNDED

if TYPE_CHECKING:
    from tests.mapi.follow.conftest import Begin, Push
    from tests.mapi.tenants import Tenant

    import mapi
    from expr_tracker.run import Run


def run_of(api: mapi.Client, run: Run) -> str:
    return api.runs.in_project("p").create(external_id=run.id).id


def test_rows_are_there_while_the_run_goes_on_and_all_of_them_when_it_is_over(
    begin: Begin, api: mapi.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    run = begin()
    for step in range(50):
        et.log({"train/loss": 1 / (step + 1), "note": "x"}, step=step)
    run.flush(commit_open=True)
    figures = until(lambda: _if(et.info()["backends"]["mapi"], waiting=0, delivered=50))
    assert figures["last_error"] is None
    found = run_of(api, run)
    assert figures["url"] == run.url == f"{_url(api)}/runs/{found}"
    assert len(on_platform(api, found)) == 50
    assert api.runs.get(found).status.value == "running"
    for step in range(50, 100):
        et.log({"train/loss": float("nan")}, step=step)
    et.finish()
    assert on_platform(api, found) == in_files(Path(run.dir))
    assert api.runs.get(found).status.value == "succeeded"
    assert run.info()["backends"]["mapi"]["delivered"] == 100
    addresses = [text for text in caplog.messages if run.url in text]
    assert len(addresses) == 2, "at the beginning and in the report"
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def _if(figures: dict[str, Any], **wanted: Any) -> dict[str, Any] | None:
    return figures if all(figures[name] == value for name, value in wanted.items()) else None


def _url(api: mapi.Client) -> str:
    return api.url


def test_what_was_delivered_live_is_not_sent_again_by_a_push(
    begin: Begin, api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = begin()
    for step in range(20):
        et.log({"loss": step, "text": "line"}, step=step)
    et.finish(exit_code=1)
    (report,) = pushed(tmp_path)
    assert (report.run, report.status, report.problems) == (run_of(api, run), "failed", [])
    assert not any(report.sent.values())
    assert len(api.runs.lines(report.run or "")) == 20


def test_a_run_that_is_taken_up_again_goes_on_and_runs_again(
    begin: Begin, api: mapi.Client
) -> None:
    begin()
    et.log({"loss": 1}, step=0)
    et.finish()
    run = begin()
    found = run_of(api, run)
    until(lambda: api.runs.get(found).status.value == "running")
    et.log({"loss": 2}, step=1)
    run.rewind(1)
    et.log({"loss": 3}, step=1)
    et.finish()
    assert on_platform(api, found) == in_files(Path(run.dir))
    ends = [one.status and one.status.value for one in api.runs.attempts(found)]
    assert ends == ["succeeded", "cancelled", "succeeded"]
    assert api.runs.get(found).status.value == "succeeded"


def test_the_machines_own_stream_is_delivered_too(begin: Begin, api: mapi.Client) -> None:
    pytest.importorskip("psutil")
    run = begin(system_metrics=True, system_interval=0.05)
    et.log({"loss": 1}, step=0)
    system = Path(run.dir) / "metrics.system.jsonl"
    until(lambda: system.exists() and system.read_bytes().count(b"\n") > 3)
    et.finish()
    found = on_platform(api, run_of(api, run))
    assert found == in_files(Path(run.dir))
    assert any(stream == "system" for stream, *_ in found)


def test_a_rank_that_feeds_no_backend_sends_nothing_and_says_so(
    begin: Begin,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("RANK", "1")
    run = begin()
    assert run.backends == {}
    assert run.url is None
    assert "backend_on_rank=None" in caplog.text
    et.finish()
    run = begin(backend_on_rank=1)
    assert set(run.backends) == {"mapi"}


def test_a_token_that_is_none_is_said_at_once_and_shown_nowhere(
    begin: Begin, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    secret = "mapi_0123456789abcdef_" + "s" * 43
    run = begin(arguments={"token": secret})
    et.log({"loss": 1}, step=0)
    until(lambda: et.info()["backends"]["mapi"]["last_error"])
    et.finish()
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(warnings) == 2, "once while it goes on, once at the end"
    assert "mapi login" in warnings[0]
    assert f"et push {run.dir}" in warnings[1]
    assert "1 row" in warnings[1]
    told = caplog.text + json.dumps(run.info())
    files = "".join(
        one.read_text(errors="replace") for one in tmp_path.rglob("*") if one.is_file()
    )
    assert "sssss" not in told + files


def test_what_does_not_fit_a_budget_is_counted_and_told_at_the_end(
    begin: Begin, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    set_limits(tenant, points=30)
    run = begin(arguments={"project": "default"})
    for step in range(50):
        et.log({"loss": step}, step=step)
    et.log({"loss": 0}, step=-1)
    et.log({"loss": 2**53 + 1}, step=0)
    et.finish()
    figures = run.info()["backends"]["mapi"]
    assert figures["dropped"] == 22
    assert run.info()["loss"]["degraded"] == {
        "mapi: default: point not taken: over the budget points": 20,
        "mapi: default: point left out: the platform has no steps below 0": 1,
        f"mapi: default: value {ROUNDED}": 1,
    }
    assert run.info()["loss"]["dropped"] == {}
    assert figures["waiting"] == 0
    assert "20 points not taken: over the budget points" in caplog.text
    assert "no steps below 0" in caplog.text


def test_a_run_in_the_trash_of_the_platform_stays_there_and_costs_the_run_nothing(
    begin: Begin, api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = begin()
    et.log({"loss": 1}, step=0)
    run.flush(commit_open=True)
    until(lambda: _if(et.info()["backends"]["mapi"], delivered=1))
    found = run_of(api, run)
    api.runs.delete(found)
    et.log({"loss": 2}, step=1)
    et.finish()
    assert run.info()["backends"]["mapi"]["waiting"] == 1
    api.runs.restore(found)
    (report,) = pushed(tmp_path)
    assert (report.run, report.problems) == (found, [])
    assert on_platform(api, found) == in_files(Path(run.dir))


def test_a_push_of_a_run_that_brings_itself_changes_nothing(
    begin: Begin, api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    run = begin()
    for beginning in range(0, 400, 40):
        for step in range(beginning, beginning + 40):
            et.log({"loss": step, "text": "line"}, step=step)
            et.log({"loss": step + 1}, step=max(0, step - 20))  # logged again
        run.flush(commit_open=True)
        pushed(tmp_path)
    et.finish()
    found = run_of(api, run)
    assert on_platform(api, found) == in_files(Path(run.dir))
    assert len(api.runs.lines(found, limit=1_000)) == 400
    assert api.runs.get(found).status.value == "succeeded"


@pytest.mark.parametrize(
    ("url", "said"),
    [("127.0.0.1:8765", "http://127.0.0.1:8765"), ("http://127.0.0.1:1/v1", "ends before /v1")],
    ids=["without a scheme", "of the interface"],
)
def test_an_address_that_is_none_is_one_warning_with_the_fix(
    begin: Begin, caplog: pytest.LogCaptureFixture, url: str, said: str
) -> None:
    run = begin(arguments={"url": url})
    et.log({"loss": 1}, step=0)
    et.finish()
    (warning,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert said in warning.getMessage()
    assert "directory only" in warning.getMessage()
    figures = run.info()["backends"]["mapi"]
    assert (figures["waiting"], figures["url"]) == (1, None)


def test_init_twice_as_in_a_notebook_leaves_one_run_with_all_rows(
    begin: Begin, api: mapi.Client
) -> None:
    runs = []
    for step in range(3):
        runs.append(begin())
        et.log({"loss": step}, step=step)
        et.finish()
    found = run_of(api, runs[-1])
    assert on_platform(api, found) == in_files(Path(runs[0].dir))
    assert len(api.runs.attempts(found)) == 3
