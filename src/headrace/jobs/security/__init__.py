"""Access control of the job service."""
