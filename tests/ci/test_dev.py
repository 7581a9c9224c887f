from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tooling import checks, environment, locks, tests
from tooling.tests import Tally, failed_in, tally_of

ROOT = Path(__file__).parents[2]

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase classname="tests.x.test_y" name="c"><failure/></testcase>
<testcase classname="tests.z" name="d"><error/></testcase>
<testcase name="e"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted_by_test(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert tally_of(report, code=1) == Tally(passed=2, failed=2, skipped=1)


def test_what_failed_is_named(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert failed_in(report) == ["tests/x/test_y.py::c", "tests/z.py::d"]
    assert failed_in(tmp_path / "missing.xml") == []


@pytest.mark.parametrize("code", [2, 3, 4, -9])
def test_a_run_that_broke_off_is_a_failure(tmp_path: Path, code: int) -> None:
    assert tally_of(tmp_path / "missing.xml", code) == Tally(failed=1)


def test_a_run_that_selected_nothing_counts_nothing(tmp_path: Path) -> None:
    assert tally_of(tmp_path / "missing.xml", 5) == Tally()


def done_with(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds what dev.py is made of."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".ci")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "arguments", "last_line", "code"),
    [
        ("def test_a(): pass\n", [], "1 passed, 0 failed, 0 skipped", 0),
        (
            "import pytest\ndef test_a(): pass\n@pytest.mark.acceptance\ndef test_b(): assert 0\n",
            [],
            "1 passed, 1 failed, 0 skipped",
            1,
        ),
        ("def test_a(): pass\n", ["-k", "nothing"], "0 passed, 0 failed, 0 skipped", 1),
        ("import nowhere\n", [], "0 passed, 3 failed, 0 skipped", 1),
        ("def test_a(): pass\n", ["-m", "not acceptance"], "1 passed, 0 failed, 0 skipped", 0),
        ("def test_a(): pass\n", ["--no-such-option"], "0 passed, 3 failed, 0 skipped", 1),
    ],
)
def test_the_last_line_adds_every_depth_up(
    tmp_path: Path, text: str, arguments: list[str], last_line: str, code: int
) -> None:
    (tmp_path / "test_one.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = acceptance\n")
    program = (
        "import sys; from pathlib import Path; from tooling import tests\n"
        f"sys.exit(tests.run_tests(Path(sys.executable), {[str(tmp_path), *arguments]}, "
        "coverage=False))"
    )
    done = done_with(program)
    assert done.stdout.splitlines()[-1] == last_line, done.stdout + done.stderr
    assert done.returncode == code


def test_a_run_without_arguments_leaves_nothing_out_and_asks_a_database_twice(
    tmp_path: Path,
) -> None:
    rooms = [f"tests/mapi/{room}" for room in ("database", "tracking", "search", "api")]
    oldest = "import os\ndef test_old(): assert 'MAPI_TEST_PG_BIN' in os.environ\n"
    texts = {
        "tests/test_one.py": "def test_a(): pass\n",
        "tests/mapi/test_other.py": "import pytest\ndef test_b(): pytest.skip('so')\n",
        "tests/acceptance/test_whole.py": "import pytest\n@pytest.mark.acceptance\ndef test_c(): assert 0\n",
        "tests/browser/test_page.py": "import pytest\n@pytest.mark.browser\ndef test_d(): pass\n",
        # Fails on the newest PostgreSQL, so once of twice.
        **{f"{room}/test_asks.py": oldest for room in rooms},
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  acceptance\n  browser\naddopts = --import-mode=importlib\n"
    )
    program = (
        "import sys; from pathlib import Path; from tooling import beside, environment, tests\n"
        f"beside.ROOT = environment.ROOT = Path({str(tmp_path)!r})\n"
        "sys.exit(tests.run_tests(Path(sys.executable), [], coverage=False))"
    )
    done = done_with(program)
    assert done.stdout.splitlines()[-1] == "6 passed, 5 failed, 1 skipped", done.stdout
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("dev: failed: ")]
    assert len(told) == 5


def test_a_lock_is_split_into_its_packages() -> None:
    text = (
        "# made\nZope.interface==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "b==2 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n"
    )
    assert list(locks.stanzas(text)) == ["zope-interface", "b"]
    assert "".join(locks.stanzas(text).values()) == text.removeprefix("# made\n")


def test_a_lock_of_other_inputs_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "inputs_digest", lambda: "0" * 64)
    assert len(locks.stale_locks()) == len(locks.LOCKS)


def test_a_demo_lock_with_another_pin_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in locks.LOCKS:
        shutil.copy(ROOT / f"requirements/{name}.txt", tmp_path)
    demo = tmp_path / "demo.txt"
    demo.write_text(demo.read_text().replace("\nclick==", "\nclick==99."))
    monkeypatch.setattr(locks, "REQUIREMENTS", tmp_path)
    (problem,) = locks.stale_locks()
    assert "holds click otherwise" in problem


def test_a_lock_for_fewer_systems_is_a_subset() -> None:
    everywhere, somewhere = (
        "a==1 \\\n    --hash=x\n",
        "a==1 ; sys_platform == 'win32' \\\n    --hash=x\n",
    )
    assert locks.without_marker(everywhere) == locks.without_marker(somewhere)
    assert locks.without_marker("a==2 \\\n    --hash=x\n") != locks.without_marker(somewhere)


def test_an_interpreter_that_cannot_make_an_environment_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As on Debian without python3-venv: the module is there, ensurepip is not.
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'ensurepip is not available' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(environment.DevError, match=r"ensurepip is not available[\s\S]+apt-get"):
        environment.make_venv(tmp_path / "venv")


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("[here](nowhere.md)", "nowhere.md"),
        ("[there](index.md#nowhere)", "nowhere"),
    ],
)
def test_a_dead_link_fails_the_documentation_and_is_named(
    tmp_path: Path, page: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path / "all.yml")
    rules = (tmp_path / "all.yml").read_text().partition("\nvalidation:")[2]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: a site\nvalidation:{rules}")
    (tmp_path / "docs").mkdir()
    index = tmp_path / "docs" / "index.md"
    index.write_text("# A page\n")
    assert checks.build_docs(Path(sys.executable), tmp_path) == 0
    index.write_text(f"# A page\n\n{page}\n")
    assert checks.build_docs(Path(sys.executable), tmp_path) != 0
    assert fault in capsys.readouterr().out


def test_a_failed_install_ends_with_what_pip_said(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    with pytest.raises(environment.DevError, match="Could not open requirements file"):
        environment.pip_install(Path(sys.executable), ["-r", "no.txt"], log=log, expected=1)
    assert "Could not open requirements file" in log.read_text()


def test_help_names_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "dev.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for command in ("demo", "test", "check", "docs", "bench", "lock"):
        assert command in done.stdout
        help_text = subprocess.run(
            [sys.executable, "dev.py", command, "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert len(help_text.splitlines()) > 5


@pytest.mark.parametrize(("command", "kind"), [("check", "check"), ("bench", "bench")])
def test_an_unknown_name_is_refused_before_anything_is_installed(
    tmp_path: Path, command: str, kind: str
) -> None:
    # A copy: if it did install, it would not be into the environment that runs this test.
    shutil.copy(ROOT / "dev.py", tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/log_5.py").touch()
    done = subprocess.run(
        [sys.executable, "dev.py", command, "nonsense"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"no {kind} is called nonsense; there are: " in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_tally_prints_as_ci_reads_it() -> None:
    assert tests.Tally(3, 1, 2).line() == "3 passed, 1 failed, 2 skipped"


def test_a_demo_says_what_each_run_holds_and_how_to_look_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV", tmp_path / ".venv")
    names = ["digits/mlp/metrics.jsonl", "digits/mlp/media/bb/bb1.png", "digits/mlp/media/c.json"]
    names += ["digits.png", "p-trace.json", "pipeline/p/metrics.train-0.jsonl"]
    for name in names:
        path = tmp_path / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    dev.show_written(dev.written_since(0, tmp_path / "runs"))
    written, _, look = capsys.readouterr().out.partition("\nNow look at them:\n")
    assert written.splitlines()[2:] == [
        "  runs/digits/mlp/  (1 files, 5 bytes; 2 images and tables in media/)",
        "  runs/digits.png  (5 bytes)",
        "  runs/p-trace.json  (5 bytes)",
        "  runs/pipeline/p/  (1 files, 5 bytes)",
    ]
    assert look.splitlines() == [
        "  .venv/bin/et ui runs",
        "  .venv/bin/et history runs/digits/mlp",
        "  .venv/bin/et history runs/pipeline/p --stream train-0",
        "  open runs/digits.png in an image viewer",
        "  open runs/p-trace.json in a trace viewer (Perfetto, chrome://tracing)",
    ]
