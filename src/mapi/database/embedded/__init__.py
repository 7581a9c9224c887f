"""A PostgreSQL of our own."""
