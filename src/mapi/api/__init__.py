"""HTTP: authenticate, parse, call a room, answer."""
