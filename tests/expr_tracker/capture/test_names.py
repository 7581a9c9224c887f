from __future__ import annotations

import importlib

import pytest

import expr_tracker.capture


def test_every_public_name_is_loaded_when_it_is_asked_for() -> None:
    room = importlib.reload(expr_tracker.capture)
    for name in room.__all__:
        assert callable(getattr(room, name))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = room.no_such_name
