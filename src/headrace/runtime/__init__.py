"""Runs of a plan: queries, delivery, exchanges, progress and row accounting."""
