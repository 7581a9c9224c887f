"""How an extra is added to the program as it is installed: from a clone, a file, an address, an index."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

__all__ = ["install_command"]

_NAME: Final = "expr-tracker"
_SOURCE: Final = Path(__file__).parents[2]


def install_command(extra: str) -> str:
    """Return the command that adds an extra: the same version, from where the program came.

    A bare name would be looked for in the index, where another version may lack the extra.
    """
    try:
        installed = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:  # run from a source tree
        is_clone = (_SOURCE / "pyproject.toml").is_file()
        return _line(f"{_SOURCE if is_clone else _NAME}[{extra}]")
    text = installed.read_text("direct_url.json")  # PEP 610
    found: dict[str, Any] = json.loads(text) if text else {}
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


def _line(*words: str) -> str:
    return f"pip install {shlex.join(words)}"
