"""Scopes, roles and the principal who has them; pure.

A personal token may do what its scopes allow and its owner's role allows; a service token what its
scopes allow. A role holds in one project or in all of the tenant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mapi.database.door import Reach
from mapi.errors import ForbiddenError, NotFoundError
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["ALL_PROJECTS", "ROLE_SCOPES", "Principal"]

#: What stands for every project of the tenant among the projects of a role.
ALL_PROJECTS: Final = 0


ROLE_SCOPES: Final[Mapping[Role, frozenset[Scope]]] = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.RUNNER: frozenset({Scope.READ, Scope.WRITE}),
    Role.ADMIN: frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN}),
}
_IMPLIED: Final[Mapping[Scope, frozenset[Scope]]] = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.WRITE: frozenset({Scope.READ, Scope.WRITE}),
    Scope.EXECUTE: frozenset({Scope.EXECUTE}),
    Scope.ADMIN: frozenset({Scope.READ, Scope.WRITE, Scope.ADMIN}),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    tenant_id: int
    name: str
    """The user's or the service token's: what the log says who wrote."""
    token_id: str
    scopes: frozenset[Scope]
    user_id: int | None = None
    """``None``: a service token, whose scopes are all that counts."""
    project_id: int | None = None
    """The one project that the token is bound to."""
    roles: Mapping[int, Role] = field(default_factory=dict)
    """The owner's role by project; `ALL_PROJECTS` holds in each."""
    expires: datetime | None = None
    """When the token ends; what it makes does not outlive it."""
    is_session: bool = False
    """A person in a browser, not a program with a token."""

    @property
    def reach(self) -> Reach:
        """What the principal's transactions may see."""
        if self.project_id is not None:
            return Reach(self.tenant_id, (self.project_id,), user=self.name)
        if self.user_id is None or ALL_PROJECTS in self.roles:
            return Reach(self.tenant_id, user=self.name)
        return Reach(self.tenant_id, tuple(sorted(self.roles)), user=self.name)

    @property
    def is_tenant_admin(self) -> bool:
        """Whether the principal may administrate all of the tenant."""
        return self.may(Scope.ADMIN)

    def role_in(self, project_id: int) -> Role | None:
        """Return the highest role that the principal acts in there; ``None`` sees nothing."""
        scopes = {Role.ADMIN: Scope.ADMIN, Role.RUNNER: Scope.WRITE, Role.VIEWER: Scope.READ}
        return next((role for role, scope in scopes.items() if self.may(scope, project_id)), None)

    def projects_with(self, scope: Scope) -> list[int] | None:
        """Return the projects that the principal may do this in; ``None`` is every project.

        It is `may` turned round, for statements that find out the project and ask in one.
        """
        if self.project_id is not None:
            return [self.project_id] if self.may(scope, self.project_id) else []
        if self.may(scope):
            return None
        return [one for one in self.roles if one != ALL_PROJECTS and self.may(scope, one)]

    def may(self, scope: Scope, project_id: int | None = None) -> bool:
        """Say whether the principal may do this.

        Args:
            scope: what is to be done.
            project_id: where; ``None`` asks for the whole tenant.
        """
        granted = frozenset[Scope]().union(*(_IMPLIED[one] for one in self.scopes))
        if scope not in granted:
            return False
        if self.project_id is not None and project_id != self.project_id:
            return False
        return self.user_id is None or scope in self._role_scopes(project_id)

    def _role_scopes(self, project_id: int | None) -> frozenset[Scope]:
        places = (ALL_PROJECTS,) if project_id is None else (ALL_PROJECTS, project_id)
        found = [self.roles[one] for one in places if one in self.roles]
        return frozenset[Scope]().union(*(ROLE_SCOPES[role] for role in found))

    def require(
        self, scope: Scope, project_id: int | None = None, *, what: str = "object"
    ) -> None:
        """Let through whoever may do this.

        Args:
            scope: what is to be done.
            project_id: where; ``None`` asks for the whole tenant.
            what: is it done with; who may not know of it hears what is said of one that is missing.

        Raises:
            NotFoundError: the principal may not even read there: it does not exist for them.
            ForbiddenError: it is known to the principal, who may not do this.
        """
        if self.may(scope, project_id):
            return
        if project_id is not None and not self.may(Scope.READ, project_id):
            raise NotFoundError(f"There is no such {what}.")
        raise ForbiddenError(self.lack(scope))

    def lack(self, scope: Scope) -> str:
        """Return what the principal, who may not do this, would need: the scope, a role or a place."""
        granted = frozenset[Scope]().union(*(_IMPLIED[one] for one in self.scopes))
        if scope not in granted:
            has = ", ".join(sorted(repr(one.value) for one in self.scopes)) or "none"
            what = "session" if self.is_session else "token"
            return (
                f"This needs the scope {scope.value!r}; the {what} of {self.name!r} has {has}. "
                "Make a token with that scope."
            )
        if self.project_id is not None and (
            self.user_id is None or scope in self._role_scopes(self.project_id)
        ):
            return (
                f"The token of {self.name!r} is bound to one project, and this lies outside of it. "
                "Make a token without a project, or one of that project."
            )
        role = next((role for role in Role if scope in ROLE_SCOPES[role]), None)
        if role is None:
            return f"No role has the scope {scope.value!r}: make a token of no user with it."
        return (
            f"This needs the role {role.value!r} or a higher one there, for the scope "
            f"{scope.value!r}; {self.name!r} has not that role. Ask an admin for it."
        )
