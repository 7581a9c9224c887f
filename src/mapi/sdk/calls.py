"""A call as values: what is sent, what comes back, and whether it may be sent twice. No I/O here."""

from __future__ import annotations

import enum
import gzip
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import shown, version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "COMPRESSED_BYTES_MIN",
    "PIECE_BYTES",
    "Call",
    "Identified",
    "Named",
    "Producer",
    "Progress",
    "Repetition",
    "Reply",
    "Source",
    "decoded",
    "encoded",
    "form_of",
    "id_of",
    "path_of",
    "with_body",
]

#: Below this the server is done sooner than the compressor.
COMPRESSED_BYTES_MIN: Final = 64 << 10
#: Of content on its way: what is sent, and told of, at a time.
PIECE_BYTES: Final = 256 << 10
#: An id or a word in a path; longer is no id but a mistake.
_ID_LENGTH_MAX: Final = 200

_Found = TypeVar("_Found")


class Identified(Protocol):
    """Anything that has an id: what a call answered with, most of the time."""

    @property
    def id(self) -> str:
        """The id."""


#: A run, an experiment, a view, or the id of one.
Named: TypeAlias = str | Identified


#: Takes the bytes that went, and how many there are, if that is known.
Progress: TypeAlias = "Callable[[int, int | None], object]"


@dataclass(frozen=True, slots=True)
class Producer:
    """Who of a run writes, where it has several: a stream, a rank of it, and which attempt of these.

    Each stream and rank has steps of its own; what it logs has the labels ``stream`` and ``rank``.
    """

    stream: str = ""
    """Empty is the default one."""
    rank: int = 0
    attempt: int | None = None
    """1 is the first; `None` is the newest."""


class Repetition(enum.Enum):
    """What may be done again when it is not known whether it was done."""

    SAFE = enum.auto()
    """Sent twice it does what it does once: reads, PUT, DELETE, points, numbered log lines, and
    what carries an `Idempotency-Key`."""
    ONCE = enum.auto()
    """Only what certainly did not reach the server is sent again."""


@dataclass(frozen=True, slots=True)
class Call(Generic[_Found]):
    """One request, and what its answer is read as."""

    method: str
    path: str
    """Below the server's address, percent-encoded, with its query."""
    answer: type[_Found]
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    repetition: Repetition = Repetition.SAFE
    follows: bool = False
    """Whether the answer may be the address of another server, without our token."""
    takes: tuple[int, ...] = ()
    """Statuses from 300 on whose body is an answer all the same."""
    kinds: tuple[str, ...] = ()
    """Content types of the answer, where its bytes are passed on unread; none is any."""

    @property
    def is_keyed(self) -> bool:
        """Whether the server makes it once, however often it comes."""
        return "Idempotency-Key" in self.headers


@dataclass(frozen=True, slots=True)
class Source:
    """Content that is sent in pieces, from its beginning as often as it is tried."""

    size_bytes: int
    pieces: Callable[[], Iterator[bytes]]

    @staticmethod
    def of(content: bytes) -> Source:
        """Return what sends these bytes."""

        def pieces() -> Iterator[bytes]:
            for at in range(0, len(content), PIECE_BYTES):
                yield content[at : at + PIECE_BYTES]

        return Source(len(content), pieces)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    """With names in small letters."""
    body: bytes


def path_of(*parts: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """Return a path of percent-encoded parts and its query."""
    path = "".join(f"/{_part(part)}" for part in parts)
    return f"{path}?{urlencode(query)}" if query else path


def _part(text: str) -> str:
    # A part of dots alone is a way up, to whoever tidies the path.
    return quote(text, safe="") if text.strip(".") else "%2E" * len(text)


def id_of(found: Named, *, what: str = "run") -> str:
    """Return the id of an object, or of what has one.

    Raises:
        InvalidError: it is none.
    """
    text = found if isinstance(found, str) else getattr(found, "id", None)
    if not isinstance(text, str) or not 0 < len(text) <= _ID_LENGTH_MAX or not text.isprintable():
        raise InvalidError(
            Fault(f"/{what}", f"{shown(found)} is no {what}: give its id, or the {what} itself")
        )
    return text


def encoded(body: Any) -> bytes:
    """Return a body as JSON.

    Raises:
        InvalidError: something in it is no JSON.
    """
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError, RecursionError, UnicodeError) as error:
        raise InvalidError(Fault("", f"this cannot be sent as JSON: {error}")) from None


def with_body(
    body: bytes,
    *,
    content_type: str = "application/json",
    makes: bool = False,
    if_match: str | None = None,
) -> tuple[bytes, dict[str, str]]:
    """Return a body, compressed where it is large, and the headers that go with it.

    Args:
        body: as it is meant.
        content_type: what it is.
        makes: it makes something: with a key of its own, it makes it once.
        if_match: the version that was read.
    """
    headers = {"Content-Type": content_type}
    if makes:
        headers["Idempotency-Key"] = str(uuid.uuid4())
    if (version := version_of(if_match)) is not None:
        headers["If-Match"] = version
    if len(body) >= COMPRESSED_BYTES_MIN and not content_type.startswith("image/"):
        encoding, body = _compressed(body)
        headers["Content-Encoding"] = encoding
    return body, headers


def form_of(fields: Mapping[str, str], content: bytes) -> tuple[bytes, str]:
    """Return a form with a file called ``file``, and its type: https://www.rfc-editor.org/rfc/rfc7578."""
    # Random, so that no content holds it.
    boundary = f"mapi-{uuid.uuid4().hex}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    head = (
        f"--{boundary}\r\n"
        'Content-Disposition: form-data; name="file"; filename="file"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = ("".join(parts) + head).encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def _compressed(body: bytes) -> tuple[str, bytes]:
    try:
        import zstandard  # noqa: PLC0415 - an extra, or heavy
    except ImportError:
        return "gzip", gzip.compress(body, compresslevel=1)
    return "zstd", zstandard.ZstdCompressor(level=1).compress(body)


def decoded(call: Call[_Found], reply: Reply) -> _Found:
    """Return what a reply holds.

    Raises:
        ValueError: it does not hold what the call expects.
    """
    if call.answer is type(None):
        return None
    if call.answer is bytes:
        return reply.body  # type: ignore[return-value]
    return msgspec.json.decode(reply.body, type=call.answer)
