"""Images, figures and tables: values that live in a file of their own below ``<run>/media``.

Each is encoded when it is made, so later changes of an array or a figure change nothing, and what
cannot be stored is refused there. A file is named by the hash of its content: the same image
logged a thousand times is stored once. `picture` holds images, `png` and `header` their formats,
`figure` plots, `table` tables, `content` the files.

    et.log({"sample": et.Image(array, caption="step 10"), "curve": et.Figure(fig)})
"""

from __future__ import annotations

from expr_tracker.media.content import MEDIA_BYTES_MAX, media_path
from expr_tracker.media.figure import Figure
from expr_tracker.media.picture import Image
from expr_tracker.media.table import (
    TABLE_COLUMNS_MAX,
    TABLE_ROWS_MAX,
    Table,
    read_table,
)

__all__ = [
    "MEDIA_BYTES_MAX",
    "TABLE_COLUMNS_MAX",
    "TABLE_ROWS_MAX",
    "Figure",
    "Image",
    "Table",
    "media_path",
    "read_table",
]
