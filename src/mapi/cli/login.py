"""`mapi login`: keep the address and the token of a server."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any, Final

import click

from mapi.config import profile_path

__all__ = ["command"]

_WAIT_SECONDS: Final = 15
_ANSWER_BYTES_MAX: Final = 1 << 20
#: Projects that an error names.
_NAMED_MAX: Final = 10


@click.command("login")
@click.argument("url")
@click.option("--project", help="Where commands and clients work by default.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
def command(*, url: str, project: str | None, token_stdin: bool) -> None:
    """Keep URL and a token of it in a file of yours.

    The token is asked for, and tried first.

    MAPI_URL, MAPI_TOKEN and MAPI_PROJECT win over the file, and `mapi logout` deletes it.
    """
    from mapi.errors import SettingError
    from mapi.sdk.addresses import checked_url

    try:
        url = checked_url(url)
    except SettingError as error:
        raise click.UsageError(str(error)) from None
    if token_stdin:
        token = sys.stdin.readline().strip()
    elif not sys.stdin.isatty():
        raise click.UsageError("Nobody is here to type the token: pipe it in with --token-stdin.")
    else:
        token = str(click.prompt("Token", hide_input=True)).strip()
    session = _ask(url, token, "session", member="name")
    if project is not None:
        _check_project(_ask(url, token, "projects", member="projects"), project)
    path = profile_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"url": url, "token": token, "project": project}, file)
    partial.replace(path)
    click.echo(f"Logged in as {session['name']}; kept in {path}.")


def _check_project(found: dict[str, Any], project: str) -> None:
    names = [str(one.get("name")) for one in found["projects"] if isinstance(one, dict)]
    if project not in names:
        known = ", ".join(names[:_NAMED_MAX]) + (", …" if names[_NAMED_MAX:] else "")
        raise click.ClickException(
            f"There is no project {project!r} that this token sees; there are: {known or 'none'}. "
            "Log in without --project, and `mapi projects create` makes one."
        )


def _ask(url: str, token: str, what: str, *, member: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
        f"{url}/v1/{what}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with _opener().open(request, timeout=_WAIT_SECONDS) as answer:
            found: object = json.loads(answer.read(_ANSWER_BYTES_MAX))
    except urllib.error.HTTPError as error:
        if error.code in {401, 403}:
            raise click.ClickException(f"{url} does not take this token.") from error
        raise click.ClickException(f"{url} answers {error.code}; is it a mapi server?") from error
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise click.ClickException(f"{url} does not answer as a mapi server: {reason}") from error
    if not isinstance(found, dict) or member not in found:
        raise click.ClickException(f"{url} does not answer as a mapi server.")
    return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for the address that was named, not for where it may send us."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect)
