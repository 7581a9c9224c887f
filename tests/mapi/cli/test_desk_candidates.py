"""What a shell offers for `mapi admin`: what the database of the home knows."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.mapi.cli.completing import completed
from tests.mapi.tenants_access import give_token, make_person, value_of

from mapi.config import Settings
from mapi.serve.platform import lay_foundation
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.tenants import Tenant


def test_what_the_database_knows_is_offered(
    database_url: str, tenant: Tenant, tmp_path: Path
) -> None:
    person = make_person(tenant, Role.RUNNER)
    # Words are parted at spaces here.
    name = f"anna-{person.user_id}"
    value_of(tenant, "update mapi.users set name = %s where id = %s", name, person.user_id)
    token, other = give_token(tenant, Scope.READ), give_token(tenant, Scope.READ)
    settings = {
        "MAPI_DATABASE_URL": database_url,
        "MAPI_BUNDLES_URL": f"file://{tmp_path / 'objects'}",
        "MAPI_HOME": str(tmp_path / "home"),
    }

    def offered(words: str) -> list[str]:
        return completed("", "", f"mapi admin {words}", **settings)

    whose = f"--tenant {tenant.name}"
    assert offered(f"token ls --tenant {tenant.name[:-2]}") == [tenant.name]
    assert tenant.name in offered("tenant delete ")
    assert {token.id, other.id} <= set(offered(f"token revoke {whose} "))
    assert offered(f"token revoke {whose} {token.id[:-1]}") == [token.id]
    assert offered(f"member remove {whose} ann") == [name]
    assert offered(f"token create a {whose} --user ann") == [name]
    assert offered(f"limits show {whose} --project def") == ["default"]
    assert offered(f"project delete {whose} def") == ["default"]
    assert offered("token revoke --tenant nobody ") == []


def test_a_database_that_does_not_run_is_not_started_for_a_prompt(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ExitStack() as undo:
        lay_foundation(Settings(home), undo)
        assert completed("", "", f"mapi admin --home {home} tenant delete ") == ["local"]
    # A start writes into it.
    control = home / "postgres" / "data" / "global" / "pg_control"
    before = control.read_bytes()
    assert completed("", "", f"mapi admin --home {home} tenant delete ") == []
    assert control.read_bytes() == before


def test_a_home_without_a_database_gets_none_for_a_prompt(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert completed("", "", f"mapi admin --home {home} token revoke ") == []
    assert not home.exists()


def test_a_database_that_does_not_answer_keeps_no_prompt_waiting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        # A connection is given up after ten seconds for each of the hosts.
        url = f"postgresql://mapi:secret@{','.join([f'{host}:{port}'] * 12)}/mapi"
        settings = {"MAPI_DATABASE_URL": url, "MAPI_HOME": str(tmp_path)}
        assert completed("", "", "mapi admin tenant delete ", **settings) == []
        # It did ask.
        silent.setblocking(False)
        silent.accept()[0].close()
