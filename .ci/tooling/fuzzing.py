"""Ask a live server whatever its own description allows, and more: ``python .ci/tooling/fuzzing.py``.

It starts `mapi serve` in a folder that is gone afterwards, makes a run, an experiment and a saved view,
and lets schemathesis ask every route about them until the time is over. No answer may be a 5xx, nor of
a status, a kind or a shape that the description does not have; the server's log may tell of no failure.
The last lines are a summary to be quoted; the same seed asks the same. CI runs a minute of it.
"""

from __future__ import annotations

import argparse
import re
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from servers.platform import Platform, platform  # noqa: E402

import mapi  # noqa: E402 - the folder of the next is put on the path first

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
#: They end what the others are asked about, or go on for as long as somebody listens.
LEFT_OUT = (
    "DELETE /v1/runs/{run}",
    "POST /v1/runs/{run}/purge",
    "DELETE /v1/tokens/{token}",
    "DELETE /v1/experiments/{experiment}",
    "DELETE /v1/saved-views/{view}",
    "GET /v1/runs/{run}/events",
    "GET /v1/events",
)
#: What of schemathesis's own report is said at the end.
SUMMARY = re.compile(
    r"^(API Operations|Test cases|Failures|Errors|Seed):|^  (Tested|Selected)|^ +[0-9]+ generated|^ +[❌✅]"
)
REQUEST_SECONDS = 20


def main() -> int:
    """Ask, and say what came of it; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=300, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of what is asked (default: another each time)")
    parser.add_argument("--examples", type=int, default=50, help="of a route in one go")
    parser.add_argument(
        "--phases",
        default="coverage,fuzzing,stateful",
        help="of schemathesis (default: %(default)s)",
    )
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory(prefix="mapi-fuzz-") as directory:
        root = Path(directory)
        # The database's own user walks through it.
        root.chmod(0o755)
        start = time.monotonic()
        with platform(root / "home") as server:
            code, said = ask(server, root, options, seed=seed)
        failures = failures_of((root / "home.log").read_text(encoding="utf-8", errors="replace"))
    print(said if code else "", end="")
    print("\n".join(line for line in said.splitlines() if SUMMARY.search(line)))
    print(f"{time.monotonic() - start:.0f} s; {len(failures)} failures in the server's log")
    print("\n".join(failures[:5]))
    return int(code != 0 or bool(failures))


def ask(
    server: Platform, root: Path, options: argparse.Namespace, *, seed: int
) -> tuple[int, str]:
    """Let schemathesis ask; return its exit code and its report."""
    settings = root / "schemathesis.toml"
    known = known_things(server)
    lines = [f'"path.{name}" = "{text}"' for name, text in known.items()]
    settings.write_text("\n".join(["[parameters]", *lines, ""]))
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--no-color",
        "--config-file",
        str(settings),
    ]
    command += ["run", f"{server.url}/v1/openapi.json", "--continue-on-failure"]
    command += ["--header", f"Authorization: Bearer {server.token}"]
    command += ["--phases", options.phases, "--max-examples", str(options.examples)]
    command += ["--seed", str(seed), "--max-time", str(options.seconds)]
    command += ["--checks", ",".join(CHECKS), "--request-timeout", str(REQUEST_SECONDS)]
    command += ["--suppress-health-check", "all", "--generation-database", "none"]
    for operation in LEFT_OUT:
        command += ["--exclude-name", operation]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return done.returncode, done.stdout + done.stderr


def known_things(server: Platform) -> dict[str, str]:
    """Make one of everything; return the ids by the names that the paths have for them."""
    with mapi.Client(server.url, token=server.token) as api:
        experiment = api.experiments.create("fuzzed")
        run = api.runs.create(
            name="fuzzed", params={"lr": 0.1}, tags={"team": "ads"}, experiment="fuzzed"
        )
        api.runs.log_series(run, "loss", [1.0, float("nan"), 3.0], labels={"split": "val"})
        api.runs.log_metric(run, "score", 0.5)
        api.runs.log_line(run, "hello", fields={"epoch": 3})
        now_ns = time.time_ns()
        api.runs.log_spans(run, [{"name": "fwd", "start_ns": now_ns, "duration_ns": 5}])
        table = api.runs.log_table(run, "mistakes", [[1, "a"]], columns=["at", "what"])
        view = api.views.create("fuzzed", filter="metrics.loss{split=val} < 3", sort="-created")
        return {
            "run": run.id,
            "media": table.id,
            "experiment": experiment.id,
            "view": view.id,
        }


def failures_of(log: str) -> list[str]:
    """Return the lines of a server's log that tell of a defect."""
    return [
        line
        for line in log.splitlines()
        if '"level":"error"' in line or "request failed" in line or line.startswith("Traceback")
    ]


if __name__ == "__main__":
    sys.exit(main())
