"""The backends of a run that cannot begin, and the rank that feeds none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from expr_tracker.backends import Choice, Feeds
from expr_tracker.errors import MissingExtraError
from expr_tracker.notices import Notices
from expr_tracker.store.files import StreamKey

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MissingExtraError("it needs x: pip install x"), "it needs x: pip install x"),
        (ZeroDivisionError("odd"), "ZeroDivisionError('odd')"),
    ],
    ids=["an extra", "a defect"],
)
def test_a_backend_that_cannot_begin_is_one_warning_and_stands_in_the_figures(
    error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    def make(directory: Path, keys: Sequence[StreamKey]) -> NoReturn:
        raise error

    notices = Notices()
    feeds = Feeds(Choice({"mirror": make}), is_fed=True, notices=notices)
    feeds.start(Path("run"), [StreamKey()], rows=lambda: 3)
    notices.emit()
    assert caplog.messages == [f"backend mirror: {said}. The run is logged to its directory only."]
    assert feeds.figures() == {
        "mirror": {
            "delivered": 0,
            "waiting": 3,
            "dropped": 0,
            "last_error": said,
            "url": None,
        }
    }
    assert feeds.url is None
    feeds.finish(lambda: 5.0, patience_seconds=5.0)
