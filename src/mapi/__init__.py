"""The platform half: the log of every run of a team, searchable, comparable, isolated by tenant.

It keeps metrics with labels, params, tags, notes, log lines and media next to the run. It reads run
directories that ``expr_tracker`` wrote; the library never needs it. Its command is ``mapi``.

Nothing is public here yet: the package reserves the name.
"""

__all__: list[str] = []
