"""`mapi admin sign-in`: an address that signs a browser in, made from a shell of the server's machine."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
from tests.mapi.tenants_access import make_person

from mapi.wire.enums import Role

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.mapi.tenants import Tenant


def browser_at(address: str) -> tuple[int, httpx.Client]:
    """Follow the address in a new browser; return the answer's status, and the browser."""
    url, _, _ = address.partition("/sign-in?code=")
    browser = httpx.Client(base_url=url)
    return browser.get(address.removeprefix(url)).status_code, browser


def test_the_address_signs_an_admin_in_once(admin: Any, url: str, tenant: Tenant) -> None:
    address = admin("sign-in", "--tenant", tenant.name, "--url", f"{url}/").out.strip()
    assert address.startswith(f"{url}/sign-in?code=")
    status, browser = browser_at(address)
    with closing(browser):
        assert status == 303
        assert browser.get("/v1/audit").status_code == 200
    status, browser = browser_at(address)
    browser.close()
    assert status == 401


def test_the_address_of_a_user_has_the_rights_of_the_user(
    admin: Any, url: str, tenant: Tenant
) -> None:
    person = make_person(tenant, Role.VIEWER)
    words = ("sign-in", "--tenant", tenant.name, "--url", url, "--user")
    status, browser = browser_at(admin(*words, person.name).out.strip())
    with closing(browser):
        assert status == 303
        assert browser.get("/v1/session").json()["name"] == person.name
        assert browser.get("/v1/runs").status_code == 200
        assert browser.get("/v1/audit").status_code == 403
    assert "there is no user 'nobody'" in admin(*words, "nobody", code=1).err


def test_the_address_is_the_public_one_or_that_of_the_server_of_the_home(
    admin: Any, url: str, tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("sign-in", "--tenant", tenant.name)
    assert "name the address of the server with --url" in admin(*words, code=1).err
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "local.json").write_text(json.dumps({"url": url, "token": "mapi_x"}))
    assert admin(*words).out.startswith(f"{url}/sign-in?code=")
    monkeypatch.setenv("MAPI_PUBLIC_URL", "https://mapi.example")
    assert admin(*words).out.startswith("https://mapi.example/sign-in?code=")
    assert "no address such as" in admin(*words, "--url", "mapi", code=1).err


def test_who_comes_with_a_used_link_is_told_how_to_get_another(
    admin: Any, url: str, tenant: Tenant
) -> None:
    address = admin("sign-in", "--tenant", tenant.name, "--url", url).out.strip()
    browser_at(address)[1].close()
    page = httpx.get(address)
    assert (page.status_code, "mapi admin sign-in" in page.text) == (401, True)
    assert "mapi admin token create" in page.text
