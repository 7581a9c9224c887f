from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tooling import services, tests
from tooling.environment import DevError

#: As in a container without lists: the package is found only after an update into lists of our own.
APT_GET = """\
#!/bin/sh
echo "$*" >> {folder}/calls
case "$*" in
  *lists=*update*) touch {folder}/updated ;;
  *--simulate*)
    test -f {folder}/updated || {{ echo "E: Unable to locate package" >&2; exit 100; }}
    echo "Inst strange-service (1 Debian [amd64])" ;;
  *download*) cp {folder}/strange-service.deb . ;;
esac
"""

LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
#: As libpulse does: what only its own programs load lies one folder deeper.
OWN_LIBRARIES = LIBRARIES / "strange"


def make_package(folder: Path) -> None:
    """Build a package with one program, which prints a variable, and libraries in two folders."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        "Package: strange-service\nVersion: 1\nArchitecture: all\nMaintainer: us\nDescription: x\n"
    )
    (tree / "usr/bin").mkdir(parents=True)
    for library in (LIBRARIES / "libstrange.so.1", OWN_LIBRARIES / "libstrangecommon-1.so"):
        (tree / library).parent.mkdir(parents=True, exist_ok=True)
        (tree / library).write_bytes(b"")
    (tree / LIBRARIES / "without-libraries").mkdir()
    program = tree / "usr/bin/strange-program"
    program.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH" "$@"\n')
    program.chmod(0o755)
    command = [
        "dpkg-deb",
        "--root-owner-group",
        "--build",
        str(tree),
        str(folder / "strange-service.deb"),
    ]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that lacks one program."""
    monkeypatch.setattr(services, "PROGRAMS", {"strange-program": "strange-service"})
    monkeypatch.setattr(services, "SERVICES", tmp_path / ".services")
    monkeypatch.setattr(services, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="not a Debian")
def test_what_is_missing_is_fetched_once_and_starts_with_its_libraries(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_package(place)
    apt_get = place / "bin/apt-get"
    apt_get.parent.mkdir()
    apt_get.write_text(APT_GET.format(folder=place))
    apt_get.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt_get.parent}:{os.environ['PATH']}")
    # A script in a package is for Debian's own Python; this one is a shell's.
    services.ensure_services()
    starter = services.place_of("strange-program") / "strange-program"
    assert starter == place / ".services/bin/strange-program"
    root = place / ".services/root"
    shown = f"export LD_LIBRARY_PATH='{root / LIBRARIES}:{root / OWN_LIBRARIES}'"
    assert shown in starter.read_text().splitlines()
    assert (place / ".services/root/usr/bin/strange-program").exists()
    calls = (place / "calls").read_text()
    services.ensure_services()
    assert (place / "calls").read_text() == calls


def test_without_apt_it_is_said_what_to_install(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(DevError, match="apt-get install strange-service"):
        services.ensure_services()


def test_a_fetch_that_fails_says_why_and_what_to_install(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("apt-get", "dpkg-deb"):
        (place / name).write_text("#!/bin/sh\necho 'no network' >&2\nexit 100\n")
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    with pytest.raises(DevError, match=r"no network[\s\S]+apt-get install strange-service"):
        services.ensure_services()


def test_a_test_whose_service_is_missing_fails_with_what_to_install(place: Path) -> None:
    from tests.services.programs import program

    with pytest.raises(pytest.fail.Exception, match="apt-get install strange-service"):
        program("strange-program")


def test_only_a_run_of_everything_asks_the_oldest_database_too() -> None:
    said = [one.said for stage in tests.stages_for([]) for lane in stage for one in lane]
    assert said.count("tests that ask a database, on PostgreSQL 15") == 1
    assert len(tests.stages_for(["-k", "x"])) == len(tests.DEPTHS)
    assert len(tests.stages_for(["-m", "acceptance"])) == 1
    for folder in tests.ASKING_A_DATABASE:
        assert (Path(__file__).parents[2] / folder).is_dir()


def test_what_the_caller_asks_for_runs_one_after_the_other() -> None:
    for words in (["-k", "x"], ["-m", "acceptance"], ["--pdb"]):
        assert {(len(stage), len(stage[0])) for stage in tests.stages_for(words)} == {(1, 1)}
