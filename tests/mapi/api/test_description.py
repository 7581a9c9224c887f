"""The description of the interface is kept, and is what the server does."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.mapi.serving import serving
from tests.mapi.storing import temporary_objects
from tests.mapi.tenants_access import give_token

from mapi.api.app import build_app
from mapi.api.description import dumped
from mapi.database.door import Database
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.mapi.tenants import Tenant

_DUMP = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
#: Requests for each route, the same each time; `python .ci/tooling/fuzzing.py` asks more, and others.
_EXAMPLES = 15
_WRITES = bool(os.environ.get("MAPI_WRITE_OPENAPI"))
_CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def described() -> dict[str, Any]:
    # The door is opened by nobody: a description needs no database.
    app = build_app(
        Database("host=nowhere", connections=2), version="0", objects=temporary_objects()
    )
    found: dict[str, Any] = app.state.description
    return found


_DESCRIPTION = described()
_OPERATIONS = [
    (method, path)
    for path, methods in _DESCRIPTION["paths"].items()
    for method, operation in methods.items()
    # It would end the session's own token, and with it every other test.
    if (method, path) != ("delete", "/v1/tokens/{token}")
    # An answer that goes on as long as its reader stays; test_events.py reads those.
    and "text/event-stream" not in operation["responses"].get("200", {}).get("content", {})
]


def test_the_kept_description_is_the_running_one() -> None:
    """A change of the interface is a change of this file, and so is seen in review."""
    if _WRITES:
        _DUMP.write_text(dumped(_DESCRIPTION), encoding="utf-8")
    assert _DUMP.read_text(encoding="utf-8") == dumped(_DESCRIPTION), (
        "the interface has changed: MAPI_WRITE_OPENAPI=1 pytest "
        "tests/mapi/api/test_description.py writes it anew"
    )


def test_every_reference_and_schema_of_the_description_can_be_used() -> None:
    for name in _DESCRIPTION["components"]["schemas"]:
        jsonschema_rs.Draft202012Validator(
            {
                "$ref": f"#/components/schemas/{name}",
                "components": _DESCRIPTION["components"],
            }
        )


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does() -> None:
    operations = [one for methods in _DESCRIPTION["paths"].values() for one in methods.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    for one in operations:
        assert one["summary"], one["operationId"]
        assert one["description"], one["operationId"]


@pytest.fixture(scope="module")
def address(database_url: str) -> Iterator[str]:
    with serving(database_url) as found:
        yield found


# Schemathesis uses the module within its strategies, which Hypothesis notices now and then.
@pytest.mark.filterwarnings(
    "ignore:Do not use the .random. module:hypothesis.errors.HypothesisDeprecationWarning"
)
@pytest.mark.parametrize(("method", "path"), _OPERATIONS)
def test_no_request_is_a_defect_or_has_an_answer_that_is_not_described(
    address: str, tenant: Tenant, method: str, path: str
) -> None:
    operation = schemathesis.openapi.from_dict(_DESCRIPTION)[path][method]
    headers = {"Authorization": f"Bearer {give_token(tenant, Scope.ADMIN).text}"}

    @settings(
        max_examples=_EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.data())
    def asked(case: st.DataObject) -> None:
        one = case.draw(operation.as_strategy())
        one.call_and_validate(
            base_url=address, headers=headers, checks=_CHECKS, allow_redirects=False
        )

    asked()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /v1/session HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"a" * 300_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/session HTTP/1.1\r\n" + b"X-%d: a\r\n" * 40_000 + b"\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
)
def test_a_head_without_an_end_is_cut_off(address: str, sent: bytes) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        try:
            connection.sendall(sent)
            answer = connection.recv(65_536)
        except ConnectionError:
            answer = b""  # closed while we were still sending
    assert not answer or answer.startswith(b"HTTP/1.1 4")
