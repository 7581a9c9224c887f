"""Mirrors of a run in other systems, fed while it goes on.

`choice` says which backends were asked for, and which of them this version has. `feeds` are all backends of
a run, for whoever opens and ends it; `feed` is one backend's daemon thread: when it is asked, what is
said of an outage, how it ends. `backend` is what a backend does: reach its run, deliver, give a sign of
life, say the end. `mapi` makes the one that this version has: the platform, by `mapi.follow`.

**The run's files are the queue.** A backend reads what is committed from the run directory; nothing is
handed to it, so there is no queue in memory that could be full, and the thread that logs does nothing for
it, not even set a flag. A feed looks at the files once a second. Whatever the backend does (it refuses,
hangs, raises), the run goes on, and its files say what has to be delivered later.

A new backend is a module with a class that has what `backend.Backend` asks for, and a line in `choice`.
"""

from expr_tracker.backends.choice import Choice, choose
from expr_tracker.backends.feeds import Feeds

__all__ = ["Choice", "Feeds", "choose"]
