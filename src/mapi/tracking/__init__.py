"""The log of runs: the one path in, and its readers.

`runs` are made and read, `finding` searches them, `attempts` begin and end. What writes opens with
`writing`, which locks the run and closes with its counts; `resolving` finds the numbers of series,
`ingest` takes points (a `batch` in columns) and `summaries` keeps what is known of each series;
`notes` are params and tags, `logs` lines, `spans` and `documents` what their names say, and `texts`
makes all of it storable. `corrections` take back what was wrong, with a record; `curves` reads
points.
"""
