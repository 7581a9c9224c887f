"""The one door to PostgreSQL."""
