"""What tests run against: Debian's PostgreSQL 15, PgBouncer, Ceph's S3 gateway, and its Chromium.

What the machine has installed is taken. What it lacks is fetched with apt, which checks the
signatures, and unpacked into ``.services``: nothing is installed, no daemon is started, and an
ordinary user can do it. The tests find the programs through ``tests/services/programs.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tooling.environment import ROOT, DevError, say

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVICES = ROOT / ".services"
#: Program → its package, of all that `tests/services` starts.
PROGRAMS = {
    "postgres": "postgresql-15",
    "initdb": "postgresql-15",
    "pg_dump": "postgresql-client-15",
    "pg_restore": "postgresql-client-15",
    "pgbouncer": "pgbouncer",
    "ceph": "ceph-common",
    "monmaptool": "ceph-base",
    "ceph-mon": "ceph-mon",
    "ceph-osd": "ceph-osd",
    "radosgw": "radosgw",
    "radosgw-admin": "radosgw",
    "chromium": "chromium",
}
#: What `usr/bin` has is a script that looks for the program where it would be installed.
BINARIES = {"chromium": "usr/lib/chromium/chromium"}
#: What a page means by a family; without Fontconfig's own settings, a face with serifs would be taken.
FACES = {
    **dict.fromkeys(
        ("system-ui", "ui-sans-serif", "sans-serif", "sans"), ("Liberation Sans", "DejaVu Sans")
    ),
    **dict.fromkeys(("ui-monospace", "monospace"), ("Liberation Mono", "DejaVu Sans Mono")),
}
#: Where the programs of installed packages are; PostgreSQL's are not on the PATH.
PLACES = ("usr/lib/postgresql/15/bin", "usr/sbin", "usr/bin")


def is_installed(name: str) -> bool:
    """Say whether the machine itself has a program."""
    return any((Path("/") / place / name).exists() for place in PLACES)


def place_of(name: str) -> Path:
    """Return the folder of a program that was fetched or is installed; if neither, where it belongs."""
    folders = [SERVICES / "bin", *(Path("/") / place for place in PLACES)]
    for folder in folders:
        if (folder / name).exists():
            return folder
    return folders[0]


def ensure_services() -> None:
    """Have every program, fetched if need be; instant when they are there.

    Raises:
        DevError: A program is missing and cannot be fetched; the message says what to install.
    """
    if all((place_of(name) / name).exists() for name in PROGRAMS):
        return
    packages = sorted({PROGRAMS[name] for name in PROGRAMS if not is_installed(name)})
    advice = f"install them (Debian 12: apt-get install {' '.join(packages)})"
    if any(shutil.which(program) is None for program in ("apt-get", "dpkg-deb")):
        raise DevError(f"the services of the tests cannot be fetched without apt: {advice}")
    started = time.monotonic()
    say(f"fetching {', '.join(packages)} into {SERVICES.relative_to(ROOT)} (once)")
    shutil.rmtree(SERVICES, ignore_errors=True)
    fetched = SERVICES / "packages"
    fetched.mkdir(parents=True)
    try:
        _fetch(packages, fetched)
        for package in sorted(fetched.glob("*.deb")):
            _call(["dpkg-deb", "--extract", str(package), str(SERVICES / "root")])
    except DevError as error:
        raise DevError(f"{error}\nThe services of the tests are missing: {advice}") from None
    for leftover in (fetched, SERVICES / "apt"):
        shutil.rmtree(leftover, ignore_errors=True)
    _write_starters()
    missing = [name for name in PROGRAMS if not (place_of(name) / name).exists()]
    if missing:
        raise DevError(f"the packages had no {', '.join(missing)}: {advice}")
    say(f"services ready after {time.monotonic() - started:.0f} s")


def _fetch(packages: Sequence[str], folder: Path) -> None:
    """Download packages and what they need and the machine lacks."""
    try:
        _download(packages, folder, options=())
    except DevError:
        # No lists, as in a bare container, or old ones: lists of our own take nobody's rights.
        lists, cache = SERVICES / "apt" / "lists", SERVICES / "apt" / "cache"
        for path in (lists / "partial", cache / "archives" / "partial"):
            path.mkdir(parents=True)
        options = ("-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}")
        _call(["apt-get", *options, "update", "-q"])
        _download(packages, folder, options=options)


def _download(packages: Sequence[str], folder: Path, *, options: Sequence[str]) -> None:
    plan = _call(
        ["apt-get", *options, "install", "--simulate", "--no-install-recommends", *packages]
    )
    # One line is: Inst libfmt9 (9.1.0+ds1-2 Debian:12.15/oldstable [amd64])
    needed = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    _call(["apt-get", *options, "download", "-q", *needed], cwd=folder)


def _write_starters() -> None:
    """Write a starter of each fetched program, which shows it the libraries that came with it."""
    root = SERVICES / "root"
    # Some packages keep libraries in a folder of their own, and find it by where they are installed.
    libraries = [
        path
        for pattern in ("usr/lib/*-linux-*", "usr/lib/*-linux-*/*", "lib/*-linux-*")
        for path in sorted(root.glob(pattern))
        if any(path.glob("lib*.so*"))
    ]
    _write_fonts(root)
    (SERVICES / "bin").mkdir()
    for name in PROGRAMS:
        places = [f"{place}/{name}" for place in PLACES]
        for place in [BINARIES[name]] if name in BINARIES else places:
            program = root / place
            if not program.exists():
                continue
            # `ceph` is a script for Debian's own Python, whichever runs the tests.
            script = program.read_bytes()[:2] == b"#!"
            interpreter = "/usr/bin/python3 " if script else ""
            starter = SERVICES / "bin" / name
            starter.write_text(
                "#!/bin/sh\n"
                f"export LD_LIBRARY_PATH='{':'.join(map(str, libraries))}'\n"
                f"export PYTHONPATH='{root}/usr/lib/python3/dist-packages'\n"
                f"export FONTCONFIG_FILE='{SERVICES / 'fonts.conf'}'\n"
                f"exec {interpreter}'{program}' \"$@\"\n"
            )
            starter.chmod(0o755)


def _write_fonts(root: Path) -> None:
    """Say where the fonts are that came with the browser: a text without any is not drawn."""
    folders = (root / "usr/share/fonts", Path("/usr/share/fonts"))
    (SERVICES / "fonts.conf").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>\n'
        + "".join(f"<dir>{folder}</dir>\n" for folder in folders)
        + "".join(
            f'<alias binding="strong"><family>{family}</family><prefer>'
            + "".join(f"<family>{face}</family>" for face in faces)
            + "</prefer></alias>\n"
            for family, faces in FACES.items()
        )
        # Of whatever asks for no family, or for one that is not there.
        + '<match target="pattern"><edit name="family" mode="append_last" binding="strong">'
        + "".join(f"<string>{face}</string>" for face in FACES["sans-serif"])
        + "</edit></match>\n"
        + f"<cachedir>{SERVICES / 'fonts'}</cachedir>\n</fontconfig>\n"
    )


def _call(command: Sequence[str], *, cwd: Path | None = None) -> str:
    done = subprocess.run(
        list(command),
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DevError(f"{' '.join(command[:6])} …: {done.stderr.strip()[-1000:]}")
    return done.stdout
