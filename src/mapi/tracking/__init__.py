"""The log of runs: the one path in, and its readers.

`runs` are made (the short way by `making`) and read, `finding` searches them (among the `fields` that they have, `completing` what is typed, or by saved
`views`), `experiments` gather them, `attempts` begin and end. What writes opens with
`writing`, which locks the run and closes with its counts; `resolving` finds the numbers of series,
`ingest` takes points (a `batch` in columns; `appending` is its short way), `sequence` keeps the order of a writer that sends a queue, `summaries` keeps what is known of each series and `full_names` what their labels have no room for;
`notes` are params and tags, `logs` lines, `media` images and tables, `spans` and `documents` what
their names say, and `texts` makes all of it storable; `allowances` say how much of its budgets a run has used. `corrections` take back what was wrong, with a record; `retention`
deletes what is over but for what `keeping` keeps (`foreseeing` counts it before, both as `freed`; `pruned` tells of it wherever it is missing), `letting_go` the objects of rows that are gone, and `leftovers` those that no row
has, `closing` a project as a whole. `compaction` moves the points of a
run that is over into chunks.

A run goes on by `life` (changed, into the trash and back; `life_entries` tell of it) and `heartbeat` (lost when it is silent);
`versions` keep two editors from undoing each other.
`changes` tells every replica that a run has changed, `live` reads what is new in it, and `following`
hands that to its readers.

`series` lists what a run has, `curves` reads points by step, in `buckets` too, and `axes` by time or another metric, `columns` those of many series;
`compare` puts runs side by side and `groups` sums them up. `export` writes runs as lines, read in `export_slices`, and
`point_tables` their points as tables; `importing` takes lines back, once `import_file` has checked the
file and `import_conflicts` what is here: `import_lines` those of a run (`import_pruned` what is known of points that are gone, `import_life` what happened to the run), `import_groups` the others.
"""
