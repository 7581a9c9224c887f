from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from lints import __main__ as lints
from lints import docstring, names, places, size
from lints.finding import Finding, is_excused

ROOT = Path(__file__).parents[2]


def found(tmp_path: Path, name: str, text: str) -> list[Finding]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return list(lints.check_file(tmp_path, name))


def function_of(line_count: int) -> str:
    return "def measure():\n" + "    step()\n" * (line_count - 1)


@pytest.mark.parametrize(
    ("line_count", "expected"), [(50, None), (51, "warning"), (70, "warning"), (71, "failure")]
)
def test_a_function_is_warned_about_and_then_refused(
    line_count: int, expected: str | None
) -> None:
    text = function_of(line_count)
    weights = [
        "warning" if finding.is_warning else "failure"
        for finding in size.check("a.py", ast.parse(text), text)
    ]
    assert weights == ([] if expected is None else [expected])


def test_a_docstring_costs_a_function_no_lines() -> None:
    text = function_of(50).replace("\n", '\n    """Doc.\n\n    More.\n    """\n', 1)
    assert list(size.check("a.py", ast.parse(text), text)) == []


@pytest.mark.parametrize(
    ("line_count", "expected"), [(400, None), (401, "warning"), (600, "warning"), (601, "failure")]
)
def test_a_module_is_warned_about_and_then_refused(line_count: int, expected: str | None) -> None:
    text = "x = 1\n" * line_count
    weights = [
        "warning" if finding.is_warning else "failure"
        for finding in size.check("a.py", ast.parse(text), text)
    ]
    assert weights == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("src/a.py", "x = 1\n", 1),
        ("src/a.py", '""" """\nx = 1\n', 1),
        ("src/a.py", '"""What it owns."""\nx = 1\n', 0),
        ("src/__init__.py", "", 0),
        ("tests/test_a.py", "x = 1\n", 0),
    ],
)
def test_a_module_outside_of_tests_needs_a_docstring(path: str, text: str, count: int) -> None:
    assert len(list(docstring.check(path, ast.parse(text), text))) == count


@pytest.mark.parametrize(
    "name",
    [
        "run_manager",
        "RunManager",
        "helpers",
        "StringUtil",
        "path_utils",
        "common",
        "misc",
        "handle_misc",
        "EventHandler",
        "row_processor",
        "WriterImpl",
        "run_data",
        "RunInfo",
    ],
)
def test_a_name_that_hides_a_noun_is_refused(name: str) -> None:
    for text in (f"class {name}: ...", f"def {name}(): ...", f"async def {name}(): ..."):
        assert len(list(names.check("src/a.py", ast.parse(text), text))) == 1
    assert len(list(names.check(f"src/{name}.py", ast.parse(""), ""))) == 1


@pytest.mark.parametrize(
    "name",
    ["info", "data", "utilization", "commonest", "Writer", "base_url", "test_a_helper_ends"],
)
def test_a_name_that_only_looks_alike_is_left_alone(name: str) -> None:
    text = f"def {name}(): ..."
    assert list(names.check("src/a.py", ast.parse(text), text)) == []


def test_in_tests_only_files_are_looked_at() -> None:
    tree = ast.parse("class MemoryInfo: ...")
    assert list(names.check("tests/test_a.py", tree, "")) == []
    assert len(list(names.check("tests/utils.py", tree, ""))) == 1


def test_a_module_named_base_is_refused() -> None:
    assert len(list(names.check("src/base.py", ast.parse(""), ""))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "work/main/x",
        "HOME=/" + "root/x",
        "/tmp/" + "bash_jobs.0/x",
        "--index-url https://" + "pypi" + ".org/simple",
        "https://files.python" + "hosted.org/packages/x",
        "https://registry." + "npmjs.org/x",
        "deb http://deb." + "debian.org stable",
    ],
)
def test_a_place_of_one_machine_or_registry_is_refused(tmp_path: Path, line: str) -> None:
    (finding,) = found(tmp_path, "docs/page.md", f"first\n{line}\n")
    assert (finding.line, finding.rule) == (2, "places")


@pytest.mark.parametrize("line", ["network/work/x", "/home/you/runs", "https://example.org/work"])
def test_a_place_that_only_looks_alike_is_left_alone(line: str) -> None:
    assert list(places.check_text("a.md", line)) == []


def test_an_excuse_with_its_reason_excuses_that_rule_on_that_line(tmp_path: Path) -> None:
    excused = (
        '"""Owns signals."""\n'
        "def on_handler(): ...  # lint-ok: names: the field calls it a handler\n"
    )
    assert found(tmp_path, "a.py", excused) == []
    assert len(found(tmp_path, "b.py", excused.replace("names:", "size:"))) == 1
    assert len(found(tmp_path, "c.py", excused.replace("handler\n", "").split(": the")[0])) == 1


def test_an_excuse_for_a_module_stands_near_its_top(tmp_path: Path) -> None:
    line = "# lint-ok: size: a generated table\n"
    body = "x = 1\n" * 700
    assert found(tmp_path, "a.py", f'"""Doc."""\n{line}{body}') == []
    assert len(found(tmp_path, "b.py", f'"""Doc."""\n{body}{line}')) == 1


def test_a_file_that_does_not_parse_is_reported(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "a.py", "def f(:\n")
    assert (finding.rule, finding.line) == ("syntax", 1)


@pytest.mark.parametrize(
    ("word", "count"),
    [("gone", 1), ("writer", 0), ("room", 0), ("summary", 0), ("subprocess", 0), ("`gone`", 0)],
)
def test_a_package_names_only_modules_that_exist(tmp_path: Path, word: str, count: int) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "writer.py").touch()
    text = f'"""Room: `{word}` and `writer` append."""\n\n\ndef summary() -> None: ...\n'
    findings = found(tmp_path, "room/__init__.py", text)
    assert [finding.rule for finding in findings] == ["packages"] * count


def test_a_package_names_every_module_and_package_in_it(tmp_path: Path) -> None:
    for module in ("writer.py", "reader.py", "_private.py", "inner/__init__.py", "data/page.txt"):
        path = tmp_path / "room" / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    findings = found(tmp_path, "room/__init__.py", '"""Room: `writer` appends."""\n')
    assert [finding.rule for finding in findings] == ["packages"] * 2
    assert [
        word for finding in findings for word in ("inner", "reader") if word in str(finding)
    ] == [
        "inner",
        "reader",
    ]


def test_a_name_that_another_module_imports_is_exported(tmp_path: Path) -> None:
    room = tmp_path / "src" / "room"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text('"""Room: `a`, `b`."""\n__all__ = []\n')
    (room / "a.py").write_text('"""Owns x."""\n__all__ = ["x"]\nx = y = 1\n')
    text = '"""Owns z."""\nfrom room import a\nfrom room.a import x\nfrom room.a import y\n'
    (finding,) = found(tmp_path, "src/room/b.py", text)
    assert (finding.rule, finding.line) == ("exports", 4)
    assert "'y'" in finding.message


def test_a_picture_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\xff")
    assert list(lints.check_file(tmp_path, "a.png")) == []


def test_a_heavy_file_is_refused(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, "a.txt", "x" * (512 * 1024 + 1))
    assert finding.rule == "weight"
    assert found(tmp_path, "b.txt", "x" * 512 * 1024) == []


def test_line_one_is_not_excused_by_a_comment_elsewhere() -> None:
    finding = Finding("a.py", 1, "size", "long")
    assert not is_excused(finding, ["x = 1", "y = 2  # lint-ok: size: not a line of its own"])


def test_files_that_git_would_take_are_checked_and_ignored_ones_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    (tmp_path / "ignored.py").write_text("x = 1\n")
    (tmp_path / "new.py").write_text("x = 1\n")
    assert lints.main([], root=tmp_path) == 1
    assert capsys.readouterr().out.startswith("new.py:1: docstring: ")


def test_warnings_alone_do_not_fail(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "a.py").write_text('"""Doc."""\n' + function_of(60))
    assert lints.main([], root=tmp_path) == 0


def test_the_rules_run_as_a_program_on_one_file() -> None:
    done = subprocess.run(
        [sys.executable, ".ci/lints", "dev.py"], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
