"""A small identity provider in a process of its own: OpenID Connect's code flow with PKCE.

It signs in whom its address names (``&as=<subject>``), without asking, and can be told to misbehave
in one way. ``python provider.py`` prints its address and serves until its input ends.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "mapi-tests", "s3cret & more"
KEYS = KeySet([RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})])
STRANGER = RSAKey.generate_key(2048, {"kid": "one"})


class Provider(BaseHTTPRequestHandler):
    codes: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - of the process

    server: ThreadingHTTPServer

    @property
    def here(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: value for name, (value, *_) in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/openid-configuration":
            self.answer(
                {
                    "issuer": self.here,
                    "authorization_endpoint": f"{self.here}/authorize?tenant=a",
                    "token_endpoint": f"{self.here}/token",
                    "jwks_uri": f"{self.here}/keys",
                }
            )
        elif parts.path == "/keys":
            self.answer(KEYS.as_dict(private=False))
        elif parts.path == "/authorize" and asked.get("tenant") == "a":
            code = secrets.token_hex(8)
            self.codes[code] = asked
            back = urlencode({"code": code, "state": asked["state"], "iss": self.here})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()
        else:
            self.answer({"error": "not_found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sent = {name: value for name, (value, *_) in parse_qs(body).items()}
        basic = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        name, _, secret = basic.partition(":")
        asked = self.codes.pop(sent["code"], None)
        challenge = hashlib.sha256(sent["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        if (
            asked is None
            or (unquote(name), unquote(secret)) != (CLIENT, SECRET)
            or asked["redirect_uri"] != sent["redirect_uri"]
            or (asked["code_challenge"], asked["code_challenge_method"]) != (proof, "S256")
        ):
            self.answer({"error": "invalid_grant"}, 400)
            return
        self.answer({"access_token": "a", "token_type": "Bearer", "id_token": self.word(asked)})

    def word(self, asked: dict[str, Any]) -> str:
        subject, misdeed = asked.get("as", "anna"), asked.get("misdeed", "")
        claims = {
            "iss": self.here if misdeed != "issuer" else "https://evil.example",
            "aud": CLIENT if misdeed != "audience" else "another",
            "sub": subject,
            "exp": int(time.time()) + (300 if misdeed != "expired" else -300),
            "iat": int(time.time()),
            "nonce": asked["nonce"] if misdeed != "nonce" else "another",
            "email": f"{subject.title()}@example.org",
            "email_verified": misdeed != "unverified",
        }
        if misdeed == "none":
            parts = [json.dumps(one).encode() for one in ({"alg": "none"}, claims)]
            return (
                ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts) + "."
            )
        key = STRANGER if misdeed == "key" else KEYS.keys[0]
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)

    def answer(self, found: Any, status: int = 200) -> None:
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
