from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure as Drawing

from expr_tracker.media import Figure, media_path

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("Agg")


def drawing() -> Drawing:
    figure = Drawing(figsize=(2, 1), dpi=50)
    figure.subplots().plot([1, 2, 3])
    return figure


def test_a_figure_of_matplotlib_is_drawn_when_it_is_made(tmp_path: Path) -> None:
    plot = drawing()
    figure = Figure(plot, caption="loss")
    plot.clear()
    reference = figure.reference(tmp_path / "media")
    assert reference["_type"] == "figure"
    assert (reference["width"], reference["height"]) == (100, 50)
    assert (reference["format"], reference["caption"]) == ("png", "loss")
    assert media_path(tmp_path, reference).read_bytes().startswith(b"\x89PNG")
    # The same plot is the same content.
    assert Figure(drawing()).reference(tmp_path / "media")["sha256"] == reference["sha256"]


def test_axes_stand_for_their_figure_and_svg_is_text(tmp_path: Path) -> None:
    reference = Figure(drawing().axes[0], format="svg").reference(tmp_path / "media")
    assert reference["path"].endswith(".svg")
    assert (reference["format"], reference["width"]) == ("svg", None)
    assert b"<svg" in media_path(tmp_path, reference).read_bytes()


class FakePlotly:
    """A plotly figure, as far as it is asked."""

    def to_plotly_json(self) -> dict[str, Any]:
        return {"data": []}

    def to_json(self) -> str:
        return json.dumps(self.to_plotly_json())


def test_a_figure_of_plotly_is_stored_as_its_own_json(tmp_path: Path) -> None:
    reference = Figure(FakePlotly()).reference(tmp_path / "media")
    assert reference["path"].endswith(".plotly.json")
    assert reference["format"] == "plotly"
    assert json.loads(media_path(tmp_path, reference).read_bytes()) == {"data": []}


def test_what_is_no_figure_or_no_format_is_refused() -> None:
    with pytest.raises(TypeError, match=r"figure list: expected a figure of matplotlib or plotly"):
        Figure([1, 2])
    with pytest.raises(ValueError, match="'pdf': expected 'png' or 'svg'"):
        Figure(drawing(), format="pdf")
