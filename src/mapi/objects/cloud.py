"""Objects in a bucket: S3 and what speaks its language, Google's and Microsoft's.

`obstore` does the work. On S3, `boto3` adds what it lacks: an upload that is signed together with
its length, its hash and the condition that there is no such object, and large objects that stream
from the disk under that same condition. Elsewhere an upload goes through our server by a permit.
"""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import boto3  # type: ignore[import-untyped]
import obstore
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from obstore import exceptions
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import AzureStore, GCSStore, S3Store

from mapi.errors import SettingError, UnavailableError
from mapi.objects.keys import checked_folder, checked_key
from mapi.objects.permits import check_content_type
from mapi.objects.store import (
    CHUNK_BYTES,
    Content,
    Expectation,
    Measured,
    ObjectExistsError,
    ObjectHead,
    ObjectStore,
    SignedUpload,
    StoredObject,
    UploadTerms,
    no_such_object,
)
from mapi.objects.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from obstore.store import ObjectStore as Bucket

    from mapi.objects.permits import UploadPermits

__all__ = ["SCHEMES", "CloudStore", "SigningBucket", "cause_of", "cloud_store"]

SCHEMES: Final = ("s3", "gs", "az")
#: Up to here an object waits in memory for its hash to be known; beyond, on the disk.
_SPOOL_BYTES: Final = 8 << 20
#: RFC 9110: ``If-None-Match: *`` met an object.
_PRECONDITION_FAILED: Final = 412

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class SigningBucket:
    """A bucket that signs uploads which say all that must be said."""

    client: Any
    """Of ``boto3``."""
    bucket: str
    prefix: str

    def place(self, key: str) -> dict[str, str]:
        """Return where the object is, as ``boto3`` is told it."""
        path = f"{self.prefix}/{key}" if self.prefix else key
        return {"Bucket": self.bucket, "Key": path}


class CloudStore(ObjectStore):
    """A bucket, or a part of one.

    Args:
        bucket: of `obstore`.
        permits: for uploads through the server.
        signing: the same bucket, where it can sign; without it, permits do.
    """

    def __init__(
        self, bucket: Bucket, *, permits: UploadPermits, signing: SigningBucket | None = None
    ) -> None:
        self._bucket = bucket
        self._permits = permits
        self._signing = signing

    @property
    def endpoint(self) -> str | None:
        """The address of the server that has the bucket, where it is one that speaks S3."""
        return None if self._signing is None else str(self._signing.client.meta.endpoint_url)

    async def put(
        self, key: str, content: Content, *, expected: Expectation | None = None
    ) -> StoredObject:
        """Write an object, unless there is one under the key; see `ObjectStore.put`."""
        checked_key(key)
        measured = Measured(content, expected)
        # The hash is known at the end and must be right before the object can be seen.
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            async for chunk in measured.chunks():
                await in_thread(spool.write, chunk)
            stored = measured.stored(key)
            spool.seek(0)
            if self._signing is not None and stored.size_bytes > _SPOOL_BYTES:
                await in_thread(_put_large, self._signing, stored, spool)
            else:
                whole = await in_thread(spool.read)
                await _told(key, obstore.put_async(self._bucket, key, whole, mode="create"))
        return stored

    async def head(self, key: str) -> ObjectHead:
        """Return what is known of an object; see `ObjectStore.head`."""
        found = await _told(key, obstore.head_async(self._bucket, checked_key(key)))
        return ObjectHead(key, found["size"], found["last_modified"])

    async def chunks(self, key: str, start: int, stop: int) -> AsyncIterator[bytes]:
        """Yield the bytes of an object; see `ObjectStore.chunks`."""
        checked_key(key)
        if start >= stop:  # no range of a request is empty
            return
        answer = await _told(
            key, obstore.get_async(self._bucket, key, options={"range": (start, stop)})
        )
        stream = aiter(answer.stream(min_chunk_size=CHUNK_BYTES))
        while True:
            try:
                chunk = await _told(key, anext(stream))
            except StopAsyncIteration:
                return
            yield bytes(chunk)

    async def retire(self, key: str) -> None:
        """Put an empty object in an object's place; see `ObjectStore.retire`."""
        checked_key(key)
        await _told(key, obstore.put_async(self._bucket, key, b"", mode="overwrite"))

    async def delete(self, key: str) -> bool:
        """Delete an object; see `ObjectStore.delete`."""
        checked_key(key)
        # A bucket's answer to a delete does not say whether there was one.
        try:
            await obstore.head_async(self._bucket, key)
        except FileNotFoundError:
            return False
        except exceptions.BaseError as error:
            raise _unavailable(key, error) from error
        await _told(key, obstore.delete_async(self._bucket, key))
        return True

    async def heads(self, folder: str = "") -> AsyncIterator[ObjectHead]:
        """Yield the objects in a folder; see `ObjectStore.heads`."""
        folder = checked_folder(folder)
        stream = obstore.list(self._bucket, prefix=folder or None)
        while True:
            try:
                batch = await _told(folder, anext(stream))
            except StopAsyncIteration:
                return
            for found in batch:
                yield ObjectHead(found["path"], found["size"], found["last_modified"])

    async def sign_upload(self, terms: UploadTerms, *, lifetime_seconds: int) -> SignedUpload:
        """Return a signed ``PUT`` where the bucket signs, else a permit."""
        signing = self._signing
        if signing is None:
            return self._permits.sign(terms, lifetime_seconds=lifetime_seconds)
        checked_key(terms.key)
        check_content_type(terms.content_type)
        checksum = base64.b64encode(terms.sha256).decode()
        expires = datetime.now(UTC) + timedelta(seconds=lifetime_seconds)
        url = signing.client.generate_presigned_url(
            "put_object",
            Params={
                **signing.place(terms.key),
                "IfNoneMatch": "*",
                "ContentLength": terms.size_bytes,
                "ContentType": terms.content_type,
                "ChecksumSHA256": checksum,
            },
            ExpiresIn=lifetime_seconds,
        )
        headers = {
            "If-None-Match": "*",
            "Content-Length": str(terms.size_bytes),
            "Content-Type": terms.content_type,
            "x-amz-checksum-sha256": checksum,
        }
        return SignedUpload("PUT", url, headers, {}, terms.key, expires)

    async def sign_download(
        self, key: str, *, file_name: str, content_type: str, lifetime_seconds: int
    ) -> str | None:
        """Return a signed ``GET`` where the bucket can be told to answer with an attachment."""
        checked_key(key)
        check_content_type(content_type)
        if self._signing is None:
            return None
        # RFC 6266: in the encoded form alone no quote in a name matters.
        name = quote(file_name, safe="", errors="replace")
        url: str = self._signing.client.generate_presigned_url(
            "get_object",
            Params={
                **self._signing.place(key),
                "ResponseContentDisposition": f"attachment; filename*=UTF-8''{name}",
                "ResponseContentType": content_type,
            },
            ExpiresIn=lifetime_seconds,
        )
        return url


def cloud_store(
    url: str, *, permits: UploadPermits, session: Any = None, endpoint: str | None = None
) -> CloudStore:
    """Return the store that a URL names.

    Args:
        url: ``s3://bucket/prefix``, ``gs://…`` or ``az://…``.
        permits: for uploads through the server.
        session: of ``boto3``; by default credentials come from where its users expect.
        endpoint: of a server that speaks S3; by default Amazon's, or what ``boto3`` is told.

    Raises:
        SettingError: the URL names no store.
    """
    parts = urlsplit(url)
    scheme, bucket, prefix = parts.scheme, parts.netloc, parts.path.strip("/")
    if scheme not in SCHEMES or not bucket:
        raise SettingError(
            f"{url!r} names no store; expected s3://bucket/prefix, or gs://, az:// or file://."
        )
    if scheme == "gs":
        return CloudStore(GCSStore(bucket, prefix=prefix or None), permits=permits)
    if scheme == "az":
        return CloudStore(AzureStore(bucket, prefix=prefix or None), permits=permits)
    session = session or boto3.Session()
    client = _s3_client(session, endpoint)
    store = S3Store(
        bucket,
        prefix=prefix or None,
        region=client.meta.region_name or "us-east-1",
        endpoint=client.meta.endpoint_url,
        virtual_hosted_style_request=False,
        credential_provider=Boto3CredentialProvider(session),
        client_options={"allow_http": client.meta.endpoint_url.startswith("http://")},
    )
    signing = SigningBucket(client, bucket, prefix)
    return CloudStore(store, permits=permits, signing=signing)


def _s3_client(session: Any, endpoint: str | None) -> Any:
    client = _client_of(session, endpoint, addressing="path" if endpoint else "auto")
    if endpoint is None and not _is_amazon(client.meta.endpoint_url):
        # ``AWS_ENDPOINT_URL`` or a profile names it: no name server there knows a bucket's own host.
        return _client_of(session, None, addressing="path")
    return client


def _is_amazon(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def _client_of(session: Any, endpoint: str | None, *, addressing: str) -> Any:
    return session.client(
        "s3",
        endpoint_url=endpoint,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": addressing},
            # Only what is asked for: a checksum behind the body is more than other servers know.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _put_large(signing: SigningBucket, stored: StoredObject, spool: IO[bytes]) -> None:
    """Stream a file under the condition that there is no such object: `obstore` would read it."""
    try:
        signing.client.put_object(
            **signing.place(stored.key),
            Body=spool,
            ContentLength=stored.size_bytes,
            IfNoneMatch="*",
        )
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == _PRECONDITION_FAILED:
            raise ObjectExistsError(stored.key) from None
        raise _unavailable(stored.key, error) from error
    except BotoCoreError as error:
        raise _unavailable(stored.key, error) from error


#: What the text of a bucket's error has, and what it means. The text itself can hold headers.
_CAUSES: Final = (
    (
        "Connection refused",
        "nobody listens there: check AWS_ENDPOINT_URL, and that the store runs",
    ),
    ("dns error", "its host is not known: check AWS_ENDPOINT_URL and AWS_DEFAULT_REGION"),
    ("certificate", "its certificate is not trusted"),
    ("timed out", "it does not answer in time: check AWS_ENDPOINT_URL, and the way there"),
    ("NoSuchBucket", "there is no such bucket: make it, or name another in MAPI_BUNDLES_URL"),
    (
        "InvalidAccessKeyId",
        "the key is not known there: check AWS_ACCESS_KEY_ID, or the role of the machine",
    ),
    ("SignatureDoesNotMatch", "the secret of the key is another: check AWS_SECRET_ACCESS_KEY"),
    ("AccessDenied", "the key may not write, read, list and delete in it: give it these rights"),
    ("credentials", "there are no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, say"),
)


def cause_of(error: BaseException) -> str:
    """Return what keeps a bucket from working, as far as the cause of an error of ours tells."""
    cause: BaseException | None = error
    while cause is not None:
        said = str(cause)
        for mark, meaning in _CAUSES:
            if mark in said:
                return meaning
        cause = cause.__cause__ or cause.__context__
    return str(error)


async def _told(key: str, work: Awaitable[_Result]) -> _Result:
    """Await the bucket, and tell its errors as ours."""
    try:
        return await work
    except FileNotFoundError:
        raise no_such_object(key) from None
    except exceptions.AlreadyExistsError:
        raise ObjectExistsError(key) from None
    except exceptions.BaseError as error:
        raise _unavailable(key, error) from error


def _unavailable(key: str, error: Exception) -> UnavailableError:
    # The whole text of such an error can hold addresses and headers: it stays with the cause.
    return UnavailableError(f"The object store did not do it for {key}: {type(error).__name__}.")
