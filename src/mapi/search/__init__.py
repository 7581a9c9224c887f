"""The search language of runs."""
