"""Soak test: every kind of step under a constant load; fails if a resource keeps growing."""
