"""A run: one directory opened for writing, and every room wired to it.

`place` decides which directory, `opening` takes the lock, names the run and begins the attempt,
`run` holds the object that users see, `documents` what is written about it, `late` what is made
when it is first asked for, `target` is where its spans end, `ending` sees to it that a run is closed however the process ends. Only this room knows
all the others.
"""

from expr_tracker.run.run import Run

__all__ = ["Run"]
