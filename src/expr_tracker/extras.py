"""How an extra is added to the program as it is installed: from a clone, a file, an address, an index.

Both packages say so, in messages about what is missing; nothing is loaded before there is one.
"""

from __future__ import annotations

from typing import Any, Final

from expr_tracker.errors import MissingExtraError
from expr_tracker.loading import loading

__all__ = ["install_command", "missing_extra"]

_NAME: Final = "expr-tracker"


def install_command(extra: str) -> str:
    """Return the command that adds an extra: the same version, from where the program came.

    A bare name would be looked for in the index, where another version may lack the extra. The command
    can be pasted into any shell: zsh takes a bare ``[gpu]`` for a pattern.

    Args:
        extra: its name, ``gpu``.
    """
    with loading.gate():
        from importlib import metadata  # noqa: PLC0415 - 30 ms, for a message
        from pathlib import Path  # noqa: PLC0415
        from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        installed = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:  # run from a source tree
        source = Path(__file__).parents[2]
        is_clone = (source / "pyproject.toml").is_file()
        return _line(f"{source if is_clone else _NAME}[{extra}]")
    found = _origin(installed.read_text("direct_url.json"))  # PEP 610
    url = found.get("url")
    if not isinstance(url, str):
        return _line(f"{_NAME}[{extra}]=={installed.version}")
    if "dir_info" in found:
        path = unquote(urlsplit(url).path)
        options = ["-e"] if found["dir_info"].get("editable") else []
        return _line(*options, f"{path}[{extra}]")
    vcs = found.get("vcs_info")
    if vcs:
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return _line(f"{_NAME}[{extra}] @ {url}")


def missing_extra(error: ImportError, extra: str, *, what: str) -> MissingExtraError:
    """Return the error for something of the platform that cannot be loaded.

    Args:
        error: what loading it raised.
        extra: what brings it: ``client``.
        what: needs it: ``et push``.
    """
    name = (error.name or "mapi").partition(".")[0]
    return MissingExtraError(f"{what} needs {name}: {install_command(extra)}")


def _origin(text: str | None) -> dict[str, Any]:
    import json  # noqa: PLC0415 - for a message

    try:
        found = json.loads(text or "{}")
    except ValueError:  # damaged: a message must not fail for it
        return {}
    return found if isinstance(found, dict) else {}


def _line(*words: str) -> str:
    import shlex  # noqa: PLC0415 - for a message

    return f"pip install {shlex.join(words)}"
