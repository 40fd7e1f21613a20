"""Rows with their windows: `assign_window`, and the first rows of each window."""
