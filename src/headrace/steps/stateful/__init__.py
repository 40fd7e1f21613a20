"""Stateful steps: windows, running aggregates and deduplication."""
