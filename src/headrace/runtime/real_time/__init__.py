"""Runs in Spark's real-time mode."""
