"""Servers that are down, slow, broken or busy: typed errors in time, and repeats where that is safe."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.sdk.asking import BOTH, TOKEN, ask
from tests.mapi.sdk.small_servers import (
    certified,
    cuts,
    cuts_in_the_midst,
    drips,
    drips_headers,
    free_port,
    problem,
    says,
    serving_script,
    stays_silent,
)

import mapi
from mapi.sdk.errors import KINDS
from mapi.sdk.repeating import TRIES_MAX
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

both = pytest.mark.parametrize("kind", BOTH)

SESSION = {
    "name": "test",
    "is_service": True,
    "scopes": [],
    "roles": {},
    "project": None,
    "is_tenant_admin": True,
    "expires": None,
    "csrf_token": None,
}
FACTS = {
    "id": "run_1",
    "project": "default",
    "kind": "external",
    "status": "running",
    "name": "",
    "note": "",
    "reason": None,
    "experiment": None,
    "parent": None,
    "user": "test",
    "external_id": None,
    "created": "2026-11-29T12:00:00Z",
    "started": None,
    "finished": None,
    "duration_seconds": None,
    "attempts": 0,
    "etag": '"1"',
}
COUNTS = {"accepted": 1}


@both
@pytest.mark.parametrize("step", [stays_silent, drips, drips_headers])
def test_a_slow_server_ends_the_call_when_its_time_is_over(
    kind: str, step: Callable[..., None]
) -> None:
    with serving_script(step) as server:
        begun = time.monotonic()
        with pytest.raises(mapi.DeadlineError, match=r"0\.6 seconds") as caught:
            ask(kind, server.url, "session", timeout_seconds=0.6)
        assert time.monotonic() - begun < 3
        assert isinstance(caught.value, TimeoutError)


@both
def test_a_server_that_is_down_is_an_error_that_names_it(kind: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(mapi.ServerUnreachableError, match=url):
        ask(kind, url, "session", timeout_seconds=0.5)


@both
@pytest.mark.parametrize("step", [cuts, cuts_in_the_midst])
def test_a_read_that_was_cut_is_made_again(kind: str, step: Callable[..., None]) -> None:
    with serving_script(step, says(200, SESSION)) as server:
        assert ask(kind, server.url, "session").name == "test"
        assert len(server.asked) == 2


@both
def test_a_server_that_cuts_for_ever_is_left_within_the_time(kind: str) -> None:
    with serving_script(cuts) as server:
        with pytest.raises(mapi.ConnectionFailedError):
            ask(kind, server.url, "session", timeout_seconds=0.8)
        assert 1 < len(server.asked) <= TRIES_MAX


@both
def test_500_twice_and_then_200_is_an_answer(kind: str) -> None:
    with serving_script(
        problem(500, "INTERNAL"), says(502, b"<html>"), says(200, SESSION)
    ) as server:
        assert ask(kind, server.url, "session").name == "test"
        assert len(server.asked) == 3


@both
def test_500_for_ever_is_an_error_with_the_request_id(kind: str) -> None:
    with serving_script(problem(500, "INTERNAL")) as server:
        with pytest.raises(mapi.InternalError) as caught:
            ask(kind, server.url, "session", timeout_seconds=0.8)
        assert caught.value.request_id == "the-request"
        assert caught.value.status == 500


@both
def test_retry_after_is_waited_for(kind: str) -> None:
    with serving_script(
        problem(429, "RATE_LIMITED", retryable=True, retry_after=1), says(200, SESSION)
    ) as server:
        begun = time.monotonic()
        assert ask(kind, server.url, "session").name == "test"
        assert time.monotonic() - begun >= 1


@both
def test_retry_after_beyond_the_time_is_told_at_once(kind: str) -> None:
    with serving_script(
        problem(429, "RATE_LIMITED", retryable=True, retry_after=60), says(200, SESSION)
    ) as server:
        begun = time.monotonic()
        with pytest.raises(mapi.RateLimitedError) as caught:
            ask(kind, server.url, "session", timeout_seconds=5)
        assert time.monotonic() - begun < 3
        assert caught.value.retry_after_seconds == 60
        assert caught.value.retryable


@both
def test_a_spent_budget_is_not_tried_again_and_its_counts_are_told(kind: str) -> None:
    counted: dict[str, Any] = {"accepted": 3, "duplicates": 1, "conflicts": 0, "rejected": 7}
    with serving_script(problem(429, "QUOTA_EXCEEDED", **counted)) as server:
        with pytest.raises(mapi.QuotaExceededError) as caught:
            ask(kind, server.url, "runs.log_metric", "run_1", "loss", 1.0, step=0)
        assert caught.value.counts == counted
        assert not caught.value.retryable
        assert len(server.asked) == 1


@both
def test_points_are_sent_again_with_the_same_times(kind: str) -> None:
    with serving_script(cuts, problem(503, "UNAVAILABLE"), says(200, COUNTS)) as server:
        ask(kind, server.url, "runs.log_metrics", "run_1", {"loss": 1.0})
    bodies = {one.body for one in server.asked}
    assert len(server.asked) == 3
    assert len(bodies) == 1
    (series,) = json.loads(bodies.pop())["series"]
    assert series["key"] == "loss"
    assert series["times"]


@both
def test_what_makes_a_thing_carries_one_key_through_all_its_tries(kind: str) -> None:
    with serving_script(cuts, problem(409, "STATE_CONFLICT"), says(201, FACTS)) as server:
        assert ask(kind, server.url, "runs.create", name="a").id == "run_1"
    keys = {one.headers["idempotency-key"] for one in server.asked}
    assert len(server.asked) == 3
    assert len(keys) == 1


@both
def test_the_head_of_a_small_request_and_its_body_go_together(kind: str) -> None:
    with one_piece() as (url, pieces):
        ask(kind, url, "runs.create", name="a")
    (piece,) = pieces
    assert piece.startswith(b"POST /v1/runs HTTP/1.1\r\n")
    assert piece.endswith(b'"name":"a"}')


@both
def test_what_is_larger_than_a_piece_arrives_whole(kind: str) -> None:
    note = "".join(f"{number}," for number in range(3_500))
    with serving_script(says(201, FACTS)) as server:
        ask(kind, server.url, "runs.create", note=note)
    (asked,) = server.asked
    assert json.loads(asked.body)["note"] == note


@contextlib.contextmanager
def one_piece() -> Iterator[tuple[str, list[bytes]]]:
    """Answer what comes with the first bytes of a connection, and keep those."""
    pieces: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(10)
                # Whatever is sent later is not in it: the client waits for an answer only then.
                pieces.append(connection.recv(65_536))
                body = json.dumps(FACTS).encode()
                connection.sendall(
                    b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
                )
                connection.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", pieces
        finally:
            thread.join(20)


@both
def test_two_runs_are_made_with_two_keys(kind: str) -> None:
    with serving_script(says(201, FACTS)) as server:
        ask(kind, server.url, "runs.create")
        ask(kind, server.url, "runs.create")
    first, second = (one.headers["idempotency-key"] for one in server.asked)
    assert first != second


@both
def test_a_conflict_of_the_first_try_is_an_answer(kind: str) -> None:
    with serving_script(problem(409, "STATE_CONFLICT")) as server:
        with pytest.raises(mapi.StateConflictError):
            ask(kind, server.url, "runs.create")
        assert len(server.asked) == 1


@both
def test_lines_are_sent_again_under_the_same_number(kind: str) -> None:
    with serving_script(cuts, says(200, COUNTS)) as server:
        ask(kind, server.url, "runs.log_line", "run_1", "hello")
    bodies = {one.body for one in server.asked}
    assert len(bodies) == 1
    sent = json.loads(bodies.pop())
    assert sent["writer"]
    assert sent["seq"] == 0


def test_the_lines_of_a_run_are_numbered_on() -> None:
    with (
        serving_script(says(200, COUNTS)) as server,
        mapi.Client(server.url, token=TOKEN) as client,
    ):
        client.runs.log_lines("run_1", [{"message": "a"}, {"message": "b"}])
        client.runs.log_line("run_1", "c")
        client.runs.log_line("run_2", "d")
    sent = [json.loads(one.body) for one in server.asked]
    assert [one["seq"] for one in sent] == [0, 2, 0]
    assert sent[0]["writer"] == sent[1]["writer"] != sent[2]["writer"]


@both
def test_a_change_with_a_version_is_not_sent_twice(kind: str) -> None:
    with serving_script(cuts) as server:
        with pytest.raises(mapi.ConnectionFailedError):
            ask(kind, server.url, "runs.update", "run_1", name="b", if_match='"1"')
        assert len(server.asked) == 1
        assert server.asked[0].headers["if-match"] == '"1"'


@both
def test_what_the_try_before_deleted_counts_as_deleted(kind: str) -> None:
    with serving_script(cuts, problem(404, "NOT_FOUND")) as server:
        ask(kind, server.url, "experiments.delete", "exp_1")
        assert [one.method for one in server.asked] == ["DELETE", "DELETE"]
    with serving_script(problem(404, "NOT_FOUND")) as server, pytest.raises(mapi.NotFoundError):
        ask(kind, server.url, "experiments.delete", "exp_1")


@both
@pytest.mark.parametrize("code", list(ProblemCode))
def test_each_code_is_a_class_of_its_own_that_carries_the_problem(
    kind: str, code: ProblemCode
) -> None:
    faults = [{"pointer": "/a/b", "message": "wrong", "offset": 3, "length": 2, "expected": ["x"]}]
    step = problem(418, code.value, errors=faults)
    with serving_script(step) as server, pytest.raises(mapi.ApiError) as caught:
        ask(kind, server.url, "runs.get", "run_1", timeout_seconds=2)
    error = caught.value
    assert type(error) is KINDS[code]
    assert (error.status, error.code, error.request_id) == (418, code, "the-request")
    where = " (at character 4; expected: x)" if code is ProblemCode.SCHEMA_INVALID else ""
    assert (error.detail, str(error)) == (f"the detail of {code}", f"the detail of {code}{where}")
    assert [(one.pointer, one.message, one.offset) for one in error.errors] == [
        ("/a/b", "wrong", 3)
    ]


def test_every_code_has_one_class_and_no_two_share_it() -> None:
    assert set(KINDS) == set(ProblemCode)
    assert len(set(KINDS.values())) == len(KINDS)


@both
def test_a_code_that_is_newer_than_the_client_is_still_a_problem(kind: str) -> None:
    with serving_script(problem(451, "NOT_IN_THE_MOOD")) as server:
        with pytest.raises(mapi.ApiError, match="NOT_IN_THE_MOOD") as caught:
            ask(kind, server.url, "runs.get", "run_1")
        assert caught.value.status == 451


@both
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(says(200, b"<html>hello</html>"), id="200"),
        pytest.param(says(404, b"<html>no</html>"), id="404"),
        pytest.param(says(302, b"", location="/x"), id="302"),
    ],
)
def test_what_is_no_server_of_ours_is_told_apart(kind: str, step: Callable[..., None]) -> None:
    with serving_script(step) as server:
        with pytest.raises(mapi.AnswerUnreadableError):
            ask(kind, server.url, "runs.get", "run_1")
        assert len(server.asked) == 1


@both
def test_fields_that_are_newer_than_the_client_are_passed_over(kind: str) -> None:
    with serving_script(says(200, {**SESSION, "mood": "good"})) as server:
        assert ask(kind, server.url, "session").name == "test"


@both
def test_no_error_and_no_text_shows_the_token(kind: str) -> None:
    for step in (cuts, problem(403, "FORBIDDEN"), says(200, b"<html>"), stays_silent):
        with serving_script(step) as server:
            with pytest.raises(mapi.MapiError) as caught:
                ask(kind, server.url, "session", timeout_seconds=0.3)
            assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
            shown: Any = caught.value
            while shown is not None:
                assert "secret" not in repr(shown) + str(shown) + repr(vars(shown))
                shown = shown.__cause__ or shown.__context__
    client = mapi.Client("http://127.0.0.1:1", token=TOKEN)
    assert "secret" not in repr(client) + repr(client.runs) + repr(client._transport.server)


@both
def test_large_batches_travel_compressed_and_small_ones_do_not(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)  # as where it is not installed
    with serving_script(says(200, COUNTS)) as server:
        ask(kind, server.url, "runs.log_series", "run_1", "loss", [1.5] * 25_000)
        ask(kind, server.url, "runs.log_series", "run_1", "loss", [1.5] * 10)
    encodings = [one.headers.get("content-encoding") for one in server.asked]
    assert encodings == ["gzip", "gzip", "gzip", None]
    sizes = [
        len(json.loads(gzip.decompress(one.body))["series"][0]["values"])
        for one in server.asked[:3]
    ]
    assert sizes == [10_000, 10_000, 5_000]


def test_a_child_process_does_not_share_the_connection_of_its_parent() -> None:
    with (
        serving_script(says(200, SESSION)) as server,
        mapi.Client(server.url, token=TOKEN) as client,
    ):
        client.session()
        transport = client._transport
        opened = transport._pool
        client.session()
        assert transport._pool is opened
        transport._process -= 1  # what a fork changes
        client.session()
        assert transport._pool is not opened
        assert opened is not None
        opened.close()


@both
def test_an_address_elsewhere_is_followed_without_our_token(kind: str) -> None:
    with serving_script(says(200, b"the bytes")) as store:
        there = says(302, b"", location=f"{store.url}/x/y?signed=1")
        with serving_script(there) as server:
            found = ask(kind, server.url, "runs.media_content", "run_1", "media_1")
    assert found == b"the bytes"
    assert store.asked[0].path == "/x/y?signed=1"
    assert "authorization" not in store.asked[0].headers


@both
def test_a_prefix_of_the_address_stays(kind: str) -> None:
    with serving_script(says(200, SESSION)) as server:
        ask(kind, f"{server.url}/under/here/", "session")
    assert server.asked[0].path == "/under/here/v1/session"


@both
def test_an_address_that_is_dead_does_not_hide_one_that_answers(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(*_: Any, seconds: float) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async def async_two(*_: Any, seconds: float) -> list[str]:
        return two(seconds=seconds)

    monkeypatch.setattr("mapi.sdk.synchronous.network.resolve", two)
    monkeypatch.setattr("mapi.sdk.asynchronous.network.async_resolve", async_two)
    with serving_script(says(200, SESSION)) as server:
        assert ask(kind, server.url, "session").name == "test"


@both
def test_a_proxy_of_the_environment_is_asked(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_script(says(200, SESSION)) as proxy:
        login = proxy.url.replace("http://", "http://me:word@")
        monkeypatch.setenv("http_proxy", login)
        monkeypatch.setenv("no_proxy", "other.example")
        assert ask(kind, "http://mapi.example", "session").name == "test"
    assert proxy.asked[0].path == "http://mapi.example/v1/session"
    assert proxy.asked[0].headers["proxy-authorization"] == "Basic bWU6d29yZA=="


@both
def test_tls_is_checked(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certificate, context = certified(tmp_path)
    with serving_script(says(200, SESSION), context=context) as server:
        url = server.url.replace("http://", "https://")
        with pytest.raises(mapi.AnswerUnreadableError, match=r"(?i)certificate"):
            ask(kind, url, "session")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert ask(kind, url, "session").name == "test"


def test_a_client_tries_as_often_as_it_is_told() -> None:
    with serving_script(cuts) as server:
        with (
            mapi.Client(server.url, token=TOKEN, tries=1) as client,
            pytest.raises(mapi.ConnectionFailedError),
        ):
            client.session()
        assert len(server.asked) == 1
    with pytest.raises(mapi.SettingError, match="tries=0"):
        mapi.Client(server.url, token=TOKEN, tries=0)
