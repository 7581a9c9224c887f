"""The pages that people look at: what ``web/`` was built into, served as files of one origin.

The addresses of the pages are the business of the page's own program: each of them is answered with
``index.html``, which asks ``/v1`` for everything else. Files whose names hold a hash of what is in
them are kept by browsers for good, all others are asked for again each time. Nothing here knows who
asks: there is nothing in these files that is not in the repository.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from litestar.enums import ScopeType

from mapi.api.front import header_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

    from mapi.api.methods import Methods

__all__ = [
    "PAGE_ROOMS",
    "PageFile",
    "Pages",
    "PagesFront",
    "built_pages",
    "is_page",
    "tidied_page",
]

#: The first part of every address that a page has.
PAGE_ROOMS: Final = ("runs", "compare", "experiments", "settings")
_INDEX: Final = "index.html"
#: Below it stand the files that have a hash in their names.
_HASHED: Final = "assets/"
#: Addresses of programs; a person who mistypes one wants the program's answer.
_PROGRAMS: Final = ("/v1", "/mlflow", "/healthz", "/readyz", "/metrics")
_FOR_GOOD: Final = b"public, max-age=31536000, immutable"
_ASK_AGAIN: Final = b"no-cache"
#: A file below this size grows, or hardly shrinks.
_COMPRESSED_FROM_BYTES: Final = 1_024
_TEXTS: Final = frozenset(
    {"text/html", "text/css", "text/javascript", "image/svg+xml", "application/json"}
)
#: What the build may have made beside a file, the smallest first.
_ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}
#: Said here, as the tables of machines differ, and browsers obey: nosniff.
_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(slots=True)
class PageFile:
    """One file of the pages, and how it is sent."""

    content: bytes
    media_type: str
    is_hashed: bool
    """Its name changes with what is in it."""
    encoded: dict[str, bytes]
    """By encoding: what the build has made, and what was made here once."""
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        self.digest = hashlib.sha256(self.content).hexdigest()[:32]

    def body(self, accepted: frozenset[str]) -> tuple[str, bytes]:
        """Return the encoding, empty for none, and the bytes in it."""
        for encoding in _ENCODINGS:
            if encoding in accepted and encoding in self.encoded:
                return encoding, self.encoded[encoding]
        if "gzip" not in accepted or not self._shrinks:
            return "", self.content
        # Without a time in it the same file is the same bytes on every replica.
        self.encoded["gzip"] = gzip.compress(self.content, 6, mtime=0)
        return "gzip", self.encoded["gzip"]

    @property
    def _shrinks(self) -> bool:
        return self.media_type in _TEXTS and len(self.content) >= _COMPRESSED_FROM_BYTES


class Pages:
    """The files of one build, in memory.

    Args:
        files: by their path below the folder, ``/`` between its parts.

    Raises:
        ValueError: there is no ``index.html``.
    """

    def __init__(self, files: Mapping[str, PageFile]) -> None:
        if _INDEX not in files:
            raise ValueError(f"a build of the pages has {_INDEX}; there are {sorted(files)[:10]}")
        self.index = files[_INDEX]
        self._files = {f"/{name}": one for name, one in files.items() if name != _INDEX}

    @classmethod
    def of_folder(cls, folder: Path) -> Pages:
        """Read a build.

        Raises:
            OSError: it cannot be read.
            ValueError: there is no ``index.html``.
        """
        names = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and not path.is_symlink()
            # What the build notes for itself.
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        }
        made = {
            f"{name}{suffix}": (name, encoding)
            for name in names
            for encoding, suffix in _ENCODINGS.items()
            if f"{name}{suffix}" in names
        }
        files = {
            name: PageFile(path.read_bytes(), _media_type(name), name.startswith(_HASHED), {})
            for name, path in names.items()
            if name not in made
        }
        for name, (plain, encoding) in made.items():
            files[plain].encoded[encoding] = names[name].read_bytes()
        return cls(files)

    def file(self, path: str) -> PageFile | None:
        """Return the file of an address, or that of a page's; ``None`` where there is neither."""
        if is_page(path):
            return self.index
        return self._files.get(path)


def built_pages() -> Pages | None:
    """Return the pages that came with the program; ``None`` in a checkout where nobody has built them.

    Raises:
        OSError: they cannot be read.
    """
    folder = Path(str(resources.files("mapi"))) / "web"
    return Pages.of_folder(folder) if (folder / _INDEX).is_file() else None


def is_page(path: str) -> bool:
    """Say whether an address is a page's."""
    return path == "/" or (path[:1] == "/" and path.split("/", 2)[1] in PAGE_ROOMS)


def tidied_page(scope: HTTPScope) -> bytes | None:
    """Return the address of the page that is asked for with slashes at its end, without them.

    People and proxies add such. It is an address of this server, whatever stands in it.
    """
    raw, path = scope["raw_path"], scope["path"].rstrip("/")
    if (
        scope["method"] not in {"GET", "HEAD"}
        or not raw.endswith(b"/")
        # A page begins with its room, so what is left begins with one slash and no other host.
        or raw[:1] != b"/"
        or not path
        or not is_page(path)
    ):
        return None
    query = scope["query_string"]
    return raw.rstrip(b"/") + (b"?" + query if query else b"")


class PagesFront:
    """Answers for the pages, and passes on all else.

    Args:
        app: what answers all else.
        pages: a build; without one, pages lead to ``/``, which says how to make it.
        methods: what the application itself answers to.
    """

    def __init__(self, app: ASGIApp, pages: Pages | None, methods: Methods) -> None:
        self._app = app
        self._pages = pages
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if self._pages is None:
            if is_page(path) and path != "/":
                await _answer(send, 303, headers=[(b"location", b"/")])
            else:
                await self._app(scope, receive, send)
            return
        found, status = self._pages.file(path), 200
        if found is None and self._is_mistyped(scope):
            # The page says that there is nothing, and where there is.
            found, status = self._pages.index, 404
        if found is None:
            await self._app(scope, receive, send)
            return
        # For the meters: one name for all pages, whose addresses are endless.
        scope["path_template"] = "/assets" if found.is_hashed else "/"
        await _send_file(scope, send, found, status=status)

    def _is_mistyped(self, scope: HTTPScope) -> bool:
        """Say whether a person asks for what neither the pages nor the application have."""
        path = scope["path"]
        return (
            "text/html" in (header_of(scope, b"accept") or "")
            and not any(path == one or path.startswith(f"{one}/") for one in _PROGRAMS)
            and not self._methods.of(path)
        )


async def _send_file(scope: HTTPScope, send: Send, found: PageFile, *, status: int) -> None:
    encoding, body = found.body(_accepted(header_of(scope, b"accept-encoding") or ""))
    tag = f'"{found.digest}{"-" if encoding else ""}{encoding}"'
    headers = [
        (b"etag", tag.encode()),
        (b"cache-control", _FOR_GOOD if found.is_hashed and status == 200 else _ASK_AGAIN),
        (b"vary", b"Accept-Encoding"),
    ]
    known = header_of(scope, b"if-none-match") or ""
    if status == 200 and tag in {one.strip().removeprefix("W/") for one in known.split(",")}:
        await _answer(send, 304, headers=headers)
        return
    charset = "; charset=utf-8" if found.media_type in _TEXTS else ""
    headers += [
        (b"content-type", f"{found.media_type}{charset}".encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    if encoding:
        headers.append((b"content-encoding", encoding.encode()))
    await _answer(send, status, headers=headers, body=b"" if scope["method"] == "HEAD" else body)


def _accepted(header: str) -> frozenset[str]:
    """Return the encodings that a client takes; one with the quality 0 it does not."""
    taken = set()
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        quality = parameters.replace(" ", "").lower().removeprefix("q=")
        if not parameters or quality.strip("0.") != "":
            taken.add(name.strip().lower())
    return frozenset(taken)


async def _answer(
    send: Send, status: int, *, headers: Iterable[tuple[bytes, bytes]], body: bytes = b""
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _media_type(name: str) -> str:
    suffix = Path(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
