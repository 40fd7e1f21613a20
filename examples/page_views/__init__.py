"""Failed page views and their retries."""
