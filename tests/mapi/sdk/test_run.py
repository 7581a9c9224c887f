"""A run while it is made: what ends it, what waits, and signs of life."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_token
from tests.mapi.sdk.asking import BOTH, TOKEN
from tests.mapi.sdk.small_servers import cuts, problem, says, serving_script
from tests.mapi.sdk.test_transport import COUNTS, FACTS
from tests.mapi.tenants_access import set_limits

import mapi
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mapi.sdk.small_servers import Asked
    from tests.mapi.tenants import Tenant


def make(
    kind: str,
    url: str,
    token: str,
    body: Callable[[Any], None],
    *,
    timeout_seconds: float = 10,
) -> str:
    """Make a run with a client, and act in its block."""
    if kind == "threads":
        with mapi.Client(url, token=token, timeout_seconds=timeout_seconds) as client:
            run = client.runs.create(name="a")
            with run:
                body(run)
            return run.id

    async def work() -> str:
        async with mapi.AsyncClient(url, token=token, timeout_seconds=timeout_seconds) as client:
            run = await client.runs.create(name="a")
            async with run:
                body(run)
            return run.id

    return asyncio.run(work())


ENDS: list[tuple[BaseException | None, RunStatus, str | None]] = [
    (None, RunStatus.SUCCEEDED, None),
    (ValueError("too \0 large"), RunStatus.FAILED, "ValueError: too \\0 large"),
    (KeyboardInterrupt(), RunStatus.CANCELLED, "signal"),
    (SystemExit(0), RunStatus.SUCCEEDED, None),
    (SystemExit(3), RunStatus.FAILED, "the program ended with 3"),
]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("error", "status", "reason"), ENDS, ids=["none", "error", "signal", "exit-0", "exit-3"]
)
def test_a_run_ends_as_its_block_does(
    kind: str,
    error: BaseException | None,
    status: RunStatus,
    reason: str | None,
    api: mapi.Client,
    url: str,
    tenant: Tenant,
) -> None:
    def body(run: Any) -> None:
        run.log({"loss": 0.5}, step=0)
        if error is not None:
            raise type(error)(*error.args)

    if error is None:
        make(kind, url, make_token(tenant), body)
    else:
        with pytest.raises(type(error)):
            make(kind, url, make_token(tenant), body)
    (found,) = api.runs.list()
    facts = api.runs.get(found)
    assert (facts.status, facts.reason) == (status, reason)
    assert api.runs.points(found, "loss").values == [0.5]


@pytest.mark.parametrize("kind", BOTH)
def test_all_points_of_a_block_arrive_exactly_once(
    kind: str, api: mapi.Client, url: str, tenant: Tenant
) -> None:
    set_limits(tenant, points_per_series="unlimited")

    def body(run: Any) -> None:
        for step in range(12_345):
            run.log({"loss": step, "acc": -step}, step=step, labels={"split": "val"})
        run.log({"best": 1})

    run = make(kind, url, make_token(tenant), body)
    for key, sign in (("loss", 1), ("acc", -1)):
        found = api.runs.points(run, key, labels={"split": "val"})
        assert found.values == [float(sign * at) for at in range(12_345)]
    assert api.runs.points(run, "best").steps == [None]


@pytest.mark.parametrize("kind", BOTH)
def test_a_wrong_value_is_refused_at_the_call_that_logs_it(
    kind: str, url: str, tenant: Tenant
) -> None:
    def body(run: Any) -> None:
        with pytest.raises(mapi.InvalidError, match="nearest is train_loss"):
            run.log({"train/loss": 1}, step=0)
        with pytest.raises(mapi.InvalidError, match="no step"):
            run.log({"loss": 1}, step=-1)
        assert run.waiting == 0

    make(kind, url, make_token(tenant), body)


@pytest.mark.parametrize("kind", BOTH)
def test_an_end_that_is_none_is_refused_and_the_run_goes_on(
    kind: str, api: mapi.Client, url: str, tenant: Tenant
) -> None:
    def finish(run: Any, status: Any, **more: Any) -> None:
        # A coroutine of the other client runs to its end at once: nothing is awaited before the error.
        found = run.finish(status, **more)
        if found is not None:
            found.send(None)

    def body(run: Any) -> None:
        run.log({"loss": 0.5}, step=0)
        for status in ("success", "running", None, 3):
            with pytest.raises(mapi.InvalidError, match="/status"):
                finish(run, status)
        with pytest.raises(mapi.InvalidError, match="/reason"):
            finish(run, "failed", reason=3)
        with pytest.raises(mapi.InvalidError, match=r"/metrics.* is no mapping"):
            run.log(0.5)
        run.log({"loss": 0.25}, step=1)

    run = make(kind, url, make_token(tenant), body)
    assert api.runs.points(run, "loss").values == [0.5, 0.25]
    assert api.runs.get(run).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("kind", BOTH)
def test_a_spent_budget_fails_no_run_and_is_counted(
    kind: str, api: mapi.Client, url: str, tenant: Tenant
) -> None:
    set_limits(tenant, points=10)
    runs: list[Any] = []

    def body(run: Any) -> None:
        runs.append(run)
        for step in range(25):
            run.log({"loss": step}, step=step)

    run = make(kind, url, make_token(tenant), body)
    assert runs[0].dropped == 15
    assert len(api.runs.points(run, "loss")) == 10
    assert api.runs.get(run).status is RunStatus.SUCCEEDED


def answering(server_steps: dict[str, Any]) -> Callable[..., None]:
    """Answer each request by what its path ends with."""

    def step(connection: Any, server: Any) -> None:
        asked: Asked = server.asked[-1]
        end = asked.path.rpartition("/")[2]
        found = server_steps.get(f"{asked.method} {end}", server_steps.get("*"))
        assert found is not None, asked
        found(connection, server)

    return step


FINE = {
    "POST runs": says(201, FACTS),
    "POST metrics": says(200, COUNTS),
    "POST heartbeat": says(200, {"status": "running"}),
    "PATCH run_1": says(200, FACTS),
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the seconds between signs of life be milliseconds."""
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.run.FLUSH_SECONDS", 0.02)
    for name in ("HEARTBEAT_SECONDS", "FIRST_BEAT_SECONDS"):
        monkeypatch.setattr(f"mapi.sdk.pulse.{name}", 0.05)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", BOTH)
def test_a_run_sends_signs_of_life_and_hears_that_it_was_cancelled(kind: str) -> None:
    beats = threading.Semaphore(0)

    def beat(connection: Any, server: Any) -> None:
        says(200, {"status": "cancelled"})(connection, server)
        beats.release()

    with serving_script(answering(FINE | {"POST heartbeat": beat})) as server:
        if kind == "threads":
            with mapi.Client(server.url, token=TOKEN) as client, client.runs.create() as run:
                assert beats.acquire(timeout=20)
                assert beats.acquire(timeout=20)
                assert run.is_cancelled
        else:
            asyncio.run(_beaten(server.url, beats))
        methods = [one.method for one in server.asked]
    # What somebody else has ended is not ended again.
    assert "PATCH" not in methods


async def _beaten(url: str, beats: threading.Semaphore) -> None:
    async with mapi.AsyncClient(url, token=TOKEN) as client, await client.runs.create() as run:
        assert await asyncio.to_thread(beats.acquire, timeout=20)
        assert await asyncio.to_thread(beats.acquire, timeout=20)
        assert run.is_cancelled


@pytest.mark.usefixtures("quick")
def test_a_step_that_holds_the_loop_stops_no_signs_of_life() -> None:
    beats = threading.Semaphore(0)

    def beat(connection: Any, server: Any) -> None:
        says(200, {"status": "running"})(connection, server)
        beats.release()

    async def work(url: str) -> None:
        async with mapi.AsyncClient(url, token=TOKEN) as client, await client.runs.create():
            # The loop does nothing meanwhile.
            for _ in range(3):
                assert beats.acquire(timeout=20)

    with serving_script(answering(FINE | {"POST heartbeat": beat})) as server:
        asyncio.run(work(server.url))
        asked = server.asked[-1]
    assert (asked.method, json.loads(asked.body)["status"]) == ("PATCH", "succeeded")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", BOTH)
def test_a_batch_that_waits_for_the_server_stops_no_signs_of_life(kind: str) -> None:
    beats = threading.Semaphore(0)
    goes_on = threading.Event()

    def beat(connection: Any, server: Any) -> None:
        says(200, {"status": "running"})(connection, server)
        beats.release()

    def wait(connection: Any, server: Any) -> None:
        goes_on.wait(60)
        says(200, COUNTS)(connection, server)

    def body(run: Any) -> None:
        run.log({"loss": 1}, step=0)
        for _ in range(3):
            assert beats.acquire(timeout=20)
        goes_on.set()

    steps = FINE | {"POST heartbeat": beat, "POST metrics": wait}
    with serving_script(answering(steps)) as server:
        make(kind, server.url, TOKEN, body)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("error", [None, ValueError("late")], ids=["succeeds", "fails"])
def test_a_run_that_somebody_cancelled_stays_so_and_the_program_is_told(
    kind: str,
    error: BaseException | None,
    api: mapi.Client,
    url: str,
    tenant: Tenant,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[Any] = []

    def body(run: Any) -> None:
        runs.append(run)
        run.log({"loss": 0.5}, step=0)
        api.runs.cancel(run.id)
        if error is not None:
            raise error

    with contextlib.suppress(ValueError):
        make(kind, url, make_token(tenant), body)
    facts = api.runs.get(runs[0].id)
    assert facts.status is RunStatus.CANCELLED
    assert (facts.reason or "").startswith("cancelled by ")
    assert runs[0].is_cancelled
    assert f"was cancelled meanwhile ({facts.reason}), and stays so" in caplog.text
    # What it had to say is kept.
    assert api.runs.points(runs[0].id, "loss").values == [0.5]


@pytest.mark.parametrize("kind", BOTH)
def test_a_state_that_allows_no_end_for_another_reason_is_an_error(
    kind: str, api: mapi.Client, url: str, tenant: Tenant
) -> None:
    def body(run: Any) -> None:
        api.runs.delete(run.id)

    with pytest.raises(mapi.StateConflictError, match="trash"):
        make(kind, url, make_token(tenant), body)


def test_a_run_that_is_begun_again_by_its_external_id_goes_on_and_ends_anew(
    api: mapi.Client,
) -> None:
    with pytest.raises(KeyboardInterrupt), api.runs.create(external_id="job 7"):
        raise KeyboardInterrupt  # preempted
    again = api.runs.create(external_id="job 7")
    states = [again.facts]
    with again:
        states += [again.facts, api.runs.get(again)]
    assert [one.status.value for one in states] == ["cancelled", "running", "running"]
    assert states[-1].finished is None
    assert api.runs.get(again).status is RunStatus.SUCCEEDED


@pytest.mark.usefixtures("quick")
def test_points_are_sent_by_time_while_the_block_goes_on() -> None:
    sent = threading.Event()

    def take(connection: Any, server: Any) -> None:
        says(200, COUNTS)(connection, server)
        sent.set()

    with (
        serving_script(answering(FINE | {"POST metrics": take})) as server,
        mapi.Client(server.url, token=TOKEN) as client,
        client.runs.create() as run,
    ):
        run.log({"loss": 1}, step=0)
        assert sent.wait(20)


@pytest.mark.usefixtures("quick")
def test_points_wait_while_the_server_fails_and_are_sent_when_it_is_back() -> None:
    is_back = threading.Event()
    has_failed = threading.Event()

    def take(connection: Any, server: Any) -> None:
        if is_back.is_set():
            says(200, COUNTS)(connection, server)
        else:
            problem(503, "UNAVAILABLE", retryable=True, retry_after=99)(connection, server)
            has_failed.set()

    with (
        serving_script(answering(FINE | {"POST metrics": take})) as server,
        mapi.Client(server.url, token=TOKEN) as client,
        client.runs.create() as run,
    ):
        run.log({"loss": 1}, step=0)
        assert has_failed.wait(20)
        run.log({"loss": 2}, step=0)
        is_back.set()
    bodies = [json.loads(one.body) for one in server.asked if one.path.endswith("metrics")]
    assert bodies[-1]["series"][0]["values"] in ([1.0, 2.0], [2.0])
    assert [1.0] in [one["series"][0]["values"][:1] for one in bodies]


@pytest.mark.parametrize("kind", BOTH)
def test_what_was_not_sent_at_the_end_is_an_error_and_still_waits(kind: str) -> None:
    runs: list[Any] = []

    def body(run: Any) -> None:
        runs.append(run)
        run.log({"loss": 1}, step=0)

    lost = {"POST metrics": problem(503, "UNAVAILABLE", retry_after=99)}
    with serving_script(answering(FINE | lost)) as server:
        with pytest.raises(mapi.UnavailableError):
            make(kind, server.url, TOKEN, body)
        assert runs[0].waiting == 1
        assert server.asked[-1].method == "PATCH"


@pytest.mark.parametrize("kind", BOTH)
def test_the_error_of_the_block_is_not_hidden_by_that_of_the_log(kind: str) -> None:
    def body(run: Any) -> None:
        run.log({"loss": 1}, step=0)
        raise ZeroDivisionError

    broken = {"POST metrics": cuts, "PATCH run_1": cuts}
    with serving_script(answering(FINE | broken)) as server, pytest.raises(ZeroDivisionError):
        make(kind, server.url, TOKEN, body, timeout_seconds=0.5)


@pytest.mark.parametrize("kind", BOTH)
def test_points_that_the_server_refuses_are_counted_and_told_at_the_end(kind: str) -> None:
    runs: list[Any] = []

    def body(run: Any) -> None:
        runs.append(run)
        run.log({"loss": 1}, step=0)

    refused = {"POST metrics": problem(409, "STATE_CONFLICT")}
    with serving_script(answering(FINE | refused)) as server:
        with pytest.raises(mapi.StateConflictError):
            make(kind, server.url, TOKEN, body)
        assert json.loads(server.asked[-1].body) == {"status": "succeeded", "reason": None}
    assert (runs[0].waiting, runs[0].dropped) == (0, 1)


def test_threads_that_log_at_once_lose_nothing(api: mapi.Client, tenant: Tenant) -> None:
    set_limits(tenant, points_per_series="unlimited")
    with api.runs.create() as run:

        def log(worker: int) -> None:
            for step in range(2_000):
                run.log({"loss": step}, step=step, labels={"worker": str(worker)})

        threads = [threading.Thread(target=log, args=[worker]) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counts = [one.count for one in api.runs.metrics(run)]
    assert counts == [2_000] * 4


def test_a_program_that_ends_without_a_block_still_sends_what_waits(
    api: mapi.Client, url: str, tenant: Tenant
) -> None:
    program = (
        "import mapi, sys\n"
        f"api = mapi.Client({url!r}, token=sys.stdin.read())\n"
        "run = api.runs.create(name='bare')\n"
        "for step in range(100): run.log({'loss': step}, step=step)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        input=make_token(tenant),
        text=True,
        check=True,
        timeout=60,
    )
    (run,) = api.runs.list(filter="name = bare")
    assert len(api.runs.points(run, "loss")) == 100


def test_logging_waits_for_nobody_while_nobody_answers() -> None:
    with (
        serving_script(says(201, FACTS), cuts) as server,
        mapi.Client(server.url, token=TOKEN, timeout_seconds=0.3) as client,
    ):
        run = client.runs.create()
        for step in range(1_000):
            run.log({"loss": step}, step=step)
        assert run.waiting == 1_000
        with pytest.raises(mapi.ConnectionFailedError):
            run.finish()
        assert run.waiting == 1_000


@pytest.mark.parametrize("kind", BOTH)
def test_a_point_that_nobody_would_send_is_refused(kind: str) -> None:
    runs: list[Any] = []
    with serving_script(answering(FINE)) as server:
        make(kind, server.url, TOKEN, runs.append)
        with pytest.raises(mapi.MapiError, match="is finished"):
            runs[0].log({"loss": 1}, step=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork is what it is about")
def test_a_forked_child_neither_logs_into_nor_ends_the_run_of_its_parent() -> None:
    program = (
        "import os, sys, mapi\n"
        "api = mapi.Client(sys.argv[1], token='t')\n"
        "with api.runs.create() as run:\n"
        "    run.log({'loss': 1}, step=0)\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        try: run.log({'loss': 2}, step=1)\n"
        "        except mapi.MapiError as error: print(error)\n"
        "    else:\n"
        "        os.waitpid(child, 0)\n"
        "if child == 0: sys.stdout.flush(); os._exit(0)\n"
    )
    with serving_script(answering(FINE)) as server:
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, server.url],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        methods = [f"{one.method} {one.path.rpartition('/')[2]}" for one in server.asked]
    assert "was made by another process" in said.stdout
    assert methods == ["POST runs", "POST metrics", "PATCH run_1"]
