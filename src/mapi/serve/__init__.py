"""`mapi serve`: the whole platform in one process."""
