"""The pure rules of the log."""
