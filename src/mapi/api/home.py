"""``/`` of a server without built pages: how to build them, who is signed in, and how to sign out.

`mapi.api.pages` answers first where they are. This page runs and loads nothing.
"""

import hmac
from html import escape
from typing import Any
from urllib.parse import parse_qs

from litestar import MediaType, Request, Response, get, post
from litestar.di import NamedDependency

from mapi.access.projects import project_names
from mapi.access.rights import ALL_PROJECTS, Principal
from mapi.access.sessions import csrf_token
from mapi.access.tokens import TokenKind, authenticate, revoke_token
from mapi.api.authentication import PUBLIC, session_of
from mapi.api.description import ANSWERS
from mapi.api.session_cookie import without_session
from mapi.database.door import Connection, Database
from mapi.errors import AuthenticationError

__all__ = ["home", "sign_out"]

#: A form with one secret.
_FORM_BYTES_MAX = 4_096
_SIGN_IN = "/sign-in"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mapi</title>
<meta name="viewport" content="width=device-width"></head><body><main><h1>mapi {version}</h1>
<p>This server keeps the log of runs. You are signed in as <strong>{name}</strong>{rights}.</p>
<p>Its pages are not built: the program runs from a checkout of its source. <code>python3 dev.py pages</code>
builds them there, and they are here when the server starts again; an installed package has them. Until then there are
the command <code>mapi runs ls</code>, the client <code>mapi.Client()</code> in Python, and the HTTP interface.</p>
<ul><li><a href="/v1/openapi.json">The description of the interface</a> (OpenAPI)</li>
<li><a href="/v1/session">What you may do</a> (JSON)</li>
<li><a href="/v1/projects">The projects that you see</a> (JSON)</li>
<li>The manual is the folder <code>docs</code> of the program's source: it begins with
<code>docs/platform/index.md</code>.</li></ul>
<form method="post" action="/sign-out"><input type="hidden" name="csrf" value="{csrf}">
<button>Sign out</button></form></main></body></html>"""


@get(
    "/",
    opt={PUBLIC: True, ANSWERS: (200, 303)},
    summary="See who is signed in",
    media_type=MediaType.HTML,
)
async def home(
    request: Request[Any, Any, Any], database: NamedDependency[Database]
) -> Response[str]:
    """Tell a browser who is signed in and where things are; without a session it goes to sign in."""
    session = session_of(request)
    principal = None if session is None else await _principal(database, session)
    if session is None or principal is None:
        return _to_sign_in()
    async with database.transaction(principal.reach) as connection:
        names = await project_names(connection)
    text = _PAGE.format(
        version=escape(str(request.app.state.description["info"]["version"])),
        name=escape(principal.name),
        rights=escape(_rights(principal, names)),
        csrf=csrf_token(session),
    )
    return Response(text, media_type=MediaType.HTML)


@post(
    "/sign-out",
    opt={PUBLIC: True, ANSWERS: (303,)},
    status_code=303,
    summary="Sign out by the form",
    media_type=MediaType.HTML,
)
async def sign_out(
    request: Request[Any, Any, Any], database: NamedDependency[Database]
) -> Response[str]:
    """End the session of a browser whose page sent the session's second secret; others keep theirs."""
    session = session_of(request)
    principal = None if session is None else await _principal(database, session)
    if session is None or principal is None:
        return _to_sign_in()
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _FORM_BYTES_MAX:
            break
    sent = parse_qs(body[:_FORM_BYTES_MAX].decode("utf-8", "replace")).get("csrf", [""])[0]
    if not hmac.compare_digest(sent.encode(), csrf_token(session).encode()):
        return Response("", status_code=303, headers={"Location": "/"}, media_type=MediaType.HTML)
    who = principal

    async def work(connection: Connection) -> None:
        await revoke_token(connection, who, who.token_id)

    await database.run(who.reach, work)
    answer = _to_sign_in()
    for cookie in without_session():
        answer.set_cookie(cookie)
    return answer


async def _principal(database: Database, session: str) -> Principal | None:
    try:
        return await authenticate(database, session, kind=TokenKind.SESSION)
    except AuthenticationError:
        return None


def _rights(principal: Principal, names: dict[int, str]) -> str:
    if principal.is_tenant_admin:
        return ", admin of all projects"
    if principal.user_id is None:
        return f", with the scopes {', '.join(sorted(principal.scopes))}"
    if principal.project_id is not None:
        return f", in the project {names.get(principal.project_id, '')}"
    if ALL_PROJECTS in principal.roles:
        return f", {principal.roles[ALL_PROJECTS]} of all projects"
    found = [f"{role} of {names[at]}" for at, role in principal.roles.items() if at in names]
    return f", {', '.join(sorted(found))}" if found else ""


def _to_sign_in() -> Response[str]:
    return Response("", status_code=303, headers={"Location": _SIGN_IN}, media_type=MediaType.HTML)
