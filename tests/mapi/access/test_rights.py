"""A personal token may do what its scopes and its owner's role allow, a service token its scopes."""

from __future__ import annotations

import pytest

from mapi.access.rights import ALL_PROJECTS, ROLE_SCOPES, Principal
from mapi.errors import ForbiddenError, NotFoundError
from mapi.wire.enums import Role, Scope

HERE, THERE = 7, 8


def principal(
    *scopes: Scope, role: Role | None = None, place: int = HERE, bound: int | None = None
) -> Principal:
    return Principal(
        1,
        "somebody",
        "t",
        frozenset(scopes),
        user_id=None if role is None else 5,
        project_id=bound,
        roles={} if role is None else {place: role},
    )


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("wanted", [Scope.READ, Scope.WRITE, Scope.ADMIN])
def test_a_personal_token_needs_both_the_scope_and_the_role(
    scope: Scope, role: Role, wanted: Scope
) -> None:
    order = [Scope.READ, Scope.WRITE, Scope.ADMIN]
    has_scope = scope in order and order.index(scope) >= order.index(wanted)
    has_role = wanted in ROLE_SCOPES[role]
    assert principal(scope, role=role).may(wanted, HERE) == (has_scope and has_role)


def test_a_role_in_one_project_is_none_in_another_or_in_the_tenant() -> None:
    one = principal(Scope.ADMIN, role=Role.ADMIN)
    assert one.may(Scope.ADMIN, HERE)
    assert not one.may(Scope.READ, THERE)
    assert not one.may(Scope.READ)
    assert principal(Scope.ADMIN, role=Role.ADMIN, place=ALL_PROJECTS).may(Scope.ADMIN, THERE)


def test_a_bound_token_does_nothing_outside_of_its_project() -> None:
    bound = principal(Scope.ADMIN, bound=HERE)
    assert bound.may(Scope.ADMIN, HERE)
    assert not bound.may(Scope.READ, THERE)
    assert not bound.may(Scope.ADMIN)
    assert bound.reach.project_ids == (HERE,)


def test_a_runner_host_does_nothing_but_run() -> None:
    host = principal(Scope.EXECUTE)
    assert host.may(Scope.EXECUTE)
    for scope in (Scope.READ, Scope.WRITE, Scope.ADMIN):
        assert not host.may(scope)


def test_an_admin_is_no_runner_host() -> None:
    assert not principal(Scope.ADMIN).may(Scope.EXECUTE)


def test_what_may_not_be_read_does_not_exist() -> None:
    viewer = principal(Scope.ADMIN, role=Role.VIEWER)
    with pytest.raises(ForbiddenError, match="runs:write"):
        viewer.require(Scope.WRITE, HERE)
    with pytest.raises(NotFoundError):
        viewer.require(Scope.WRITE, THERE)


@pytest.mark.parametrize("bound", [None, HERE, THERE])
@pytest.mark.parametrize("place", [HERE, ALL_PROJECTS])
@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("wanted", list(Scope))
def test_the_projects_with_a_right_are_those_in_which_it_may_be_used(
    bound: int | None, place: int, role: Role | None, wanted: Scope
) -> None:
    for scopes in ((), (Scope.READ,), (Scope.WRITE, Scope.EXECUTE), (Scope.ADMIN,)):
        one = principal(*scopes, role=role, place=place, bound=bound)
        found = one.projects_with(wanted)
        for project in (HERE, THERE):
            assert (found is None or project in found) == one.may(wanted, project)


@pytest.mark.parametrize(
    ("who", "lacking", "not_lacking"),
    [
        (principal(Scope.READ), "the scope 'runs:write'; the token", "role"),
        (principal(Scope.READ, role=Role.ADMIN), "the scope 'runs:write'; the token", "role"),
        (
            principal(Scope.ADMIN, role=Role.VIEWER),
            "the role 'runner' or a higher one",
            "the token",
        ),
        (principal(Scope.WRITE, bound=THERE), "bound to one project", "role"),
    ],
)
def test_a_refusal_says_which_of_scope_role_and_place_is_lacking(
    who: Principal, lacking: str, not_lacking: str
) -> None:
    assert lacking in who.lack(Scope.WRITE)
    assert not_lacking not in who.lack(Scope.WRITE)


def test_what_no_role_has_is_told_of_as_well() -> None:
    with pytest.raises(ForbiddenError, match="No role has the scope 'runs:execute'"):
        principal(Scope.EXECUTE, role=Role.ADMIN).require(Scope.EXECUTE)
