"""Changelog sources: streams whose rows are the changes of a table."""
