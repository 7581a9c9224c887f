"""Look at the code, packages and machine of a run, within a deadline and without an exception.

`capture_environment` is called on a thread of its own, never on the training thread. It takes the
environment's variables as an argument and keeps a list of names from it, never the whole. Each part
stands for itself: one that fails, or for which no time is left, is an entry of ``"errors"``.

==============  ================================================================================
member          content
==============  ================================================================================
``git``         ``commit``, ``branch`` (absent when detached), ``remote``, ``dirty`` (tracked files
                changed), ``diff`` against the commit, ``diff_cut``; absent outside a repository
``program``     ``argv``, ``entry`` (the script), ``directory``, ``pid``
``python``      ``version``, ``implementation``, ``executable``
``machine``     ``host``, ``platform``, ``architecture``, ``cpu_count``, ``cpu_available``,
                ``memory_bytes``
``gpus``        ``driver`` and ``devices``, each with ``name`` and ``memory_bytes``
``packages``    ``["name==version", ...]``, sorted
``launcher``    the variables of schedulers and launchers that are set
``errors``      what could not be captured, by member
==============  ================================================================================
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import threading
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.capture.programs import Answer, ProgramError, ask
from expr_tracker.capture.redaction import LineRedactor, redact_argv, redact_text
from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["LAUNCHER_VARIABLES", "capture_environment"]

#: All parts together: a run that ends sooner waits this long at most.
DEADLINE_SECONDS: Final = 5.0
#: The GPU driver may be slow or stuck; it is asked last but one and no longer than this.
_GPU_SECONDS: Final = 1.0
#: Git on a network disk takes its time, and the diff is not worth more than the rest together.
_GIT_SECONDS: Final = 2.0
#: What the platform takes for an environment.
_DIFF_BYTES_MAX: Final = 1024 * 1024
_GIT_BYTES_MAX: Final = 64 * 1024
#: The largest environments of conda hold a few hundred; a shared one of a site a few thousand.
_PACKAGES_MAX: Final = 5_000
#: One argument may be a whole program (``python -c``).
_ARGUMENTS_MAX: Final = 1_000
_ARGUMENT_CHARACTERS_MAX: Final = 16 * 1024

#: What tells where a process stands among others, and what it may use. Nothing else is read.
LAUNCHER_VARIABLES: Final = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK",
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
    "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST",
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_NNODES",
    "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_RESTART_COUNT",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK",
    "PMI_SIZE", "PBS_JOBID", "LSB_JOBID", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONHASHSEED",
    "CUBLAS_WORKSPACE_CONFIG", "CONDA_DEFAULT_ENV",
)  # fmt: skip


def capture_environment(
    environ: Mapping[str, str],
    argv: Sequence[str] | None = None,
    *,
    directory: Path | None = None,
    working_directory: Path | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> dict[str, Any]:
    """Return what is known about the surroundings of a run; never raises.

    Args:
        environ: the environment's variables (``os.environ``).
        argv: the program's arguments; ``sys.argv`` by default.
        directory: where the code's repository is looked for; the working directory by default,
            then the entry script's.
        working_directory: where the program stood when the run began; by default where it stands.
        deadline_seconds: how long all parts together may take.
    """
    capture = _Capture(
        environ,
        sys.argv if argv is None else argv,
        directory=directory,
        working_directory=working_directory,
        deadline=time.monotonic() + deadline_seconds,
    )
    # What is quick and cannot hang comes first, so that it is there whatever happens later.
    parts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("program", capture.program),
        ("python", _python),
        ("launcher", capture.launcher),
        ("machine", _machine),
        ("git", capture.git),
        ("gpus", capture.gpus),
        ("packages", capture.packages),
    )
    environment: dict[str, Any] = {}
    for name, part in parts:
        if capture.seconds_left <= 0:
            capture.errors[name] = f"left out: {deadline_seconds:g} s were over"
            continue
        try:
            value = part()
        except Exception as error:  # whatever a part meets is told, not raised
            if is_from_signal(error):
                raise
            capture.errors[name] = redact_text(str(error) or type(error).__name__)[:500]
            continue
        if value is not None:
            environment[name] = value
    environment["errors"] = capture.errors
    return environment


class _Capture:
    """The parts that need what the caller passed, and the time that is left."""

    def __init__(
        self,
        environ: Mapping[str, str],
        argv: Sequence[str],
        *,
        directory: Path | None,
        working_directory: Path | None,
        deadline: float,
    ) -> None:
        self._environ = environ
        self._argv = argv
        self._directory = directory
        self._working_directory = working_directory
        self._deadline = deadline
        self.errors: dict[str, str] = {}

    @property
    def seconds_left(self) -> float:
        """How much of the deadline is left."""
        return self._deadline - time.monotonic()

    def program(self) -> dict[str, Any]:
        """Return the command line and where it was started."""
        shown = [str(argument)[:_ARGUMENT_CHARACTERS_MAX] for argument in self._argv]
        program: dict[str, Any] = {
            "argv": redact_argv(shown[:_ARGUMENTS_MAX]),
            "entry": shown[0] if shown else None,
            "pid": os.getpid(),
        }
        try:
            program["directory"] = str(self._working_directory or Path.cwd())
        except OSError as error:
            if is_from_signal(error):
                raise
            self.errors["program"] = f"the working directory: {error.strerror}"
        return program

    def launcher(self) -> dict[str, str]:
        """Return the variables on the list that are set."""
        environ = self._environ
        return {name: redact_text(environ[name]) for name in LAUNCHER_VARIABLES if name in environ}

    # --- git -------------------------------------------------------------------------------------

    def git(self) -> dict[str, Any] | None:
        """Return the state of the code; ``None`` outside a repository."""
        program = shutil.which("git", path=self._environ.get("PATH"))
        if program is None:
            raise ProgramError("git is not installed")
        for directory in self._code_directories():
            repository = _Repository(
                program, directory, environ=self._environ, deadline=self._deadline
            )
            if repository.exists():
                return repository.state(self.errors)
        return None

    def _code_directories(self) -> Iterator[Path]:
        if self._directory is not None:
            yield self._directory
            return
        here = self._working_directory or Path.cwd()
        yield here
        if self._argv and (here / self._argv[0]).is_file():
            yield (here / self._argv[0]).resolve().parent

    # --- machine ---------------------------------------------------------------------------------

    def gpus(self) -> dict[str, Any] | None:
        """Return the GPUs, asked through NVML, else through its program; ``None`` without any."""
        seconds = min(_GPU_SECONDS, self.seconds_left)
        try:
            import pynvml  # noqa: PLC0415 - optional, and 20 ms that a machine without it saves
        except ImportError:
            return self._gpus_from_program(seconds)
        found: list[dict[str, Any] | Exception] = []
        # The driver's library cannot be interrupted; a thread that is left behind can.
        thread = threading.Thread(
            target=lambda: found.append(_attempt(lambda: _gpus_from_nvml(pynvml))),
            name="expr_tracker.gpus",
            daemon=True,
        )
        thread.start()
        thread.join(seconds)
        if not found:
            raise TimeoutError(f"the GPU driver did not answer within {seconds:.1f} s")
        if isinstance(found[0], Exception):
            # No driver on a machine that has the package: nothing to report.
            return None
        return found[0]

    def _gpus_from_program(self, seconds: float) -> dict[str, Any] | None:
        program = shutil.which("nvidia-smi", path=self._environ.get("PATH"))
        if program is None:
            return None
        query = "--query-gpu=name,memory.total,driver_version"
        answer = ask(
            [program, query, "--format=csv,noheader,nounits"],
            environ=self._environ,
            seconds=seconds,
            bytes_max=_GIT_BYTES_MAX,
        )
        rows = [line.split(", ") for line in answer.text.splitlines() if line.count(", ") == 2]
        devices = [{"name": row[0], "memory_bytes": _bytes_from_mib(row[1])} for row in rows]
        return {"driver": rows[0][2], "devices": devices} if rows else None

    def packages(self) -> list[str]:
        """Return what is installed, as pins."""
        found: set[str] = set()
        for distribution in metadata.distributions():
            if len(found) >= _PACKAGES_MAX:
                self.errors["packages"] = f"only {_PACKAGES_MAX} are listed"
                break
            if self.seconds_left <= 0:
                self.errors["packages"] = f"only {len(found)} could be listed in time"
                break
            try:
                # A broken installation has no name or version.
                found.add(f"{distribution.metadata['Name']}=={distribution.version}")
            except Exception as error:  # one damaged package hides no other
                if is_from_signal(error):
                    raise
                self.errors["packages"] = f"a package is damaged: {type(error).__name__}"
        return sorted(found, key=str.lower)


class _Repository:
    """The git repository around a directory, asked without changing or starting anything."""

    def __init__(
        self, program: str, directory: Path, *, environ: Mapping[str, str], deadline: float
    ) -> None:
        # No file-system monitor: it would be a process that stays. No pager, no external diff, no
        # index refresh that takes the user's lock, no question for a password.
        self._command = [
            program, "--no-pager", "-C", str(directory),
            "-c", "core.fsmonitor=false", "-c", "core.quotepath=false",
        ]  # fmt: skip
        self._environ = {
            **environ,
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        self._deadline = deadline

    def _ask(self, *arguments: str, bytes_max: int = _GIT_BYTES_MAX) -> Answer:
        return ask(
            [*self._command, *arguments],
            environ=self._environ,
            seconds=min(_GIT_SECONDS, self._deadline - time.monotonic()),
            bytes_max=bytes_max,
        )

    def _line(self, *arguments: str) -> str | None:
        """Return the first line of the answer; ``None`` where git has none to give."""
        try:
            lines = self._ask(*arguments).text.splitlines()
        except ProgramError:
            return None
        return lines[0] if lines else None

    def exists(self) -> bool:
        """Say whether there is a repository.

        Raises:
            ProgramError: there may be one, but git does not want to say.
        """
        try:
            return self._ask("rev-parse", "--is-inside-work-tree").text.strip() == "true"
        except ProgramError as error:
            if "not a git repository" in str(error):
                return False
            raise

    def state(self, errors: dict[str, str]) -> dict[str, Any]:
        """Return commit, branch, remote and changes; what fails is told in ``errors``."""
        state: dict[str, Any] = {
            "commit": self._line("rev-parse", "--verify", "--quiet", "HEAD"),
            "branch": self._line("symbolic-ref", "--quiet", "--short", "HEAD"),
            "remote": self._remote(),
        }
        try:
            status = self._ask(
                "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty",
                bytes_max=1,
            )  # fmt: skip
            state["dirty"] = bool(status.text)
            if state["dirty"] and state["commit"] is not None:
                diff, is_cut = self._diff()
                state["diff"] = diff
                if is_cut:
                    state["diff_cut"] = True
        except ProgramError as error:
            errors["git"] = redact_text(str(error))[:500]
        return {name: value for name, value in state.items() if value is not None}

    def _remote(self) -> str | None:
        try:
            lines = self._ask("config", "--get-regexp", r"^remote\..*\.url$").text.splitlines()
        except ProgramError:
            return None
        pairs = [line.split(" ", 1) for line in lines if " " in line]
        origin = [url for name, url in pairs if name == "remote.origin.url"]
        urls = origin or [url for _, url in pairs]
        return redact_text(urls[0]) if urls else None

    def _diff(self) -> tuple[str, bool]:
        answer = self._ask(
            "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty",
            "HEAD", "--", ":/",
            bytes_max=_DIFF_BYTES_MAX,
        )  # fmt: skip
        # Line by line: a pattern over a megabyte would keep the interpreter's lock, and with it
        # the training thread, for 50 ms. Redaction may lengthen; the limit is for what is written.
        redact_line = LineRedactor()
        lines = [redact_line(line) for line in answer.text.split("\n")]
        text = "\n".join(lines).encode("utf-8")
        is_cut = answer.is_cut or len(text) > _DIFF_BYTES_MAX
        if not is_cut:
            return text.decode("utf-8"), False
        mark = f"\n[cut: the diff is longer than {_DIFF_BYTES_MAX} bytes]\n"
        kept = text[: _DIFF_BYTES_MAX - len(mark)].decode("utf-8", "ignore")
        return kept + mark, True


def _python() -> dict[str, str]:
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
    }


def _platform() -> str:
    # Not platform.platform(): until Python 3.12 that holds a lock of the whole process while it
    # starts `uname -p`, and a child forked in that moment would wait for the lock for ever.
    system = platform.uname()
    libc = "".join(platform.libc_ver())
    return f"{system.system}-{system.release}-{system.machine}" + (f"-with-{libc}" if libc else "")


def _machine() -> dict[str, Any]:
    machine: dict[str, Any] = {
        "host": socket.gethostname(),
        "platform": _platform(),
        "architecture": platform.machine(),
        "cpu_count": os.cpu_count(),
    }
    if hasattr(os, "sched_getaffinity"):
        machine["cpu_available"] = len(os.sched_getaffinity(0))
    if hasattr(os, "sysconf"):
        machine["memory_bytes"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return machine


def _gpus_from_nvml(nvml: Any) -> dict[str, Any] | None:
    nvml.nvmlInit()
    try:
        devices = []
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            name, memory = nvml.nvmlDeviceGetName(handle), nvml.nvmlDeviceGetMemoryInfo(handle)
            devices.append({"name": _text(name), "memory_bytes": int(memory.total)})
        driver = _text(nvml.nvmlSystemGetDriverVersion())
        return {"driver": driver, "devices": devices} if devices else None
    finally:
        nvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    # Older releases of the package answer in bytes.
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _bytes_from_mib(text: str) -> int | None:
    return int(text) * 1024 * 1024 if text.strip().isdecimal() else None


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # handed to the thread that asked
        if is_from_signal(error):
            raise
        return error
