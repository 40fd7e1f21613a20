"""Joins: of streams by time, of streams in windows, with tables, and live."""
