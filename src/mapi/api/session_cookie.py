"""The cookie of a browser's session: set, read and taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar.datastructures import Cookie

from mapi.access.sessions import SESSION_LIFE
from mapi.api.authentication import SESSION_COOKIES

if TYPE_CHECKING:
    from litestar import Request

    from mapi.api.entrance import Entrance

__all__ = ["session_cookie", "without_session"]


def session_cookie(request: Request[Any, Any, Any], entrance: Entrance, session: str) -> Cookie:
    """Return the cookie that keeps a session."""
    is_secure = entrance.wants_secure_cookie(
        scheme=request.scope["scheme"], host=request.headers.get("host", "")
    )
    return Cookie(
        key=SESSION_COOKIES[0] if is_secure else SESSION_COOKIES[1],
        value=session,
        path="/",
        httponly=True,
        secure=is_secure,
        samesite="lax",
        max_age=int(SESSION_LIFE.total_seconds()),
    )


def without_session() -> list[Cookie]:
    """Return what takes the session's cookie away, whatever it is called."""
    return [
        Cookie(
            key=name,
            value="",
            path="/",
            httponly=True,
            secure=name.startswith("__"),
            samesite="lax",
            max_age=0,
        )
        for name in SESSION_COOKIES
    ]
