"""What a run is made of beside its rows: documents, spans, summary, companions, and what comes late.

Making the parts only reads; `Run` begins them and `Closing` ends them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.backends import Choice, Feeds
from expr_tracker.interruption import is_from_signal
from expr_tracker.loading import Late
from expr_tracker.run.companions import Companions
from expr_tracker.run.documents import Documents
from expr_tracker.run.journal import OpenRowJournal
from expr_tracker.run.late import artifacts_of, history_of
from expr_tracker.run.latest import LastValues
from expr_tracker.run.target import RunSpans
from expr_tracker.summary.mapping import Summary

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.store.writer import LineWriter

__all__ = ["RunParts"]


class RunParts:
    """The parts of one run, each made from its stream.

    Args:
        stream: the stream of the rows.
        about: what was said about the run.
        config: the configuration that was given; ``None`` keeps what the run has.
        is_summary_behind: the rows have gone on without the summary's file.
        backends: which were asked for.

    Attributes:
        stream: the stream of the rows.
        documents: what is written about the run.
        journal: the open row, beside the file.
        spans: where its spans end.
        summary: last values and pins.
        last_values: completes the summary from the file.
        companions: the threads and files beside the rows.
        backends: what mirrors the run elsewhere.
        history: the rows, for questions; made when first asked for.
        artifacts: the project's artifacts; made when first asked for.
    """

    def __init__(
        self,
        stream: OpenStream,
        *,
        about: Row,
        config: Row | None,
        is_summary_behind: bool,
        backends: Choice | None = None,
    ) -> None:
        self.stream = stream
        self.documents = Documents(stream, about=about, config=config)
        self.journal = OpenRowJournal(stream)
        self.spans = RunSpans(
            stream.files.spans,
            stream.options,
            recorder=stream.recorder,
            encoder=stream.encoder,
            clock=stream.clock,
            notices=stream.notices,
        )
        self.summary = Summary(
            stream.files.summary,
            stream.recorder.latest,
            encoder=stream.encoder,
            guard=stream.life.guard,
            is_behind=is_summary_behind,
            is_whole=lambda: self.last_values.are_whole,
        )
        self.last_values = LastValues(stream, is_behind=is_summary_behind)
        self.companions = Companions(stream, self.documents.write_environment)
        self.backends = Feeds(
            Choice() if backends is None else backends,
            is_fed=stream.options.backend_on_rank in {None, stream.rank},
            notices=stream.notices,
        )
        self.history = Late(lambda: history_of(stream, self.flush))
        self.artifacts = Late(lambda: artifacts_of(stream))

    def start_backends(self) -> None:
        """Begin to feed the backends, with the streams of this process."""
        streams = [self.stream, *self.companions.streams()]
        self.backends.start(
            self.stream.files.directory,
            [each.files.key for each in streams],
            rows=lambda: sum(each.writer.index.rows for each in streams),
        )

    def writers(self) -> list[LineWriter]:
        """Return every open line file of the run, its rows' first."""
        spans = self.spans.writer
        own = [self.stream.writer] if spans is None else [self.stream.writer, spans]
        return [*own, *self.companions.writers()]

    def go_without_thread(self) -> None:
        """Write by the calls that append: nobody else comes to write what waits."""
        self.stream.writer.go_without_thread()
        self.spans.go_without_thread()
        self.companions.go_without_thread()

    def flush(self, commit_open: bool = False) -> None:  # noqa: FBT001, FBT002 - the public name's form
        """Write everything that waits; the open row is committed, or else written to its journal."""
        stream = self.stream
        stream.life.guard()
        if commit_open:
            stream.recorder.commit_open()
        for writer in self.writers():
            writer.flush()
        self.journal.keep()
        stream.notices.emit()

    def whole_summary(self) -> Summary:
        """Return the summary, with what only the file knows."""
        self.stream.life.guard()
        self.last_values.complete()
        return self.summary

    def save_unsaved_summary(self) -> None:
        """Write the summary if something was pinned since: a killed process leaves its pins."""
        if self.summary.is_unsaved and not self.stream.life.is_closed:
            self.save_summary()

    def save_summary(self) -> None:
        """Write the summary; a failure is counted."""
        try:
            self.summary.save()
        except OSError as error:
            if is_from_signal(error):
                raise
            notices = self.stream.notices
            notices.count("degraded", "summaries that could not be written")
            path = self.stream.files.summary
            # Once: at the end of a run it is tried by the keeper, and by the end itself.
            notices.once("summary", f"{path} could not be written: {error}.")

    def abandon_in_child(self) -> None:
        """Become the parent's after a fork, touching no lock."""
        self.stream.abandon_in_child()
        self.spans.abandon_in_child()
        self.companions.abandon_in_child()
        self.backends.abandon_in_child()
