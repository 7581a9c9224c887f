from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from expr_tracker.capture.environment import capture_environment

PATH = os.environ.get("PATH", "")
GIT = {
    "PATH": PATH,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments], env=GIT, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "code"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    (directory / "train.py").write_text("lr = 1\n")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "first")
    git(directory, "remote", "add", "origin", "https://me:s3cr3t@host/a/b.git")
    return directory


@pytest.fixture(autouse=True)
def _no_gpu_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def capture(directory: Path, environ: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return capture_environment(environ or GIT, ["train.py"], directory=directory, **more)


@needs_git
def test_the_state_of_the_code_is_captured(repository: Path) -> None:
    found = capture(repository)
    assert found["errors"] == {}
    assert found["git"] == {
        "commit": git(repository, "rev-parse", "HEAD"),
        "branch": "main",
        "remote": "https://me:[redacted]@host/a/b.git",
        "dirty": False,
    }


@needs_git
def test_changes_of_tracked_files_are_kept_as_a_redacted_diff(repository: Path) -> None:
    (repository / "train.py").write_text('lr = 2\napi_key = "s3cr3t"\n')
    (repository / "untracked.txt").write_text("no")
    found = capture(repository / ".")["git"]
    assert found["dirty"] is True
    assert "+lr = 2\n" in found["diff"]
    assert '+api_key = "[redacted]"\n' in found["diff"]
    assert "untracked" not in found["diff"]
    assert "diff_cut" not in found


@needs_git
def test_new_files_that_git_does_not_track_are_no_change(repository: Path) -> None:
    (repository / "untracked.txt").write_text("no")
    assert capture(repository)["git"]["dirty"] is False


@needs_git
def test_a_long_diff_is_cut_with_a_mark_and_a_mebibyte_is_the_limit(repository: Path) -> None:
    (repository / "train.py").write_text("x = 1234567890\n" * 200_000)
    found = capture(repository, deadline_seconds=60)["git"]
    assert found["diff_cut"] is True
    assert found["diff"].endswith("[cut: the diff is longer than 1048576 bytes]\n")
    assert len(found["diff"].encode()) <= 1024 * 1024


@needs_git
def test_a_repository_without_a_commit_and_a_detached_head_are_described(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert "branch" not in capture(repository)["git"]
    fresh = repository.parent / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "main")
    assert capture(fresh)["git"] == {"branch": "main", "dirty": False}


@needs_git
def test_outside_a_repository_there_is_no_git_and_no_error(tmp_path: Path) -> None:
    found = capture(tmp_path)
    assert "git" not in found
    assert found["errors"] == {}


@needs_git
def test_the_scripts_repository_is_found_from_another_directory(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert capture_environment(GIT, [str(repository / "train.py")])["git"]["branch"] == "main"


def test_arguments_are_redacted_and_python_and_machine_are_told(tmp_path: Path) -> None:
    key = "0123456789abcdef0123456789abcdef01234567"
    found = capture_environment(
        {"PATH": ""}, ["t.py", "--wandb-key", key, "--lr", "0.1"], directory=tmp_path
    )
    assert found["program"]["argv"] == ["t.py", "--wandb-key", "[redacted]", "--lr", "0.1"]
    assert found["program"]["entry"] == "t.py"
    assert found["program"]["directory"] == str(Path.cwd())
    assert found["python"]["version"] == platform.python_version()
    assert found["machine"]["cpu_count"] == os.cpu_count()
    assert found["machine"]["memory_bytes"] > 2**20
    assert f"pytest=={importlib.metadata.version('pytest')}" in found["packages"]
    assert found["packages"] == sorted(found["packages"], key=str.lower)
    json.dumps(found, allow_nan=False)


def test_of_the_variables_only_the_launchers_are_kept(tmp_path: Path) -> None:
    environ = {
        "RANK": "3", "SLURM_JOB_ID": "7", "MY_TOKEN": "s3cr3t-E", "HOME": "/home/someone",
        "MASTER_ADDR": "tcp://u:s3cr3t@h", "PATH": "",
    }  # fmt: skip
    found = capture_environment(environ, ["t.py"], directory=tmp_path)
    assert found["launcher"] == {
        "RANK": "3",
        "SLURM_JOB_ID": "7",
        "MASTER_ADDR": "tcp://u:[redacted]@h",
    }
    assert "s3cr3t" not in json.dumps(found)


def fake_program(directory: Path, name: str, text: str) -> dict[str, str]:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return {"PATH": f"{directory}{os.pathsep}{PATH}"}


def test_a_git_that_hangs_costs_its_part_alone_and_leaves_no_process(tmp_path: Path) -> None:
    environ = fake_program(tmp_path / "bin", "git", f"echo $$ > {tmp_path}/pid; exec sleep 600")
    found = capture(tmp_path, environ, deadline_seconds=1.0)
    assert "took too long" in found["errors"]["git"]
    assert found["python"]
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_missing_git_is_an_error_of_its_part(tmp_path: Path) -> None:
    found = capture(tmp_path, {"PATH": str(tmp_path)})
    assert found["errors"] == {"git": "git is not installed"}


def test_git_that_does_not_trust_the_directory_is_an_error_not_a_missing_repository(
    tmp_path: Path,
) -> None:
    environ = fake_program(
        tmp_path / "bin", "git", "echo 'fatal: dubious ownership' >&2; exit 128"
    )
    assert capture(tmp_path, environ)["errors"] == {"git": "fatal: dubious ownership"}


def test_a_damaged_package_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Damaged:
        @property
        def metadata(self) -> dict[str, str]:
            raise OSError("unreadable")

    whole = SimpleNamespace(metadata={"Name": "whole"}, version="1.0")
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [Damaged(), whole])
    found = capture(tmp_path)
    assert found["packages"] == ["whole==1.0"]
    assert found["errors"] == {"packages": "a package is damaged: OSError"}


def test_more_packages_than_any_installation_has_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [SimpleNamespace(metadata={"Name": f"p{i}"}, version="1") for i in range(5001)]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: many)
    found = capture(tmp_path, deadline_seconds=60)
    assert len(found["packages"]) == 5000
    assert found["errors"] == {"packages": "only 5000 are listed"}


def test_the_arguments_are_the_programs_own_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["t.py", "--token", "s3cr3t"])
    found = capture_environment({"PATH": ""}, directory=tmp_path)
    assert found["program"]["argv"] == ["t.py", "--token", "[redacted]"]


def test_a_library_without_a_driver_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoDriver(FakeNvml):
        def nvmlInit(self) -> None:  # noqa: N802
            raise RuntimeError("driver not loaded")

    monkeypatch.setitem(sys.modules, "pynvml", NoDriver("pynvml"))
    found = capture(tmp_path)
    assert "gpus" not in found
    assert found["errors"] == {}


def test_parts_without_time_are_named(tmp_path: Path) -> None:
    found = capture(tmp_path, deadline_seconds=0)
    assert set(found) == {"errors"}
    assert set(found["errors"]) == {
        "program", "python", "launcher", "machine", "git", "gpus", "packages"
    }  # fmt: skip


def test_a_vanished_working_directory_costs_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = capture_environment({"PATH": PATH}, ["t.py"])
    assert found["program"]["argv"] == ["t.py"]
    assert {"program", "git"} <= set(found["errors"])


def test_gpus_are_listed_by_the_drivers_program(tmp_path: Path) -> None:
    environ = fake_program(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA A100, 81920, 550.1'")
    assert capture(tmp_path, environ)["gpus"] == {
        "driver": "550.1",
        "devices": [{"name": "NVIDIA A100", "memory_bytes": 81920 * 2**20}],
    }


class FakeNvml(ModuleType):
    """The driver's library with one GPU."""

    def nvmlInit(self) -> None: ...  # noqa: N802 - the library's names
    def nvmlShutdown(self) -> None: ...  # noqa: N802
    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, handle: int) -> bytes:  # noqa: N802
        return b"NVIDIA H100 %d" % handle

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(total=(80 + handle) * 2**30)

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "550.1"


def test_gpus_are_listed_by_the_drivers_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml("pynvml"))
    assert capture(tmp_path)["gpus"] == {
        "driver": "550.1",
        "devices": [{"name": "NVIDIA H100 0", "memory_bytes": 80 * 2**30}],
    }


def test_a_driver_that_does_not_answer_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    class Stuck(FakeNvml):
        def nvmlInit(self) -> None:  # noqa: N802
            answered.wait(60)

    monkeypatch.setitem(sys.modules, "pynvml", Stuck("pynvml"))
    found = capture(tmp_path)
    answered.set()
    assert "did not answer" in found["errors"]["gpus"]
    assert found["packages"]
