"""Where `et export` and `et trace` write: files, links, devices, FIFOs, standard output; or nowhere."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from expr_tracker.cli import COMMANDS
from expr_tracker.errors import QueryError
from expr_tracker.history import export
from expr_tracker.trace import write_trace

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.acceptance

ET = f"{sys.executable} -m expr_tracker"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "p" / "n"
    directory.mkdir(parents=True)
    lines = "".join(f'{{"_step":{i},"_time":{i}.0,"loss":{i}.5}}\n' for i in range(5))
    (directory / "metrics.jsonl").write_text(lines)
    (directory / "spans.jsonl").write_text(
        '{"_step":0,"name":"s","depth":0,"track":1,"start":1.0,"dur_ms":2.0}\n'
    )
    return directory


def shell(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", text.replace("ET ", f"{ET} ")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def by_function(run: Path, output: Path) -> None:
    export(run, output, "jsonl")


def by_trace_function(run: Path, output: Path) -> None:
    write_trace(run, output)


def by_command(run: Path, output: Path) -> None:
    assert shell(f"ET export {run} -o {output} --format jsonl").returncode == 0


def by_trace_command(run: Path, output: Path) -> None:
    assert shell(f"ET trace {run} -o {output}").returncode == 0


WAYS = [by_function, by_trace_function, by_command, by_trace_command]


def content_is_whole(content: str) -> bool:
    """Say whether it is the five rows, or the timeline."""
    if content.startswith('{"traceEvents"'):
        return bool(json.loads(content)["traceEvents"])
    return [json.loads(line)["_step"] for line in content.splitlines()] == list(range(5))


@pytest.mark.parametrize("way", WAYS)
def test_a_device_is_written_into_and_stays_a_device(
    way: Callable[[Path, Path], None], run: Path, tmp_path: Path
) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, Path(os.devnull).stat().st_rdev)
    except PermissionError:
        pytest.skip("only root makes devices")
    way(run, device)
    assert stat.S_ISCHR(device.lstat().st_mode)


@pytest.mark.parametrize("way", WAYS)
def test_a_fifo_gets_everything_and_stays_one(
    way: Callable[[Path, Path], None], run: Path, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    way(run, fifo)
    reader.join(30)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert content_is_whole(read[0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("old", ["old", None])
def test_what_a_link_leads_to_is_replaced_and_the_link_stays(
    way: Callable[[Path, Path], None], old: str | None, run: Path, tmp_path: Path
) -> None:
    target, middle, link = tmp_path / "a" / "b", tmp_path / "middle", tmp_path / "link"
    target.parent.mkdir()
    if old is not None:
        target.write_text(old)
    middle.symlink_to("a/b")
    link.symlink_to(middle)
    way(run, link)
    assert link.is_symlink()
    assert middle.is_symlink()
    assert content_is_whole(target.read_text())
    assert os.listdir(target.parent) == ["b"]


@pytest.mark.parametrize("write", [by_function, by_trace_function])
def test_a_link_to_a_file_of_the_run_is_refused(
    write: Callable[[Path, Path], None], run: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(run / "metrics.jsonl")
    before = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(QueryError, match="run's own file"):
        write(run, tmp_path / "link")
    assert (run / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("write", [by_function, by_trace_function])
def test_a_circle_of_links_is_an_error_that_names_it(
    write: Callable[[Path, Path], None], run: Path, tmp_path: Path
) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as raised:
        write(run, tmp_path / "a")
    assert raised.value.filename == str(tmp_path / "a")


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
@pytest.mark.parametrize("command", ["export {} --format jsonl -o", "trace {} -o"])
def test_standard_output_gets_the_file_alone_and_what_is_said_goes_to_errors(
    command: str, output: str, run: Path, tmp_path: Path
) -> None:
    words = f"{command.format(run)} {output}"
    piped = shell(f"ET {words}")
    assert piped.returncode == 0, piped.stderr
    assert content_is_whole(piped.stdout)
    assert "written to standard output" in piped.stderr
    file = tmp_path / "out"
    file.write_text("before\n")
    inode = file.stat().st_ino
    assert shell(f"ET {words} >> {file}").returncode == 0
    assert file.stat().st_ino == inode
    assert file.read_text().startswith("before\n")
    assert content_is_whole(file.read_text().removeprefix("before\n"))
    assert not Path("-").exists()


def test_another_descriptor_is_written_into(run: Path, tmp_path: Path) -> None:
    done = shell(f"ET export {run} -o >(cat > {tmp_path}/got) --format jsonl; wait $!")
    assert done.returncode == 0
    assert content_is_whole((tmp_path / "got").read_text())


@pytest.mark.parametrize("command", ["export {} --format csv -o -", "trace {} -o -"])
def test_a_full_standard_output_is_one_line_and_exit_code_1(command: str, run: Path) -> None:
    done = shell(f"ET {command.format(run)} > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("Error: standard output: ")


def test_a_table_format_that_needs_its_end_goes_through_a_pipe(run: Path) -> None:
    pytest.importorskip("pyarrow")
    for form in ("parquet", "arrow"):
        done = shell(f"ET export {run} --format {form} -o - | ET history {run} | wc -l")
        assert done.returncode == 0


ARGUMENTS = {
    "ls": "{root}",
    "history": "{run}",
    "export": "{run} -o {out} --format csv",
    "verify": "{run}",
    "trace": "{run} -o {out}",
    "console": "{run}",
    "artifact": "list {root}",
    "completion": "bash",
}


@pytest.mark.parametrize("name", [*COMMANDS, "--help", "--version"])
def test_a_command_without_standard_output_ends_with_one_line(
    name: str, run: Path, tmp_path: Path
) -> None:
    words = ARGUMENTS.get(name, "").format(root=run.parent, run=run, out=tmp_path / "out")
    done = shell(f"ET {name} {words} >&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: standard output is closed.\n"
    assert not (tmp_path / "out").exists()


#: `et ui` goes on until Ctrl-C: `test_ui.py` begins and ends it.
ENDING = [name for name in COMMANDS if name != "ui"]


@pytest.mark.parametrize("name", [*ENDING, "--help", "--version"])
def test_a_command_without_standard_error_does_what_it_does_with_one(
    name: str, run: Path, tmp_path: Path
) -> None:
    words = ARGUMENTS.get(name, "").format(root=run.parent, run=run, out=tmp_path / "out")
    usual = shell(f"ET {name} {words} 2> {tmp_path}/errors")
    closed = shell(f"ET {name} {words} 2>&-")
    assert (closed.returncode, closed.stdout) == (usual.returncode, usual.stdout)
    assert closed.stderr == ""
    assert "Traceback" not in (tmp_path / "errors").read_text()
    assert shell(f"ET {name} {words} >&- 2>&- <&-").returncode == 1
