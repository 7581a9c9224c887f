"""What every object store must do, and the stores that do it."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import secrets
import tracemalloc
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapi.errors import (
    AuthenticationError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)
from mapi.objects.local import LocalStore
from mapi.objects.permits import UploadPermits
from mapi.objects.store import (
    CHUNK_BYTES,
    Expectation,
    ObjectExistsError,
    ObjectStore,
    SignedUpload,
    UploadTerms,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path

LARGE = 20 << 20
BAD_KEYS = [
    "",
    ".",
    "..",
    "/",
    "/etc/passwd",
    "../../etc/passwd",
    "a/../../b",
    "a/../b",
    "a//b",
    "a/",
    "a/.b",
    "a\\..\\..\\b",
    "C:\\x",
    "C:x",
    "a\x00.png",
    "%2e%2e%2fx",
    "a%2fb",
    "a\n",
    "a b",
    "é",
    "a" * 201,
    "a/" * 300 + "a",
    "a" * 5_000,
    ".partial/a",
    "#/../a",
    "?path=",
    "~",
]


class ManualClock:
    """Seconds since 1970 that stand still until they are turned."""

    def __init__(self) -> None:
        self.seconds = 1_796_000_000.0

    def __call__(self) -> float:
        return self.seconds


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def in_pieces(content: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


async def torn() -> AsyncIterator[bytes]:
    yield b"half of"
    raise ConnectionResetError("the sender is gone")


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def keys(store: ObjectStore, folder: str = "") -> set[str]:
    return {head.key async for head in store.heads(folder)}


def terms_of(key: str, content: bytes) -> UploadTerms:
    return UploadTerms(key, len(content), hashlib.sha256(content).digest(), "image/png")


class StoreTests:
    """One class for all stores; a store is what passes it."""

    async def send(self, store: ObjectStore, signed: SignedUpload, content: bytes) -> int:
        """Send as a client does, and return the status of the answer."""
        raise NotImplementedError

    def test_what_was_put_is_read(self, store: ObjectStore) -> None:
        async def work() -> None:
            content = secrets.token_bytes(3000)
            stored = await store.put("a/b.png", in_pieces(content))
            assert stored.sha256 == hashlib.sha256(content).digest()
            assert stored.size_bytes == 3000
            assert await store.read("a/b.png") == content
            assert await whole(await store.get("a/b.png")) == content
            head = await store.head("a/b.png")
            assert (head.key, head.size_bytes) == ("a/b.png", 3000)
            assert head.modified.tzinfo is not None

        run(work())

    def test_an_object_is_never_replaced(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a", b"first")
            with pytest.raises(ObjectExistsError, match="There is an object a already"):
                await store.put("a", b"second")
            assert await store.read("a") == b"first"

        run(work())

    def test_of_many_writers_at_once_one_wins(self, store: ObjectStore) -> None:
        async def work() -> None:
            contents = [bytes([at]) * 1000 for at in range(8)]
            done = await asyncio.gather(
                *(store.put("a/b", in_pieces(content)) for content in contents),
                return_exceptions=True,
            )
            won = [at for at, one in enumerate(done) if not isinstance(one, BaseException)]
            assert len(won) == 1
            assert all(
                isinstance(one, ObjectExistsError) for at, one in enumerate(done) if at not in won
            )
            assert await store.read("a/b") == contents[won[0]]

        run(work())

    def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a", b"")
            assert await store.read("a") == b""
            assert await whole(await store.get("a", start=5)) == b""
            assert await keys(store) == {"a"}

        run(work())

    @pytest.mark.parametrize(
        ("start", "stop"),
        [(0, 10), (5, None), (5, 7), (9, 100), (10, None), (50, 60), (7, 5), (-5, 3)],
    )
    def test_a_part_is_read_as_a_slice(
        self, store: ObjectStore, start: int, stop: int | None
    ) -> None:
        async def work() -> None:
            await store.put("a", b"0123456789")
            expected = b"0123456789"[max(start, 0) : stop]
            assert await whole(await store.get("a", start=start, stop=stop)) == expected

        run(work())

    def test_what_is_not_there_is_told_before_any_byte(self, store: ObjectStore) -> None:
        async def work() -> None:
            for call in (
                store.head("a/b"),
                store.get("a/b"),
                store.read("a/b"),
                store.copy("a/b", "c"),
            ):
                with pytest.raises(NotFoundError, match="There is no object a/b"):
                    await call
            assert await store.delete("a/b") is False

        run(work())

    def test_a_folder_is_no_object(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a/b", b"x")
            with pytest.raises(NotFoundError):
                await store.head("a")
            assert await store.delete("a") is False
            assert await store.read("a/b") == b"x"

        run(work())

    def test_a_deleted_key_is_free(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a/b/c", b"x")
            assert await store.delete("a/b/c") is True
            assert await keys(store) == set()
            assert await store.delete("a/b/c") is False
            await store.put("a/b/c", b"y")
            assert await store.read("a/b/c") == b"y"

        run(work())

    def test_a_retired_key_stays_taken_and_holds_nothing(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a/b/c", b"x")
            for _ in range(2):
                await store.retire("a/b/c")
                assert await store.read("a/b/c") == b""
            with pytest.raises(ObjectExistsError):
                await store.put("a/b/c", b"y")
            content = b"picture"
            signed = await store.sign_upload(terms_of("a/b/c", content), lifetime_seconds=60)
            assert await self.send(store, signed, content) in {409, 412}
            assert await store.read("a/b/c") == b""
            await store.retire("a/d")  # also where nothing was
            assert await keys(store) == {"a/b/c", "a/d"}
            assert await store.delete("a/b/c") is True

        run(work())

    def test_a_folder_lists_what_is_below_it_and_nothing_beside_it(
        self, store: ObjectStore
    ) -> None:
        async def work() -> None:
            everything = {"a", "b/c", "b/d/e", "bc", "b-d/e"}
            for key in everything:
                await store.put(key, key.encode())
            assert await keys(store) == everything
            assert await keys(store, "b") == await keys(store, "b/") == {"b/c", "b/d/e"}
            assert await keys(store, "nothing") == set()
            assert {head.size_bytes async for head in store.heads("b")} == {3, 5}

        run(work())

    @pytest.mark.parametrize("key", BAD_KEYS, ids=range(len(BAD_KEYS)))
    def test_what_is_no_key_is_refused_by_every_door(self, store: ObjectStore, key: str) -> None:
        async def work() -> None:
            await store.put("ok", b"x")
            calls = [
                store.put(key, b"evil"),
                store.head(key),
                store.get(key),
                store.read(key),
                store.delete(key),
                store.retire(key),
                store.copy("ok", key),
                store.copy(key, "ok2"),
                whole(store.chunks(key, 0, 1)),
                store.sign_upload(terms_of(key, b"x"), lifetime_seconds=60),
                store.sign_download(
                    key, file_name="x", content_type="image/png", lifetime_seconds=60
                ),
            ]
            if key:
                calls.append(keys(store, key if not key.endswith("/") else f"{key}/"))
            for call in calls:
                with pytest.raises(InvalidError, match="is no key of an object"):
                    await call
            assert await keys(store) == {"ok"}

        run(work())

    @pytest.mark.parametrize(
        ("expected", "pointer"),
        [
            (Expectation(size_bytes=6), "/size_bytes"),
            (Expectation(size_bytes=4), "/size_bytes"),
            (Expectation(size_bytes_max=4), "/size_bytes"),
            (Expectation(sha256=hashlib.sha256(b"other").digest()), "/sha256"),
        ],
    )
    def test_other_content_than_announced_is_not_kept(
        self, store: ObjectStore, expected: Expectation, pointer: str
    ) -> None:
        async def work() -> None:
            with pytest.raises(InvalidError) as error:
                await store.put("a/b", in_pieces(b"12345", 2), expected=expected)
            assert error.value.faults[0].pointer == pointer
            assert await keys(store) == set()
            right = Expectation(5, hashlib.sha256(b"12345").digest(), 5)
            await store.put("a/b", b"12345", expected=right)

        run(work())

    def test_content_that_never_ends_is_stopped(self, store: ObjectStore) -> None:
        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 1000

        async def work() -> None:
            with pytest.raises(InvalidError, match="more than 100000 bytes"):
                await store.put("a", endless(), expected=Expectation(size_bytes_max=100_000))

        run(work())

    def test_a_sender_that_breaks_off_leaves_nothing(self, store: ObjectStore) -> None:
        async def work() -> None:
            with pytest.raises(ConnectionResetError):
                await store.put("a", torn())
            assert await keys(store) == set()
            await store.put("a", b"whole")

        run(work())

    def test_a_copy_is_checked_and_create_only(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a", b"x")
            with pytest.raises(InvalidError, match="SHA-256"):
                await store.copy("a", "b", expected=Expectation(sha256=bytes(32)))
            await store.copy("a", "b")
            with pytest.raises(ObjectExistsError):
                await store.copy("a", "b")
            assert await keys(store) == {"a", "b"}

        run(work())

    def test_reading_whole_has_a_limit(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("a", b"12345")
            assert await store.read("a", size_bytes_max=5) == b"12345"
            with pytest.raises(InvalidError, match="the object has 5 bytes: at most 4"):
                await store.read("a", size_bytes_max=4)

        run(work())

    def test_memory_does_not_grow_with_an_object(self, store: ObjectStore) -> None:
        async def zeros() -> AsyncIterator[bytes]:
            for _ in range(LARGE // CHUNK_BYTES):
                yield bytes(CHUNK_BYTES)

        async def work() -> int:
            stored = await store.put("large", zeros())
            assert stored.size_bytes == LARGE
            total = 0
            async for chunk in await store.get("large"):
                total += len(chunk)
            return total

        tracemalloc.start()
        try:
            assert run(work()) == LARGE
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < LARGE * 0.75
        with pytest.raises(ObjectExistsError):
            run(store.put("large", zeros()))

    # One store for all examples, which write under keys of their own; each class runs the same
    # function, as it is meant to.
    @settings(
        max_examples=15,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
        ],
    )
    @given(content=st.binary(max_size=2000), size=st.integers(1, 700))
    def test_any_bytes_in_any_pieces_come_back(
        self, store: ObjectStore, content: bytes, size: int
    ) -> None:
        async def work() -> None:
            key = f"x/{secrets.token_hex(8)}"
            await store.put(key, in_pieces(content, size))
            assert await store.read(key) == content

        run(work())

    def test_a_signed_upload_writes_its_object_once(self, store: ObjectStore) -> None:
        async def work() -> None:
            content = b"picture"
            signed = await store.sign_upload(terms_of("m/a", content), lifetime_seconds=60)
            assert signed.key == "m/a"
            assert await self.send(store, signed, content) in {200, 201}
            assert await store.read("m/a") == content
            assert await self.send(store, signed, content) in {409, 412}

        run(work())

    def test_a_signed_upload_takes_no_other_length(self, store: ObjectStore) -> None:
        async def work() -> None:
            signed = await store.sign_upload(terms_of("m/a", b"picture"), lifetime_seconds=60)
            assert await self.send(store, signed, b"another length") in {400, 403, 422}
            assert await keys(store) == set()

        run(work())

    def test_a_signed_upload_takes_no_other_content_type(self, store: ObjectStore) -> None:
        async def work() -> None:
            terms = dataclasses.replace(terms_of("m/a", b"x"), content_type="text/html\r\nX: y")
            with pytest.raises(InvalidError, match="is no content type"):
                await store.sign_upload(terms, lifetime_seconds=60)

        run(work())


class TestLocalStore(StoreTests):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def permits(self, clock: ManualClock) -> UploadPermits:
        return UploadPermits(bytes(range(32)), url="http://test/v1/uploads", clock=clock)

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        return tmp_path / "objects"

    @pytest.fixture
    def store(self, directory: Path, permits: UploadPermits) -> LocalStore:
        self.reader = permits
        return LocalStore(directory, permits=permits)

    async def send(self, store: ObjectStore, signed: SignedUpload, content: bytes) -> int:
        assert (signed.method, signed.url) == ("POST", "http://test/v1/uploads")
        return await send_by_permit(self.reader, store, signed.fields, content)

    @pytest.mark.parametrize("key", BAD_KEYS, ids=range(len(BAD_KEYS)))
    def test_no_key_leaves_a_trace_outside(
        self, store: LocalStore, tmp_path: Path, key: str
    ) -> None:
        def found() -> list[Path]:
            # Of the neighbours the names only: a database of other tests lives in one of them.
            return sorted([*tmp_path.rglob("*"), *tmp_path.parent.iterdir()])

        before = found()
        with pytest.raises(InvalidError):
            run(store.put(key, b"evil"))
        assert found() == before

    def test_the_same_length_with_other_content_is_refused(self, store: LocalStore) -> None:
        signed = run(store.sign_upload(terms_of("m/a", b"picture"), lifetime_seconds=60))
        assert run(self.send(store, signed, b"PICTURE")) == 422
        assert run(keys(store)) == set()


async def send_by_permit(
    permits: UploadPermits, store: ObjectStore, fields: dict[str, str], content: bytes
) -> int:
    """Do as the server's route does."""
    try:
        terms = permits.verify(fields)
        await store.put(terms.key, content, expected=Expectation(terms.size_bytes, terms.sha256))
    except AuthenticationError:
        return 403
    except ObjectExistsError:
        return 409
    except InvalidError:
        return 422
    return 201


class TestCloudStoreInMemory(StoreTests):
    """The code for buckets, without a bucket: quick, and proves nothing of signatures."""

    @pytest.fixture
    def store(self) -> ObjectStore:
        pytest.importorskip("obstore")
        from obstore.store import MemoryStore

        from mapi.objects.cloud import CloudStore

        self.reader = UploadPermits(bytes(32), url="http://test", clock=ManualClock())
        return CloudStore(MemoryStore(), permits=self.reader)

    async def send(self, store: ObjectStore, signed: SignedUpload, content: bytes) -> int:
        return await send_by_permit(self.reader, store, signed.fields, content)

    def test_memory_does_not_grow_with_an_object(self, store: ObjectStore) -> None:
        pytest.skip("this store is memory")


class TestCloudStoreOnS3(StoreTests):
    @pytest.fixture
    def store(self, gateway: Any) -> ObjectStore:
        from mapi.objects.cloud import cloud_store

        bucket = f"b{secrets.token_hex(8)}"
        client = gateway.session.client("s3", endpoint_url=gateway.endpoint)
        client.create_bucket(Bucket=bucket)
        return cloud_store(
            f"s3://{bucket}/some/prefix",
            permits=UploadPermits(bytes(32), url="http://test", clock=ManualClock()),
            session=gateway.session,
            endpoint=gateway.endpoint,
        )

    async def send(self, store: ObjectStore, signed: SignedUpload, content: bytes) -> int:
        assert (signed.method, signed.fields) == ("PUT", {})
        return await put(signed, content)

    @pytest.mark.parametrize("name", ["If-None-Match", "x-amz-checksum-sha256", "Content-Type"])
    def test_a_signed_upload_without_one_of_its_conditions_is_refused(
        self, store: ObjectStore, name: str
    ) -> None:
        async def work() -> None:
            signed = await store.sign_upload(terms_of("m/a", b"picture"), lifetime_seconds=60)
            signed.headers.pop(name)
            assert await put(signed, b"picture") == 403
            assert await keys(store) == set()

        run(work())

    def test_a_signed_upload_goes_to_its_key_only(self, store: ObjectStore) -> None:
        async def work() -> None:
            signed = await store.sign_upload(terms_of("m/a", b"picture"), lifetime_seconds=60)
            elsewhere = dataclasses.replace(signed, url=signed.url.replace("/m/a?", "/m/b?"))
            assert elsewhere != signed
            assert await put(elsewhere, b"picture") == 403
            longer = dataclasses.replace(
                signed, url=signed.url.replace("Expires=60", "Expires=600")
            )
            assert longer != signed
            assert await put(longer, b"picture") == 403

        run(work())

    def test_a_signed_download_is_an_attachment_with_its_name(self, store: ObjectStore) -> None:
        async def work() -> None:
            await store.put("m/a", b"picture")
            url = await store.sign_download(
                "m/a", file_name='a "b".png', content_type="image/png", lifetime_seconds=60
            )
            assert url is not None
            async with httpx.AsyncClient() as client:
                answer = await client.get(url)
                without = await client.get(url.split("?")[0])
            assert answer.content == b"picture"
            assert (
                answer.headers["content-disposition"]
                == "attachment; filename*=UTF-8''a%20%22b%22.png"
            )
            assert answer.headers["content-type"] == "image/png"
            assert without.status_code == 403

        run(work())

    def test_a_bucket_that_is_not_there_or_not_ours_is_told(self, gateway: Any) -> None:
        import boto3  # type: ignore[import-untyped]

        from mapi.objects.cloud import cloud_store

        stranger = boto3.Session(
            aws_access_key_id="x", aws_secret_access_key="y", region_name="us-east-1"
        )
        permits = UploadPermits(bytes(32), url="", clock=ManualClock())
        for session, bucket in ((gateway.session, "nothing-here"), (stranger, "some-bucket")):
            store = cloud_store(
                f"s3://{bucket}", permits=permits, session=session, endpoint=gateway.endpoint
            )
            with pytest.raises((UnavailableError, NotFoundError)):
                run(store.put("a", b"x"))
            with pytest.raises((UnavailableError, NotFoundError)):
                run(store.put("a", in_pieces(bytes(9 << 20), 1 << 20)))


async def put(signed: SignedUpload, content: bytes) -> int:
    headers = {name: value for name, value in signed.headers.items() if name != "Content-Length"}
    async with httpx.AsyncClient() as client:
        answer = await client.put(signed.url, headers=headers, content=content)
    return answer.status_code
