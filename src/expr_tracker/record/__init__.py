"""Memory: from what users log to rows that are committed.

`open_row` gathers the values of one step, `recorder` decides when a row opens, joins and commits,
`keeper` does on a thread what must not happen on the caller's. The room writes nothing itself: a
`RowWriter` is handed in.
"""
