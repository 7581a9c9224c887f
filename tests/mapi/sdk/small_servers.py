"""Servers that misbehave in one way each: real sockets, answered by a script."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import ssl
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "Asked",
    "SmallServer",
    "certified",
    "cuts",
    "cuts_in_the_midst",
    "drips",
    "drips_headers",
    "free_port",
    "problem",
    "says",
    "serving_script",
    "stays_silent",
]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class SmallServer:
    url: str
    asked: list[Asked] = field(default_factory=list)
    ends: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def serving_script(
    *steps: Callable[[socket.socket, SmallServer], None], context: ssl.SSLContext | None = None
) -> Iterator[SmallServer]:
    """Answer the first request by the first step, and so on; the last one stays."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=16)
    found = SmallServer(f"http://127.0.0.1:{listening.getsockname()[1]}")
    lock = threading.Lock()
    threads = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if context is None:
                talk(connection)
                return
            with context.wrap_socket(connection, server_side=True) as secured:
                talk(secured)

    def talk(connection: socket.socket) -> None:
        while (asked := read_request(connection)) is not None:
            with lock:
                number = len(found.asked)
                found.asked.append(asked)
            steps[min(number, len(steps) - 1)](connection, found)

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=serve, args=[connection], daemon=True)
            threads.append(thread)
            thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield found
    finally:
        found.ends.set()
        # Closing alone does not wake a thread that waits in accept.
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join(10)


def read_request(connection: socket.socket) -> Asked | None:
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(65_536)
        if not piece:
            return None
        text += piece
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65_536)
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, body)


def says(
    status: int, body: Any = None, **headers: str
) -> Callable[[socket.socket, SmallServer], None]:
    """Answer whole."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    def step(connection: socket.socket, _: SmallServer) -> None:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + content)

    return step


def problem(
    status: int, code: str, *, retryable: bool = False, retry_after: int | None = None, **more: Any
) -> Callable[[socket.socket, SmallServer], None]:
    """Answer with a problem."""
    body = {
        "type": "about:blank",
        "title": "a title",
        "status": status,
        "detail": f"the detail of {code}",
        "code": code,
        "request_id": "the-request",
        "retryable": retryable,
        **more,
    }
    headers = {} if retry_after is None else {"retry_after": str(retry_after)}
    return says(status, body, **headers)


def stays_silent(connection: socket.socket, server: SmallServer) -> None:
    del connection
    server.ends.wait(60)


def cuts(connection: socket.socket, server: SmallServer) -> None:
    del server
    connection.shutdown(socket.SHUT_RDWR)


def cuts_in_the_midst(connection: socket.socket, server: SmallServer) -> None:
    del server
    connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"name":')
    connection.shutdown(socket.SHUT_RDWR)


def drips(connection: socket.socket, server: SmallServer) -> None:
    """Send the head at once and the body a byte at a time, each well within any read's limit."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not server.ends.wait(0.05):
        connection.sendall(b" ")


def drips_headers(connection: socket.socket, server: SmallServer) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-long: ")
    while not server.ends.wait(0.05):
        connection.sendall(b"x")


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def certified(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Return a new certificate for 127.0.0.1, and what serves with it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    return certificate, context
