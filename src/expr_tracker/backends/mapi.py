"""The backend of the platform: the one place that asks for `mapi`, when a run begins that wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import OptionError
from expr_tracker.extras import missing_extra
from expr_tracker.loading import loading
from expr_tracker.notices import offer
from expr_tracker.texts import type_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from expr_tracker.backends.backend import Backend, Make
    from expr_tracker.store.files import StreamKey

__all__ = ["make_mapi"]

_ARGUMENTS: Final = ("project", "token", "url")


def make_mapi(arguments: Mapping[str, Any]) -> Make:
    """Return what makes the backend from its arguments: ``url``, ``token`` and ``project``.

    What is left out is found as `mapi.Client` finds it.

    Raises:
        OptionError: an argument has another name, or is no text.
    """
    for name, value in arguments.items():
        if name not in _ARGUMENTS:
            raise OptionError(
                f'backend_kwargs={{"mapi": {{{name!r}: ...}}}}: there is no such argument.'
                f"{offer(name, _ARGUMENTS)}"
            )
        if value is not None and (not isinstance(value, str) or not value):
            # Never the value: it may be the token.
            found = "an empty one" if isinstance(value, str) else type_name(value)
            raise OptionError(
                f'backend_kwargs={{"mapi": {{{name!r}: ...}}}}: expected a text, not {found}.'
            )

    def make(directory: Path, keys: Sequence[StreamKey]) -> Backend:
        try:
            # Now, not when a thread asks: a fork may fall between, and a loop must not load modules.
            with loading.gate():
                from mapi.follow.live import LiveBackend  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise missing_extra(error, "client", what="it") from error
        return LiveBackend(directory, keys, **arguments)

    return make
