"""A run: one directory opened for writing, and every room wired to it.

From its beginning to its end: `setup` checks what ``init`` was given, `place` decides which directory,
`opening` takes the lock, names the run, begins the attempt and makes an `OpenStream` (`stream`). Every
part is made from that value: `documents` and `definitions` are what is written about the run, `target`
is where its spans end, `companions` and `system_stream` are what is recorded beside the rows, `latest`
completes the summary, `journal` keeps the open row, `late` makes what few programs ask for; `parts`
holds them. `upkeep` keeps their files fresh, `report` puts the run into figures, `closing` ends it
however the process ends, with `ending` and `deadline`; `life` says how far it is. `run` is the object
that users see. Only this room knows all the others.
"""

from expr_tracker.run.run import Run

__all__ = ["Run"]
