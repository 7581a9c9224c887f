from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from expr_tracker.history import verify
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

    from tests.expr_tracker.history.conftest import Runs


Row = dict[str, Any]


def test_a_media_file_behind_a_link_out_of_the_run_is_not_read(
    runs: type[Runs], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    run = tmp_path / "run"
    (run / "media").mkdir(parents=True)
    digest = hashlib.sha256(b"secret").hexdigest()
    (run / "media" / "link").symlink_to(tmp_path)
    (run / "media" / "file").symlink_to(tmp_path / "secret")
    names = ["media/link/secret", "media/file"]
    runs.make(run, [{"_step": i, "x": {"path": n, "sha256": digest}} for i, n in enumerate(names)])
    assert sorted(verify(run).streams[0].media_missing) == ["media/file", "media/link/secret"]


def test_pictures_in_a_table_are_checked_like_those_in_a_row(
    runs: type[Runs], tmp_path: Path
) -> None:
    def stored(name: str, content: bytes) -> Row:
        path = tmp_path / "media" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return {"path": f"media/{name}", "sha256": hashlib.sha256(content).hexdigest()}

    def table(name: str, cells: list[Row]) -> Row:
        return stored(
            name, encode_line({"columns": ["image"], "data": [[cell] for cell in cells]})
        )

    inner = table("inner.table.json", [stored("d.png", b"d")])
    cells = [stored("a.png", b"a"), stored("b.png", b"b"), stored("c.png", b"c"), inner]
    runs.make(tmp_path, [{"_step": 0, "samples": table("t.table.json", cells), "image": cells[0]}])
    assert verify(tmp_path).problems == []
    assert verify(tmp_path).streams[0].media == 6
    (tmp_path / "media" / "b.png").unlink()
    (tmp_path / "media" / "c.png").write_bytes(b"changed")
    (tmp_path / "media" / "d.png").unlink()
    (stream,) = verify(tmp_path).streams
    assert stream.media_missing == ["media/b.png", "media/d.png"]
    assert stream.media_changed == ["media/c.png"]
