from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapi.errors import Fault, InvalidError
from mapi.wire.administration import LimitsBody
from mapi.wire.decoding import BODY_BYTES_MAX, DEPTH_MAX, decode, pointer
from mapi.wire.enums import Budget, ProblemCode
from mapi.wire.notes import LogAppend, ParamsBody, TagsBody
from mapi.wire.runs import RunCreate, RunPatch, RunSearch, decode_run_create


def fault_of(body: bytes, kind: type = LogAppend) -> Fault:
    with pytest.raises(InvalidError) as error:
        decode(body, kind)
    return error.value.faults[0]


def lines(fields: str) -> bytes:
    return f'{{"lines":[{{"message":"a"}},{{"message":"b","fields":{fields}}}]}}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nothing",
        b"{}x",
        b"\xff",
        b'{"lines":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"lines":[NaN]}',
        b'{"a":"\x01"}',
        b'{"lines":[1],',
    ],
    ids=repr,
)
def test_what_is_no_json_is_told_apart_from_wrong_json(body: bytes) -> None:
    fault = fault_of(body)
    assert fault.code == ProblemCode.BODY_UNREADABLE
    assert "no JSON in UTF-8" in fault.message


def test_a_body_over_its_limit_is_told_its_size_before_it_is_read() -> None:
    fault = fault_of(b"{" * (BODY_BYTES_MAX + 1))
    assert fault.code == ProblemCode.PAYLOAD_TOO_LARGE
    assert f"{BODY_BYTES_MAX + 1} bytes: at most {BODY_BYTES_MAX}" in fault.message


def test_a_word_outside_its_list_is_told_the_list() -> None:
    fault = fault_of(b'{"lines":[{"message":"a"},{"message":"b","level":"fatal"}]}')
    assert fault.pointer == "/lines/1/level"
    assert fault.expected == ("debug", "info", "warning", "error")
    assert fault.message == "'fatal' is not in the list: expected debug, info, warning, error"


@pytest.mark.parametrize(
    ("kind", "body", "place", "words"),
    [
        (LimitsBody, b'{"tracking":{"points":5,"nosuch":1}}', "/tracking/nosuch", "points"),
        (LimitsBody, b'{"tracking":{"points":"x"}}', "/tracking/points", "expected unlimited"),
        (TagsBody, b'{"tags":{"a":"1","k7":[1]}}', "/tags/k7", "array"),
        (TagsBody, b'{"tags":{"a/b":null}}', "/tags/a~1b", "null"),
        (RunCreate, b'{"tags":{"a":{}}}', "/tags/a", "object"),
    ],
)
def test_a_fault_in_a_mapping_is_told_at_its_key(
    kind: type, body: bytes, place: str, words: str
) -> None:
    fault = fault_of(body, kind)
    assert fault.pointer == place
    assert words in fault.message


def test_a_key_outside_its_list_is_told_the_list() -> None:
    fault = fault_of(b'{"tracking":{"nosuch":1}}', LimitsBody)
    assert fault.expected == tuple(Budget)
    assert fault.message.startswith("'nosuch' is not in the list: expected series, ")


def test_an_unknown_field_is_told_the_known_ones() -> None:
    fault = fault_of(b'{"lines":[{"mesage":"a"}]}')
    assert fault.pointer == "/lines/0/mesage"
    assert fault.expected == ("message", "level", "fields", "time")


def test_a_missing_field_is_named() -> None:
    fault = fault_of(b'{"lines":[{}]}')
    assert (fault.pointer, fault.message) == ("/lines/0/message", "the field 'message' is missing")


def test_a_name_with_a_slash_is_escaped_in_the_pointer() -> None:
    assert fault_of(b'{"a/b~c":1}').pointer == "/a~1b~0c"
    assert pointer("a/b", 3, "~") == "/a~1b/3/~0"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [DEPTH_MAX, 500, 100_000])
def test_deep_nests_are_refused(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    fields = '{"x":' + opening * depth + "1" + closing * depth + "}"
    assert "at most 32 levels" in fault_of(lines(fields)).message


def test_a_nest_as_deep_as_allowed_is_taken() -> None:
    # The body, its list, the line and its fields are levels too.
    depth = DEPTH_MAX - 4
    decode(lines('{"x":' + "[" * depth + "]" * depth + "}"), LogAppend)
    deeper = lines('{"x":' + "[" * (depth + 1) + "]" * (depth + 1) + "}")
    assert "nests too deep" in fault_of(deeper).message


def test_brackets_in_texts_are_no_nest() -> None:
    decode(lines('{"x":"' + "[{" * 100 + '\\"[["}'), LogAppend)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ('{"a":{"b":["x","\\u0000"]}}', "/lines/1/fields/a/b/1"),
        ('{"a\\u0000":1}', "/lines/1/fields/a\x00"),
    ],
    ids=["value", "name"],
)
def test_a_zero_character_is_found_wherever_it_stands(fields: str, place: str) -> None:
    fault = fault_of(lines(fields))
    assert fault.pointer == place
    assert "U+0000 cannot be stored" in fault.message


def test_a_text_that_spells_the_escape_is_taken() -> None:
    found = decode(lines('{"a":"\\\\u0000"}'), LogAppend)
    assert found.lines[1].fields == {"a": "\\u0000"}


def test_half_a_surrogate_pair_is_found_wherever_it_stands() -> None:
    fault = fault_of(lines('{"a":["\\ud83d\\ude00","\\ud800"]}'))
    assert fault.pointer == "/lines/1/fields/a/1"
    assert fault.code != ProblemCode.BODY_UNREADABLE
    assert decode(lines('{"a":"\\ud83d\\ude00"}'), LogAppend).lines[1].fields == {"a": "😀"}


def test_a_number_of_many_digits_is_taken_or_refused() -> None:
    for digits in (100, 10_000):
        body = b'{"params":{"a":1' + b"0" * digits + b"}}"
        try:
            decode(body, ParamsBody)
        except InvalidError as error:
            assert error.faults[0].message  # noqa: PT017


def test_a_field_that_is_not_sent_is_told_from_null() -> None:
    assert decode(b"{}", RunPatch).note is msgspec.UNSET
    assert decode(b'{"note":null}', RunPatch).note is None


def test_a_length_is_counted_in_characters() -> None:
    assert decode('{{"name":"{}"}}'.format("😀" * 200).encode(), RunPatch).name == "😀" * 200
    assert fault_of('{{"name":"{}"}}'.format("😀" * 201).encode(), RunPatch).pointer == "/name"


def test_a_filter_is_one_text_or_several() -> None:
    assert decode(b'{"filter":"a"}', RunSearch).filter == "a"
    assert decode(b'{"filter":["a","b"]}', RunSearch).filter == ["a", "b"]
    assert fault_of(b'{"filter":["a",1]}', RunSearch).pointer == "/filter/1"
    assert fault_of(b'{"limit":501}', RunSearch).pointer == "/limit"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"spec":{},"nonsense":1,"kind":"Sweep"}', "/kind"),
        (b'{"kind":"external","spec":{}}', "/kind"),
        (b'{"kind":"node"}', "/spec"),
        (b'{"kind":"fit"}', "/spec"),
        (b'{"kind":"fit","spec":[]}', "/spec"),
        (b'{"parms":{}}', "/parms"),
    ],
)
def test_a_run_that_cannot_be_made_is_told_why(body: bytes, place: str) -> None:
    with pytest.raises(InvalidError) as error:
        decode_run_create(body, bytes_max=BODY_BYTES_MAX)
    assert error.value.faults[0].pointer == place


def test_a_run_is_external_unless_it_has_a_spec() -> None:
    made = decode_run_create(b'{"name":"a","params":{"lr":0.1,"on":true}}', bytes_max=1_000)
    assert (made.kind, made.params) == ("external", {"lr": 0.1, "on": True})
    assert decode_run_create(b'{"kind":"fit","spec":{"a":1}}', bytes_max=1_000).spec == {"a": 1}


@given(st.binary(max_size=80))
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    with pytest.raises(InvalidError):
        decode(body, LogAppend)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda below: st.lists(below) | st.dictionaries(st.text(), below),
        max_leaves=10,
    )
)
def test_free_json_comes_back_as_it_was(value: Any) -> None:
    body = msgspec.json.encode({"lines": [{"message": "m", "fields": {"x": value}}]})
    try:
        found = decode(body, LogAppend)
    except InvalidError as error:
        assert b"\\u0000" in body, error  # noqa: PT017
        return
    assert found.lines[0].fields["x"] == value
