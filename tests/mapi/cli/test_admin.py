"""`mapi admin`: whom and what a command names, where it finds nothing or says what it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest
    from tests.mapi.tenants import Tenant


def test_a_tenant_that_is_not_there_is_answered_with_those_that_are(
    admin: Any, tenant: Tenant
) -> None:
    del tenant  # there is at least one
    said = admin("token", "ls", "--tenant", "nobody", code=1).err
    assert said.startswith("Error: There is no tenant 'nobody'; there are: ")
    assert "there are: none" not in said
    assert "--tenant names the one that is meant" in said


def test_a_token_is_ended_by_its_id_or_by_its_name_where_one_alone_has_it(
    admin: Any, tenant: Tenant
) -> None:
    whose = ("--tenant", tenant.name)
    admin("token", "create", "reader", "--scope", "runs:read", "--scope", "runs:write", *whose)
    said = admin("token", "revoke", "writer", *whose, code=1).err
    assert "no token with the id 'writer'" in said
    assert "the list of tokens has the ids" in said
    row = next(one for one in admin("token", "ls", *whose).out.splitlines() if "reader" in one)
    assert "runs:read, runs:write" in row
    found = json.loads(admin("token", "ls", *whose, "--format", "json").out)
    (token,) = [one for one in found if one["name"] == "reader"]
    assert sorted(token["scopes"]) == ["runs:read", "runs:write"]
    assert admin("token", "revoke", "reader", *whose).out == f"Revoked {token['id']} (reader).\n"
    admin("token", "revoke", "reader", *whose, code=1)
    for _ in range(2):
        admin("token", "create", "reader", *whose)
    found = json.loads(admin("token", "ls", *whose, "--format", "json").out)
    ids = {one["id"] for one in found if one["name"] == "reader" and one["revoked"] is None}
    said = admin("token", "revoke", "reader", *whose, code=1).err
    assert said.startswith("Error: 2 tokens are called 'reader'; give the id of one: ")
    assert all(one in said for one in ids)
    for one in ids:
        assert admin("token", "revoke", one, *whose).out == f"Revoked {one}.\n"


def test_a_member_who_is_removed_or_is_none_is_named_with_the_place(
    admin: Any, tenant: Tenant
) -> None:
    whose = ("--tenant", tenant.name)
    admin("member", "set", "ann", "viewer", *whose)
    said = admin("member", "remove", "ann", *whose).out
    assert said == f"ann has no role that holds in every project of {tenant.name} any more.\n"
    said = admin("member", "remove", "ann", *whose, code=1).err
    assert "'ann' has no role that holds in every project: the list of members says" in said
    said = admin("member", "remove", "ann", "--project", "default", *whose, code=1).err
    assert "'ann' has no role in the project default" in said


def test_a_variable_that_is_like_one_of_ours_is_warned_of_by_whatever_reads_settings(
    admin: Any, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("token", "ls", "--tenant", tenant.name)
    monkeypatch.setenv("MAPI_SOMETHING_OF_OTHERS", "1")
    assert admin(*words).err == ""
    monkeypatch.setenv("MAPI_RATE_LIMT", "3")
    assert (
        admin(*words).err
        == "Warning: MAPI_RATE_LIMT is read by nothing; is MAPI_RATE_LIMIT meant?\n"
    )
