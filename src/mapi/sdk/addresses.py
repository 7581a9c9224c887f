"""Addresses from outside: of a server, of a proxy, and of where a server says that something is.

What `urlsplit` takes is not yet what a connection can be made to. Here it is either both or refused
with an error of ours; later it would be whatever the libraries below happen to raise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from mapi.errors import SettingError

__all__ = ["Proxy", "checked_url", "proxy_of", "split_address"]

#: Of a target: what stands for itself, and the sign of what does not.
_TARGET_SIGNS: Final = "/%:@!$&'()*+,;=~-._?"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that speaks HTTP."""

    scheme: str
    """``http`` or ``https``: how it is spoken to, whatever is asked through it."""
    host: str
    port: int
    login: tuple[bytes, bytes] | None = None
    """Name and password as they are; in the address they are percent-encoded."""

    def __repr__(self) -> str:
        return f"<Proxy {self.scheme}://{self.host}:{self.port}>"


def checked_url(url: str) -> str:
    """Return an address without a slash at its end, in characters of ASCII.

    Raises:
        SettingError: it is no address of a server.
    """
    try:
        origin, target = split_address(url)
        has_rest = "?" in url or "#" in url
    except ValueError:
        has_rest, origin, target = True, "", ""
    if has_rest:
        shown = _shown(url)
        raise SettingError(f"{shown!r} is no address such as https://mapi.example{_slip(shown)}.")
    interface = re.search(r"/v1(/|$)", target)
    if interface is not None:
        raise SettingError(
            f"{url!r} leads into the interface: the address of the server ends before /v1, "
            f"{origin}{target[: interface.start()]}."
        )
    return f"{origin}{target}".rstrip("/")


def _slip(url: str) -> str:
    if "," in url or " " in url.strip():
        return ": it is one, without commas or spaces"
    if "://" not in url:
        return f": write it with http:// or https:// before it, http://{url}"
    return ""


def split_address(address: str) -> tuple[str, str]:
    """Return scheme and host of an address, and what is asked there, both in ASCII.

    Raises:
        ValueError: it is no address, or one with a login, which would be sent nowhere.
    """
    parts, host = _parts(address)
    if parts.username is not None:
        raise ValueError("it has a login")
    port = "" if parts.port is None else f":{parts.port}"
    inner = f"[{host}]" if ":" in host else host
    target = quote(parts.path, safe=_TARGET_SIGNS)
    if parts.query:
        target += f"?{quote(parts.query, safe=_TARGET_SIGNS)}"
    return f"{parts.scheme}://{inner}{port}", target


def proxy_of(address: str, *, variable: str) -> Proxy:
    """Return the proxy that a variable names; without a scheme it is one of HTTP, as for `curl`.

    Args:
        address: with or without scheme, login and port.
        variable: which names it, for the error.

    Raises:
        SettingError: it is none, or one that does not speak HTTP.
    """
    whole = address if "://" in address else f"http://{address}"
    try:
        parts, host = _parts(whole)
    except ValueError:
        raise SettingError(
            f"The variable {variable} names {_shown(address)!r}, which is no HTTP proxy: write "
            "http://host:port, or name the server in no_proxy."
        ) from None
    login = None
    if parts.username is not None:
        login = (unquote(parts.username).encode(), unquote(parts.password or "").encode())
    return Proxy(parts.scheme, host, parts.port or _PORTS[parts.scheme], login)


def _parts(address: str) -> tuple[SplitResult, str]:
    """Return the parts of an address that a connection can be made to, and its host in ASCII.

    Raises:
        ValueError: there is none.
    """
    # The parser takes some of these out without a word.
    if not address.isprintable() or " " in address:
        raise ValueError("it has white space or signs that are none")
    parts = urlsplit(address)
    host = parts.hostname
    if parts.scheme not in _PORTS or not host or parts.port == 0:
        raise ValueError("it has no host, or is of another scheme")
    if not host.isascii():
        host = host.encode("idna").decode()
    return parts, host


def _shown(address: str) -> str:
    return address.rpartition("@")[2]  # a password may stand before it
