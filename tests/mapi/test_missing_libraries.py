"""What lacks a library says how to add it."""

from __future__ import annotations

import sys

import pytest

from expr_tracker.extras import install_command
from mapi.errors import InvalidError
from mapi.sdk.tables import pandas_frame, polars_frame
from mapi.tracking.point_tables import require_parquet


def test_what_lacks_a_library_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for frame, extra in ((pandas_frame, "pandas"), (polars_frame, "polars")):
        with pytest.raises(ImportError) as missing:
            frame([])
        assert str(missing.value) == f"to_{extra} needs {extra}: {install_command(extra)}"
    with pytest.raises(InvalidError) as refused:
        require_parquet()
    assert install_command("arrow") in refused.value.faults[0].message
