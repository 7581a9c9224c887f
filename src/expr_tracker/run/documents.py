"""The documents of a run: what a resume keeps, what it replaces, and where the replaced one stays.

Left out means kept: whoever resumes without a configuration, notes or tags has not said that the
run has none. What is given replaces, and a configuration or environment that gave way is there
beside the new one, under the number of the last attempt that it was true for.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.capture.redaction import redact
from expr_tracker.row import Row, key_text, without_nonfinite
from expr_tracker.store.documents import read_document, replacing, write_document
from expr_tracker.store.files import kept_of

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.run.run import Run

__all__ = ["Documents"]

#: Attempts whose replaced documents stay. An environment may hold a diff of 1 MiB, and a job that
#: is restarted every few minutes reaches a thousand attempts within days.
_KEPT_ATTEMPTS: Final = 100
#: What users say about a run, and the type that a stored one must have to be kept.
_WORDS: Final[dict[str, type]] = {"entity": str, "notes": str, "tags": list}


class Documents:
    """Reads, merges and writes ``config.json``, ``about.json`` and ``environment.json``.

    Args:
        run: the run.
        config: the configuration that was given; ``None`` keeps the stored one.
    """

    def __init__(self, run: Run, config: Row | None) -> None:
        self._run = run
        self._before = run.attempt - 1
        self._definitions: Row = {}
        self._environment: Row | None = None
        self._load(config)

    def _load(self, config: Row | None) -> None:
        run = self._run
        stored = read_document(run.files.about) or {}
        definitions = stored.get("metrics")
        self._definitions = definitions if isinstance(definitions, dict) else {}
        for word, kind in _WORDS.items():
            if word not in run.about and isinstance(stored.get(word), kind):
                run.about[word] = stored[word]
        before = read_document(run.files.config)
        run.config = config if config is not None else before or {}
        if before and not _is_same(before, run.config):
            kept = kept_of(run.files.config, self._before).name
            run.notices.say(
                f"{run.files.config.name} held another configuration; it is replaced by this "
                f"one's and kept as {kept}."
            )

    def write(self) -> None:
        """Write all that is known so far: at the start, and again where someone removed it.

        Raises:
            OSError: the run directory cannot be written.
        """
        self._replace(self._run.files.config, self._run.config, indent=4)
        self._write_about()
        if self._environment is not None:
            self.write_environment(self._environment)

    def write_environment(self, environment: Row) -> None:
        """Write what was captured; it is remembered, in case that someone removes it.

        Raises:
            OSError: the run directory cannot be written.
        """
        self._environment = environment
        self._replace(self._run.files.environment, environment)

    def define_metric(self, name: str, definition: Row) -> None:
        """Add one metric's definition to ``about.json``."""
        run = self._run
        self._definitions[key_text(name)] = redact(run.encode(name, definition))
        try:
            self._write_about()
        except OSError as error:
            run.notices.count("degraded", "metric definitions that could not be written")
            run.notices.say(f"{run.files.about} could not be written: {error}.")

    def _write_about(self) -> None:
        run = self._run
        write_document(run.files.about, {**run.about, "metrics": self._definitions})

    def _replace(self, path: Path, document: Row, *, indent: int | None = 2) -> None:
        """Write ``document``; another one that stands there is kept, unreadable ones as they are."""
        with contextlib.suppress(FileNotFoundError):
            content = path.read_bytes()
            before: Any = read_document(path)
            # An empty configuration is what a run without one has: nobody misses it.
            if content.strip() and before != {} and not (before and _is_same(before, document)):
                with replacing(kept_of(path, self._before)) as temporary:
                    temporary.write_bytes(content)
                kept_of(path, self._before - _KEPT_ATTEMPTS).unlink(missing_ok=True)
        write_document(path, document, indent=indent)


def _is_same(one: Row, other: Row) -> bool:
    # As they are in files: NaN differs from itself.
    return without_nonfinite(one) == without_nonfinite(other)
