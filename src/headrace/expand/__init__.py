"""Grouping sets: one row for each set of key columns, so that one aggregate computes several totals."""
