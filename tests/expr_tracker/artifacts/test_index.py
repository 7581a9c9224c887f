from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from expr_tracker.artifacts.index import Index
from expr_tracker.store.lines import encode_line

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "sha256:" + "0" * 64

# The first text of a fresh checkout costs seconds (the table of characters), and files are slow on
# a busy machine; neither is what is tested.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Warnings:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, kind: str, text: str) -> None:
        self.texts.append(f"{kind}: {text}")


def line(name: object = "m", version: int | str = "v0", **members: Any) -> dict[str, Any]:
    entry = {"path": "a", "size": 1, "digest": DIGEST, "ref": None}
    row: dict[str, Any] = {
        "name": name,
        "version": version,
        "type": "model",
        "description": None,
        "metadata": {},
        "aliases": [],
        "digest": f"sha256:{version}",
        "created_at": 1.5,
        "run": "r",
        "step": 3,
        "entries": [entry | {"path": f"a-{version}"}],
        "reused": False,
    }
    return row | members


def written(tmp_path: Path, *rows: Any) -> tuple[Index, Warnings]:
    file = tmp_path / "index.jsonl"
    with file.open("ab") as appending:
        for row in rows:
            appending.write(row if isinstance(row, bytes) else encode_line(row))
    warnings = Warnings()
    index = Index(file, warnings)
    index.refresh()
    return index, warnings


def test_a_missing_index_is_an_empty_one(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.jsonl", Warnings())
    index.refresh()
    assert index.names() == []
    assert index.latest("m") is None
    assert index.versions("m") == []
    assert index.aliases("m") == []


def test_a_line_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    row = line(metadata={"acc": 0.5, "nan": float("inf")}, description="d", aliases=["best"])
    index, warnings = written(tmp_path, row)
    record = index.latest("m")
    assert record is not None
    assert record.row(["best"]) == row
    assert record.qualified_name == "m:v0"
    assert warnings.texts == []


@pytest.mark.parametrize(
    "bad",
    [
        b"{ no json\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"3\n",
        b"null\n",
        b"{}\n",
        b'{"name": "m"}\n',
        json.dumps(line(version="best")).encode() + b"\n",
        json.dumps(line(name="../m")).encode() + b"\n",
        json.dumps(line(name=["m"])).encode() + b"\n",
        json.dumps(line(type=3)).encode() + b"\n",
        json.dumps(line(digest=None)).encode() + b"\n",
        json.dumps(line(entries={})).encode() + b"\n",
        json.dumps(line(entries=[3])).encode() + b"\n",
        json.dumps(
            line(entries=[{"path": "../../x", "size": 1, "digest": DIGEST}])
        ).encode() + b"\n",
        json.dumps(
            line(entries=[{"path": "a", "ref": "x"}, {"path": "a/b", "ref": "x"}])
        ).encode() + b"\n",
        # Moves an alias of a version that nobody listed.
        json.dumps(line(reused=True, aliases=["best"])).encode() + b"\n",
    ],
)  # fmt: skip
def test_a_line_of_another_kind_costs_itself_and_one_warning(tmp_path: Path, bad: bytes) -> None:
    index, warnings = written(tmp_path, line("good"), bad, bad, line("good", "v1"))
    assert index.names() == ["good"]
    assert [record.version for record in index.versions("good")] == [0, 1]
    assert len(warnings.texts) == 1
    assert "2 line(s)" in warnings.texts[0]
    assert "the first is line 2" in warnings.texts[0]


MEMBERS = st.dictionaries(
    st.sampled_from(list(line())),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
)


@unhurried
@given(members=MEMBERS)
def test_no_value_of_any_member_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, members: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    index, _ = written(folder, line("good"), line() | members, line("good", "v1"))
    assert [record.version for record in index.versions("good")][:2] == [0, 1]
    for name in index.names():
        for record in index.versions(name):
            assert index.version(name, record.version) is record
            encode_line(record.row(index.aliases(name)))


def test_members_of_the_wrong_kind_that_matter_to_nobody_are_left_out(tmp_path: Path) -> None:
    row = line(description=3, metadata=[], aliases=3, created_at="soon", run=[], step="x", extra=1)
    index, warnings = written(tmp_path, row)
    record = index.latest("m")
    assert record is not None
    assert record.row([]) == line(description=None, created_at=None, run=None, step=None)
    assert warnings.texts == []


def test_an_older_spelling_of_version_and_time_is_read(tmp_path: Path) -> None:
    index, _ = written(tmp_path, line(version=4, created_at="2026-01-02T03:04:05+00:00"))
    record = index.version("m", 4)
    assert record is not None
    assert record.created_at == 1767323045.0


def test_the_newest_line_with_an_alias_wins_also_back_to_an_older_version(tmp_path: Path) -> None:
    index, _ = written(
        tmp_path,
        line(version="v0", aliases=["best"]),
        line(version="v1", aliases=["best", "prod"]),
        line(version="v0", reused=True, entries=[], aliases=["best"]),
    )
    best, prod = index.aliased("m", "best"), index.aliased("m", "prod")
    assert best is not None
    assert prod is not None
    assert (best.version, prod.version) == (0, 1)
    assert index.aliases("m", 1) == ["prod"]
    assert index.aliases("m") == ["best", "prod"]


def test_aliases_that_could_never_be_used_are_ignored(tmp_path: Path) -> None:
    index, warnings = written(tmp_path, line(aliases=["v7", "latest", "a:b", 3, None, "ok"]))
    assert index.aliases("m") == ["ok"]
    assert warnings.texts == []


def test_a_second_line_for_a_version_with_other_content_is_refused(tmp_path: Path) -> None:
    other = line(entries=[{"path": "b", "size": 2, "digest": DIGEST, "ref": None}])
    index, warnings = written(tmp_path, line(), other, line())
    record = index.latest("m")
    assert record is not None
    assert record.entries[0].path == "a-v0"
    assert len(warnings.texts) == 1


def test_only_what_was_appended_is_read_again(tmp_path: Path) -> None:
    index, warnings = written(tmp_path, line())
    first = index.latest("m")
    # Spoil what was read, keeping its size: a reader that looked again would stumble.
    data = index.path.read_bytes()
    with index.path.open("r+b") as file:
        file.write(b"x" * (len(data) - 1))
        file.seek(0, 2)
        file.write(encode_line(line(version="v1")))
    index.refresh()
    assert index.version("m", 0) is first
    assert [record.version for record in index.versions("m")] == [0, 1]
    assert warnings.texts == []


def test_a_line_without_its_end_is_not_there_yet(tmp_path: Path) -> None:
    whole = encode_line(line(version="v1"))
    index, warnings = written(tmp_path, line(), whole[:40])
    assert len(index.versions("m")) == 1
    with index.path.open("ab") as file:
        file.write(whole[40:])
    index.refresh()
    assert len(index.versions("m")) == 2
    assert warnings.texts == []


def test_a_replaced_shortened_or_removed_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    index, _ = written(tmp_path, line("a"), line("b"))
    new = tmp_path / "new"
    new.write_bytes(encode_line(line("c")) * 5)
    new.replace(index.path)
    index.refresh()
    assert index.names() == ["c"]
    with index.path.open("r+b") as file:
        file.truncate(0)
        file.write(encode_line(line("d")))
    index.refresh()
    assert index.names() == ["d"]
    index.path.unlink()
    index.refresh()
    assert index.names() == []


def test_content_finds_the_version_that_has_it(tmp_path: Path) -> None:
    index, _ = written(tmp_path, line(), line(version="v1"))
    record = index.version("m", 1)
    assert record is not None
    assert index.with_content("m", record.content) is record
    assert index.with_content("m", "sha256:x") is None
    assert index.with_content("other", record.content) is None


def test_names_that_share_a_folder_without_case_are_known(tmp_path: Path) -> None:
    index, _ = written(tmp_path, line("Modell-Ä"))
    assert index.same_folder("modell-A\u0308") == "Modell-Ä"
    assert index.same_folder("modell") is None
