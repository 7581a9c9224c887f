"""The structs of sign-in: a browser's session, and who a token belongs to."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import Role, Scope

__all__ = ["SessionCreate", "SessionFacts"]


class SessionCreate(Request, kw_only=True):
    """`POST /v1/session`: sign a browser in with a token."""

    token: Annotated[
        str, Meta(min_length=1, max_length=200, description="A token of `/v1/tokens`.")
    ]


class SessionFacts(Answer, kw_only=True):
    """`GET /v1/session`: who asks, and what they may do."""

    name: Annotated[str, Meta(description="The user's, or the service token's.")]
    is_service: Annotated[bool, Meta(description="A token that belongs to nobody.")]
    scopes: Annotated[list[Scope], Meta(description="What the token or the session may do.")]
    roles: Annotated[
        dict[str, Role], Meta(description="By project; `*` is every project. Empty: a service.")
    ]
    project: Annotated[str | None, Meta(description="The one project that the token is bound to.")]
    is_tenant_admin: Annotated[bool, Meta(description="May administrate all of the tenant.")]
    expires: Annotated[datetime | None, Meta(description="Null: never.")]
    csrf_token: Annotated[
        str | None,
        Meta(description="What a page sends as `X-CSRF-Token` when it writes; null: no cookie."),
    ] = None
