"""The routes of an application, with an address and a body for each."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from tests.mapi.tenants_access import give_token, make_group

from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litestar import Litestar
    from tests.mapi.tenants import Tenant

__all__ = ["BODIES", "address", "routes"]

#: What stands in an address for something of a tenant. A name that is not here fails the test, so
#: that a new kind of object cannot be left out.
_PLACES: dict[str, Callable[[Tenant], str]] = {
    "run": lambda tenant: f"run_{tenant.run()}",
    "token": lambda tenant: give_token(tenant, Scope.READ).id,
    "experiment": lambda tenant: f"exp_{make_group(tenant, 'experiments')}",
    "view": lambda tenant: f"view_{make_group(tenant, 'saved_views')}",
    "media": lambda _: str(uuid.uuid4()),
    "key": lambda _: "a",
}
#: By the struct of the body; the others may be empty.
BODIES = {
    "MetricsBody": {"points": [{"key": "loss", "step": 0, "value": 1.0}]},
    "AttemptBody": {"number": 1},
    "AttemptEnd": {"number": 1, "status": "failed"},
    "ParamsBody": {"params": {"lr": "0.1"}},
    "TagsBody": {"tags": {"stage": "test"}},
    "LogAppend": {"lines": [{"message": "a"}]},
    "SpanAppend": {"spans": []},
    "Document": {"content": {}},
    "UploadRequest": {"size_bytes": 1, "sha256": "0" * 64, "format": "png"},
    "MediaRecord": {"upload_key": "a", "sha256": "0" * 64, "key": "a"},
    "ExperimentCreate": {"name": "a"},
    "ViewCreate": {"name": "a"},
    "CorrectionBody": {"reason": "a", "param": "lr"},
}


def routes(app: Litestar) -> Iterator[tuple[str, str, Any]]:
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if not handler.fn.__module__.startswith("litestar"):
                for method in handler.http_methods:
                    yield str(method), route.path, handler


def address(path: str, tenant: Tenant) -> str:
    parts = []
    for part in path.split("/"):
        name = part.strip("{}").partition(":")[0]
        parts.append(_PLACES[name](tenant) if part.startswith("{") else part)
    return "/".join(parts)
