# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""The client, part by part; what is written for tasks is rewritten for threads.

``python .ci/tooling/synchronous.py`` does that: edit the half that has ``await`` in it, never the
other.

`client` puts the parts together. `runs` is all about runs: `run_records` makes, finds and changes
them, `run_log` writes into them, `run_media` keeps images and tables, `run_attempts` says who goes at
them once more, `run_readings` reads and `run_events` follows, `run_comparison` sets them side by side,
`run_files` exports and imports, `run_corrections` puts right, `run_queue` sends what has one order, and `run` is one while it is made.
`experiments`, `views`, `administration` and `installation` are the other parts, and `resource` what
all of them have in common: the way to the server, which is `transport` over a `network`.
"""
