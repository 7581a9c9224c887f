"""The log of runs: the one path in, and its readers."""
