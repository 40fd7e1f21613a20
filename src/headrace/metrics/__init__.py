"""Measurements of jobs: rates, latencies, lag, state, and their history."""
