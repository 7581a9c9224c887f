"""Sign-in by OpenID Connect: the authorization code flow with PKCE; joserfc judges the signatures.

What has to be remembered while the person is at the provider stands in a signed cookie, so any
replica can receive whoever comes back.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import httpx
import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from mapi.access.identity import Identity
from mapi.access.secret import derived_secret
from mapi.errors import AuthenticationError, UnavailableError

if TYPE_CHECKING:
    from mapi.config import OidcSettings

__all__ = ["STATE_COOKIE", "STATE_LIFE_SECONDS", "IdentityProvider"]

STATE_COOKIE: Final = "mapi_sign_in"
#: A person with two factors and a lost telephone.
STATE_LIFE_SECONDS: Final = 600
_WAIT_SECONDS: Final = 10.0
#: How long the provider's description and keys are believed; keys are turned over in days.
_BELIEVED_SECONDS: Final = 600.0
#: Signatures with a public key: never "none", and never with what the client knows as a secret.
_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"]
_CLOCK_SKEW_SECONDS: Final = 60
_REFUSED: Final = "The sign-in was begun elsewhere or too long ago; begin again."


class _State(msgspec.Struct, frozen=True):
    state: str
    nonce: str
    verifier: str
    until: float


class IdentityProvider:
    """One provider.

    Args:
        settings: which, and who we are to it.
        secret: the installation's; signs the cookie.
    """

    def __init__(self, settings: OidcSettings, secret: bytes) -> None:
        self._settings = settings
        self._secret = derived_secret(secret, "mapi oidc state v1")
        self._believed: tuple[float, dict[str, Any], KeySet] | None = None

    async def begin(self, callback: str) -> tuple[str, str]:
        """Return where the browser goes, and the cookie that it brings back.

        Raises:
            UnavailableError: the provider does not answer.
        """
        description, _ = await self._description()
        state = _State(
            secrets.token_urlsafe(24),
            secrets.token_urlsafe(24),
            secrets.token_urlsafe(48),
            time.time() + STATE_LIFE_SECONDS,
        )
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": callback,
            "scope": "openid email profile",
            "state": state.state,
            "nonce": state.nonce,
            "code_challenge": _challenge(state.verifier),
            "code_challenge_method": "S256",
        }
        address = httpx.URL(description["authorization_endpoint"]).copy_merge_params(asked)
        return str(address), self._sealed(state)

    async def end(
        self, callback: str, *, code: str, state: str, issuer: str, cookie: str
    ) -> Identity:
        """Return whom the provider vouches for.

        Args:
            callback: the same as at the beginning.
            code: what the provider gave the browser.
            state: what we gave the browser.
            issuer: who says that it is the provider (RFC 9207); empty where it does not.
            cookie: what the browser brought back.

        Raises:
            AuthenticationError: this is not the end of what this browser began, or the provider's
                word does not hold.
            UnavailableError: the provider does not answer.
        """
        begun = self._opened(cookie)
        if not (code and hmac.compare_digest(state.encode(), begun.state.encode())):
            raise AuthenticationError(_REFUSED)
        description, keys = await self._description()
        if issuer not in {"", description["issuer"]}:
            raise AuthenticationError("Another provider has answered; begin again.")
        id_token = await self._exchange(
            description,
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": callback,
                "code_verifier": begun.verifier,
            },
        )
        return self._identity(id_token, keys, begun.nonce)

    async def _exchange(self, description: dict[str, Any], form: dict[str, str]) -> str:
        """Return the identity token that the provider gives for a code (RFC 6749, 4.1.3)."""
        name, secret = self._settings.client_id, self._settings.client_secret
        known = description.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        basic = None
        if "client_secret_basic" in known:
            basic = httpx.BasicAuth(quote(name, safe=""), quote(secret, safe=""))
        else:
            form = {**form, "client_id": name, "client_secret": secret}
        try:
            async with httpx.AsyncClient(timeout=_WAIT_SECONDS, auth=basic) as client:
                answer = await client.post(description["token_endpoint"], data=form)
            if answer.is_client_error:
                raise AuthenticationError("The provider does not know this sign-in any more.")
            found = answer.raise_for_status().json()
            return str(found["id_token"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise UnavailableError("The identity provider does not answer as one.") from error

    def _identity(self, id_token: str, keys: KeySet, nonce: str) -> Identity:
        wanted = jwt.JWTClaimsRegistry(
            leeway=_CLOCK_SKEW_SECONDS,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = jwt.decode(id_token, keys, algorithms=_ALGORITHMS).claims
            wanted.validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise AuthenticationError(f"The provider's word does not hold ({error}).") from error
        email = claims.get("email")
        is_verified = claims.get("email_verified") is True
        return Identity(
            self._settings.issuer,
            str(claims["sub"]),
            email.lower() if is_verified and isinstance(email, str) else None,
        )

    async def _description(self) -> tuple[dict[str, Any], KeySet]:
        if self._believed is not None and self._believed[0] > time.monotonic():
            return self._believed[1], self._believed[2]
        try:
            async with httpx.AsyncClient(timeout=_WAIT_SECONDS) as client:
                where = f"{self._settings.issuer}/.well-known/openid-configuration"
                found = (await client.get(where)).raise_for_status().json()
                keys = (await client.get(found["jwks_uri"])).raise_for_status().json()
            if found["issuer"] != self._settings.issuer:
                raise AuthenticationError(
                    "MAPI_OIDC_ISSUER is not what the provider calls itself."
                )
            keyset = KeySet.import_key_set(keys)
        except (httpx.HTTPError, KeyError, ValueError, JoseError) as error:
            raise UnavailableError(
                f"The identity provider {self._settings.issuer} does not answer as one."
            ) from error
        self._believed = (time.monotonic() + _BELIEVED_SECONDS, found, keyset)
        return found, keyset

    def _sealed(self, state: _State) -> str:
        body = base64.urlsafe_b64encode(msgspec.msgpack.encode(state)).decode().rstrip("=")
        return f"{body}.{self._seal(body)}"

    def _opened(self, cookie: str) -> _State:
        body, _, seal = cookie.partition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(body).encode()):
            raise AuthenticationError(_REFUSED)
        text = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        state = msgspec.msgpack.decode(text, type=_State)
        if state.until < time.time():
            raise AuthenticationError(_REFUSED)
        return state

    def _seal(self, body: str) -> str:
        return hmac.new(self._secret, body.encode(), hashlib.sha256).hexdigest()


def _challenge(verifier: str) -> str:
    """Return what proves later that we began the sign-in (RFC 7636, 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
