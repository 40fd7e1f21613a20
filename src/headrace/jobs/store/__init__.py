"""The store of the job service, in SQLite or PostgreSQL."""
