"""The one door to PostgreSQL.

`door` has the transactions that act for one tenant, `queries` the statements by name, `arrays` the
columns that travel to them in binary; `session` is what a connection is set to, `isolation` keeps
tenants and installations apart and looks whether they are, `turns` lets one replica at a time do a
job, `migrate` brings a database to this version, `sameness` compares what connection strings lead
to, `secret_file` keeps what opens them, and `embedded` is a server of our own.
"""
