"""What a client says of an answer that is none of a server of ours."""

from __future__ import annotations

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
