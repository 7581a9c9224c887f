from __future__ import annotations

import psycopg
from servers.mlflow import sqlalchemy_address


def test_a_connection_string_becomes_an_address_that_means_the_same() -> None:
    found = psycopg.conninfo.make_conninfo(
        host="/tmp/mapi-a b", port=5432, user="owner", password="p@ss/w:rd", dbname="postgres"
    )
    address = sqlalchemy_address(found, "mlflow")
    assert address == (
        "postgresql+psycopg2://owner:p%40ss%2Fw%3Ard@/mlflow?host=%2Ftmp%2Fmapi-a%20b&port=5432"
    )
    # libpq reads the same form: what it understands is what was meant.
    back = psycopg.conninfo.conninfo_to_dict(address.replace("+psycopg2", "", 1))
    assert back == {
        "host": "/tmp/mapi-a b",
        "port": "5432",
        "user": "owner",
        "password": "p@ss/w:rd",
        "dbname": "mlflow",
    }
