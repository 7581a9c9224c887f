"""A throw-away S3 server: one node of Ceph's gateway on loopback, its objects in memory.

Debian's packages are radosgw, ceph-mon, ceph-osd and ceph-mgr. Test doubles of S3 take uploads with
any signature and any condition, so what they pass proves nothing; this one refuses.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool")
#: Debian's server starts in about ten seconds on two busy cores.
START_SECONDS = 90

CONFIGURATION = """\
[global]
fsid = {fsid}
mon_host = [v2:127.0.0.1:{monitor_v2},v1:127.0.0.1:{monitor_v1}]
mon_initial_members = a
# Loopback only, for as long as the tests run: the daemons trust each other.
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
public_network = 127.0.0.0/8
cluster_network = 127.0.0.0/8
ms_bind_ipv4 = true
# The gateway asks for encryption by default, which needs the keys that we do without.
ms_mon_client_mode = crc
ms_mon_service_mode = crc
ms_mon_cluster_mode = crc
# One copy of everything, on one node.
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pgp_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 5000
# A disk that is nearly full would stop the monitor.
mon_data_avail_warn = 1
mon_data_avail_crit = 1
osd_objectstore = memstore
memstore_device_bytes = 1073741824
mon_data = {directory}/monitor
osd_data = {directory}/objects
run_dir = {directory}/run
log_file = {directory}/log/$name.log
admin_socket = {directory}/run/$name.sock
pid_file = {directory}/run/$name.pid
keyring = {directory}/keyring

[client.admin]
rgw_frontends = beast endpoint=127.0.0.1:{port}
rgw_enable_usage_log = false
rgw_run_sync_thread = false
"""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where the S3 server is, and who may use it."""

    endpoint: str
    session: Any


class Cluster:
    """A monitor, a store and the gateway."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.configuration = directory / "ceph.conf"

    def start(self) -> None:
        for name in ("monitor", "objects", "run", "log"):
            (self.directory / name).mkdir()
        (self.directory / "keyring").touch()
        fsid, ports = str(uuid.uuid4()), (free_port(), free_port())
        self.configuration.write_text(
            CONFIGURATION.format(
                fsid=fsid,
                monitor_v2=ports[0],
                monitor_v1=ports[1],
                directory=self.directory,
                port=self.port,
            )
        )
        addresses = f"[v2:127.0.0.1:{ports[0]},v1:127.0.0.1:{ports[1]}]"
        monitors = str(self.directory / "monitors")
        run(
            "monmaptool", "--create", "--addv", "a", addresses, "--enable-all-features",
            "--set-min-mon-release", "16", "--fsid", fsid, monitors,
        )  # fmt: skip
        self.run("ceph-mon", "-i", "a", "--mkfs", "--monmap", monitors)
        self.run("ceph-mon", "-i", "a")
        # The store has to be made with the identity under which the monitor knows it.
        identity = str(uuid.uuid4())
        self.run("ceph", "osd", "new", identity)
        self.run("ceph", "osd", "require-osd-release", "pacific", "--yes-i-really-mean-it")
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity)
        self.run("ceph-osd", "-i", "0")
        self.run("radosgw", "-n", "client.admin")
        wait_for(self.port)

    def new_user(self) -> tuple[str, str]:
        keys = uuid.uuid4().hex, uuid.uuid4().hex
        self.run(
            "radosgw-admin", "-n", "client.admin", "user", "create", "--uid=tests",
            "--display-name=tests", f"--access-key={keys[0]}", f"--secret-key={keys[1]}",
        )  # fmt: skip
        return keys

    def stop(self) -> None:
        for path in (self.directory / "run").glob("*.pid"):
            process = int(path.read_text())
            # A number that somebody else has by now is left alone.
            try:
                arguments = Path(f"/proc/{process}/cmdline").read_bytes()
            except FileNotFoundError:
                continue
            if os.fsencode(self.configuration) in arguments:
                os.kill(process, signal.SIGKILL)

    def run(self, program: str, *arguments: str) -> None:
        run(program, "-c", str(self.configuration), *arguments)


def run(*command: str) -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=START_SECONDS
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, "the gateway does not listen"
            time.sleep(0.2)  # another program's start: there is no clock of ours to turn
        else:
            return


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"the S3 server of the tests needs {', '.join(missing)}")
    import boto3  # type: ignore[import-untyped]

    cluster = Cluster(tmp_path_factory.mktemp("gateway"))
    try:
        cluster.start()
        access, secret = cluster.new_user()
        session = boto3.Session(
            aws_access_key_id=access, aws_secret_access_key=secret, region_name="us-east-1"
        )
        yield Gateway(f"http://127.0.0.1:{cluster.port}", session)
    finally:
        cluster.stop()
