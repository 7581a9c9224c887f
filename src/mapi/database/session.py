"""What a connection of the server is set to, whoever makes it.

A connection of ours asks for it as it begins. Behind a pooler connections are the pooler's, so
`mapi.database.migrate` makes it what the role has by itself.
"""

from __future__ import annotations

from typing import Final

from psycopg import sql

__all__ = ["SESSION_SETTINGS", "as_options", "role_settings"]

#: By name, each as ``show`` says it.
SESSION_SETTINGS: Final = {
    "search_path": "mapi, pg_temp",
    # A statement of a request that takes longer is a defect or an attack.
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "1min",
    "TimeZone": "UTC",
}


def as_options() -> str:
    """Return the settings as the words of a connection's beginning."""
    return " ".join(
        f"-c {name}={value.replace(' ', chr(92) + ' ')}"
        for name, value in SESSION_SETTINGS.items()
    )


def role_settings(login: str, database: str) -> list[sql.Composed]:
    """Return the statements that make them a role's own in a database."""
    return [
        sql.SQL("alter role {} in database {} set {} = {}").format(
            sql.Identifier(login),
            sql.Identifier(database),
            sql.Identifier(name),
            sql.SQL(", ").join(sql.Literal(word) for word in value.split(", ")),
        )
        for name, value in SESSION_SETTINGS.items()
    ]
