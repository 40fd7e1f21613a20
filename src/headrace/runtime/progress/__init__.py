"""Progress of a run: status, row accounting, and their display."""
