"""Permits for one upload through our own server, for stores that cannot sign one that is enough.

A permit is a form: the terms, when they expire, and an HMAC over exactly those. Whoever holds one
can write that object and no other, once, since the store never replaces.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mapi.errors import AuthenticationError, Fault, InvalidError
from mapi.objects.keys import checked_key
from mapi.objects.store import SignedUpload, UploadTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PERMIT_FIELDS", "SECRET_BYTES_MIN", "UploadPermits", "check_content_type"]

#: As long as the hash: a shorter secret would be the weakest part.
SECRET_BYTES_MIN: Final = 32
PERMIT_FIELDS: Final = ("key", "size_bytes", "sha256", "content_type", "expires", "signature")
#: What is signed begins with what it is, so that no other signature of this secret passes for one.
_PURPOSE: Final = "mapi-upload-v1"
_CONTENT_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")


class UploadPermits:
    """Makes permits and reads them.

    Args:
        secret: at least `SECRET_BYTES_MIN` random bytes, the same in all replicas.
        url: where the server takes uploads.
        clock: seconds since 1970.
    """

    def __init__(self, secret: bytes, *, url: str, clock: Callable[[], float]) -> None:
        if len(secret) < SECRET_BYTES_MIN:
            raise ValueError(f"a secret of {len(secret)} bytes: at least {SECRET_BYTES_MIN}")
        self._secret = secret
        self._url = url
        self._clock = clock

    def sign(self, terms: UploadTerms, *, lifetime_seconds: int) -> SignedUpload:
        """Return a permit for an upload of these terms.

        Raises:
            InvalidError: the key or the content type is none.
        """
        check_content_type(terms.content_type)
        expires = int(self._clock()) + lifetime_seconds
        fields = {
            "key": checked_key(terms.key),
            "size_bytes": str(terms.size_bytes),
            "sha256": terms.sha256.hex(),
            "content_type": terms.content_type,
            "expires": str(expires),
        }
        return SignedUpload(
            method="POST",
            url=self._url,
            headers={},
            fields={**fields, "signature": self._signature(fields)},
            key=terms.key,
            expires=datetime.fromtimestamp(expires, UTC),
        )

    def verify(self, fields: Mapping[str, str]) -> UploadTerms:
        """Return the terms that the fields of a form permit; the content is checked by `put`.

        Args:
            fields: all fields of the form but the file.

        Raises:
            AuthenticationError: the fields are not those of a permit of ours, or it has expired.
        """
        if set(fields) != set(PERMIT_FIELDS):
            names = ", ".join(PERMIT_FIELDS)
            raise AuthenticationError(f"An upload's form has the fields {names}, and no other.")
        given = fields["signature"].encode(errors="surrogatepass")
        # What is signed was well formed when it was, so nothing below can fail but for the time.
        if not hmac.compare_digest(self._signature(fields).encode(), given):
            raise AuthenticationError("The upload's signature does not belong to its fields.")
        if self._clock() >= int(fields["expires"]):
            raise AuthenticationError("The upload's permit has expired; ask for a new one.")
        return UploadTerms(
            key=checked_key(fields["key"]),
            size_bytes=int(fields["size_bytes"]),
            sha256=bytes.fromhex(fields["sha256"]),
            content_type=fields["content_type"],
        )

    def _signature(self, fields: Mapping[str, str]) -> str:
        # Each with its length before it: no two sets of fields are the same bytes.
        parts = [_PURPOSE, *(fields[name] for name in PERMIT_FIELDS if name != "signature")]
        signed = "".join(f"{len(part)}:{part}" for part in parts)
        return hmac.new(
            self._secret, signed.encode(errors="surrogatepass"), hashlib.sha256
        ).hexdigest()


def check_content_type(content_type: str) -> None:
    """Pass a plain content type, and refuse what could end a header or begin a parameter.

    Raises:
        InvalidError: it is none.
    """
    if not _CONTENT_TYPE.fullmatch(content_type):
        raise InvalidError(
            Fault("/content_type", f"{content_type!r} is no content type: image/png would be one")
        )
