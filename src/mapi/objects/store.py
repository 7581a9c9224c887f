"""What every object store does; `mapi.objects.local` and `mapi.objects.cloud` are the two.

An object is written once and whole: whoever comes second gets an error, and nobody sees a part.
Bytes pass in pieces, so that memory does not grow with an object, and are hashed on the way in;
what is not as long or as hashed as announced is not kept.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mapi.errors import Fault, InvalidError, NotFoundError, StateError

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "CHUNK_BYTES",
    "OBJECT_BYTES_MAX",
    "Content",
    "Expectation",
    "Measured",
    "ObjectExistsError",
    "ObjectHead",
    "ObjectStore",
    "SignedUpload",
    "StoredObject",
    "UploadTerms",
    "check_expected",
    "no_such_object",
]

#: The most that S3 takes in one request, and only one request can be create-only everywhere.
OBJECT_BYTES_MAX: Final = 5 << 30
#: One piece of a stream.
CHUNK_BYTES: Final = 256 << 10
#: What `ObjectStore.read` returns at most, unless it is told: one media item.
_READ_BYTES_MAX: Final = 8 << 20

#: Bytes, or pieces of them as they come.
Content = bytes | AsyncIterable[bytes]


class ObjectExistsError(StateError):
    """There is an object under this key already; it stays as it is."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is an object {key} already; objects are never replaced.")


def no_such_object(key: str) -> NotFoundError:
    """Return the error for a key without an object."""
    return NotFoundError(f"There is no object {key}.")


@dataclass(frozen=True, slots=True)
class ObjectHead:
    """What a store knows of an object without reading it."""

    key: str
    size_bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class StoredObject:
    """What was just written."""

    key: str
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Expectation:
    """What content was announced as; it is kept only if it is that."""

    size_bytes: int | None = None
    sha256: bytes | None = None
    size_bytes_max: int = OBJECT_BYTES_MAX


@dataclass(frozen=True, slots=True)
class UploadTerms:
    """What one signed upload may send, and nothing else."""

    key: str
    size_bytes: int
    sha256: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class SignedUpload:
    """How to send an object without a token: one request, once, before it expires."""

    method: str
    url: str
    headers: dict[str, str]
    """To be sent exactly so."""
    fields: dict[str, str]
    """Of a form whose last field ``file`` has the bytes; empty: the body is the bytes."""
    key: str
    expires: datetime


class ObjectStore(ABC):
    """Bytes under keys."""

    @abstractmethod
    async def put(
        self, key: str, content: Content, *, expected: Expectation | None = None
    ) -> StoredObject:
        """Write an object, unless there is one under the key.

        Raises:
            InvalidError: the key is none, or the content is not what was expected.
            ObjectExistsError: there is one.
            UnavailableError: the store does not answer or has no room.
        """

    @abstractmethod
    async def head(self, key: str) -> ObjectHead:
        """Return what is known of an object.

        Raises:
            InvalidError: the key is none.
            NotFoundError: there is no object under it.
            UnavailableError: the store does not answer.
        """

    @abstractmethod
    def chunks(self, key: str, start: int, stop: int) -> AsyncIterator[bytes]:
        """Yield the bytes of an object from ``start`` up to ``stop``, which lie within it."""

    @abstractmethod
    async def delete(self, key: str) -> bool:
        """Delete an object; return whether there was one.

        Raises:
            InvalidError: the key is none.
            UnavailableError: the store does not answer.
        """

    @abstractmethod
    async def retire(self, key: str) -> None:
        """Take the bytes of an object away, and leave its key taken: nobody writes it again.

        Raises:
            InvalidError: the key is none.
            UnavailableError: the store does not answer or has no room.
        """

    @abstractmethod
    def heads(self, folder: str = "") -> AsyncIterator[ObjectHead]:
        """Yield the objects in a folder and the folders below it, in no order.

        Raises:
            InvalidError: the folder is none.
            UnavailableError: the store does not answer.
        """

    @abstractmethod
    async def sign_upload(self, terms: UploadTerms, *, lifetime_seconds: int) -> SignedUpload:
        """Return how someone without a token can write this one object, once.

        Raises:
            InvalidError: the key or the content type is none.
        """

    @abstractmethod
    async def sign_download(
        self, key: str, *, file_name: str, content_type: str, lifetime_seconds: int
    ) -> str | None:
        """Return a URL for the object as an attachment, or ``None``: the server has to stream it.

        Raises:
            InvalidError: the key is none.
        """

    async def get(
        self, key: str, *, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """Return the bytes of an object in pieces; a reader that was cut off goes on at ``start``.

        Args:
            key: the object.
            start: the first byte.
            stop: the byte behind the last; the object's end ends it in any case.

        Raises:
            InvalidError: the key is none.
            NotFoundError: there is no object under it.
            UnavailableError: the store does not answer.
        """
        size_bytes = (await self.head(key)).size_bytes
        stop = size_bytes if stop is None else min(stop, size_bytes)
        return self.chunks(key, max(0, start), stop)

    async def read(self, key: str, *, size_bytes_max: int = _READ_BYTES_MAX) -> bytes:
        """Return a small object whole.

        Raises:
            InvalidError: the key is none, or the object is larger than allowed.
            NotFoundError: there is no object under it.
            UnavailableError: the store does not answer.
        """
        size_bytes = (await self.head(key)).size_bytes
        if size_bytes > size_bytes_max:
            message = f"the object has {size_bytes} bytes: at most {size_bytes_max}"
            raise InvalidError(Fault("/size_bytes", message))
        return b"".join([chunk async for chunk in self.chunks(key, 0, size_bytes)])

    async def copy(
        self, source: str, target: str, *, expected: Expectation | None = None
    ) -> StoredObject:
        """Write an object's bytes under a second key, unless there is one; hashed on the way.

        No store's own copy is create-only everywhere, and checking needs the bytes anyway.

        Raises:
            InvalidError: a key is none, or the content is not what was expected.
            NotFoundError: there is no source.
            ObjectExistsError: there is a target.
            UnavailableError: the store does not answer.
        """
        return await self.put(target, await self.get(source), expected=expected)


class Measured:
    """Content on its way in: counts, hashes, and stops what grows too long.

    Args:
        content: what is written.
        expected: what it was announced as.
    """

    def __init__(self, content: Content, expected: Expectation | None) -> None:
        self._content = content
        self._expected = expected or Expectation()
        self._hash = hashlib.sha256()
        self._size_bytes = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content.

        Raises:
            InvalidError: it is longer than expected.
        """
        limit = self._expected.size_bytes_max
        if self._expected.size_bytes is not None:
            limit = min(limit, self._expected.size_bytes)
        async for chunk in _pieces(self._content):
            self._size_bytes += len(chunk)
            if self._size_bytes > limit:
                raise InvalidError(
                    Fault("/size_bytes", f"the content has more than {limit} bytes")
                )
            self._hash.update(chunk)
            yield chunk

    def stored(self, key: str) -> StoredObject:
        """Return what was written, which is what was expected.

        Raises:
            InvalidError: it is not.
        """
        size_bytes, sha256 = self._expected.size_bytes, self._expected.sha256
        if size_bytes is not None and size_bytes != self._size_bytes:
            message = f"the content has {self._size_bytes} bytes, not {size_bytes}"
            raise InvalidError(Fault("/size_bytes", message))
        digest = self._hash.digest()
        if sha256 is not None and sha256 != digest:
            message = f"the content has the SHA-256 {digest.hex()}, not {sha256.hex()}"
            raise InvalidError(Fault("/sha256", message))
        return StoredObject(key, self._size_bytes, digest)


async def check_expected(key: str, content: bytes, expected: Expectation) -> None:
    """Refuse content that is not what was announced, before anything is done with it.

    Raises:
        InvalidError: its size or its hash is another one.
    """
    measured = Measured(content, expected)
    async for _ in measured.chunks():
        pass
    measured.stored(key)


async def _pieces(content: Content) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    async for chunk in content:
        yield chunk
