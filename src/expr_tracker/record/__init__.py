"""Memory: from what users log to rows that are committed.

`values` makes what users log plain, `open_row` gathers the values of one step, `recorder` decides when
a row opens, joins and commits. `refusals` says what is not stored as it was meant, `deferral` holds
calls from within a call, `delivery` hands committed rows to sinks, `keeper` does on a thread what must
not happen on the caller's. The room writes nothing itself: a `RowWriter` is handed in.
"""
