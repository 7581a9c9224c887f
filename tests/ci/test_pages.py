"""The build of the pages: when it happens, what it says when it cannot, and what it weighs."""

from __future__ import annotations

import json
import random
import stat
import sys
import tomllib
from pathlib import Path

import hatch_build
import pytest

from tooling import pages

ROOT = Path(__file__).parents[2]
#: A stand-in for Node.js that runs npm: it writes down what it was asked, and makes what is asked for.
NPM = """\
#!{python}
import os, pathlib, sys
words = sys.argv[2:]
with open({folder!r} + "/calls", "a") as file:
    file.write(" ".join(words) + "\\n")
if os.path.exists({folder!r} + "/broken"):
    print(open({folder!r} + "/broken").read())
    sys.exit(1)
if words[0] == "ci":
    pathlib.Path("node_modules").mkdir(exist_ok=True)
if words[:2] == ["run", "build"]:
    built = pathlib.Path("../src/mapi/web")
    built.mkdir(parents=True, exist_ok=True)
    (built / "index.html").write_text("built")
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with sources, and an npm of our own."""
    root = tmp_path / "checkout"
    (root / "web/src").mkdir(parents=True)
    (root / "docs/reference").mkdir(parents=True)
    for name in ("package.json", "package-lock.json", "src/main.tsx", "src/main.test.tsx"):
        (root / "web" / name).write_text(name)
    (root / "docs/reference/openapi.json").write_text("{}")
    node = tmp_path / "node"
    (node / "bin").mkdir(parents=True)
    program = node / "bin/node"
    program.write_text(NPM.format(python=sys.executable, folder=str(tmp_path)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(hatch_build, "node_folder", lambda: node)
    return root


def calls(checkout: Path) -> list[str]:
    path = checkout.parent / "calls"
    found = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [" ".join(one.split()[:2]) for one in found]


def test_pages_are_built_once_for_each_state_of_their_sources(checkout: Path) -> None:
    assert hatch_build.build(checkout) is True
    assert calls(checkout) == ["ci --ignore-scripts", "run build"]
    assert hatch_build.is_fresh(checkout)
    assert hatch_build.build(checkout) is False
    assert calls(checkout) == []
    # A test of the pages, what is generated and what was installed make no other pages.
    (checkout / "web/src/main.test.tsx").write_text("other")
    (checkout / "web/node_modules/any.js").write_text("other")
    assert hatch_build.is_fresh(checkout)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("web/src/main.tsx", ["run build"]),
        ("web/src/new.ts", ["run build"]),
        ("docs/reference/openapi.json", ["run build"]),
        ("web/package-lock.json", ["ci --ignore-scripts", "run build"]),
    ],
)
def test_what_has_changed_is_built_anew_and_no_more(
    checkout: Path, changed: str, expected: list[str]
) -> None:
    hatch_build.build(checkout)
    calls(checkout)
    (checkout / changed).write_text("changed")
    assert not hatch_build.is_fresh(checkout)
    assert hatch_build.build(checkout) is True
    assert calls(checkout) == expected


def test_times_of_files_say_nothing(checkout: Path) -> None:
    hatch_build.build(checkout)
    (checkout / "web/src/main.tsx").touch()
    (checkout / "src/mapi/web/index.html").touch()
    assert hatch_build.is_fresh(checkout)


def test_a_build_that_fails_is_not_taken_for_one(checkout: Path) -> None:
    (checkout.parent / "broken").write_text("src/main.tsx: unexpected token")
    with pytest.raises(hatch_build.PagesError, match="unexpected token"):
        hatch_build.build(checkout)
    assert not hatch_build.is_fresh(checkout)
    (checkout.parent / "broken").unlink()
    assert hatch_build.build(checkout) is True


def test_a_registry_that_cannot_be_reached_is_told_with_what_helps(checkout: Path) -> None:
    said = "npm error code ECONNREFUSED\nnpm error network request to https://r.example failed"
    (checkout.parent / "broken").write_text(said)
    with pytest.raises(hatch_build.PagesError) as caught:
        hatch_build.build(checkout)
    for part in ("ECONNREFUSED", "NPM_CONFIG_REGISTRY", "MAPI_WITHOUT_PAGES=1", "wheel"):
        assert part in str(caught.value)


def test_a_checkout_with_pages_and_no_sources_is_fresh(checkout: Path) -> None:
    hatch_build.build(checkout)
    (checkout / "web/package.json").unlink()
    assert hatch_build.is_fresh(checkout)


def test_a_checkout_with_neither_says_how_to_do_without(tmp_path: Path) -> None:
    with pytest.raises(hatch_build.PagesError, match="MAPI_WITHOUT_PAGES=1"):
        hatch_build.build(tmp_path)


@pytest.fixture
def hook(checkout: Path) -> hatch_build.PagesHook:
    # hatchling gives it more than it needs.
    return hatch_build.PagesHook(str(checkout), {}, None, None, str(checkout), "wheel")  # type: ignore[arg-type]


def test_a_build_asks_for_node_only_where_there_is_something_to_build(
    hook: hatch_build.PagesHook, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hook.dependencies() == [hatch_build.NODE_REQUIREMENT]
    hook.initialize("standard", {})
    assert calls(checkout) == ["ci --ignore-scripts", "run build"]
    assert hook.dependencies() == []
    (checkout / "web/src/main.tsx").write_text("changed")
    monkeypatch.setenv("MAPI_WITHOUT_PAGES", "1")
    assert hook.dependencies() == []
    hook.initialize("standard", {})
    assert calls(checkout) == []


def test_an_editable_install_neither_asks_nor_builds(
    hook: hatch_build.PagesHook, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["_in_process.py", "get_requires_for_build_editable", "x"])
    assert hook.dependencies() == []
    hook.initialize("editable", {})
    assert calls(checkout) == []


def test_npm_finds_what_the_machine_says_of_certificates_and_proxies(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = tmp_path / "npmrc"
    settings.write_text("cafile=/a")
    monkeypatch.setattr(hatch_build, "MACHINE_SETTINGS", ("/nowhere/npmrc", str(settings)))
    monkeypatch.delenv("NPM_CONFIG_GLOBALCONFIG", raising=False)
    assert hatch_build.npm_environment(tmp_path)["npm_config_globalconfig"] == str(settings)
    monkeypatch.setenv("NPM_CONFIG_GLOBALCONFIG", "/own")
    assert "npm_config_globalconfig" not in hatch_build.npm_environment(tmp_path)


def test_one_version_of_node_builds_the_pages_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["dependency-groups"]["pages"] == [hatch_build.NODE_REQUIREMENT]
    lock = (ROOT / "requirements/dev.txt").read_text("utf-8")
    assert f"\n{hatch_build.NODE_REQUIREMENT} " in lock


def test_the_lock_of_the_pages_names_no_registry() -> None:
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))
    packages = [one for name, one in lock["packages"].items() if name]
    assert packages
    assert all("resolved" not in one for one in packages)
    assert all("integrity" in one for one in packages if not one.get("link"))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (" Test Files  2 passed (2)\n      Tests  14 passed (14)\n", (14, 0)),
        (
            "\x1b[2m      Tests \x1b[22m \x1b[31m1 failed\x1b[39m | \x1b[32m13 passed\x1b[39m (14)",
            (13, 1),
        ),
        ("      Tests  2 failed (2)\n", (0, 2)),
        ("No test files found", (0, 0)),
    ],
)
def test_tests_of_the_pages_are_counted(printed: str, expected: tuple[int, int]) -> None:
    assert pages.counted(printed) == expected


def test_the_first_page_weighs_what_it_waits_for_and_nothing_else(tmp_path: Path) -> None:
    noise = random.Random(1)
    manifest = {
        "index.html": {"file": "assets/main.js", "imports": ["_kit.js"], "dynamicImports": ["x"]},
        "_kit.js": {"file": "assets/kit.js", "imports": ["index.html"]},
        pages.FIRST_PAGE: {"file": "assets/runs.js", "imports": ["_kit.js"]},
        "x": {"file": "assets/later.js"},
    }
    (tmp_path / "assets").mkdir()
    (tmp_path / ".vite").mkdir()
    (tmp_path / ".vite/manifest.json").write_text(json.dumps(manifest))
    for name in ("main", "kit", "runs", "later"):
        (tmp_path / f"assets/{name}.js").write_bytes(noise.randbytes(1_000))
    size, files = pages.first_page_bytes(tmp_path)
    assert sorted(files) == ["assets/kit.js", "assets/main.js", "assets/runs.js"]
    assert 3_000 <= size <= 3_200
