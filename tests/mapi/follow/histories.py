"""Run directories as programs of any fate leave them, written line by line in the library's own format."""

from __future__ import annotations

import json
import math
import uuid
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.lines import encode_line
from expr_tracker.store.markers import begin_marker, end_marker

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Line", "append", "lines", "new_run"]

KEYS = [StreamKey(), StreamKey("data"), StreamKey(None, 1), StreamKey("data", 2)]
BEGUN = 1_700_000_000.0

#: Whose line it is, and what it says.
Line = tuple[StreamKey, str, dict[str, Any]]

_numbers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, -0.25, math.nan, math.inf, -math.inf, 1e308]),
)
#: Under names of their own: a number that is logged again as a text stays one on the platform.
_others = st.sampled_from(["text", None, True, [1, "x"]])
_rows = st.fixed_dictionaries(
    {},
    optional={
        "loss": _numbers,
        "train/loss": _numbers,
        "f1-score": _numbers,
        "note": _others,
        "flag": _others,
    },
)


def lines() -> st.SearchStrategy[list[Line]]:
    """Return lines of several producers: rows, steps again and back, rewinds, resumes."""
    row = st.tuples(st.integers(-1, 12), _rows).map(
        lambda one: ("row", {"step": one[0], **one[1]})
    )
    rewound = st.integers(0, 12).map(lambda step: ("attempt", {"from": step}))
    resumed = st.just(("attempt", {"from": None}))
    ended = st.sampled_from(["succeeded", "failed"]).map(lambda how: ("end", {"status": how}))
    ran = st.tuples(st.integers(0, 20), st.integers(1, 12)).map(lambda one: ("run", {"at": one}))
    said = st.one_of(row, row, row, ran, rewound, resumed, ended)
    return st.lists(
        st.tuples(st.sampled_from(KEYS), said).map(lambda one: (one[0], *one[1])), max_size=25
    )


def new_run(path: Path) -> None:
    """Make the directory of a run that nobody has pushed."""
    path.mkdir(parents=True)
    identity = {"id": str(uuid.uuid4()), "created": BEGUN, "project": "p", "name": path.name}
    (path / "run.json").write_text(json.dumps(identity))
    (path / "metrics.jsonl").touch()


class _Written:
    def __init__(self) -> None:
        self.attempt = 1
        self.count = 0


def append(path: Path, found: list[Line], known: dict[StreamKey, Any]) -> None:
    """Append lines to the files of a run.

    Args:
        path: its directory.
        found: the lines.
        known: what was written of each producer; the same dict for the same run.
    """
    for key, kind, said in found:
        state = known.setdefault(key, _Written())
        content = b""
        for row in _spelled(kind, said, state):
            content += encode_line(row)
        with RunFiles(path, key).metrics.open("ab") as file:
            file.write(content)


def _spelled(kind: str, said: dict[str, Any], state: Any) -> list[dict[str, Any]]:
    state.count += 1
    time = BEGUN + state.count
    if kind == "row":
        row = {name: value for name, value in said.items() if name != "step"}
        return [{"_step": said["step"], "_time": time, **row}]
    if kind == "run":
        start, size = said["at"]
        return [{"_step": start + at, "_time": time, "loss": at / 2} for at in range(size)]
    if kind == "end":
        return [end_marker(state.attempt, said["status"], time=time)]
    state.attempt += 1
    return [begin_marker(state.attempt, said["from"], time=time, pid=1)]
