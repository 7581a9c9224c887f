"""How far a run is: the steps of `et ls`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expr_tracker as et
from expr_tracker.history import read_history
from expr_tracker.history.status import overview_of
from expr_tracker.store.lines import encode_line


@pytest.mark.parametrize("step", [0, 10])
def test_a_run_without_a_row_has_no_last_step_wherever_it_will_begin(
    step: int, tmp_path: Path
) -> None:
    with et.init("p", run_dir=tmp_path, resume_step=step, capture=False) as run:
        run.flush()
        assert overview_of(tmp_path).last_step is None
    assert overview_of(tmp_path).last_step is None
    assert overview_of(tmp_path).last_steps == {"default": None}


def test_the_last_step_is_the_highest_of_all_streams(tmp_path: Path) -> None:
    for name, count in {"": 3, ".data": 9, ".data.rank1": 5, ".system": 70}.items():
        rows = [{"_step": step, "x": step} for step in range(count)]
        (tmp_path / f"metrics{name}.jsonl").write_bytes(b"".join(map(encode_line, rows)))
    overview = overview_of(tmp_path)
    assert overview.last_step == 8
    assert overview.last_steps == {"default": 2, "data": 8, "data rank 1": 4, "system": 69}


def test_a_run_that_only_records_its_machine_has_the_steps_of_that(tmp_path: Path) -> None:
    (tmp_path / "metrics.system.jsonl").write_bytes(b'{"_step":4,"cpu":1}\n')
    assert overview_of(tmp_path).last_step == 4


steps = st.integers(-3, 12)


@settings(max_examples=30)  # each opens and ends several runs
@given(st.lists(st.lists(steps, max_size=4), max_size=3), st.data())
def test_the_last_step_is_the_highest_that_the_default_reading_shows(
    attempts: list[list[int]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as name:
        for rows in [[0, 1, 2], *attempts]:
            start = data.draw(st.none() | steps)
            with et.init("p", run_dir=name, resume_step=start, capture=False) as run:
                for step in rows:
                    run.log({"x": step}, step=step, commit=True)
        shown = [row["_step"] for row in read_history(name, -1)]
        assert overview_of(Path(name)).last_step == max(shown, default=None)
