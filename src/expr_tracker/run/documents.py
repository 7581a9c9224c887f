"""The documents of a run: what a resume keeps, what it replaces, and where the replaced one stays.

Left out means kept: whoever resumes without a configuration, notes or tags has not said that the
run has none. What is given replaces, and a configuration or environment that gave way is there
beside the new one, under the number of the last attempt that it was true for.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.capture.redaction import redact
from expr_tracker.interruption import is_from_signal
from expr_tracker.nonfinite import without_nonfinite
from expr_tracker.row import Row, key_text
from expr_tracker.run.definitions import warn_of_words
from expr_tracker.store.documents import read_document, replacing, write_document
from expr_tracker.store.files import kept_of
from expr_tracker.store.regular import read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.run.stream import OpenStream

__all__ = ["Documents"]

#: Attempts whose replaced documents stay. An environment may hold a diff of 1 MiB, and a job that
#: is restarted every few minutes reaches a thousand attempts within days.
_KEPT_ATTEMPTS: Final = 100
#: What users say about a run, and the type that a stored one must have to be kept.
_WORDS: Final[dict[str, type]] = {"entity": str, "notes": str, "tags": list}


class Documents:
    """Reads, merges and writes ``config.json``, ``about.json`` and ``environment.json``.

    Args:
        stream: the run's stream.
        about: what was said about the run; entity, notes and tags that were left out are taken over.
        config: the configuration that was given; ``None`` keeps the stored one.

    Attributes:
        about: what is said about the run, now or before.
        config: its configuration.
    """

    def __init__(self, stream: OpenStream, *, about: Row, config: Row | None) -> None:
        self._files = stream.files
        self._notices = stream.notices
        self._encoder = stream.encoder
        self._before = stream.life.attempt - 1
        self._environment: Row | None = None
        stored = read_document(self._files.about) or {}
        definitions = stored.get("metrics")
        self._definitions: Row = definitions if isinstance(definitions, dict) else {}
        self.about = dict(about)
        for word, kind in _WORDS.items():
            if word not in about and isinstance(stored.get(word), kind):
                self.about[word] = stored[word]
        before = read_document(self._files.config)
        self.config: Row = config if config is not None else before or {}
        if before and not _is_same(before, self.config):
            kept = kept_of(self._files.config, self._before).name
            self._notices.say(
                f"{self._files.config.name} held another configuration; it is replaced by this "
                f"one's and kept as {kept}."
            )

    def write(self) -> None:
        """Write all that is known so far: at the start, and again where someone removed it.

        Raises:
            OSError: the run directory cannot be written.
        """
        self._replace(self._files.config, self.config, indent=4)
        self._write_about()
        if self._environment is not None:
            self.write_environment(self._environment)

    def write_environment(self, environment: Row) -> None:
        """Write what was captured; it is remembered, in case that someone removes it.

        Raises:
            OSError: the run directory cannot be written.
        """
        self._environment = environment
        self._replace(self._files.environment, environment)

    def define_metric(self, name: str, definition: Row) -> None:
        """Add one metric's definition to ``about.json``."""
        name = key_text(name)
        # Plain first, each word by itself: what a user's object says when compared is its own.
        plain = {
            word: self._encoder.value(f"{name}.{word}", value)
            for word, value in definition.items()
        }
        warn_of_words(name, plain, self._notices)
        self._definitions[name] = redact(plain)
        try:
            self._write_about()
        except OSError as error:
            if is_from_signal(error):
                raise
            self._notices.count("degraded", "metric definitions that could not be written")
            self._notices.say(f"{self._files.about} could not be written: {error}.")

    def _write_about(self) -> None:
        write_document(self._files.about, {**self.about, "metrics": self._definitions})

    def _replace(self, path: Path, document: Row, *, indent: int | None = 2) -> None:
        """Write ``document``; another one that stands there is kept, unreadable ones as they are."""
        with contextlib.suppress(FileNotFoundError):
            content = read_regular(path)
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
