"""`mapi serve`: the whole platform in one process.

`platform` starts what the settings ask for, `command` serves until `stopping` hears that it is to stop,
`protocol` is how; meanwhile `heartbeats` looks for silent runs and `housekeeping` deletes what is over.
`doctor` looks for what is wrong. `backup` writes everything into one `backup_file`, which `restoring`
reads, both with PostgreSQL's own `clients` and aside in an `own_folder`; `arriving` is about what came
with it, and `half_restored` is the mark of a home that is not whole yet. `administration` does what no
request may, in one tenant at its `tenant_desk`. `beside` is `et ui`: a server for one folder, and what delivers the folder to it.
"""
