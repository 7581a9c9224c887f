"""Whole servers on loopback, ours and MLflow's, to be measured in turns on one machine.

`platform` starts `mapi serve` with the database that it brings, in a home that is gone afterwards.
`mlflow` starts MLflow's server, the newest release of the package index, from an environment of its
own outside of this project; it keeps its rows in SQLite or in the database that ours runs in.
`chromium` looks at our pages.
`processes` reads what a server's processes cost; `turns` runs a program of each side, round by round.
Nothing of this is a test: times are compared within a run, never asserted.
"""
