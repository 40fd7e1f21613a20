"""Lookups: rows of a table joined to a stream, by a broadcast join or by key in Python workers."""
