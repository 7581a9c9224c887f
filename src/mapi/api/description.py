"""The description of the interface, OpenAPI 3.1, from the routes and the structs of the wire.

The schemas are those that the decoders enforce: what is described is what is accepted. Served at
``/v1/openapi.json``; its dump in ``docs/reference/openapi.json`` shows each change in review.
"""

import json
from typing import Any, Final, get_args, get_origin

import msgspec
from litestar import Litestar, MediaType, Request, Response, get
from litestar.handlers.base import BaseRouteHandler

from mapi.access.idempotency import KEY_LENGTH_MAX
from mapi.api.authentication import PUBLIC
from mapi.api.idempotency import MAKES
from mapi.api.queries import query_parameters
from mapi.wire.problems import PROBLEM_MEDIA_TYPE, Problem

__all__ = [
    "ANSWERS",
    "BODY",
    "BODY_TYPES",
    "MEDIA_TYPES",
    "VERSION_PROBLEMS",
    "describe",
    "dumped",
    "openapi",
]

#: The option of a route that reads a body: its struct.
BODY: Final = "body_struct"
#: The option of a route whose body is not of one struct in JSON: its content types.
BODY_TYPES: Final = "body_types"
#: The option of a route that answers with a stream: the content types that it may be of.
MEDIA_TYPES: Final = "media_types"
#: The option of a route that answers with other statuses than its own: all of them.
ANSWERS: Final = "answers"
#: The option of a route without a body that asks for versions: the problems that tell of them.
VERSION_PROBLEMS: Final = "version_problems"

_PROBLEMS: Final = {
    400: "The body is no JSON.",
    401: "There is no token, or none that counts.",
    403: "There is no right to this.",
    404: "There is no such thing.",
    409: "Its state does not allow this.",
    412: "It has changed since it was read.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "This kind of content is not read here.",
    421: "This is another server.",
    422: "The request is not correct; `errors` says where.",
    428: "`If-Match` has to be sent.",
    429: "Too many requests (with `Retry-After`), or a budget is spent (without).",
    431: "The headers are too large.",
    503: "Not now; `Retry-After` says when.",
}
#: What a request that makes something may carry.
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request again within a day gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_MAX},
}
_ONLY_WITH_BODY: Final = frozenset({400, 409, 412, 413, 415, 428})
_TITLES: Final = {
    200: "Done.",
    201: "Made.",
    202: "Taken.",
    204: "Done; there is nothing to say.",
    206: "A part.",
    302: "Go there.",
    303: "Go there.",
    304: "It has not changed.",
}


def describe(app: Litestar, *, version: str) -> dict[str, Any]:
    """Return the description of an application's routes.

    Args:
        app: the application.
        version: of the program.
    """
    routes = sorted(_described_routes(app), key=lambda one: (one[0], one[1]))
    kinds: list[Any] = [Problem]
    for _, _, handler in routes:
        kinds += [
            kind for kind in (_answer_of(handler), handler.opt.get(BODY)) if kind is not None
        ]
        kinds += [one.kind for one in query_parameters(handler)]
    kinds = list({id(kind): kind for kind in kinds}.values())
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    schema_of = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for path, method, handler in routes:
        paths.setdefault(path, {})[method] = _operation(path, method, handler, schema_of=schema_of)
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "mapi", "version": version},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-mapi"},
            },
        },
    }
    return found


def dumped(description: dict[str, Any]) -> str:
    """Return the text of the dump; the version is left out, as each release has another."""
    kept = {**description, "info": {**description["info"], "version": "0"}}
    return json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


@get(
    "/v1/openapi.json",
    opt={PUBLIC: True},
    summary="Read this description",
    media_type=MediaType.JSON,
)
async def openapi(request: Request[Any, Any, Any]) -> Response[dict[str, Any]]:
    """Return the description of the interface."""
    found: dict[str, Any] = request.app.state.description
    return Response(found, headers={"Cache-Control": "max-age=60"})


def _described_routes(app: Litestar) -> list[tuple[str, str, BaseRouteHandler]]:
    found = []
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if handler.fn.__module__.startswith("litestar"):
                continue  # its own answers to OPTIONS
            if len(route.path) < max(map(len, handler.paths)):
                continue  # another spelling of the path that is described
            path = "/".join(
                "{" + part.strip("{}").partition(":")[0] + "}" if part.startswith("{") else part
                for part in route.path.split("/")
            )
            found += [(path, method.lower(), handler) for method in handler.http_methods]
    return found


def _operation(
    path: str, method: str, handler: Any, *, schema_of: dict[int, dict[str, Any]]
) -> dict[str, Any]:
    body = _body(handler, schema_of)
    found: dict[str, Any] = {
        "operationId": f"{handler.fn.__module__.rsplit('.', 1)[-1]}_{handler.fn.__name__}",
        "summary": handler.summary or "",
        "description": " ".join((handler.fn.__doc__ or "").split()),
        "parameters": [
            *_path_parameters(path),
            *_query(handler, schema_of),
            *([_KEY] if handler.opt.get(MAKES) else []),
        ],
        "responses": _responses(handler, schema_of, has_body=method in {"post", "put", "patch"}),
        "security": [] if handler.opt.get(PUBLIC) else [{"token": []}, {"session": []}],
    }
    if body:
        found["requestBody"] = {"required": True, "content": body}
    return found


def _body(handler: Any, schema_of: dict[int, dict[str, Any]]) -> dict[str, Any]:
    kind = handler.opt.get(BODY)
    # Without a struct it is a file.
    schema = {"type": "string"} if kind is None else schema_of[id(kind)]
    names = handler.opt.get(BODY_TYPES, () if kind is None else ("application/json",))
    return {name: {"schema": schema} for name in names}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": part.strip("{}"),
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        for part in path.split("/")
        if part.startswith("{")
    ]


def _query(handler: Any, schema_of: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for one in query_parameters(handler):
        schema = dict(schema_of[id(one.kind)])
        if one.default is not None:
            schema["default"] = one.default
        entry = {"name": one.name, "in": "query", "required": one.is_required, "schema": schema}
        if one.description:
            entry["description"] = one.description
        found.append(entry)
    return found


def _responses(
    handler: Any, schema_of: dict[int, dict[str, Any]], *, has_body: bool
) -> dict[str, Any]:
    problem = {PROBLEM_MEDIA_TYPE: {"schema": schema_of[id(Problem)]}}
    found: dict[str, Any] = {
        str(status): {"description": text, "content": dict(problem)}
        for status, text in _PROBLEMS.items()
        if has_body
        or status not in _ONLY_WITH_BODY
        or status in handler.opt.get(VERSION_PROBLEMS, ())
    }
    content = _content(handler, schema_of)
    for status in handler.opt.get(ANSWERS, (handler.status_code,)):
        entry = found.setdefault(str(status), {"description": _TITLES.get(status, "An answer.")})
        if content and status not in {204, 304}:
            entry.setdefault("content", {}).update(content)
    return dict(sorted(found.items()))


def _content(handler: Any, schema_of: dict[int, dict[str, Any]]) -> dict[str, Any]:
    streamed = handler.opt.get(MEDIA_TYPES)
    if streamed:
        return {name: _streamed(name) for name in (one.partition(";")[0] for one in streamed)}
    kind = _answer_of(handler)
    if kind is None:
        return {}
    media_type = str(getattr(handler.media_type, "value", handler.media_type) or "")
    if kind in {str, bytes}:
        name = (media_type or "application/octet-stream").partition(";")[0]
        return {name: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": schema_of[id(kind)]}}


def _streamed(name: str) -> dict[str, Any]:
    """Return what is said of a stream: JSON is an object, anything else is bytes to a reader."""
    return {"schema": {"type": "object" if name == "application/json" else "string"}}


def _answer_of(handler: Any) -> Any:
    if MEDIA_TYPES in handler.opt:
        return None
    kind = handler.fn.__annotations__.get("return")
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Response):
        (kind,) = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Response):
        return None
    # What has not changed is answered without a body.
    kinds = [one for one in get_args(kind) if one is not type(None)]
    if len(kinds) == 1 and type(None) in get_args(kind):
        (kind,) = kinds
    return None if kind is type(None) else kind
