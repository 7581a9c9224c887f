from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from expr_tracker.extras import install_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

#: Slow to load, or with effects of their own; a program that logs needs none of them.
NOT_FOR_EVERYONE = [
    "asyncio",
    "click",
    "concurrent.futures.process",
    "ctypes",
    "dotenv",
    "email",
    "filelock",
    "http",
    "httpx",
    "loguru",
    "mapi",
    "matplotlib",
    "multiprocessing",
    "numpy",
    "pandas",
    "PIL",
    "polars",
    "psutil",
    "pyarrow",
    "pydantic",
    "pynvml",
    "requests",
    "smtplib",
    "sqlite3",
    "ssl",
    "torch",
    "trackio",
    "unittest",
    "urllib.request",
    "wandb",
    "xml",
]

LISTING = """
import json, sys
before = set(sys.modules)
def say(name):
    print(name, json.dumps(sorted(set(sys.modules) - before)), flush=True)
"""


def loaded(modules: list[str], names: list[str]) -> list[str]:
    """Return which of ``names`` are among the loaded modules, alone or by a part of theirs."""
    return [
        name
        for name in names
        if any(module == name or module.startswith(name + ".") for module in modules)
    ]


def test_importing_the_package_loads_what_every_program_needs_and_no_more(
    run_program: Start,
) -> None:
    program = run_program(LISTING + "import expr_tracker as et\nsay('modules')")
    modules = program.value("modules")
    assert not loaded(modules, NOT_FOR_EVERYONE)
    # The rooms themselves come with the first call that needs them.
    rooms = [
        "run",
        "record",
        "store",
        "spans.span",
        "capture",
        "artifacts",
        "media",
        "cli",
        "system",
    ]
    assert not loaded(modules, [f"expr_tracker.{room}" for room in rooms])
    # Neither does what those rooms need of the standard library.
    assert not loaded(
        modules, ["logging", "subprocess", "socket", "tempfile", "importlib.metadata"]
    )
    assert len(modules) < 80, modules


def test_a_program_that_logs_loads_nothing_that_it_does_not_use(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        LISTING
        + """
import expr_tracker as et
et.init("p", "r", dir=sys.argv[1], capture=False, config={"lr": 0.1})
et.log({"loss": 1.0})
et.log({"loss": float("nan"), "text": "a"}, step=4)
say("logging")
with et.span("s", batch=1):
    pass
say("spans")
et.history(50)
et.info()
say("history")
et.finish()
say("finished")
"""
    )
    program = run_program(script, tmp_path)
    modules = program.value("logging")
    assert not loaded(modules, NOT_FOR_EVERYONE)
    assert not loaded(modules, ["expr_tracker.artifacts", "subprocess"])
    modules = program.value("spans")
    assert not loaded(modules, NOT_FOR_EVERYONE)
    for moment in ("history", "finished"):
        modules = program.value(moment)
        assert not loaded(modules, NOT_FOR_EVERYONE)
        assert not loaded(modules, ["expr_tracker.history.frames", "expr_tracker.history.exports"])


def test_a_training_loop_loads_nothing_after_init_and_goes_on_without_descriptors(
    run_program: Start, tmp_path: Path
) -> None:
    script = """
import json, os, resource, sys
import expr_tracker as et

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
run = et.init("p", "r", dir=sys.argv[1], capture=False)
et.log({"a": 0})
before = set(sys.modules)
held = []
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
with et.span("step"):
    et.start_span("part").end()
run.span("mine").begin().end()
et.log({"nan": float("nan"), "text": "a", "deep": {"list": [1, 2]}, "half": chr(0xD800)})
et.log({"image": et.Image(PNG), "table": et.Table(["a"], [[1]])})
et.define_metric("a", unit="ms")
et.summary()["best"] = 1
et.rewind(1)
run.flush()
run.history.flush()
rows = et.info()["history"]["rows_on_disk"]
print("loaded", json.dumps(sorted(set(sys.modules) - before)))
for descriptor in held:
    os.close(descriptor)
et.log({"a": 1})
et.finish()
print("rows", rows, len(et.history(-1, run=run.dir)))
"""
    program = run_program(script, tmp_path)
    assert program.value("loaded") == []
    assert program.line("rows") == "3 2"
    assert "Traceback" not in program.errors


def test_the_capture_of_the_environment_stays_within_the_standard_library(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        LISTING
        + """
import expr_tracker as et
et.init("p", "r", dir=sys.argv[1])
et.log({"loss": 1.0})
et.finish()
say("modules")
"""
    )
    modules = run_program(script, tmp_path).value("modules")
    with_own_reasons = [
        "email",
        "pynvml",
    ]  # importlib.metadata reads mail headers; the GPU's names
    names = [name for name in NOT_FOR_EVERYONE if name not in with_own_reasons]
    if "pynvml" in modules:  # pragma: no cover - where the extra is installed
        names = [name for name in names if name != "ctypes"]
    assert not loaded(modules, names)


#: The base install: what an extra would bring cannot be imported.
BASE_INSTALL = """
import json, sys

class NotInstalled:
    names = ("numpy", "pandas", "polars", "pyarrow", "psutil", "matplotlib", "PIL", "pynvml", "torch",
             "pydantic", "sklearn", "wandb")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
import expr_tracker as et

def say(name, value=None):
    print(name, json.dumps(value), flush=True)
"""


def test_the_base_install_does_everything_that_needs_no_extra(
    run_program: Start, tmp_path: Path
) -> None:
    script = (
        BASE_INSTALL
        + """
from pathlib import Path
folder = sys.argv[1]
run = et.init("p", "r", dir=folder, config={"a": 1}, capture_console=True, system_metrics=True,
              system_interval=0.05)
for step in range(20):
    with et.span("train", plugins=[et.plugins.CpuTime()]):
        et.log({"loss": step / 10, "text": "a", "list": [1, 2]})
et.log({"image": et.Image(bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082")),
    "table": et.Table(["a"], [[1]])})
Path("model.bin").write_bytes(b"1")
et.log_artifact("model.bin", name="model", type="model")
say("used", et.use_artifact("model").version)
say("rows", len(et.history(-1)))
say("info", sorted(et.info()))
missing = {}
for kind in ("pandas", "polars", "arrow"):
    try:
        et.history(5, output_type=kind)
    except ImportError as error:
        missing[kind] = str(error)
say("missing", missing)
et.finish()
from expr_tracker.history import read_history, export, verify
say("offline", len(read_history(run.dir, -1)))
export(run.dir, Path("out.csv"))
export(run.dir, Path("out.jsonl"))
say("exported", sum(1 for _ in open("out.jsonl")))
from expr_tracker.trace import write_trace
say("trace", write_trace(run.dir, Path("trace.json")))
"""
    )
    program = run_program(script, tmp_path)
    assert program.value("used") is not None
    assert program.value("rows") == 21
    assert {"history", "loss", "summary", "rank"} <= set(program.value("info"))
    missing = program.value("missing")
    assert set(missing) == {"pandas", "polars", "arrow"}
    for kind, message in missing.items():
        assert install_command(kind) in message, kind
    assert program.value("offline") == 21
    assert program.value("exported") >= 21
    assert program.value("trace") == 20
    assert "Traceback" not in program.errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["history", "RUN"],
        ["history", "RUN", "--format", "csv"],
        ["trace", "RUN", "-o", "trace.json"],
        ["ls", "."],
        ["verify", "RUN"],
        ["export", "RUN", "-o", "out.csv"],
        ["--version"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_the_commands_run_in_the_base_install(
    arguments: list[str], run_program: Start, tmp_path: Path
) -> None:
    run_program(
        BASE_INSTALL
        + """
et.init("p", "r", dir=sys.argv[1], capture=False)
with et.span("s"):
    et.log({"a": 1})
et.finish()
""",
        tmp_path,
    )
    script = BASE_INSTALL + "from expr_tracker.cli import main\nsys.argv[0] = 'et'\nmain()\n"
    run = str(tmp_path / "p" / "r")
    words = [run if word == "RUN" else word for word in arguments]
    program = run_program(script, *words)
    assert "Traceback" not in program.errors
    if arguments == ["--help"]:
        assert any("history" in line for line in program.lines)


def test_a_missing_extra_is_one_line_of_the_command_line(
    start: Start, run_program: Start, tmp_path: Path
) -> None:
    run_program(BASE_INSTALL + "et.init('p', 'r', dir=sys.argv[1]); et.finish()", tmp_path)
    script = BASE_INSTALL + "from expr_tracker.cli import main\nsys.argv[0] = 'et'\nmain()\n"
    program = start(script, "export", tmp_path / "p" / "r", "-o", "out.parquet")
    assert program.end() == 2
    assert program.errors.startswith("Error: ")
    assert install_command("arrow") in program.errors
    assert len(program.errors.splitlines()) == 1


#: Every way to a network is closed, and every way to a process but the capture's is noted.
WATCHED = """
import json, socket, sys

def refuse(*arguments, **keywords):
    raise AssertionError("the network was used")

for name in ("socket", "create_connection", "create_server", "getaddrinfo", "gethostbyname",
             "gethostbyname_ex", "gethostbyaddr", "getfqdn", "socketpair"):
    setattr(socket, name, refuse)

network, processes = [], []

def audit(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo",
                 "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request",
                 "http.client.connect", "smtplib.connect"):
        network.append(event)
    elif event in ("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system",
                   "subprocess.Popen"):
        processes.append([event, str(arguments[0])])

sys.addaudithook(audit)
import expr_tracker as et

def say(name, value=None):
    print(name, json.dumps(value), flush=True)
"""

WHOLE_RUN = """
import os, threading, time
options = json.loads(sys.argv[2])
run = et.init("p", "r", dir=sys.argv[1], **options)
for step in range(100):
    with et.span("s"):
        et.log({"a": step})
et.log({"b": 1}, step=200)
et.history(50)
et.history(50, run=run.dir)
et.info()
et.summary()["pinned"] = 1
open("file.txt", "w").write("1")
et.log_artifact("file.txt")
during = [thread.name for thread in threading.enumerate()]
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
et.finish()
say("network", network)
say("processes", processes)
say("during", during)
say("threads", [thread.name for thread in threading.enumerate()])
# The system's own thread ends a moment after Python has joined it.
deadline = time.monotonic() + 20
while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < deadline:
    time.sleep(0.001)
say("tasks", len(os.listdir("/proc/self/task")))
say("children", [children, open(f"/proc/self/task/{os.getpid()}/children").read().split()])
say("descriptors", [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                    if os.path.exists(f"/proc/self/fd/{fd}")
                    and "/p/r" in os.readlink(f"/proc/self/fd/{fd}")])
"""

EVERYTHING = {
    "capture": True,
    "capture_console": True,
    "system_metrics": True,
    "system_interval": 0.05,
}


@pytest.mark.parametrize(
    "options",
    [
        {"capture": False},
        {},
        {"backends": []},
        {"durability": "buffered"},
        {"durability": "fsync", "capture": False},
        EVERYTHING,
    ],
    ids=["no capture", "defaults", "no backends", "buffered", "fsync", "everything"],
)
def test_a_run_uses_no_network_leaves_no_thread_and_starts_no_helper(
    options: dict[str, object], run_program: Start, tmp_path: Path
) -> None:
    program = run_program(WATCHED + WHOLE_RUN, tmp_path, json.dumps(options))
    assert program.value("network") == []
    processes = program.value("processes")
    if options.get("capture", True):
        # The capture asks git, for at most seconds, and nothing stays.
        assert all(event == "subprocess.Popen" for event, _ in processes)
        assert {command.rsplit("/", 1)[-1] for _, command in processes} <= {"git", "nvidia-smi"}
    else:
        assert processes == []
    assert len(program.value("during")) >= 2
    assert program.value("threads") == ["MainThread"]
    assert program.value("tasks") == 1
    children, children_after = program.value("children")
    assert len(children) <= 1
    assert children_after == []
    assert program.value("descriptors") == [], "every file is closed"
    assert "Traceback" not in program.errors


def test_finish_ends_in_time_although_a_thread_hangs_in_a_write(
    run_program: Start, tmp_path: Path
) -> None:
    script = """
        import os, sys, threading, time
        real_write, entered = os.write, threading.Event()

        def write(fd, data):
            if "keeper" in threading.current_thread().name and b"waits" in data:
                entered.set()
                threading.Event().wait()   # as on a file server that is gone
            return real_write(fd, data)

        os.write = write  # before the library takes it
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1], capture=False, finish_timeout=0.5,
                      durability="buffered", buffer_interval=None, max_buffer_seconds=0.0)
        et.log({"first": 1})
        et.log({"waits": 1})
        assert entered.wait(20)
        et.log({"waits": 2})
        began = time.monotonic()
        et.finish()
        print("seconds", time.monotonic() - began, flush=True)
        print("daemons", all(thread.daemon for thread in threading.enumerate()
                             if thread is not threading.main_thread()), flush=True)
    """
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    program = run_program(script, tmp_path, environment={"TMPDIR": str(rescue)})
    assert program.value("seconds") < 5
    assert program.line("daemons") == "True"
    assert "stuck" in program.errors
    (saved,) = rescue.iterdir()
    assert str(saved) in program.errors
    rows = [json.loads(line) for line in saved.read_text().splitlines()]
    assert [row["waits"] for row in rows if "waits" in row] == [1, 2]


def test_the_version_and_the_public_names_are_there_without_a_run(run_program: Start) -> None:
    program = run_program(
        """
        import json
        import expr_tracker as et
        print("missing", json.dumps([name for name in et.__all__ if not hasattr(et, name)]))
        print("version", json.dumps(et.__version__))
        """
    )
    assert program.value("missing") == []
    assert program.value("version")[0].isdigit()
    assert sys.version_info >= (3, 11)


def test_nothing_of_the_standard_library_is_replaced(run_program: Start, tmp_path: Path) -> None:
    script = """
        import sys
        import atexit, builtins, io, logging, multiprocessing, os, signal, subprocess, threading
        import multiprocessing.context, multiprocessing.popen_fork, multiprocessing.process
        import multiprocessing.util, concurrent.futures.process, time

        modules = [atexit, builtins, io, logging, multiprocessing, os, signal, subprocess,
                   threading, time, multiprocessing.context, multiprocessing.popen_fork,
                   multiprocessing.process, multiprocessing.util, concurrent.futures.process,
                   multiprocessing.process.BaseProcess, threading.Thread]

        def attributes():
            return {(str(module), name): id(value) for module in modules
                    for name, value in vars(module).items()
                    if callable(value) and not name.startswith("__")}

        hooks = (sys.excepthook, sys.stdout, sys.stderr, threading.excepthook)
        before = attributes()
        import expr_tracker as et
        run = et.init("p", "r", dir=sys.argv[1])
        et.log({"a": 1.0})
        with et.span("s"):
            pass
        during = attributes()
        assert hooks == (sys.excepthook, sys.stdout, sys.stderr, threading.excepthook)
        et.finish()
        after = attributes()
        for moment in (during, after):
            changed = sorted(key for key in before if moment.get(key) != before[key])
            assert not changed, changed
        print("same", flush=True)
    """
    run_program(script, tmp_path).line("same")
