"""The platform half: the log of every run of a team, searchable and isolated by tenant.

It keeps metrics with labels, params, tags, log lines and spans next to the run, in PostgreSQL. The
library never needs it.

The rooms, from what a request meets first to what knows nothing of the others: `cli` is the command
``mapi``; `serve` starts and stops everything; `api` is HTTP; `tracking` is the log, its one path in
and its readers; `access` says who asks and what they may do; `database` is the one door to
PostgreSQL and `objects` the one to the store of bytes. Pure below them: `search` is the language of
filters, `series` the rules of the log, `wire` the shapes that travel, `config` the settings and
`errors` what can go wrong.

Nothing is public to Python programs yet: the way in is HTTP.
"""

__all__: list[str] = []
