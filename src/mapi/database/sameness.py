"""Whether the connection strings of an installation lead to one database.

Two that do not would migrate one and serve from the other. An address says little: a pooler has
another name, and an alias of its own for the database. So the databases are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mapi.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["require_same_database"]

_CONNECT_SECONDS: Final = 10
#: What is said of a role that is not there yet.
_NO_ROLE: Final = ("authentication failed", "does not exist")
_IDENTITY: Final = (
    "select system_identifier::text, oid::text, datname from pg_control_system(), pg_database"
    " where datname = current_database()"
)


def require_same_database(urls: Mapping[str, str | None]) -> None:
    """Refuse settings that lead to different databases; one that does not answer is not compared.

    Args:
        urls: connection strings by the variable that names them; ``None`` is unset.

    Raises:
        SettingError: two lead to different databases.
    """
    named = {name: url for name, url in urls.items() if url is not None}
    if len(set(named.values())) < 2:
        return
    found = {name: _identity(url, list(named.values())) for name, url in named.items()}
    known = {name: one for name, one in found.items() if one is not None}
    first = next(iter(known), None)
    for name, one in known.items():
        if first is not None and one[:2] != known[first][:2]:
            raise SettingError(
                f"{first} and {name} name different databases ({_place(named[first])} and "
                f"{_place(named[name])}): change one, so that both name the same."
            )


def _identity(url: str, others: list[str]) -> tuple[str, str, str] | None:
    """Return the cluster's and the database's identity, and the name; ``None`` is unknown.

    The role may be missing until `mapi migrate` has made it: then one of another string may look.
    """
    for other in [url, *(one for one in others if one != url)]:
        try:
            who = {
                name: value
                for name, value in conninfo_to_dict(other).items()
                if name in {"user", "password"}
            }
            with psycopg.connect(
                make_conninfo(url, **who), connect_timeout=_CONNECT_SECONDS
            ) as connection:
                row = connection.execute(_IDENTITY).fetchone()
        except psycopg.Error as error:
            if not any(one in str(error) for one in _NO_ROLE):
                return None
            continue
        if row is not None:
            return str(row[0]), str(row[1]), str(row[2])
    return None


def _place(url: str) -> str:
    """Return where a string leads, without who goes there."""
    parts = conninfo_to_dict(url)
    name = parts.get("dbname") or parts.get("user") or "?"
    return f"{name!r} at {parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"
