"""Rule tables that are reloaded while a job runs."""
