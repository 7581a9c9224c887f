"""The errors of the tracker, in one tree.

Each class also derives from the built-in exception that callers of this API have always caught, so
``except RuntimeError`` around ``et.log`` keeps working. A message names the value, the rule that it
broke and what to do instead; it never carries a secret.

::

    TrackerError
    ├── NoRunError              (RuntimeError)      a call that needs a run, and none is open
    ├── RunActiveError          (RuntimeError)      init while a run is open in this process
    ├── RunFinishedError        (RuntimeError)      the run of this object has ended
    ├── ForkedObjectError       (RuntimeError)      an object of the parent used in a forked child
    ├── StreamInUseError        (RuntimeError)      another live process writes this stream
    ├── NameRefusedError        (ValueError)        a run, project, stream, artifact or pin
    ├── OptionError             (ValueError)        an option's value
    ├── UnknownOptionError      (TypeError)         an option's name
    ├── StepError               (TypeError)         a step that is no 64-bit whole number
    ├── StepOrderError          (ValueError)        a step below its limit under ``"strict"``
    ├── QueryError              (ValueError)        a range, output type or column selection
    │   └── QuestionTypeError   (TypeError)         ... of a wrong type
    ├── RescueError             (ValueError)        a rescue file that is none, or of another run
    ├── RunNotFoundError        (FileNotFoundError) no such run, stream or file
    ├── ArtifactNotLoggedError  (RuntimeError)      files of an artifact that is no version yet
    ├── ArtifactNotFoundError   (FileNotFoundError) no such artifact, version or alias
    ├── ArtifactError           (ValueError)        an artifact that breaks a rule
    ├── PlatformError           (ConnectionError)   the platform cannot be told of a run
    └── MissingExtraError       (ImportError)       an optional package that the call needs

Outside of it, plain built-in errors: what an image, figure or table cannot be made of is a
``ValueError`` or ``TypeError``, as NumPy's own refusals are; a summary without a name is a mapping's
``KeyError``; a directory that cannot be written when a run opens is the system's ``OSError``.
Errors that no caller sees (`capture.programs.ProgramError`) are no part of it either.
"""

from __future__ import annotations

__all__ = [
    "ArtifactError",
    "ArtifactNotFoundError",
    "ArtifactNotLoggedError",
    "ForkedObjectError",
    "MissingExtraError",
    "NameRefusedError",
    "NoRunError",
    "OptionError",
    "PlatformError",
    "QueryError",
    "QuestionTypeError",
    "RescueError",
    "RunActiveError",
    "RunFinishedError",
    "RunNotFoundError",
    "StepError",
    "StepOrderError",
    "StreamInUseError",
    "TrackerError",
    "UnknownOptionError",
]


class TrackerError(Exception):
    """The root of the tree: catch it to catch whatever the tracker refuses."""


class NoRunError(TrackerError, RuntimeError):
    """A function of the package needs an open run, and this process has none."""


class RunActiveError(TrackerError, RuntimeError):
    """A second ``init`` while this process still has an open run."""


class RunFinishedError(TrackerError, RuntimeError):
    """A method that needs an open run was called on one that has ended."""


class ForkedObjectError(TrackerError, RuntimeError):
    """An object that belongs to the parent process was used in a forked child."""


class StreamInUseError(TrackerError, RuntimeError):
    """Another live process holds the stream's lock."""


class NameRefusedError(TrackerError, ValueError):
    """A name of a run, project, stream, artifact or summary pin that cannot be one."""


class OptionError(TrackerError, ValueError):
    """An option has a value outside its rule."""


class UnknownOptionError(TrackerError, TypeError):
    """An option's name is not known; the message offers the nearest one."""


class StepError(TrackerError, TypeError):
    """A step is not a whole number between -2**63 and 2**63 - 1."""


class StepOrderError(TrackerError, ValueError):
    """A step is below the newest one and the policy is ``"strict"``."""


class QueryError(TrackerError, ValueError):
    """A question to the history that has no meaning: range, output type or columns."""


class QuestionTypeError(QueryError, TypeError):
    """A part of a question has the wrong type; callers of this API also catch TypeError."""


class RescueError(TrackerError, ValueError):
    """A file whose lines cannot be put into this run: no rescue file, or one of another run."""


class RunNotFoundError(TrackerError, FileNotFoundError):
    """No run, stream or file under the path that was given."""

    # OSError formats (errno, text) pairs; ours is always one sentence.
    def __str__(self) -> str:
        return " ".join(str(argument) for argument in self.args)


class ArtifactNotLoggedError(TrackerError, RuntimeError):
    """The files of an artifact were asked for, and it is no version of a store yet."""


class ArtifactNotFoundError(TrackerError, FileNotFoundError):
    """No artifact, version or alias of that name in the project."""

    def __str__(self) -> str:
        return " ".join(str(argument) for argument in self.args)


class ArtifactError(TrackerError, ValueError):
    """An artifact, entry or alias breaks a rule of the store."""


class PlatformError(TrackerError, ConnectionError):
    """The platform is not there, does not answer, or lets nobody in with this token."""


class MissingExtraError(TrackerError, ImportError):
    """An optional package is missing; the message gives the line that installs it."""
