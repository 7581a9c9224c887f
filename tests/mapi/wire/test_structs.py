"""What holds for every struct and every list of words of the wire."""

from __future__ import annotations

import importlib
import pkgutil
from enum import StrEnum
from typing import Any, get_args

import msgspec
import pytest
from msgspec import inspect

import mapi.wire
from mapi.wire import enums
from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import Role, RunStatus, Scope
from mapi.wire.media import UploadRequest

MODULES = [
    importlib.import_module(f"mapi.wire.{found.name}")
    for found in pkgutil.iter_modules(mapi.wire.__path__)
]
STRUCTS: list[type[msgspec.Struct]] = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type)
    and issubclass(value, msgspec.Struct)
    and value.__module__ == module.__name__
    and value.__name__ in module.__all__
    and value not in {Request, Answer}
]
WORDS: list[type[StrEnum]] = [getattr(enums, name) for name in enums.__all__]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_says_what_it_is(struct: type[msgspec.Struct]) -> None:
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        found = field.type
        schema = found.extra_json_schema if isinstance(found, inspect.Metadata) else None
        assert schema, f"{struct.__name__}.{field.name}"
        assert str(schema["description"]).endswith((".", "…")), f"{struct.__name__}.{field.name}"
    assert struct.__doc__


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_a_request_refuses_what_it_does_not_know_and_an_answer_passes_over_it(
    struct: type[msgspec.Struct],
) -> None:
    if not struct.__struct_config__.array_like:
        assert struct.__struct_config__.forbid_unknown_fields == issubclass(struct, Request)


def test_every_struct_has_a_json_schema() -> None:
    schemas, components = msgspec.json.schema_components(STRUCTS)
    assert len(schemas) == len(STRUCTS)
    assert components["SeriesColumns"]["properties"]["values"]["description"]


def mutable_texts(kind: Any) -> list[str]:
    """Return where a request takes a text or a list without a limit on its length."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    found = []
    for field in described.fields:
        parts = [field.type]
        while parts:
            part = parts.pop()
            if isinstance(part, inspect.Metadata):
                parts.append(part.type)
            elif isinstance(part, inspect.UnionType):
                parts.extend(part.types)
            elif (
                isinstance(part, inspect.StrType) and part.max_length is None and not part.pattern
            ):
                found.append(field.name)
    return found


@pytest.mark.parametrize(
    "struct", [one for one in STRUCTS if issubclass(one, Request)], ids=lambda one: one.__name__
)
def test_every_text_of_a_request_has_a_limit(struct: type[msgspec.Struct]) -> None:
    assert mutable_texts(struct) == []


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_words_are_their_own_text(words: type[StrEnum]) -> None:
    assert [str(word) for word in words] == [word.value for word in words]
    assert words.__doc__


def test_enumerations_stand_in_one_file() -> None:
    for module in MODULES:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum:
                assert value.__module__ == "mapi.wire.enums"


def test_a_lost_run_is_not_over() -> None:
    assert {status for status in RunStatus if status.is_final} == {
        "succeeded",
        "failed",
        "cancelled",
    }


def test_the_rights_are_the_promised_ones() -> None:
    assert list(Role) == ["viewer", "runner", "admin"]
    assert list(Scope) == ["runs:read", "runs:write", "runs:execute", "admin"]


def test_a_digest_is_64_small_hexadecimal_digits() -> None:
    for digest, fits in (
        ("0" * 64, True),
        ("A" * 64, False),
        ("0" * 63, False),
        ("0" * 64 + "\n", False),
    ):
        body = {"size_bytes": 1, "sha256": digest, "format": "png"}
        try:
            msgspec.convert(body, UploadRequest)
        except msgspec.ValidationError:
            assert not fits, digest
        else:
            assert fits, repr(digest)


def test_the_words_for_no_number_are_three() -> None:
    from mapi.wire.values import NonFinite

    assert get_args(NonFinite) == ("NaN", "Infinity", "-Infinity")
