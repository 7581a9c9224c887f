"""The platform half: the log of every run of a team, searchable, comparable, isolated by tenant.

It will keep metrics with labels, params, tags, notes, log lines and media next to the run, and
execute model code in a sandbox. It reads run directories that ``expr_tracker`` wrote; the library
never needs it.

Nothing is public here yet: the package reserves the name, and it has no command until it has one
that works.
"""

__all__: list[str] = []
