"""A PostgreSQL of our own: `binaries` finds its programs, `home` guards where it lives, `server` runs it, on a socket that `sockets` finds a place for."""
