"""The lines that a shell gets for a half-typed command."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["completed"]

#: Longer than any machine takes, and shorter than who waits for a server that does not answer.
_SECONDS_MAX = 60


def completed(url: str, token: str, words: str, **settings: str) -> list[str]:
    """Ask as bash does, with the cursor behind the last word.

    Args:
        url: of the server.
        token: of the caller.
        words: the line; a word is what stands between spaces.
        settings: more variables of the environment.
    """
    environment = {
        **os.environ,
        "MAPI_URL": url,
        "MAPI_TOKEN": token,
        **settings,
        "_MAPI_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    program = "from mapi.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS_MAX,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]
