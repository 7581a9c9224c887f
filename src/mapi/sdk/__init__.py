"""The Python client of the platform: what a program needs to log, find and read runs.

    Client ─ runs, experiments, views, tokens, projects, members,    (`asynchronous`, `synchronous`)
       │     limits, audit, search, server
       │        check what is sent by the server's own rules         (`checks`, `points`, `queueing`, `pictures`)
       │        and read what comes                                  (`tables`, `frames`)
       └ transport: one deadline a call, repeated where it is safe   (`deadlines`, `repeating`)

`synchronous` is made of `asynchronous` by a program and never edited. `server` finds the server,
`filters` builds searches, `errors` has the tree of what can go wrong, `ending` says how a run ended,
`signals` lets one that asks the program to end be such an end, `pulse` sends signs of life, `failures` are
what a thread in the background survives.
`arguments` are of the kind that a call takes. `agent` is how the client names itself. `addresses` come from
outside. `calls` are requests as values: they, `repeating`, `checks`, `points`, `frames` and `filters` do no I/O. `pacing` has what differs between tasks and threads in more
than a word.
"""
