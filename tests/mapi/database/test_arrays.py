"""Columns of numbers arrive in the database as they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest

from mapi.database.arrays import FloatArray, IntArray, TimeArray

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


def test_times_to_the_microsecond(server: EmbeddedServer) -> None:
    times_us = [31_536_000_000_000, 1_780_000_000_123_456, 4_102_444_800_000_001]
    with psycopg.connect(server.superuser_url()) as connection:
        array = TimeArray(np.array(times_us, dtype=np.int64))
        ((found,),) = connection.execute("select %s", [array]).fetchall()
    assert [(one - EPOCH) // timedelta(microseconds=1) for one in found] == times_us
