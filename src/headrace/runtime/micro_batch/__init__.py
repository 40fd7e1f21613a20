"""Runs in micro-batches: their queries, bounded runs and drains, idle sources and status."""
