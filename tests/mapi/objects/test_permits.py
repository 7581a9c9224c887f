from __future__ import annotations

import hashlib

import pytest

from mapi.errors import AuthenticationError, InvalidError
from mapi.objects.permits import UploadPermits
from mapi.objects.store import SignedUpload, UploadTerms

TERMS = UploadTerms("m/a", 11, hashlib.sha256(b"x").digest(), "image/png")


class ManualClock:
    """Seconds since 1970 that stand still until they are turned."""

    def __init__(self) -> None:
        self.seconds = 1_796_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def permits(clock: ManualClock) -> UploadPermits:
    return UploadPermits(bytes(range(32)), url="http://test/v1/uploads", clock=clock)


@pytest.fixture
def signed(permits: UploadPermits) -> SignedUpload:
    return permits.sign(TERMS, lifetime_seconds=60)


def test_a_permit_is_a_form_to_our_server(signed: SignedUpload) -> None:
    assert (signed.method, signed.url, signed.headers) == ("POST", "http://test/v1/uploads", {})
    assert signed.key == "m/a"


@pytest.mark.parametrize(
    "name", ["key", "size_bytes", "sha256", "content_type", "expires", "signature"]
)
def test_a_permit_holds_for_its_terms_only(
    permits: UploadPermits, signed: SignedUpload, name: str
) -> None:
    right = signed.fields[name]
    for other in ("", "1", right + "0", right[:-1], right.upper() + " ", "\ud800", "é"):
        with pytest.raises(AuthenticationError):
            permits.verify({**signed.fields, name: other})
    without = {key: value for key, value in signed.fields.items() if key != name}
    with pytest.raises(AuthenticationError, match="has the fields key, size_bytes"):
        permits.verify(without)
    with pytest.raises(AuthenticationError):
        permits.verify({**signed.fields, "more": "1"})
    assert permits.verify(signed.fields) == TERMS


def test_characters_moved_between_fields_break_a_permit(
    permits: UploadPermits, signed: SignedUpload
) -> None:
    moved = {**signed.fields, "key": "m/", "size_bytes": "a" + signed.fields["size_bytes"]}
    with pytest.raises(AuthenticationError, match="signature"):
        permits.verify(moved)


def test_a_permit_expires(
    permits: UploadPermits, signed: SignedUpload, clock: ManualClock
) -> None:
    assert signed.expires.timestamp() == clock.seconds + 60
    clock.seconds += 59
    permits.verify(signed.fields)
    clock.seconds += 1
    with pytest.raises(AuthenticationError, match="expired"):
        permits.verify(signed.fields)


def test_another_servers_permit_is_none(permits: UploadPermits, clock: ManualClock) -> None:
    other = UploadPermits(bytes(32), url="http://test", clock=clock)
    with pytest.raises(AuthenticationError, match="signature"):
        permits.verify(other.sign(TERMS, lifetime_seconds=60).fields)


def test_what_is_no_key_or_content_type_gets_no_permit(permits: UploadPermits) -> None:
    for terms in (
        UploadTerms("../a", 1, bytes(32), "image/png"),
        UploadTerms("a", 1, bytes(32), "text/html; charset=x"),
        UploadTerms("a", 1, bytes(32), "text/html\r\nX: y"),
    ):
        with pytest.raises(InvalidError):
            permits.sign(terms, lifetime_seconds=60)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="a secret of 31 bytes: at least 32"):
        UploadPermits(bytes(31), url="", clock=ManualClock())
