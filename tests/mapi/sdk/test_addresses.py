"""What is no address is refused with an error of ours; the rest is one that can be connected to."""

from __future__ import annotations

import pytest
from tests.mapi.sdk.asking import BOTH, ask
from tests.mapi.sdk.small_servers import free_port, says, serving_script
from tests.mapi.sdk.test_transport import SESSION

import mapi
from mapi.sdk.addresses import Proxy, checked_url, proxy_of, split_address

both = pytest.mark.parametrize("kind", BOTH)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def closed() -> str:
    """Return an address where nobody listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/", "http://a.example"),
        ("HTTPS://A.example:443/x/", "https://a.example:443/x"),
        ("http://[::1]:8802", "http://[::1]:8802"),
        ("http://ü.example:1", "http://xn--tda.example:1"),
        ("http://a.example/ü/%C3%BC", "http://a.example/%C3%BC/%C3%BC"),
    ],
)
def test_an_address_is_of_ascii_and_has_no_slash_at_its_end(url: str, expected: str) -> None:
    assert checked_url(url) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("proxy:3128", Proxy("http", "proxy", 3128)),
        ("proxy", Proxy("http", "proxy", 80)),
        ("127.0.0.1:9", Proxy("http", "127.0.0.1", 9)),
        ("http://[::1]:9", Proxy("http", "::1", 9)),
        ("https://proxy", Proxy("https", "proxy", 443)),
        ("http://ü.example:1", Proxy("http", "xn--tda.example", 1)),
        ("u:p@proxy:1", Proxy("http", "proxy", 1, (b"u", b"p"))),
        ("http://us%40er:p%3Aw@h:9", Proxy("http", "h", 9, (b"us@er", b"p:w"))),
        ("http://us%C3%A9r@h:9", Proxy("http", "h", 9, ("usér".encode(), b""))),
    ],
)
def test_a_proxy_is_what_curl_takes_for_one(address: str, expected: Proxy) -> None:
    assert proxy_of(address, variable="http_proxy") == expected


#: No proxy, or none that speaks HTTP.
NONE = [
    "socks5://me:word@127.0.0.1:9",
    "http://",
    "http://[::1",
    "http://me:word@h:99999",
    "http://127.0.0.1:x",
    "http://h:0",
    "http://a b",
    "http://" + "ü" * 70 + ".example",
]


@both
@pytest.mark.parametrize("proxy", NONE)
def test_a_proxy_that_is_none_is_an_error_that_names_its_variable_and_no_password(
    kind: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(
        mapi.SettingError, match=r"https_proxy names .* http://host:port"
    ) as caught:
        ask(kind, "https://10.255.255.1:1", "session")
    assert "word" not in str(caught.value)


@both
@pytest.mark.parametrize("written", ["{}", "http://{}", "http://u:p@{}", "https://{}"])
def test_a_proxy_where_nobody_listens_is_a_server_that_cannot_be_reached(
    kind: str, written: str, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", written.format(closed))
    with pytest.raises(mapi.ConnectionFailedError, match=r"10\.255\.255\.1"):
        ask(kind, "http://10.255.255.1:8802", "session", timeout_seconds=0.2)


@both
@pytest.mark.parametrize(
    "url",
    [
        "http://ü.invalid:1",
        "http://" + "a" * 300 + ".invalid",
        "http://a..b:1",
        "https://{}",
        "http://{}/x/../y",
        "HTTP://{}",
        "http://{}/ü",
    ],
)
def test_an_address_where_nobody_listens_is_a_server_that_cannot_be_reached(
    kind: str, url: str, closed: str
) -> None:
    with pytest.raises(mapi.ConnectionFailedError):
        ask(kind, url.format(closed), "session", timeout_seconds=0.2)


@both
def test_a_proxy_without_a_scheme_is_asked_with_the_login_that_is_meant(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_script(says(200, SESSION)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", "us%40er:p%3Aw@"))
        assert ask(kind, "http://ü.example/mapi", "session").name == "test"
    assert proxy.asked[0].path == "http://xn--tda.example/mapi/v1/session"
    assert proxy.asked[0].headers["proxy-authorization"] == "Basic dXNAZXI6cDp3"


def test_what_is_asked_at_an_address_keeps_its_query() -> None:
    address = "https://store.example:9000/b/k%2Fey?X-Sign=a%2Bb&part=1#rest"
    assert split_address(address) == (
        "https://store.example:9000",
        "/b/k%2Fey?X-Sign=a%2Bb&part=1",
    )


@both
@pytest.mark.parametrize(
    "where", ["ftp://h/x?secret", "http://[::1?secret", "/v1/here", "http://a:b@h/x"]
)
def test_a_server_that_sends_the_client_nowhere_is_one_that_cannot_be_understood(
    kind: str, where: str
) -> None:
    with (
        serving_script(says(302, b"", location=where)) as server,
        pytest.raises(mapi.ConnectionFailedError, match="sends this client to") as caught,
    ):
        ask(kind, server.url, "runs.media_content", "run_1", "media_1")
    assert "secret" not in str(caught.value)
