"""The pages for operators: every setting with its default, every problem in the program's words."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import mapi
from mapi.config import VARIABLES, OidcSettings, Settings, client_places, settings_from

PAGES = Path(__file__).parents[2] / "docs" / "platform"
SOURCE = Path(mapi.__file__).parent
#: What the first variable stands for may be another at run time; the page says so in words.
ROW = re.compile(r"^\| `(MAPI_[A-Z_]+)` \| (.*?) \| (.*) \|$", re.MULTILINE)


class Recorder(Mapping[str, str]):
    """An environment that notes what it is asked for."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def read_variables() -> set[str]:
    """Return the variables that the program reads, as it reads them."""
    oidc = {
        "MAPI_OIDC_ISSUER": "https://provider.example",
        "MAPI_OIDC_CLIENT_ID": "a",
        "MAPI_OIDC_CLIENT_SECRET": "b",
    }
    environment = Recorder(oidc)
    settings_from(environment)
    client_places(environment)
    return {name for name in environment.asked if name.startswith("MAPI_")}


def documented() -> dict[str, str]:
    return {name: default for name, default, _ in ROW.findall((PAGES / "settings.md").read_text())}


def test_the_page_of_settings_has_every_variable_and_no_other() -> None:
    assert set(documented()) == read_variables() == VARIABLES


def defaults() -> dict[str, object]:
    """Return the defaults of the fields by variable, which each field's docstring begins with."""
    found: dict[str, object] = {}
    for kind in (Settings, OidcSettings):
        fields: dict[str, object] = {one.name: one.default for one in dataclasses.fields(kind)}
        (tree,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(tree, ast.ClassDef)
        for field, text in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                name = re.match(r"``(MAPI_[A-Z_]+)``", str(ast.literal_eval(text.value)))
                if name is not None and name[1] in read_variables():
                    found[name[1]] = fields[field.target.id]
    return found


@pytest.mark.parametrize(("name", "default"), list(defaults().items()))
def test_a_default_of_the_page_is_that_of_the_program(name: str, default: object) -> None:
    said = documented()[name]
    if isinstance(default, bool):
        assert said == str(int(default))
    elif isinstance(default, int | float):
        assert said == f"{default:g}"
    elif isinstance(default, str):
        assert said == default
    else:
        # What an unset one means stands there in words.
        assert said


def test_the_defaults_were_found() -> None:
    assert {"MAPI_TRASH_DAYS", "MAPI_HEARTBEAT_TIMEOUT", "MAPI_OIDC_TENANT"} <= set(defaults())


def texts_of_the_program() -> list[str]:
    """Return every text that stands in the source, adjacent ones joined as the program joins them."""
    return [
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def problems() -> list[str]:
    """Return what the first column of the page's tables quotes."""
    page = (PAGES / "problems.md").read_text(encoding="utf-8").partition("## Requests")[0]
    cells = re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE)
    return [quoted for cell in cells for quoted in re.findall(r"`([^`]+)`", cell)]


def test_every_problem_of_the_page_is_one_that_the_program_tells() -> None:
    texts = texts_of_the_program()
    assert len(problems()) > 25
    missing = [one for one in problems() if not any(one in text for text in texts)]
    assert missing == []


def test_no_page_names_a_variable_that_the_program_does_not_read() -> None:
    hook = PAGES.parents[1] / "hatch_build.py"
    built = set(re.findall(r"\bMAPI_[A-Z_]+[A-Z]\b", hook.read_text(encoding="utf-8")))
    known = read_variables() | built | {"MAPI_COMPLETE"}
    for page in [*PAGES.glob("*.md"), *PAGES.parent.glob("guide/*.md")]:
        named = set(re.findall(r"\bMAPI_[A-Z_]+[A-Z]\b", page.read_text(encoding="utf-8")))
        assert named <= known, page
