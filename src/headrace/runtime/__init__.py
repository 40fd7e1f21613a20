"""Runs: queries, delivery, exchanges, progress and row accounting."""
