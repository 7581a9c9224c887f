"""What a client says of an answer that is none of a server of ours."""

from __future__ import annotations

import json

import pytest

from mapi.sdk.errors import AnswerUnreadableError, error_of_answer


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<!DOCTYPE HTML>\n<html lang='en'>" + b"x" * 900, "a page of HTML"),
        (b" \n<html><body>no</body></html>", "a page of HTML"),
        (b"no such\n\n page", "the text 'no such page'"),
        (b"", "nothing"),
    ],
)
def test_the_answer_of_another_server_is_told_in_a_few_words(body: bytes, said: str) -> None:
    error = error_of_answer(501, {}, body, where="POST http://a/v1/runs/search")
    assert isinstance(error, AnswerUnreadableError)
    assert str(error) == (
        f"POST http://a/v1/runs/search was answered with status 501 and {said}: is this the "
        "address of a mapi server?"
    )


def refusal(code: str, status: int, detail: str, **fault: object) -> str:
    """Return the words of an error of a server of ours."""
    problem = {
        "type": "about:blank",
        "title": "no",
        "status": status,
        "detail": detail,
        "code": code,
        "errors": [{"pointer": "/filter", "message": detail, **fault}] if fault else [],
    }
    return str(error_of_answer(status, {}, json.dumps(problem).encode(), where="POST http://a"))


def test_a_wrong_text_is_told_with_the_place_and_what_could_stand_there() -> None:
    said = refusal(
        "SCHEMA_INVALID", 422, "a value is expected", offset=14, length=1, expected=["a number"]
    )
    assert said == "a value is expected (at character 15; expected: a number)"
    many = [f"w{at}" for at in range(9)]
    said = refusal("SCHEMA_INVALID", 422, "no", offset=0, length=1, expected=many)
    assert said == "no (at character 1; expected: w0, w1, w2, w3, w4, w5, …)"
    assert refusal("SCHEMA_INVALID", 422, "no", expected=[]) == "no"


def test_a_name_that_is_taken_is_answered_in_the_words_of_python() -> None:
    said = refusal(
        "NAME_TAKEN", 409, "take another name, or send ?if_exists=get to have that one."
    )
    assert said == 'take another name, or say if_exists="get" to have that one.'
