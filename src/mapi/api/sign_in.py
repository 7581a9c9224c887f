"""``/sign-in``: how a person gets a session: by a link, a token, or an identity provider."""

import re
from html import escape
from typing import Annotated, Any
from urllib.parse import parse_qs

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter
from litestar.response import Redirect

from mapi.access.identity import open_session_by_identity
from mapi.access.sessions import open_session_by_link, open_session_by_token
from mapi.api.authentication import PUBLIC
from mapi.api.description import ANSWERS
from mapi.api.entrance import Entrance
from mapi.api.oidc import STATE_COOKIE, STATE_LIFE_SECONDS, IdentityProvider
from mapi.api.pages import is_page
from mapi.api.session_cookie import session_cookie
from mapi.database.door import Database
from mapi.errors import AuthenticationError, ForbiddenError, NotFoundError

__all__ = ["by_code", "by_form", "oidc_begin", "oidc_end", "own_page"]

#: A form with one token.
_FORM_BYTES_MAX = 4_096
_CALLBACK = "/sign-in/oidc/callback"
_USED = "The link was used before, or is too old. On the server's machine, mapi admin sign-in prints a new one."
#: Where the pages are not built there is no look, and the form works all the same.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - mapi</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/sign-in.css"></head><body><main><h1>Sign in to mapi</h1>{said}
<form method="post" action="/sign-in"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="{page}">
<button>Sign in</button></form>{provider}
<p>An admin makes a token with <code>mapi admin token create NAME</code>; on the server's machine,
<code>mapi admin sign-in</code> prints a link that signs in once.</p></main></body></html>"""


@get(
    "/sign-in",
    opt={PUBLIC: True, ANSWERS: (200, 303, 401)},
    summary="Sign in by a link, or see the form",
    media_type=MediaType.HTML,
)
async def by_code(  # noqa: PLR0917 - the framework gives them by name
    request: Request[Any, Any, Any],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
    code: FromQuery[str | None] = None,
    page: Annotated[str, QueryParameter(name="next", max_length=4_096)] = "/",
) -> Response[str]:
    """Open a session with the code of a link, which works once; without one, show the form.

    ``next`` is the page that it leads to: one of this server's own, else it is passed over.
    """
    if code is None:
        return _page(entrance, "", page=page)
    try:
        session = await open_session_by_link(database, code)
    except AuthenticationError:
        return _page(entrance, _USED, status=401, page=page)
    return _signed_in(request, entrance, session, page=own_page(page))


@post(
    "/sign-in",
    opt={PUBLIC: True, ANSWERS: (303, 401)},
    status_code=200,
    summary="Sign in by the form",
    media_type=MediaType.HTML,
)
async def by_form(
    request: Request[Any, Any, Any],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
) -> Response[str]:
    """Open a session with the token in a form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _FORM_BYTES_MAX:
            return _page(entrance, "That is no token.", status=401)
    sent = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    page = sent.get("next", [""])[0]
    try:
        session = await open_session_by_token(database, sent.get("token", [""])[0].strip())
    except AuthenticationError as error:
        return _page(entrance, str(error), status=401, page=page)
    return _signed_in(request, entrance, session, page=own_page(page))


@get("/sign-in/oidc", opt={PUBLIC: True}, status_code=302, summary="Go to the identity provider")
async def oidc_begin(
    request: Request[Any, Any, Any],
    entrance: NamedDependency[Entrance],
    identity_provider: NamedDependency[IdentityProvider | None],
) -> Redirect:
    """Send the browser to the identity provider."""
    provider = _provider(identity_provider)
    address, state = await provider.begin(_here(request, entrance) + _CALLBACK)
    return Redirect(
        address,
        status_code=302,
        cookies=[_state_cookie(request, entrance, state, life_seconds=STATE_LIFE_SECONDS)],
    )


@get(
    _CALLBACK,
    opt={PUBLIC: True, ANSWERS: (303, 401, 403)},
    media_type=MediaType.HTML,
    summary="Come back from the identity provider",
)
async def oidc_end(  # noqa: PLR0913, PLR0917 - the provider's own parameters, given by name
    request: Request[Any, Any, Any],
    database: NamedDependency[Database],
    entrance: NamedDependency[Entrance],
    identity_provider: NamedDependency[IdentityProvider | None],
    code: FromQuery[str] = "",
    begun: Annotated[str, QueryParameter(name="state")] = "",
    error: FromQuery[str] = "",
    error_description: FromQuery[str] = "",
    iss: FromQuery[str] = "",
    session_state: FromQuery[str] = "",
) -> Response[str]:
    """Open a session for the person whom the identity provider names."""
    del session_state  # some providers send it; it means nothing to us
    provider = _provider(identity_provider)
    assert entrance.oidc is not None
    if error:
        return _page(entrance, f"The provider said: {error} {error_description}"[:500], status=401)
    try:
        identity = await provider.end(
            _here(request, entrance) + _CALLBACK,
            code=code,
            state=begun,
            issuer=iss,
            cookie=request.cookies.get(STATE_COOKIE, ""),
        )
        session = await open_session_by_identity(database, entrance.oidc, identity)
    except AuthenticationError as refused:
        return _page(entrance, str(refused), status=401)
    except ForbiddenError as refused:
        return _page(entrance, str(refused), status=403)
    answer = _signed_in(request, entrance, session)
    answer.set_cookie(_state_cookie(request, entrance, "", life_seconds=0))
    return answer


def _provider(found: IdentityProvider | None) -> IdentityProvider:
    if found is None:
        raise NotFoundError("This server has no identity provider; MAPI_OIDC_ISSUER names one.")
    return found


def _here(request: Request[Any, Any, Any], entrance: Entrance) -> str:
    return entrance.address(
        scheme=request.scope["scheme"], host=request.headers.get("host", "localhost")
    )


def _state_cookie(
    request: Request[Any, Any, Any], entrance: Entrance, value: str, *, life_seconds: int
) -> Cookie:
    return Cookie(
        key=STATE_COOKIE,
        value=value,
        path="/sign-in/oidc",
        httponly=True,
        secure=entrance.wants_secure_cookie(
            scheme=request.scope["scheme"], host=request.headers.get("host", "")
        ),
        samesite="lax",
        max_age=life_seconds,
    )


def own_page(address: str) -> str:
    """Return an address if it is a page of this server, else ``/``.

    Whoever makes a person follow a link of ours must not choose where else it leads.
    """
    # A browser takes a backslash for a slash, and passes over tabs and line ends.
    is_plain = address.isascii() and address.isprintable() and "\\" not in address
    # Two slashes begin the name of another server, more of them as well.
    if not is_plain or address.startswith("//"):
        return "/"
    return address if is_page(re.split(r"[?#]", address, maxsplit=1)[0]) else "/"


def _signed_in(
    request: Request[Any, Any, Any], entrance: Entrance, session: str, *, page: str = "/"
) -> Response[str]:
    return Response(
        "",
        status_code=303,
        headers={"Location": page},
        media_type=MediaType.HTML,
        cookies=[session_cookie(request, entrance, session)],
    )


def _page(entrance: Entrance, said: str, *, status: int = 200, page: str = "/") -> Response[str]:
    provider = ""
    if entrance.oidc is not None:
        name = escape(entrance.oidc.name)
        provider = f'<a class="button" href="/sign-in/oidc">Sign in with {name}</a>'
    text = _PAGE.format(
        said=f'<p role="alert">{escape(said)}</p>' if said else "",
        provider=provider,
        page=escape(own_page(page)),
    )
    return Response(text, status_code=status, media_type=MediaType.HTML)
