"""Columns of numbers and of texts arrive in the database as they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest

from mapi.database.arrays import FloatArray, IntArray, TextArray, TimeArray, reading_arrays

if TYPE_CHECKING:
    from mapi.database.embedded.server import EmbeddedServer

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("numbers", [[], [0], [-1, 2**63 - 1, -(2**63)]])
def test_whole_numbers(server: EmbeddedServer, numbers: list[int]) -> None:
    with psycopg.connect(server.superuser_url()) as connection:
        array = IntArray(np.array(numbers, dtype=np.int64))
        assert connection.execute("select %s", [array]).fetchone() == (numbers,)


def test_numbers_and_what_is_none(server: EmbeddedServer) -> None:
    numbers = [0.1, -0.0, 5e-324, np.inf, -np.inf, np.nan]
    with psycopg.connect(server.superuser_url()) as connection:
        array = FloatArray(np.array(numbers))
        ((found,),) = connection.execute("select %s", [array]).fetchall()
    assert repr(found) == repr([float(one) for one in numbers])


@pytest.mark.parametrize("texts", [[], [""], ["a", "", "é\U0001f600", '{"a, b"}', "NULL", "\\"]])
def test_texts_of_any_kind(server: EmbeddedServer, texts: list[str]) -> None:
    with psycopg.connect(server.superuser_url()) as connection:
        assert connection.execute("select %s", [TextArray(texts)]).fetchone() == (texts,)


def test_times_to_the_microsecond(server: EmbeddedServer) -> None:
    times_us = [31_536_000_000_000, 1_780_000_000_123_456, 4_102_444_800_000_001]
    with psycopg.connect(server.superuser_url()) as connection:
        array = TimeArray(np.array(times_us, dtype=np.int64))
        ((found,),) = connection.execute("select %s", [array]).fetchall()
    assert [(one - EPOCH) // timedelta(microseconds=1) for one in found] == times_us


@pytest.mark.anyio
async def test_columns_are_read_as_they_were_sent(database_url: str) -> None:
    numbers = np.array([-(2**63), 0, 2**63 - 1])
    times_us = np.array([31_536_000_000_000, 1_780_000_000_123_456, 4_102_444_800_000_001])
    values = np.array([0.1, np.inf, np.nan])
    sent = [IntArray(numbers), TimeArray(times_us), FloatArray(values), IntArray(numbers[:0])]
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        cursor = reading_arrays(connection.cursor(binary=True))
        await cursor.execute("select %s, %s, %s, %s", sent)
        row = await cursor.fetchone()
    assert row is not None
    for found, expected in zip(row, (numbers, times_us, values, numbers[:0]), strict=True):
        np.testing.assert_array_equal(found, expected)
