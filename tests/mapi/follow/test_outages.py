"""Training never notices: what a server may do to a run that is fed to it, and what a later push mends."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.follow.cut_line import CutLine, cut_line
from tests.mapi.follow.reading import in_files, on_platform
from tests.mapi.sdk.small_servers import (
    certified,
    cuts_in_the_midst,
    drips_by_the_second,
    free_port,
    listens_only,
    problem,
    reads_slowly,
    resets,
    says,
    serving_script,
    stays_silent,
)
from tests.waiting import until

import expr_tracker as et
from expr_tracker.history import read_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.mapi.follow.conftest import Begin, Push

    import mapi

FINISH_SECONDS = 2.0
ROWS = 200


@contextlib.contextmanager
def refusing(_: Path) -> Iterator[str]:
    yield f"http://127.0.0.1:{free_port()}"


@contextlib.contextmanager
def unknown(_: Path) -> Iterator[str]:
    yield "http://nobody.invalid:8765"


@contextlib.contextmanager
def distrusted(folder: Path) -> Iterator[str]:
    _, context = certified(folder)
    with serving_script(says(200, {}), context=context) as server:
        yield server.url.replace("http:", "https:")


@contextlib.contextmanager
def without_tls(_: Path) -> Iterator[str]:
    with serving_script(says(200, {})) as server:
        yield server.url.replace("http:", "https:")


@contextlib.contextmanager
def accepting_only(_: Path) -> Iterator[str]:
    with listens_only() as server:
        yield server.url


@contextlib.contextmanager
def reading_slowly(_: Path) -> Iterator[str]:
    with reads_slowly() as server:
        yield server.url


def scripted(*steps: Any) -> Callable[[Path], contextlib.AbstractContextManager[str]]:
    @contextlib.contextmanager
    def begin(_: Path) -> Iterator[str]:
        with serving_script(*steps) as server:
            yield server.url

    return begin


SERVERS = {
    "refuses": refusing,
    "has no address": unknown,
    "is not trusted": distrusted,
    "speaks no TLS": without_tls,
    "takes up no connection": accepting_only,
    "reads slowly": reading_slowly,
    "is silent": scripted(stays_silent),
    "fails": scripted(problem(500, "INTERNAL")),
    "is starting": scripted(problem(503, "UNAVAILABLE", retryable=True, retry_after=30)),
    "sends a byte a second": scripted(drips_by_the_second),
    "cuts its answers": scripted(cuts_in_the_midst),
    "resets": scripted(resets),
    "is another server": scripted(says(200, b"<html>hello</html>")),
}


@pytest.mark.parametrize("how", SERVERS, ids=lambda how: how.replace(" ", "-"))
def test_a_run_goes_on_whatever_the_server_does(
    how: str, pushed: Push, api: mapi.Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SERVERS[how](tmp_path) as url:
        run = et.init(
            "p",
            "r",
            dir=tmp_path / "runs",
            backends=["mapi"],
            backend_kwargs={"mapi": {"url": url, "token": "mapi_none"}},
            capture=False,
            finish_timeout=FINISH_SECONDS,
        )
        for step in range(ROWS):
            et.log({"loss": step, "text": "x"}, step=step)
        # Nobody ever takes anything: an end that waited for it would not come.
        et.finish()
    assert len(read_history(run.dir, -1)) == ROWS
    figures = run.info()["backends"]["mapi"]
    assert (figures["delivered"], figures["waiting"]) == (0, ROWS)
    assert run.info()["loss"]["dropped"] == {}
    (last,) = [text for text in caplog.messages if f"{ROWS} rows and the end" in text]
    assert f"et push {run.dir}" in last
    (report,) = pushed(tmp_path / "runs")
    assert (report.status, report.problems) == ("succeeded", [])
    assert report.sent == {"point": ROWS, "line": ROWS}
    assert on_platform(api, report.run or "") == in_files(Path(run.dir))


@pytest.fixture
def line(url: str) -> Iterator[CutLine]:
    with cut_line(url) as found:
        yield found


@pytest.fixture
def address(line: CutLine) -> str:
    return line.url


def waiting() -> int:
    found: int = et.info()["backends"]["mapi"]["waiting"]
    return found


def delivered() -> int:
    found: int = et.info()["backends"]["mapi"]["delivered"]
    return found


def test_an_outage_is_one_warning_and_its_end_one_line_and_what_waited_arrives_once(
    begin: Begin,
    line: CutLine,
    api: mapi.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def log_ten() -> None:
        for _ in range(10):
            et.log({"loss": 1, "text": "x"})

    def told(what: str) -> int:
        return len([text for text in caplog.messages if what in text])

    caplog.set_level(logging.INFO)
    run = begin()
    for outage in (1, 2):
        log_ten()
        until(lambda: waiting() == 0)
        line.cut()
        line.refused = 0
        log_ten()
        until(lambda: line.refused > 3)
        assert waiting() == 10
        line.mend()
        until(lambda: waiting() == 0)
        until(lambda: told("taken again") == told("rows wait in"))
        assert (told("rows wait in"), told("taken again")) == (outage, outage)
    et.finish()
    found = api.runs.in_project("p").create(external_id=run.id).id
    assert on_platform(api, found) == in_files(Path(run.dir))
    assert len(api.runs.lines(found)) == 40
    assert api.runs.get(found).status.value == "succeeded"


def test_a_moment_without_the_server_is_not_spoken_of(
    begin: Begin, line: CutLine, caplog: pytest.LogCaptureFixture
) -> None:
    run = begin()
    et.log({"loss": 1}, step=0)
    run.flush(commit_open=True)
    until(lambda: delivered() == 1)
    line.cut()
    line.mend()  # the connection that was open is gone
    et.log({"loss": 1}, step=1)
    run.flush(commit_open=True)
    until(lambda: delivered() == 2)
    et.finish()
    assert caplog.messages == []


def test_what_a_cut_line_kept_waiting_is_brought_by_a_push(
    begin: Begin,
    line: CutLine,
    api: mapi.Client,
    pushed: Push,
    tmp_path: Path,
) -> None:
    run = begin()
    et.log({"loss": 1, "text": "x"}, step=0)
    run.flush(commit_open=True)
    until(lambda: delivered() == 1)
    line.cut()
    et.log({"loss": 2, "text": "y"}, step=1)
    et.finish()
    assert run.info()["backends"]["mapi"]["waiting"] == 1
    (report,) = pushed(tmp_path)
    assert report.sent == {"point": 1, "line": 1}
    assert on_platform(api, report.run or "") == in_files(Path(run.dir))
    assert api.runs.get(report.run or "").status.value == "succeeded"


def test_an_end_is_short_where_nothing_was_taken_for_long(
    begin: Begin, line: CutLine, caplog: pytest.LogCaptureFixture
) -> None:
    line.cut()
    begin(finish_timeout=600.0)
    until(lambda: "rows wait in" in caplog.text)
    et.finish()
    assert "the end of the run waits" in caplog.text
