"""Deny by default: a route says which scope it needs, or the application does not start.

The scope is asked for before the body is read, in any project that the principal can reach; the
route itself asks again for the project of its object, once it knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.api.authentication import PUBLIC
from mapi.errors import ForbiddenError
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar import Litestar
    from litestar.handlers.base import BaseRouteHandler
    from litestar.types import Scope as ASGIScope

    from mapi.access.rights import Principal

__all__ = ["RIGHT", "check_declared", "require_scope"]

#: The option of a route that names the scope it needs.
RIGHT: Final = "right"


def require_scope(scope: ASGIScope, handler: BaseRouteHandler) -> None:
    """Refuse a principal whose token and roles have the route's scope nowhere.

    Raises:
        ForbiddenError: they have not.
    """
    if handler.opt.get(PUBLIC) or _is_frameworks(handler):
        return
    right: Scope = handler.opt[RIGHT]
    principal: Principal = scope["user"]
    places: Iterable[int | None] = (
        (principal.project_id,) if principal.project_id is not None else (None, *principal.roles)
    )
    if not any(principal.may(right, project) for project in places):
        raise ForbiddenError(principal.lack(right))


def check_declared(app: Litestar) -> None:
    """Refuse to start with a route that neither needs a right nor says that it is public.

    Raises:
        RuntimeError: there is one.
    """
    for route in app.routes:
        for handler in getattr(route, "route_handlers", [getattr(route, "route_handler", None)]):
            if handler is None or _is_frameworks(handler):
                continue
            declared = handler.opt
            if not declared.get(PUBLIC) and not isinstance(declared.get(RIGHT), Scope):
                raise RuntimeError(f"The route {route.path} declares no right: {handler}.")


def _is_frameworks(handler: BaseRouteHandler) -> bool:
    """Whether the framework made the route: OPTIONS answers, and the description of the API."""
    return type(handler.fn).__module__.startswith("litestar") or getattr(
        handler.fn, "__module__", ""
    ).startswith("litestar")
