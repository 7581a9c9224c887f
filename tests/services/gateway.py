"""A throw-away S3 server: one node of Ceph's gateway on loopback, its objects in memory.

Test doubles of S3 take uploads with any signature and any condition, so what they pass proves
nothing; this one refuses.
"""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.services.ports import free_port, wait_for_port
from tests.services.programs import libraries_of_ceph, program

__all__ = ["Gateway"]

#: Debian's server starts in about ten seconds on two busy cores.
_START_SECONDS_MAX: Final = 90

_CONFIGURATION: Final = """\
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
# They may be unpacked elsewhere than where they were built for.
plugin_dir = {libraries}
erasure_code_dir = {libraries}/ceph/erasure-code
osd_class_dir = {libraries}/rados-classes

[client.admin]
rgw_frontends = beast endpoint=127.0.0.1:{port}
rgw_enable_usage_log = false
rgw_run_sync_thread = false
"""


class Gateway:
    """A monitor, a store and the gateway, and one user's keys."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.access_key, self.secret_key = uuid.uuid4().hex, uuid.uuid4().hex
        self._port = free_port()
        self._configuration = directory / "ceph.conf"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @cached_property
    def session(self) -> Any:
        """Of ``boto3``, with the user's keys; one for all, as each reads what S3 can for half a second."""
        import boto3  # type: ignore[import-untyped]

        return boto3.Session(
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
        )

    def new_bucket(self) -> dict[str, str]:
        """Make a bucket, and return the settings of a server that keeps its objects there."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        self.session.client("s3", endpoint_url=self.endpoint).create_bucket(Bucket=name)
        return {
            "MAPI_BUNDLES_URL": f"s3://{name}",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def start(self) -> None:
        for name in ("monitor", "objects", "run", "log"):
            (self.directory / name).mkdir()
        (self.directory / "keyring").touch()
        fsid, ports = str(uuid.uuid4()), (free_port(), free_port())
        self._configuration.write_text(
            _CONFIGURATION.format(
                fsid=fsid,
                monitor_v2=ports[0],
                monitor_v1=ports[1],
                directory=self.directory,
                port=self._port,
                libraries=libraries_of_ceph(),
            )
        )
        addresses = f"[v2:127.0.0.1:{ports[0]},v1:127.0.0.1:{ports[1]}]"
        monitors = str(self.directory / "monitors")
        _run(
            "monmaptool", "--create", "--addv", "a", addresses, "--enable-all-features",
            "--set-min-mon-release", "16", "--fsid", fsid, monitors,
        )  # fmt: skip
        self._ceph("ceph-mon", "-i", "a", "--mkfs", "--monmap", monitors)
        self._ceph("ceph-mon", "-i", "a")
        # The store has to be made with the identity under which the monitor knows it.
        identity = str(uuid.uuid4())
        self._ceph("ceph", "osd", "new", identity)
        self._ceph("ceph", "osd", "require-osd-release", "pacific", "--yes-i-really-mean-it")
        self._ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity)
        self._ceph("ceph-osd", "-i", "0")
        self._ceph("radosgw", "-n", "client.admin")
        wait_for_port(self._port, seconds_max=_START_SECONDS_MAX, said=self._said)
        self._ceph(
            "radosgw-admin", "-n", "client.admin", "user", "create", "--uid=tests",
            "--display-name=tests", f"--access-key={self.access_key}",
            f"--secret-key={self.secret_key}",
        )  # fmt: skip

    def stop(self) -> None:
        for path in (self.directory / "run").glob("*.pid"):
            process = int(path.read_text())
            # A number that somebody else has by now is left alone.
            try:
                arguments = Path(f"/proc/{process}/cmdline").read_bytes()
            except FileNotFoundError:
                continue
            if os.fsencode(self._configuration) in arguments:
                os.kill(process, signal.SIGKILL)

    def _ceph(self, name: str, *arguments: str) -> None:
        _run(name, "-c", str(self._configuration), *arguments)

    def _said(self) -> str:
        logs = sorted((self.directory / "log").glob("*.log"))
        return "\n".join(log.read_text(errors="replace")[-2_000:] for log in logs)


def _run(name: str, *arguments: str) -> None:
    command = [program(name), *arguments]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=_START_SECONDS_MAX
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
