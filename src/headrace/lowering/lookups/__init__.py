"""Lookups: rows of a table joined to a stream, natively or in Python workers."""
