"""Servers that misbehave, against each way of asking: a typed error in time, and what may be repeated is."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from tests.mapi.api.media_calls import png
from tests.mapi.sdk.asking import BOTH, TOKEN, ask
from tests.mapi.sdk.small_servers import (
    cuts,
    cuts_a_chunk,
    cuts_in_the_midst,
    drips,
    drips_by_the_second,
    drips_headers,
    listens_only,
    problem,
    reads_slowly,
    resets,
    resets_in_the_midst,
    says,
    serving_script,
    stays_silent,
)
from tests.mapi.sdk.test_transport import FACTS, SESSION

import mapi
from mapi.sdk.repeating import TRIES_MAX

if TYPE_CHECKING:
    from pathlib import Path

both = pytest.mark.parametrize("kind", BOTH)
#: Of each call here, and how much later its error may come on a machine that has other work.
SECONDS, LATE_SECONDS = 0.4, 4.0


class Way(NamedTuple):
    """One way to ask."""

    path: str
    args: tuple[Any, ...] = ()
    more: dict[str, Any] = {}  # noqa: RUF012 - only read


WAYS = {
    "read": Way("runs.get", ("run_1",)),
    "pages": Way("runs.list"),
    "points": Way("runs.log_metric", ("run_1", "loss", 1.0)),
    "make": Way("runs.create"),
    "once": Way("runs.purge", ("run_1",)),
    "download": Way("runs.export", (io.BytesIO(),)),
    "upload": Way("runs.log_image", ("run_1", "picture", png())),
    "content": Way("runs.media_content", ("run_1", "media_1")),
}
STEPS = {
    "silent": stays_silent,
    "a byte at a time": drips,
    "a byte a second": drips_by_the_second,
    "headers without end": drips_headers,
    "closed": cuts,
    "closed in the midst": cuts_in_the_midst,
    "closed in a chunk": cuts_a_chunk,
    "reset": resets,
    "reset in the midst": resets_in_the_midst,
    "500": problem(500, "INTERNAL"),
    "500 of a proxy": says(500, b"<html>"),
    "503": problem(503, "UNAVAILABLE", retry_after=1),
    "429": problem(429, "RATE_LIMITED", retryable=True, retry_after=30),
    "no HTTP": lambda connection, _: connection.sendall(b"220 mail.example ESMTP\r\n"),
    "no JSON": says(200, b"<html>", content_type="text/html"),
    "JSON of something else": says(200, ["runs"], content_type="application/json"),
    "packed": says(200, b"\x1f\x8b\x08 is no gzip", content_encoding="gzip"),
    "elsewhere and elsewhere": says(302, b"", location="/v1/there"),
}
ANSWERS = {
    # A body of any kind is right for these.
    ("no JSON", "content"),
    ("JSON of something else", "content"),
    # A transfer has the time of a call for each piece: it goes on as long as something comes.
    ("a byte at a time", "download"),
}
#: What no packing makes smaller.
NOISE = np.random.default_rng(7).integers(0, 256, (1_500, 1_500), dtype=np.uint8)


@both
@pytest.mark.parametrize(
    ("step", "way"), [pair for pair in itertools.product(STEPS, WAYS) if pair not in ANSWERS]
)
def test_every_way_of_asking_ends_in_time_with_a_typed_error(
    kind: str, step: str, way: str
) -> None:
    path, args, more = WAYS[way]
    with serving_script(STEPS[step]) as server:
        begun = time.monotonic()
        with pytest.raises(mapi.ClientError) as caught:
            ask(kind, server.url, path, *args, **more, timeout_seconds=SECONDS)
        assert time.monotonic() - begun < SECONDS + LATE_SECONDS
    assert len(server.asked) <= TRIES_MAX
    assert isinstance(caught.value, mapi.ConnectionFailedError | mapi.ApiError)
    assert str(caught.value)
    assert TOKEN not in str(caught.value)


@both
def test_a_server_that_takes_no_connection_up_is_left_in_time(kind: str) -> None:
    with listens_only() as server:
        begun = time.monotonic()
        with pytest.raises(mapi.DeadlineError):
            ask(kind, server.url, "session", timeout_seconds=SECONDS)
        assert time.monotonic() - begun < SECONDS + LATE_SECONDS


@both
@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("runs.log_image", ("run_1", "a", NOISE)),
        ("runs.import_file", (io.BytesIO(bytes(4 << 20)),)),
        ("runs.log_params", ("run_1", {f"p{at}": "é" * 30_000 for at in range(50)})),
    ],
    ids=["image", "import", "params"],
)
def test_a_server_that_reads_a_few_bytes_now_and_then_is_left_in_time(
    kind: str, path: str, args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Packed, the params would fit into what the system sends without being read.
    monkeypatch.setattr("mapi.sdk.calls.COMPRESSED_BYTES_MIN", 1 << 30)
    with reads_slowly() as server:
        begun = time.monotonic()
        with pytest.raises(mapi.DeadlineError):
            ask(kind, server.url, path, *args, timeout_seconds=SECONDS)
        assert time.monotonic() - begun < SECONDS + LATE_SECONDS


@both
@pytest.mark.parametrize("name_service", ["slow", "broken"])
def test_a_name_service_that_does_not_answer_is_left_in_time(
    kind: str, name_service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if "mapi.example" not in str(host):
            return real(host, *args, **kwargs)
        if name_service == "broken":
            raise socket.gaierror(-2, "Name or service not known")
        time.sleep(1.5)  # what the system's own resolver does, only shorter
        return real("127.0.0.1", *args[:1], **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    begun = time.monotonic()
    wanted = mapi.DeadlineError if name_service == "slow" else mapi.ServerUnreachableError
    with pytest.raises(wanted):
        ask(kind, "http://mapi.example:1", "session", timeout_seconds=SECONDS)
    if kind == "threads":  # a loop waits for its own threads at its end
        assert time.monotonic() - begun < SECONDS + 1


#: Each call that writes, and whether it is made again when the answer was lost.
WRITES: list[tuple[str, tuple[Any, ...], dict[str, Any], bool]] = [
    ("runs.create", (), {}, True),
    ("runs.update", ("run_1",), {"name": "b"}, True),
    ("runs.update", ("run_1",), {"name": "b", "if_match": '"1"'}, False),
    ("runs.delete", ("run_1",), {}, True),
    ("runs.restore", ("run_1",), {}, True),
    ("runs.cancel", ("run_1",), {}, True),
    ("runs.retry", ("run_1",), {}, True),
    ("runs.purge", ("run_1",), {}, False),
    ("runs.heartbeat", ("run_1",), {}, True),
    ("runs.log_metric", ("run_1", "loss", 1), {}, True),
    ("runs.log_series", ("run_1", "loss", [1]), {}, True),
    ("runs.log_params", ("run_1", {"lr": 1}), {}, True),
    ("runs.set_tags", ("run_1", {"a": "b"}), {}, True),
    ("runs.delete_tag", ("run_1", "a"), {}, True),
    ("runs.log_line", ("run_1", "a"), {}, True),
    (
        "runs.log_spans",
        ("run_1", [{"name": "a", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 1}]),
        {},
        True,
    ),
    ("runs.log_image", ("run_1", "a", png()), {}, True),
    ("runs.upload_media", ("run_1", "a", png()), {}, True),
    ("runs.begin_attempt", ("run_1", 1), {}, True),
    ("runs.end_attempt", ("run_1", 1, "failed"), {}, True),
    ("runs.put_config", ("run_1", {}), {}, True),
    ("runs.put_environment", ("run_1", {}), {}, True),
    ("runs.correct_series", ("run_1", "loss", [1]), {"steps": [1]}, True),
    ("runs.delete_points", ("run_1", "loss"), {"reason": "a"}, False),
    ("runs.delete_param", ("run_1", "lr"), {"reason": "a"}, False),
    ("runs.delete_media", ("run_1", "media_1"), {"reason": "a"}, False),
    ("runs.import_file", (io.BytesIO(b"a"),), {}, True),
    ("experiments.create", ("a",), {}, True),
    ("experiments.update", ("exp_1",), {"name": "b"}, True),
    ("experiments.archive", ("exp_1",), {}, True),
    ("experiments.unarchive", ("exp_1",), {}, True),
    ("experiments.delete", ("exp_1",), {}, True),
    ("views.create", ("a",), {}, True),
    ("views.update", ("view_1",), {"name": "b", "if_match": '"1"'}, False),
    ("tokens.create", ("a", ["runs:read"]), {}, True),
    ("tokens.revoke", ("abc",), {}, True),
    ("projects.create", ("a",), {}, True),
    ("members.set", ("anna", "viewer"), {}, True),
    ("members.remove", ("anna",), {}, True),
    ("limits.set", ({"points": 1},), {"project": "a"}, True),
]


@both
@pytest.mark.parametrize(
    ("path", "args", "more", "is_repeated"),
    WRITES,
    ids=[f"{one[0]}{'-versioned' if 'if_match' in one[2] else ''}" for one in WRITES],
)
def test_a_write_whose_answer_was_lost_is_made_again_where_twice_is_once(
    kind: str, path: str, args: tuple[Any, ...], more: dict[str, Any], is_repeated: bool
) -> None:
    with serving_script(cuts, problem(403, "FORBIDDEN")) as server:
        with pytest.raises(mapi.ForbiddenError if is_repeated else mapi.ConnectionFailedError):
            ask(kind, server.url, path, *args, **more)
        assert len(server.asked) == (2 if is_repeated else 1)
    first, *rest = server.asked
    for one in rest:
        assert (one.method, one.path, one.body) == (first.method, first.path, first.body)
        assert one.headers.get("idempotency-key") == first.headers.get("idempotency-key")


@both
def test_what_certainly_was_not_done_is_made_again_always(kind: str) -> None:
    done = {"rows": 1, "freed_bytes": 0}
    for step in (
        problem(429, "RATE_LIMITED", retryable=True),
        problem(429, "RATE_LIMITED", retry_after=0),
    ):
        with serving_script(step, says(200, done)) as server:
            assert ask(kind, server.url, "runs.purge", "run_1").rows == 1
            assert len(server.asked) == 2


def in_seconds(seconds: float, *, clock: timedelta = timedelta()) -> str:
    return format_datetime(datetime.now(UTC) + clock + timedelta(seconds=seconds), usegmt=True)


@both
def test_retry_after_may_be_a_date(kind: str) -> None:
    # Dates have no fractions: two seconds from now are more than one.
    step = problem(429, "RATE_LIMITED", retryable=True, retry_after=in_seconds(2))
    with serving_script(step, says(200, SESSION)) as server:
        begun = time.monotonic()
        assert ask(kind, server.url, "session").name == "test"
        assert 0.9 < time.monotonic() - begun < 2 + LATE_SECONDS


@both
def test_a_date_is_read_by_the_clock_of_the_server(kind: str) -> None:
    behind = timedelta(hours=-5)
    step = says(
        429,
        {
            "status": 429,
            "code": "RATE_LIMITED",
            "title": "t",
            "detail": "d",
            "type": "about:blank",
        },
        retry_after=in_seconds(60, clock=behind),
        date=in_seconds(0, clock=behind),
    )
    with serving_script(step) as server:
        with pytest.raises(mapi.RateLimitedError) as caught:
            ask(kind, server.url, "session", timeout_seconds=5)
        assert caught.value.retry_after_seconds == pytest.approx(60, abs=2)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("99999999999999999999", 999_999.0),
        ("Fri, 01 Jan 1999 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 999_999.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("Fri, 99 Foo 9999 99:99:99 GMT", None),
        ("", None),
    ],
)
def test_whatever_stands_in_retry_after_is_read_or_left_alone(
    text: str, seconds: float | None
) -> None:
    with serving_script(says(503, b"busy", retry_after=text)) as server:
        with (
            mapi.Client(server.url, token=TOKEN, timeout_seconds=2, tries=1) as client,
            pytest.raises(mapi.UnavailableError) as caught,
        ):
            client.session()
        assert caught.value.retry_after_seconds == seconds


@both
def test_the_page_of_a_proxy_is_no_export(kind: str, tmp_path: Path) -> None:
    page = says(200, b"<html>Sign in", content_type="text/html; charset=utf-8")
    with serving_script(page) as server:
        with pytest.raises(mapi.AnswerUnreadableError, match="text/html"):
            ask(kind, server.url, "runs.export", tmp_path / "runs.jsonl")
        with pytest.raises(mapi.AnswerUnreadableError, match="text/html"):
            ask(kind, server.url, "runs.export", tmp_path / "runs.csv", format="csv")
    assert list(tmp_path.iterdir()) == []


@both
def test_a_download_that_breaks_leaves_no_file(kind: str, tmp_path: Path) -> None:
    for step in (cuts_in_the_midst, cuts_a_chunk, resets_in_the_midst, drips_by_the_second):
        with serving_script(step) as server, pytest.raises(mapi.ConnectionFailedError):
            ask(kind, server.url, "runs.export", tmp_path / "a.jsonl", timeout_seconds=SECONDS)
        assert list(tmp_path.iterdir()) == []


@both
def test_a_transfer_that_goes_on_may_take_longer_than_a_call(kind: str) -> None:
    def slowly(connection: Any, server: Any) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n")
        for _ in range(12):
            server.ends.wait(0.1)
            connection.sendall(b"x")

    target = io.BytesIO()
    with serving_script(slowly) as server:
        ask(kind, server.url, "runs.export", target, timeout_seconds=0.5)
    assert target.getvalue() == b"x" * 12


@both
def test_a_refusal_that_comes_before_all_was_sent_is_read(kind: str) -> None:
    """A server need not read what it will not take."""

    def refuses(connection: Any) -> None:
        connection.recv(1_000)
        body = json.dumps(
            {"type": "about:blank", "title": "t", "status": 413, "detail": "too large"}
            | {"code": "PAYLOAD_TOO_LARGE"}
        ).encode()
        head = b"HTTP/1.1 413 No\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        connection.shutdown(1)
        with contextlib.suppress(OSError):
            while connection.recv(65_536):
                pass

    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                refuses(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(mapi.PayloadTooLargeError, match="too large"):
            ask(kind, url, "runs.import_file", io.BytesIO(bytes(8 << 20)))
        thread.join(10)


@both
def test_a_list_that_breaks_between_pages_is_an_error_behind_what_came(kind: str) -> None:
    page = {
        "runs": [
            {
                **{name: FACTS[name] for name in ("id", "kind", "status", "name", "experiment")},
                **{name: FACTS[name] for name in ("user", "created", "started", "finished")},
            }
        ],
        "columns": [],
        "filter_canonical": "",
        "next_cursor": "more",
    }
    found: list[Any] = []
    with serving_script(says(200, page), cuts, stays_silent) as server:
        with pytest.raises(mapi.DeadlineError):
            ask(kind, server.url, "runs.list", timeout_seconds=SECONDS, into=found)
        assert len(server.asked) == 3
    assert [one.id for one in found] == ["run_1"]


@both
def test_progress_tells_of_every_piece_and_begins_again_with_a_try(kind: str) -> None:
    seen: list[tuple[int, int | None]] = []
    content = bytes(600_000)
    answer: dict[str, Any] = {"runs": [], "rows": {}}
    with serving_script(cuts, says(200, answer)) as server:
        ask(
            kind,
            server.url,
            "runs.import_file",
            io.BytesIO(content),
            progress=lambda done, whole: seen.append((done, whole)),
        )
    once = [(262_144, 600_000), (524_288, 600_000), (600_000, 600_000)]
    assert seen == once * 2
    assert [one.body for one in server.asked] == [content, content]
    assert {one.headers["content-length"] for one in server.asked} == {"600000"}


@both
def test_who_runs_out_of_time_says_what_the_try_before_was_told(kind: str) -> None:
    refused = problem(503, "UNAVAILABLE", retryable=True)
    with (
        serving_script(refused, stays_silent) as server,
        pytest.raises(mapi.DeadlineError, match=r"no whole answer.*the detail of UNAVAILABLE"),
    ):
        ask(kind, server.url, "runs.get", "run_1", timeout_seconds=2.0)


@both
def test_a_server_without_tls_is_told_from_one_with_a_bad_certificate(kind: str) -> None:
    def refuse(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=refuse, args=[listening])
        server.start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(mapi.AnswerUnreadableError, match=r"does not speak TLS .*http://"):
            ask(kind, url, "session", timeout_seconds=5.0)
        server.join()
