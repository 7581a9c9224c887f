# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""What goes on: in one run, and in the table of a project's runs; read as it happens."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import is_header, query_of, shown
from mapi.sdk.calls import Call, id_of, path_of
from mapi.sdk.deadlines import Deadline
from mapi.sdk.errors import ApiError, ClientError, ConnectionFailedError, DeadlineError
from mapi.sdk.frames import FrameReader
from mapi.sdk.pacing import sleep
from mapi.sdk.repeating import pause_before_repetition
from mapi.sdk.synchronous.resource import Resource
from mapi.wire.events import DeletedFrame, ProjectFrame, StatusFrame

if TYPE_CHECKING:
    from collections.abc import Generator

    from mapi.sdk.calls import Named
    from mapi.sdk.frames import Frame, SentFrame

__all__ = ["RunEvents"]

#: The server says something every 15 seconds; two of them missed is a dead line.
_SILENCE_SECONDS: Final = 40.0
#: To wait for the server to be back; every frame begins the count anew.
_ABSENCE_SECONDS: Final = 300.0


class RunEvents(Resource):
    """Events."""

    def events(
        self, run: Named, *, last_event_id: str | None = None, until_end: bool = True
    ) -> Generator[Frame, None]:
        """Yield what goes on in a run, as it does: first where it stands, then what is new.

        A connection that breaks is opened again where it was; nothing is missed.

        Args:
            run: which.
            last_event_id: where to go on.
            until_end: end with the run; else go on until the caller stops, or the run is deleted.

        Raises:
            ConnectionFailedError: the server was gone for five minutes.
            NotFoundError: there is no such run for you, or not any more.
        """
        if last_event_id is not None and not is_header(last_event_id):
            raise InvalidError(
                Fault("/last_event_id", f"{shown(last_event_id)} is no id of a frame")
            )
        path = path_of("v1", "runs", id_of(run), "events")
        is_ended = False
        with closing(self._followed(path, last_event_id)) as sent_frames:
            for sent in sent_frames:
                if isinstance(sent.frame, ProjectFrame):
                    continue  # of another stream
                yield sent.frame
                if isinstance(sent.frame, DeletedFrame):
                    return
                if isinstance(sent.frame, StatusFrame):
                    is_ended = sent.frame.status.is_final
                # The last frame of what was told at once has the position.
                if until_end and is_ended and sent.id is not None:
                    return

    def changes(self) -> Generator[ProjectFrame, None]:
        """Yield which runs of the project have changed, as they do, until the caller stops.

        A frame has the ids of runs whose row in a table may be another now; with ``is_partial`` there
        were more, or some were missed while the connection was broken: read the table anew. Those in
        ``deleted`` are gone for good.

        Raises:
            ConnectionFailedError: the server was gone for five minutes.
        """
        path = path_of("v1", "events", query=query_of(project=self._project))
        with closing(self._followed(path, None)) as sent_frames:
            for sent in sent_frames:
                if isinstance(sent.frame, ProjectFrame):
                    yield sent.frame

    def _followed(self, path: str, position: str | None) -> Generator[SentFrame, None]:
        """Yield frames for ever; a line that broke is opened again behind the last frame."""
        tries, alive = 0, time.monotonic()
        while True:
            tries += 1
            headers = {"Accept": "text/event-stream"}
            if position is not None:
                headers["Last-Event-ID"] = position
            call = Call("GET", path, bytes, headers=headers, kinds=("text/event-stream",))
            try:
                with closing(self._frames(call)) as sent_frames:
                    for sent in sent_frames:
                        position, tries = sent.id or position, 0
                        yield sent
                        alive = time.monotonic()
                failure: ClientError = ConnectionFailedError(f"{path}: the stream ended.")
            except (ConnectionFailedError, ApiError) as error:
                failure = error
            # A silent line is as dead as a broken one: here, time that is over is no end.
            if isinstance(failure, DeadlineError):
                failure = ConnectionFailedError(str(failure))
            pause = pause_before_repetition(
                failure,
                call,
                tries=max(tries, 1),
                remaining_seconds=_ABSENCE_SECONDS - (time.monotonic() - alive),
                tries_max=float("inf"),
            )
            if pause is None:
                raise failure
            sleep(pause)

    def _frames(self, call: Call[Any]) -> Generator[SentFrame, None]:
        reader = FrameReader()
        deadline = Deadline(self._transport.timeout_seconds)
        with self._transport.stream(call, deadline) as (_, _, chunks):
            for chunk in chunks:
                for sent in reader.read(chunk):
                    yield sent
                # Behind them: what the caller does with a frame is not the server's silence.
                deadline.extend(_SILENCE_SECONDS)
